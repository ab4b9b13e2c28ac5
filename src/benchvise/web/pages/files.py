"""The lists of traces and captures; the workspace of traces, a frame that scripts fill."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from benchvise.documents import encode
from benchvise.signal.response import is_list
from benchvise.trace.manifest import kept_facts
from benchvise.trace.recording_set import is_set
from benchvise.web.answers import Crumb, both, page
from benchvise.web.context import context
from benchvise.web.file_index import MOST_LISTS_COMPARED, FileIndex, IndexedFile, listed
from benchvise.web.trace_kinds import trace_kind

SHOWN = 200

_MOST_BESIDE = 7
"""Traces beside the first: each has a timeline of its own."""


def traces(request: Request) -> Response:
    """All traces that may be looked at, the newest first; ``?q=`` those that are called so."""
    index = context(request).traces
    wanted = request.query_params.get("q", "").strip().lower()
    files = [file for file in index.files() if _called(file, wanted)]
    document = {
        "q": wanted,
        "found": len(files),
        "of": len(index.files()),
        "cut": index.cut,
        "traces": [
            {
                **listed(file),
                "format": _kind(file.path, file.size, file.changed),
                **encode(_facts(file.path, file.size, file.changed)),
            }
            for file in files[:SHOWN]
        ],
    }
    return page(request, "traces", document, title="Traces")


def _called(file: IndexedFile, wanted: str) -> bool:
    return wanted in file.name.lower() or wanted in file.place.lower()


@lru_cache(maxsize=4 * SHOWN)
def _kind(path: Path, _size: int, _changed: float) -> str:
    return trace_kind(path)


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """What is known of a trace that was opened before; else None."""

    events: int | None = None
    seconds: float | None = None
    losses: int | None = None
    damage: int | None = None


def _facts(path: Path, size: int, changed: float) -> TraceFacts:
    """What is known without decoding."""
    try:
        return _opened(path, size, changed)
    except LookupError:
        return TraceFacts()


@lru_cache(maxsize=4 * SHOWN)
def _opened(path: Path, _size: int, _changed: float) -> TraceFacts:
    """What an opened trace has. LookupError, which is not remembered, for one that is not open."""
    kept = kept_facts(path, "decoded")
    if kept is None:
        raise LookupError
    facts = kept.facts
    span = facts["span"]
    return TraceFacts(
        events=facts["events"],
        seconds=(span[1] - span[0]) / 1e9 if span else None,
        losses=len(facts["losses"]),
        damage=len(facts["damage"]),
    )


def captures(request: Request) -> Response:
    """All captures and lists of response times that may be looked at, the newest first; ``?q=``
    those that are called so."""
    index = context(request).captures
    wanted = request.query_params.get("q", "").strip().lower()
    files = [file for file in index.files() if wanted in f"{file.name} {file.place}".lower()]
    document = {
        "q": wanted,
        "found": len(files),
        "of": len(index.files()),
        "cut": index.cut,
        "captures": [{**listed(file), "list": is_list(file.path)} for file in files[:SHOWN]],
    }
    return page(request, "captures", document, title="Captures", most_compared=MOST_LISTS_COMPARED)


# -- the workspace ---------------------------------------------------------------------------------


def trace(request: Request) -> Response:
    """``with=KEY`` shows another trace beside it, several times several.

    What is chosen in the page stands in the address too, for the scripts alone: ``view=BEGIN,END``
    and ``range=BEGIN,END`` in nanoseconds since the first event, ``at=ROW:TIME``, ``actor=ID``,
    ``tab=VIEW``, ``counter=NAME,…`` of the view of counters, ``rows=compact|normal|events``,
    ``time=down``, ``show=TEXT``, ``here=1``; of the second trace with a 2 behind the name (of the
    third with a 3), and ``clocks=separate``, ``shift=NS`` for both.
    """
    index = context(request).traces
    first = index.find(request.path_params["key"])
    beside = [index.find(key) for key in request.query_params.getlist("with")[:_MOST_BESIDE] if key]
    shown = [first, *beside]
    document = {
        "trace": listed(first),
        "with": listed(beside[0]) if len(beside) == 1 else None,
        "beside": [listed(file) for file in beside],
        "keys": [file.key for file in shown],
        "recorded_with": [] if beside else _recorded_with(first, index),
    }
    for file in shown:
        context(request).readers.prepare(file)
    title = " and ".join(file.name for file in shown)
    others = [listed(file) for file in index.files() if file.key != first.key]
    crumbs = [Crumb("Traces", "/traces")]
    return page(request, "trace", document, title=title, crumbs=crumbs, others=others)


def _recorded_with(first: IndexedFile, index: FileIndex) -> list[str]:
    """The keys of what was recorded on other boards at the same time."""
    home = first.path.parent
    if not is_set(home):
        return []
    files = [file.key for file in index.files() if file.path.parent == home]
    return [key for key in files if key != first.key][:_MOST_BESIDE]


routes = [
    *both("/traces", traces),
    *both("/traces/{key}", trace),
    *both("/captures", captures),
]
