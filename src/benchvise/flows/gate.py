"""``benchvise gate``: the new state of a board beside an old one, measured until it is decided.

Behind a stored run, the new state is measured as that run was. Behind a command that installs the
old state, both are measured in turn on the same board: each round installs one, measures every
series once, installs the other, and measures again; which comes first is drawn. Only series that
are undecided are measured again.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.board import Board
from benchvise.board.channel import open_channel
from benchvise.errors import BenchviseError, Interrupted, MeasurementError, UsageError
from benchvise.flows.boards import open_boards
from benchvise.flows.request import RunRequest, plan_for
from benchvise.flows.session import Observer, Session
from benchvise.flows.settings import Combination
from benchvise.measure.gate import Gate, judge_gate, with_more
from benchvise.measure.model import RunRecord, RunStatus, SeriesStatus
from benchvise.measure.plan import Plan, make_plan
from benchvise.measure.registry import Registry
from benchvise.measure.runner import Event, ProcessEnded, SeriesEnded, Sources, board_registry
from benchvise.state.interrupts import deferred, let_through
from benchvise.text import last_line, printable

if TYPE_CHECKING:
    from benchvise.store import Store

SUFFIX = ".bvz"
"""What a results file ends with."""

INSTALL_SECONDS = 3600.0
"""Time for a command that installs a side."""


@dataclass(frozen=True, slots=True)
class GateRequest:
    """What the user asks for.

    ``baseline`` names a run or a results file with one, or, with ``install``, is the command that
    installs the old state on the board; ``install`` installs the new one. Nothing to be measured in
    ``run`` means the series of the baseline. ``retries`` is how often what is undecided is measured
    again.
    """

    baseline: str
    run: RunRequest
    threshold: float
    install: str | None = None
    retries: int = 0


@dataclass(frozen=True, slots=True)
class GateResult:
    """The gate, the board, and in how many passes it was measured; ``runs`` are in the store."""

    gate: Gate
    board: str
    passes: int
    runs: tuple[str, ...]


@dataclass
class _Side:
    """One state of the board: what installs it, and what was measured of it so far."""

    label: str
    install: str
    record: RunRecord | None = None
    runs: list[str] = field(default_factory=list)

    def add(self, record: RunRecord) -> None:
        """Takes what a further pass measured."""
        self.record = record if self.record is None else with_more(self.record, record)
        self.runs.append(record.id)


def gate(request: GateRequest, store: Store, observe: Observer) -> GateResult:
    """Measures and judges; what is undecided again and again, as often as the request says.

    Raises UsageError for a baseline that is no run, MeasurementError where a side cannot be
    installed, and what measuring raises. The runs are kept in the store.
    """
    (board_name,) = request.run.boards
    base = None if request.install is not None else _baseline(request.baseline, store)
    new = _Side(request.run.label or "gate-new", request.install or "")
    old = _Side("gate-base", request.baseline if request.install is not None else "")
    with deferred(), ExitStack() as stack, let_through():
        ((board, prepared),), _ = open_boards([board_name], stack, rig_file=request.run.rig)
        channel = stack.enter_context(open_channel(board))
        registry = board_registry(channel)
        sources = stack.enter_context(Sources(board, channel))
        plan = _plan(request, base, registry)
        sides = [new] if base is not None else [old, new]
        while True:
            sessions = [
                Session(
                    board.name,
                    board,
                    channel,
                    registry,
                    sources,
                    plan,
                    snapshots=request.run.snapshots,
                    prepared=prepared,
                )
                for _ in sides
            ]
            _measure(board, sides, sessions, store, observe)
            for side, session in zip(sides, sessions, strict=True):
                side.add(store.load(session.run_id))
            judged = _judged(base, old, new, request.threshold)
            again = [spec for spec in plan.series if spec.canonical in judged.undecided()]
            passes = len(new.runs)
            if not again or passes > request.retries:
                return GateResult(judged, board_name, passes, (*old.runs, *new.runs))
            plan = replace(plan, series=tuple(again), seed=plan.seed + 1)


def _baseline(reference: str, store: Store) -> RunRecord:
    """The run that a baseline names: one of the store, or the only one of a results file."""
    path = Path(reference)
    if path.suffix != SUFFIX:
        run = store.load(reference)
        store.protect_baseline(run.id)
        return run
    from benchvise.store.results_file import read_results

    try:
        with path.open("rb") as file:
            runs = read_results(file, reference).runs
    except OSError as error:
        raise UsageError(
            f"{reference} cannot be read ({error.strerror})", "check its name and permissions"
        ) from error
    if len(runs) != 1:
        raise UsageError(
            f"{reference} has {len(runs)} runs, and a baseline is one",
            "export one run, or `benchvise import` the file and name one",
        )
    return runs[0].run


def _judged(base: RunRecord | None, old: _Side, new: _Side, threshold: float) -> Gate:
    """The gate, with what was measured in turn in pairs."""
    other = new.record
    if base is None:
        base = old.record
        pair = {"group": "gate"}
        assert base is not None and other is not None  # noqa: S101 - each has been measured
        base, other = replace(base, plan=pair), replace(other, plan=pair)
    assert other is not None  # noqa: S101 - it has been measured
    return judge_gate(base, other, threshold)


def _plan(request: GateRequest, base: RunRecord | None, registry: Registry) -> Plan:
    """What is measured: what was asked for, else what the baseline has."""
    run = request.run
    if base is None or run.suite or run.benches or run.command:
        return plan_for(run, registry)
    specs = [series.spec for series in base.series if series.status is SeriesStatus.MEASURED]
    if not specs:
        raise UsageError(
            f"the baseline {request.baseline} has no series that was measured",
            "name another run, or what to measure: --suite quick",
        )
    return make_plan(
        specs,
        seed=run.seed,
        processes=run.processes,
        batches=run.batches,
        time_s=run.time_s,
    )


def _measure(
    board: Board,
    sides: Sequence[_Side],
    sessions: Sequence[Session],
    store: Store,
    observe: Observer,
) -> None:
    """One run of each side, round by round in turn."""
    group = uuid.uuid4().hex[:12] if len(sides) > 1 else ""
    chance = random.Random(sessions[0].plan.seed)  # noqa: S311 - an order, no secret
    pairs = list(zip(sides, sessions, strict=True))
    try:
        for side, session in pairs:
            _install(board, side)
            session.begin(store, Combination(), label=side.label, suite="", group=group)
        rounds = [_Rounds(session, store, observe) for session in sessions]
        while not all(session.finished for session in sessions):
            order = list(range(len(pairs)))
            chance.shuffle(order)
            for position in order:
                if len(pairs) > 1:
                    _install(board, sides[position])
                rounds[position].measure_round()
    except KeyboardInterrupt:
        _end(sessions, store, RunStatus.INTERRUPTED, "stopped by the user")
        kept = ", ".join(session.run_id for session in sessions if session.run_id)
        raise Interrupted(
            f"interrupted; the board has the state that was installed last; kept in run {kept}"
            if sides[0].install
            else f"interrupted; what was measured is kept in run {kept}"
        ) from None
    except BenchviseError as error:
        _end(sessions, store, RunStatus.FAILED, str(error))
        raise


def _end(sessions: Sequence[Session], store: Store, status: RunStatus, reason: str) -> None:
    for session in sessions:
        session.end(store, status, reason)


class _Rounds:
    """Lets a session measure each of its series once at a time."""

    def __init__(self, session: Session, store: Store, observe: Observer) -> None:
        self._session, self._store, self._observe = session, store, observe
        self._done: set[int] = set()
        self._ended: set[int] = set()

    def measure_round(self) -> None:
        """One process of every series that has not ended; the session's end after the last."""
        series = set(range(len(self._session.plan.series)))
        self._done.clear()
        while not self._session.finished and not series <= self._done | self._ended:
            self._session.advance(self._store, self._see)

    def _see(self, board: str, plan: Plan, event: Event) -> None:
        if isinstance(event, ProcessEnded):
            self._done.add(event.position)
        elif isinstance(event, SeriesEnded):
            self._ended.add(event.position)
        self._observe(board, plan, event)


def _install(board: Board, side: _Side) -> None:
    """Brings the board to a side; MeasurementError when that fails."""
    if not side.install:
        return
    command = ["sh", "-c", 'exec sh -c "$1" >/dev/null', "sh", side.install]
    done = board.run(command, timeout=INSTALL_SECONDS)
    if done.returncode:
        message = last_line(done.stderr)
        raise MeasurementError(
            f"'{printable(side.install, 80)}' failed on {board.name} (exit {done.returncode})"
            + (f": {message}" if message else ""),
            "run it by hand there",
        )
