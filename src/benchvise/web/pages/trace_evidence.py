"""The evidence of the run that a trace was recorded with, as the workspace draws it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.errors import UsageError
from benchvise.flows.tracing import ATTACHMENT, recorded_trace
from benchvise.health.watch.history import History
from benchvise.measure.model import RunRecord
from benchvise.report.evidence_tracks import EvidenceTrack, RecordedClock, evidence_tracks
from benchvise.store import Store
from benchvise.web.answers import shaped
from benchvise.web.context import context

_MOST_DIGITS = 20
"""Of nanoseconds in 64 bits."""


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """What was read during the run; ``run`` is None where the trace belongs to none."""

    run: str | None
    tracks: tuple[EvidenceTrack, ...]


def evidence(request: Request) -> Response:
    """``origin`` is the time of the trace's first event, ``epoch`` what leads from its times to
    those since 1970, where that is known; ns. The reader told the page: the server itself never
    decodes a trace."""
    shared = context(request)
    file = shared.traces.find(request.path_params["key"])
    origin = _nanoseconds(request, "origin")
    if origin is None:
        raise UsageError("there is no origin=", "say the time of the first event, ns")
    if file.run is None:
        return shaped("trace-evidence", RunEvidence(None, ()))
    run = shared.store.load(file.run)
    recorded = recorded_trace(shared.store.attachment(file.run, ATTACHMENT) or b"{}")
    clock = RecordedClock.of(recorded, origin, _nanoseconds(request, "epoch"))
    tracks = evidence_tracks(run, clock, _watched(shared.store, run))
    return shaped("trace-evidence", RunEvidence(run.id, tuple(tracks)))


def _nanoseconds(request: Request, name: str) -> int | None:
    """A whole number, exactly; None where nothing is said."""
    text = request.query_params.get(name, "")
    digits = text.removeprefix("-")
    if text and not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        raise UsageError(f"{name}= is no time", "say whole nanoseconds")
    return int(text) if text else None


def _watched(store: Store, run: RunRecord) -> History | None:
    """What a watch kept of the board while the run was measured."""
    end = datetime.now(UTC) if run.finished is None else datetime.fromisoformat(run.finished)
    begin = datetime.fromisoformat(run.started)
    return store.watches.history(run.board, begin.timestamp(), end.timestamp())


routes = [Route("/traces/{key}/evidence.json", evidence)]
