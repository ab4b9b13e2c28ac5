"""The list of traces."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from benchvise.trace.manifest import kept_facts
from benchvise.web.answers import both, page
from benchvise.web.context import context
from benchvise.web.file_index import IndexedFile, trace_kind

SHOWN = 200


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
            {**listed(file), **_known_facts(file.path, file.size, file.changed)}
            for file in files[:SHOWN]
        ],
    }
    return page(request, "traces", document, title="Traces")


def listed(file: IndexedFile) -> dict[str, Any]:
    """A file in a list: what may be known of it outside."""
    return {
        "key": file.key,
        "name": file.name,
        "place": file.place,
        "size": file.size,
        "changed": file.changed,
        "run": file.run,
    }


def _called(file: IndexedFile, wanted: str) -> bool:
    return wanted in file.name.lower() or wanted in file.place.lower()


@lru_cache(maxsize=4 * SHOWN)
def _kind(path: Path, _size: int, _changed: float) -> str:
    return trace_kind(path)


def _known_facts(path: Path, size: int, changed: float) -> dict[str, Any]:
    """What is known without decoding: ``events`` and ``seconds`` where it was opened before."""
    try:
        facts = _opened(path, size, changed)
    except LookupError:
        facts = {"events": None, "seconds": None, "losses": None}
    return {"format": _kind(path, size, changed), **facts}


@lru_cache(maxsize=4 * SHOWN)
def _opened(path: Path, _size: int, _changed: float) -> dict[str, Any]:
    """What an opened trace has. LookupError, which is not remembered, for one that is not open."""
    kept = kept_facts(path, "decoded")
    if kept is None:
        raise LookupError
    facts = kept.facts
    span = facts["span"]
    return {
        "events": facts["events"],
        "seconds": (span[1] - span[0]) / 1e9 if span else None,
        "losses": len(facts["losses"]),
    }


routes = both("/traces", traces)
