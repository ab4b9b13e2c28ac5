"""Diagnoses: those in the store, and those of this machine that are still going on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from benchvise.errors import UsageError
from benchvise.flows.why import directories
from benchvise.report.why_document import Document, readable
from benchvise.report.why_evidence import MOST, evidence
from benchvise.report.why_page import FILTERS, content
from benchvise.text import printable
from benchvise.web.answers import Crumb, both, page, templates
from benchvise.web.context import context
from benchvise.web.errors import NotFound
from benchvise.web.live import Publish
from benchvise.why import progress_log as told
from benchvise.why.progress_log import Told

LISTED = 200
_LOOK_SECONDS = 0.5
_CRUMBS = (Crumb("Diagnoses", "/diagnoses"),)

templates().filters.update(FILTERS)


def diagnoses(request: Request) -> Response:
    """What goes on or was stopped on this machine, then what the store has, the newest first."""
    stored = context(request).store.diagnoses(LISTED + 1)
    document = {
        "unfinished": [_listed(one) for one in _unfinished()],
        "diagnoses": [asdict(one) for one in stored[:LISTED]],
        "cut": len(stored) > LISTED,
    }
    return page(request, "diagnoses", document, title="Diagnoses")


def diagnosis(request: Request) -> Response:
    """One diagnosis: as the store has it, or as far as it has got."""
    identity = request.path_params["id"]
    stored = context(request).store.diagnosis(identity)
    if stored is not None:
        return _page(request, "diagnosis", stored)
    going_on = told.read(_directory(identity))
    if going_on.identity and context(request).store.diagnosis(going_on.identity):
        twin = ".json" if request.url.path.endswith(".json") else ""
        return RedirectResponse(f"/diagnoses/{going_on.identity}{twin}", 303)
    return _page(request, "diagnosis_live", going_on.document, going_on)


async def live(request: Request) -> Response:
    """Says whenever more was told of a diagnosis that goes on."""
    directory = _directory(request.path_params["id"])

    def source(publish: Publish, stopped: threading.Event) -> None:
        known: tuple[int, bool] | None = None
        while not stopped.wait(0.0 if known is None else _LOOK_SECONDS):
            now = (told.size(directory), told.is_running(directory))
            if now != known:
                known = now
                publish("told", {"bytes": now[0], "running": now[1]})

    return context(request).hub.stream(request, f"diagnosis {directory.name}", source)


def _page(
    request: Request, kind: str, document: Document, going_on: Told | None = None
) -> Response:
    safe = readable(document)
    shown = content(safe)
    more = {name: value for name, value in shown.items() if name != "d"}
    entries = evidence(safe)
    return page(
        request,
        kind,
        safe if going_on is None else {**safe, "live": _standing(going_on)},
        title=safe["headline"],
        crumbs=_CRUMBS,
        island=shown["figures"].document,
        name=request.path_params["id"],
        evidence=entries[-MOST:],
        evidence_all=len(entries),
        **more,
    )


def _standing(going_on: Told) -> dict[str, Any]:
    """How a diagnosis that has no answer yet stands."""
    return {
        "running": going_on.running,
        "ended": going_on.ended,
        "stage": going_on.stage,
        "asked": None if going_on.asked is None else asdict(going_on.asked),
        "seconds": going_on.at,
        "left_out": [printable(text, 300) for text in going_on.left_out],
        "failed": [printable(text, 300) for text in going_on.failed],
        "resume": f"benchvise why --resume {going_on.directory}",
    }


def _directory(name: str) -> Path:
    """The directory of that name, found among those there are; NotFound when there is none."""
    for directory in told.tellings(directories()):
        if directory.name == name:
            return directory
    raise NotFound(f"there is no diagnosis '{name}'", "see the list: was it in another store?")


def _unfinished() -> Iterator[told.Heading]:
    for directory in told.tellings(directories()):
        try:
            one = told.heading(directory)
        except UsageError:
            continue  # being begun, or another version's
        if not one.ended:
            yield one


def _listed(heading: told.Heading) -> dict[str, Any]:
    document = heading.document
    return {
        "id": heading.directory.name,
        "running": heading.running,
        "seconds": heading.at,
        "started": str(document.get("started", "")),
        "good": printable(str(document.get("good", ""))),
        "bad": printable(str(document.get("bad", ""))),
        "metric": printable(str((document.get("metric") or {}).get("name", ""))),
        "simulated": bool(document.get("simulated")),
    }


routes = [
    *both("/diagnoses", diagnoses),
    *both("/diagnoses/{id}", diagnosis),
    Route("/live/diagnoses/{id}", live),
]
