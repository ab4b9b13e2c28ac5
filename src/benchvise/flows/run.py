"""``benchvise run``: measure boards and keep what was measured.

Several boards are measured in turn, one process each, so that their values are neighbours in
time and can be compared in pairs.
"""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchvise.board import Board
from benchvise.board.channel import open_channel
from benchvise.board.deploy import remove
from benchvise.errors import (
    BenchviseError,
    BoardUnreachable,
    Interrupted,
    ProbeError,
    UsageError,
)
from benchvise.flows import settings
from benchvise.flows.boards import Prepared, open_boards
from benchvise.flows.session import Observer, Session
from benchvise.flows.settings import Combination
from benchvise.flows.tracing import Tracing
from benchvise.measure.model import RunStatus
from benchvise.measure.plan import PROCESSES, Plan, make_plan
from benchvise.measure.registry import Registry
from benchvise.measure.runner import Sources, board_registry
from benchvise.measure.suite import SuiteEntry, load_suite, parse_bench, parse_params
from benchvise.rig.environment import is_rig
from benchvise.rig.hold.client import all_at_once
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.knobs import parse_setting_requests
from benchvise.state.roles import find_roles
from benchvise.trace.recording import RecordingPlan

if TYPE_CHECKING:
    from benchvise.rig.hold.client import EventObserver
    from benchvise.store import Store


@dataclass(frozen=True, slots=True)
class UserCommand:
    """A command of the user's to be measured on the boards.

    Its time, or with ``match``, a regular expression, the number that it prints.
    """

    line: str
    match: str | None = None
    better: str | None = None
    unit: str | None = None

    def entry(self) -> SuiteEntry:
        """The benchmark that measures it."""
        if self.match is None:
            if self.better or self.unit:
                raise UsageError("--better and --unit describe a number", "give a --match for it")
            return SuiteEntry("command.time", {"run": (self.line,)})
        if not self.better:
            raise UsageError("--match finds a number", "say which is --better: higher or lower")
        params = {"run": self.line, "match": self.match, "better": self.better, "unit": self.unit}
        return SuiteEntry(
            "command.output", {name: (text,) for name, text in params.items() if text}
        )


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the user asks for, not yet checked against any probe.

    ``rig`` is the rig file, ``image`` what is written to the cards of its boards first;
    ``keep_on`` leaves them switched on. With ``trace``, what the kernels do meanwhile is recorded.
    """

    boards: tuple[str, ...] = ("local",)
    suite: str | None = None
    benches: tuple[str, ...] = ()
    command: UserCommand | None = None
    params: tuple[str, ...] = ()
    label: str = ""
    processes: int = PROCESSES
    batches: int | None = None
    seed: int | None = None
    time_s: float | None = None
    remove_probe: bool = False
    settings: tuple[str, ...] = ()
    snapshots: bool = True
    rig: str | None = None
    image: str | None = None
    keep_on: bool = False
    trace: RecordingPlan | None = None

    def entries(self) -> list[SuiteEntry]:
        """The benchmarks asked for; the quick suite when none is."""
        entries = [parse_bench(text) for text in self.benches]
        if self.command is not None:
            entries.append(self.command.entry())
        if self.suite or not entries:
            entries = [*load_suite(self.suite or "quick").entries, *entries]
        return entries

    def entries_for(self, registry: Registry) -> list[SuiteEntry]:
        """The same with ``params`` set where they belong; UsageError for one that no series has."""
        params = parse_params(self.params)
        entries = self.entries()
        names = {name for entry in entries for name in registry.parameter_names(entry.benchmark)}
        for name in params:
            if name not in names:
                raise UsageError(
                    f"--param {name}: nothing that is to be measured has that parameter",
                    "see `benchvise bench show` of what the suite measures",
                )
        return [entry.with_params(params, registry) for entry in entries]

    @property
    def suite_name(self) -> str:
        """The suite's name as kept with the run; empty for single benchmarks."""
        return self.suite or ("" if self.benches or self.command else "quick")


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run as it ended; ``failures`` has a line for each series that failed.

    ``error`` is why the board could not be measured, or not to the end, while others could;
    ``run_id`` is empty when it did not come to a run.
    """

    run_id: str
    board: str
    failures: tuple[str, ...]
    error: BenchviseError | None = None


def plan_for(request: RunRequest, registry: Registry) -> Plan:
    """The plan of a request, checked against what the board's probe offers."""
    entries = request.entries_for(registry)
    specs = [spec for entry in entries for spec in entry.specs(registry)]
    return make_plan(
        specs,
        seed=request.seed,
        processes=request.processes,
        batches=request.batches,
        time_s=request.time_s,
    )


def plan_only(request: RunRequest) -> list[tuple[str, Plan, Combination]]:
    """What ``run`` would do on each board, with each setting, without measuring or setting."""
    requests = parse_setting_requests(request.settings)
    with ExitStack() as stack:
        sessions, _ = _open_all(request, stack, None)
        return [
            (session.name, session.plan, combination)
            for combination in settings.combinations(requests, [s.reached for s in sessions])
            for session in sessions
        ]


def run(
    request: RunRequest,
    store: Store,
    observe: Observer,
    observe_rig: EventObserver | None = None,
) -> list[RunResult]:
    """Measures every board of the request; returns the runs in the boards' order.

    Boards of a rig are brought to their shells first, all at once; one that fails there, or is
    lost while others are measured, fails alone.

    With settings, there is a run for each combination of them. Each sample is stored before its
    board goes on. On any error, Ctrl-C or SIGTERM what was set is put back, the runs are marked
    with what happened and everything measured is kept.
    """
    requests = parse_setting_requests(request.settings)
    ended: list[RunResult] = []
    with deferred(), ExitStack() as stack:
        with let_through():
            sessions, failed = _open_all(request, stack, observe_rig)
        boards = [session.reached for session in sessions]
        try:
            with let_through():
                combinations = settings.combinations(requests, boards)
            for combination in combinations:
                with settings.applied_to_all(combination, boards) as interventions, let_through():
                    for session, intervention in itertools.zip_longest(sessions, interventions):
                        session.intervention = intervention
                    _measure_in_turn(sessions, request, combination, store, observe)
                ended += [RunResult(s.run_id, s.name, tuple(s.failures), s.lost) for s in sessions]
            with let_through():
                return ended + [RunResult("", name, (), error) for name, error in failed]
        except KeyboardInterrupt:
            _end_all(sessions, store, RunStatus.INTERRUPTED, "stopped by the user")
            raise _interrupted(ended, sessions, put_back=bool(requests)) from None
        except BenchviseError as error:
            _end_all(sessions, store, RunStatus.FAILED, str(error))
            raise


def _measure_in_turn(
    sessions: Sequence[Session],
    request: RunRequest,
    combination: Combination,
    store: Store,
    observe: Observer,
) -> None:
    """One run on each board, process by process in turn."""
    group = uuid.uuid4().hex[:12] if len(sessions) > 1 else ""
    for session in sessions:
        session.begin(
            store, combination, label=request.label, suite=request.suite_name, group=group
        )
    while not all(session.finished for session in sessions):
        for session in sessions:
            if not session.finished:
                try:
                    session.advance(store, observe)
                except (BoardUnreachable, ProbeError) as error:
                    # Settings that were made have to be put back, which is the caller's.
                    if len(sessions) == 1 or combination.settings:
                        raise
                    session.end(store, RunStatus.FAILED, str(error))
                    session.finished, session.lost = True, error


def _interrupted(
    ended: Sequence[RunResult], sessions: Sequence[Session], *, put_back: bool
) -> Interrupted:
    runs = dict.fromkeys([r.run_id for r in ended] + [s.run_id for s in sessions if s.run_id])
    listed = ", ".join(runs)
    restored = "; the settings are as they were before" if put_back else ""
    if not runs:
        return Interrupted(f"interrupted before anything was measured{restored}")
    return Interrupted(
        f"interrupted; what was measured is kept in run {listed}{restored}",
        f"benchvise show {next(reversed(runs))}",
    )


def _open_all(
    request: RunRequest, stack: ExitStack, observe: EventObserver | None
) -> tuple[list[Session], list[tuple[str, BenchviseError]]]:
    """The boards that can be measured, and those that cannot with the reason."""
    opened, failed = open_boards(
        request.boards,
        stack,
        rig_file=request.rig,
        image=request.image,
        keep_on=request.keep_on,
        observe=observe,
    )
    # All at once, as each has to be sent its probe and asked what it can do. What is opened for a
    # board is the stack's to close from the beginning, also when this is interrupted.
    waiting = [(stack.enter_context(ExitStack()), *pair) for pair in opened]
    sessions = []
    for (own, board, _), session, error in all_at_once(
        waiting, lambda one: _open_session(request, *one)
    ):
        if error is None:
            sessions.append(session)
        elif is_rig(board.name) and len(opened) > 1 and not isinstance(error, UsageError):
            failed.append((board.name, error))
            own.close()
            board.close()
        else:
            raise error
    if not sessions:
        raise failed[0][1]
    return sessions, failed


def _open_session(request: RunRequest, own: ExitStack, board: Board, prepared: Prepared) -> Session:
    """Everything that is needed to measure the board; ``own`` closes it."""
    if request.remove_probe:
        own.callback(remove, board)
    channel = own.enter_context(open_channel(board))
    registry = board_registry(channel)
    sources = own.enter_context(Sources(board, channel))
    plan = plan_for(request, registry)
    session = Session(
        board.name, board, channel, registry, sources, plan, request.snapshots, prepared
    )
    if request.trace is not None:
        session.tracing = Tracing(board, channel, sources, request.trace)
        own.callback(session.tracing.drop)
    if request.settings:
        session.roles = find_roles(channel).roles
    return session


def _end_all(sessions: Sequence[Session], store: Store, status: RunStatus, reason: str) -> None:
    """Marks every unfinished run; a store that fails now too must not hide the first error."""
    for session in sessions:
        with contextlib.suppress(BenchviseError):  # the next reader sees that its process is gone
            session.end(store, status, reason)
