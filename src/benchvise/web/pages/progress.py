"""How far runs are that are measured now, live: on this machine or, in a shared store, on any."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.measure.model import RunStatus
from benchvise.store import StoredProgress
from benchvise.web.answers import Crumb, both, page
from benchvise.web.context import Context, context
from benchvise.web.live import Publish

_ENDED_SINCE = timedelta(hours=1)
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ShownProgress:
    """A run as the page shows it; ``silent_since`` (ISO 8601) where it says nothing any more."""

    run: StoredProgress
    silent_since: str | None


def progress(request: Request) -> Response:
    """Runs that are measured now, then those of the last hour that have ended."""
    listed = _listed(context(request))
    running = [shown for shown in listed if shown.run.status is RunStatus.RUNNING]
    ended = [shown for shown in listed if shown.run.status is not RunStatus.RUNNING]
    document = {
        "running": [asdict(shown) for shown in sorted(running, key=lambda shown: shown.run.board)],
        "ended": [asdict(shown) for shown in ended],
    }
    return page(request, "progress", document, title="Progress", crumbs=[Crumb("Runs", "/runs")])


async def live(request: Request) -> Response:
    """An event ``progress`` whenever a run has got further, ended, or fallen silent."""
    shared = context(request)

    def source(publish: Publish, stopped: threading.Event) -> None:
        before: list[ShownProgress] | None = None
        while not stopped.wait(0.0 if before is None else _POLL_SECONDS):
            now = _listed(shared)
            if now != before:
                before = now
                running = sum(shown.run.status is RunStatus.RUNNING for shown in now)
                publish("progress", {"running": running})

    return shared.hub.stream(request, "progress", source)


def _listed(shared: Context) -> list[ShownProgress]:
    runs = shared.store.progress(datetime.now(UTC) - _ENDED_SINCE)
    silent = shared.words.silent_since(runs)
    return [
        ShownProgress(
            run,
            datetime.fromtimestamp(silent[run.id], UTC).isoformat() if run.id in silent else None,
        )
        for run in runs
    ]


routes = [*both("/progress", progress), Route("/live/progress", live)]
