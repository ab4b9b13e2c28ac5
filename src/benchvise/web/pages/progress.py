"""How far runs are that are measured now, live: on this machine or, in a shared store, on any.
Beside them the boards that boot, whose runs have not begun yet: on this machine by its locks, on
others by the store."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchvise.errors import UsageError
from benchvise.measure.model import RunStatus
from benchvise.rig.environment import PREFIX
from benchvise.store import StoredProgress
from benchvise.web.answers import Crumb, both, page
from benchvise.web.context import Context, context
from benchvise.web.live import Publish
from benchvise.web.rig import watching

_ENDED_SINCE = timedelta(hours=1)
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ShownProgress:
    """A run as the page shows it; ``silent_since`` (ISO 8601) where it says nothing any more."""

    run: StoredProgress
    silent_since: str | None


@dataclass(frozen=True, slots=True)
class BootingBoard:
    """A board that boots: for what, the phase reached last (``kernel``, with the seconds since
    power on), the last line on its console where that is of this machine. ``since`` is ISO 8601.

    ``by`` is the user, host and process of one that another host boots, and ``silent_since`` (ISO
    8601) is where that process was not heard of for three minutes."""

    board: str
    what: str
    since: str
    phase: str
    phase_s: float
    line: str
    by: str = ""
    silent_since: str | None = None


def progress(request: Request) -> Response:
    """Boards that boot, runs that are measured now, then those of the last hour that ended."""
    shared, rig = context(request), None
    listed = _listed(shared)
    running = [entry for entry in listed if entry.run.status is RunStatus.RUNNING]
    ended = [entry for entry in listed if entry.run.status is not RunStatus.RUNNING]
    with contextlib.suppress(UsageError):  # a rig file that is gone is told where boards are shown
        rig = shared.rig()
    in_rig = {f"{PREFIX}{name}" for name in (rig.names if rig else ())}
    document = {
        "booting": [{**asdict(boot), "in_rig": boot.board in in_rig} for boot in _booting(shared)],
        "running": [asdict(entry) for entry in sorted(running, key=lambda entry: entry.run.board)],
        "ended": [asdict(entry) for entry in ended],
    }
    return page(request, "progress", document, title="Progress", crumbs=[Crumb("Runs", "/runs")])


async def live(request: Request) -> Response:
    """An event ``progress`` whenever a run or a boot has got further, ended, or fallen silent."""
    shared = context(request)

    def source(publish: Publish, stopped: threading.Event) -> None:
        before: tuple[list[ShownProgress], list[BootingBoard]] | None = None
        while not stopped.wait(0.0 if before is None else _POLL_SECONDS):
            runs, boots = _listed(shared), _booting(shared)
            if (runs, boots) != before:
                before = runs, boots
                running = sum(entry.run.status is RunStatus.RUNNING for entry in runs)
                publish("progress", {"running": running, "booting": len(boots)})

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


def _booting(shared: Context) -> list[BootingBoard]:
    boards = []
    for name, state in watching.booting().items():
        phase, at = max(state.phases.items(), key=lambda reached: reached[1], default=("", 0.0))
        since = datetime.fromtimestamp(state.doing_since or 0.0, UTC).isoformat()
        boards.append(BootingBoard(f"{PREFIX}{name}", state.what, since, phase, at, state.line))
    here = {board.board for board in boards}
    for boot in shared.store.boots():
        if not (boot.is_here and boot.board.raw in here):
            boards.append(
                BootingBoard(
                    board=boot.board.raw,
                    what=boot.what.raw,
                    since=boot.began,
                    phase=boot.phase.raw,
                    phase_s=boot.phase_s,
                    line="",
                    by=f"{boot.user or 'a user'} on {boot.host}, process {boot.pid}",
                    silent_since=boot.heard if boot.is_silent else None,
                )
            )
    return sorted(boards, key=lambda board: board.board)


routes = [*both("/progress", progress), Route("/live/progress", live)]
