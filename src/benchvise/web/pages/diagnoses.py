"""Diagnoses: those in the store, and those of this machine that are still going on."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from benchvise.documents import encode, in_json
from benchvise.errors import UsageError
from benchvise.report.why.document import MOST, Document, evidence, readable
from benchvise.report.why.page import FILTERS, content
from benchvise.web.answers import Crumb, both, page, templates
from benchvise.web.context import Context, context
from benchvise.web.http import NotFound
from benchvise.web.live import Publish
from benchvise.why import progress_log
from benchvise.why.progress_log import (
    CurrentQuestion,
    Progress,
    ProgressSummary,
    directories,
)

LISTED = 200
_POLL_SECONDS = 0.5
_CRUMBS = (Crumb("Diagnoses", "/diagnoses"),)

templates().filters.update(FILTERS)


def diagnoses(request: Request) -> Response:
    """What goes on or was stopped on this machine, then what the store has, the newest first."""
    stored = context(request).store.diagnoses(LISTED + 1)
    document = {
        "unfinished": [_listed(summary) for summary in _unfinished()],
        "diagnoses": [asdict(info) for info in stored[:LISTED]],
        "cut": len(stored) > LISTED,
    }
    return page(request, "diagnoses", document, title="Diagnoses")


def diagnosis(request: Request) -> Response:
    """One diagnosis: as the store has it, or as far as it has got."""
    identity = request.path_params["id"]
    stored = context(request).store.diagnosis(identity)
    if stored is not None:
        return _page(request, "diagnosis", stored)
    progress = progress_log.read(_directory(identity))
    if progress.identity and context(request).store.diagnosis(progress.identity):
        twin = ".json" if request.url.path.endswith(".json") else ""
        return RedirectResponse(f"/diagnoses/{progress.identity}{twin}", 303)
    return _page(request, "diagnosis_live", encode(progress.diagnosis), progress)


async def live(request: Request) -> Response:
    """An event ``progress`` whenever the log of a running diagnosis has grown, or it has ended."""
    directory = _directory(request.path_params["id"])

    def source(publish: Publish, stopped: threading.Event) -> None:
        before: tuple[int, bool] | None = None
        while not stopped.wait(0.0 if before is None else _POLL_SECONDS):
            now = (progress_log.size(directory), progress_log.is_running(directory))
            if now != before:
                before = now
                publish("progress", {"bytes": now[0], "running": now[1]})

    return context(request).hub.stream(request, f"diagnosis {directory.name}", source)


def _page(
    request: Request, kind: str, document: Document, progress: Progress | None = None
) -> Response:
    diagnosis = readable(document)
    texts = content(diagnosis)
    entries = evidence(diagnosis)
    return page(
        request,
        kind,
        _with_lines(encode(diagnosis)) | ({} if progress is None else {"live": _live(progress)}),
        title=diagnosis.headline,
        crumbs=_CRUMBS,
        diagnosis=diagnosis,
        island=texts["figures"].document,
        name=request.path_params["id"],
        evidence=entries[-MOST:],
        evidence_all=len(entries),
        **{name: value for name, value in texts.items() if name not in ("d", "trace_links")},
        trace_links=_trace_links(context(request), request.path_params["id"]),
    )


def _trace_links(shared: Context, identity: str) -> dict[str, str]:
    """The pages of the recordings of the command, by side, where their files are still there."""
    keys = {file.path: file.key for file in shared.traces.files()}
    paths = {side: shared.store.trace_file(f"{identity}-{side}") for side in ("good", "bad")}
    return {side: f"/traces/{keys[path]}" for side, path in paths.items() if path in keys}


def _with_lines(document: dict[str, Any]) -> dict[str, Any]:
    """The document, with the text of each remedy under ``lines`` as well, where it always was."""
    for cause in document["causes"]:
        for owner in (cause, cause["mechanism"]):
            for remedy in owner["remedies"] if owner else ():
                remedy["lines"] = remedy["text"]
    return document


@dataclass(frozen=True, slots=True)
class LiveDiagnosis:
    """How a diagnosis that has no answer yet stands; ``resume`` is the command to go on with."""

    running: bool
    ended: bool
    stage: str
    question: CurrentQuestion | None = field(metadata=in_json(name="asked"))
    seconds: float
    left_out: Sequence[str]
    failed: Sequence[str]
    resume: str


def _live(progress: Progress) -> LiveDiagnosis:
    return LiveDiagnosis(
        progress.running,
        progress.ended,
        progress.stage,
        progress.question,
        progress.at,
        progress.left_out,
        progress.failed,
        f"benchvise why --resume {progress.directory}",
    )


def _directory(name: str) -> Path:
    """The directory of that name, found among those there are; NotFound when there is none."""
    for directory in progress_log.logged_directories(directories()):
        if directory.name == name:
            return directory
    raise NotFound(f"there is no diagnosis '{name}'", "see the list: was it in another store?")


def _unfinished() -> Iterator[ProgressSummary]:
    for directory in progress_log.logged_directories(directories()):
        try:
            summary = progress_log.summary(directory)
        except UsageError:
            continue  # being begun, or another version's
        if not summary.ended:
            yield summary


@dataclass(frozen=True, slots=True)
class UnfinishedDiagnosis:
    """A diagnosis in a list; ``id`` is the name of its directory."""

    id: str
    running: bool
    seconds: float
    started: str
    good: str
    bad: str
    metric: str
    simulated: bool


def _listed(summary: ProgressSummary) -> UnfinishedDiagnosis:
    diagnosis = summary.diagnosis
    return UnfinishedDiagnosis(
        id=summary.directory.name,
        running=summary.running,
        seconds=summary.at,
        started=diagnosis.started,
        good=diagnosis.good,
        bad=diagnosis.bad,
        metric=diagnosis.metric.name,
        simulated=diagnosis.simulated,
    )


routes = [
    *both("/diagnoses", diagnoses),
    *both("/diagnoses/{id}", diagnosis),
    Route("/live/diagnoses/{id}", live),
]
