"""The lab in one table: each board with its last day, health, use and queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from benchvise.measure.model import RunStatus
from benchvise.rig.environment import PREFIX
from benchvise.store import RunActivity
from benchvise.store.notes import GOOD, REGRESSED
from benchvise.web.answers import Crumb, both, page, wants_json
from benchvise.web.context import Context, context
from benchvise.web.pages.health import boards_health
from benchvise.web.rig import watching

_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
_RUNS = 5000
"""The newest runs that are looked at: a week of 200 boards with three runs a night."""

Night = Literal["regressed", "failed", "running", "measured", "good", "not measured"]

_ORDER: dict[Night, int] = {
    "regressed": 0, "failed": 1, "running": 2, "measured": 3, "good": 4, "not measured": 5
}  # fmt: skip
_ENDED_BADLY = (RunStatus.FAILED, RunStatus.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class LabBoard:
    """A row: ``night`` is the worst of the runs of the last 24 hours, ``runs`` how many those are,
    ``run`` the one that says so. ``seen`` is when a run or a watch last reached the board, ISO
    8601. ``day`` and ``week`` are the parts of that time in which a run measured, from 0 to 1.
    """

    name: str
    rig: str | None
    simulated: bool
    night: Night
    runs: int
    run: str | None
    seen: str | None
    health: str
    alerts: int
    day: float
    week: float


def lab(request: Request) -> Response:
    """All boards that are known, the worst first. The twin asks the rig; the page does so live."""
    shared = context(request)
    now = datetime.now(UTC)
    boards = sorted(_boards(shared, now), key=lambda board: (_urgency(board), board.name))
    rig = shared.rig()
    states = watching.board_states(rig) if rig is not None and wants_json(request) else {}
    document = {
        "rig": None if rig is None else {"path": str(rig.path), "boards": len(rig.names)},
        "boards": [
            {**asdict(board), "state": states.get(board.rig) if board.rig else None}
            for board in boards
        ],
        "measured": sum(board.runs > 0 for board in boards),
        "regressed": sum(board.night == "regressed" for board in boards),
        "failed": sum(board.night == "failed" for board in boards),
        "alerts": sum(board.alerts for board in boards),
        "used": sum(board.day for board in boards) / len(boards) if boards else 0.0,
    }
    return page(request, "lab", document, title="Lab", crumbs=[Crumb("Boards", "/boards")])


def _urgency(board: LabBoard) -> int:
    """Rows with a raised alert stand with what failed."""
    return min(_ORDER[board.night], _ORDER["failed"] if board.alerts else len(_ORDER))


def _boards(shared: Context, now: datetime) -> Iterable[LabBoard]:
    rig = shared.rig()
    in_rig = {f"{PREFIX}{name}": name for name in (rig.names if rig else ())}
    health = {watched["board"]: watched for watched in boards_health(shared)}
    measured = {board.name: board for board in shared.store.boards()}
    runs: defaultdict[str, list[RunActivity]] = defaultdict(list)
    for run in shared.store.activity(now - _WEEK, _RUNS):
        runs[run.board].append(run)
    for name in dict.fromkeys([*in_rig, *measured, *shared.store.watches.boards()]):
        week = runs[name]
        day = [run for run in week if _until(run, now) > now - _DAY]
        night, deciding = night_of(day)
        watched = health.get(name)
        times = [text for run in week[:1] for text in (run.finished or run.started,)]
        times += [measured[name].started] if name in measured else []
        times += [watched["last"]] if watched is not None and watched["last"] else []
        yield LabBoard(
            name=name,
            rig=in_rig.get(name),
            simulated=any(run.simulated for run in week[:1]),
            night=night,
            runs=len(day),
            run=deciding,
            seen=max(times, key=datetime.fromisoformat, default=None),
            health="not watched" if watched is None else watched["standing"],
            alerts=0 if watched is None else len(watched["alerts"]),
            day=utilisation(week, now, _DAY),
            week=utilisation(week, now, _WEEK),
        )


def night_of(runs: Sequence[RunActivity]) -> tuple[Night, str | None]:
    """The worst state of some runs of a board, and the id of the newest run that has it."""
    states = [(_state(run), run.id) for run in runs]
    return min(states, key=lambda state: _ORDER[state[0]], default=("not measured", None))


def _state(run: RunActivity) -> Night:
    if REGRESSED in run.tags:
        return "regressed"
    if run.status in _ENDED_BADLY:
        return "failed"
    if run.status is RunStatus.RUNNING:
        return "running"
    return "good" if GOOD in run.tags else "measured"


def utilisation(runs: Iterable[RunActivity], now: datetime, span: timedelta) -> float:
    """The part of the last ``span`` in which at least one of the runs was under way, 0 to 1."""
    begin = now - span
    intervals = sorted(
        (max(datetime.fromisoformat(run.started), begin), min(_until(run, now), now))
        for run in runs
    )
    used, reached = timedelta(), begin
    for since, until in intervals:
        if until > reached:
            used += until - max(since, reached)
            reached = until
    return used / span


def _until(run: RunActivity, now: datetime) -> datetime:
    """The end of a run; of one that was killed nobody knows it, and it counts as no time."""
    if run.finished is not None:
        return datetime.fromisoformat(run.finished)
    return now if run.status is RunStatus.RUNNING else datetime.fromisoformat(run.started)


routes = both("/lab", lab)
