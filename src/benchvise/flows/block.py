"""A block of boards: open together, measured process by process in turn, with settings or without.

So values of two boards are neighbours in time, and pair up in a comparison.
"""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchvise.board import Board
from benchvise.board.channel import open_channel
from benchvise.board.deploy import remove
from benchvise.errors import BenchviseError, BoardUnreachable, ProbeError, UsageError
from benchvise.flows import settings
from benchvise.flows.boards import (
    NamedBoards,
    Prepared,
    all_failed,
    open_named,
)
from benchvise.flows.request import RunRequest, RunResult, plan_for
from benchvise.flows.session import Observer, Session
from benchvise.flows.settings import Combination
from benchvise.flows.tracing import Tracing
from benchvise.measure.model import RunStatus
from benchvise.measure.runner import Sources, board_registry
from benchvise.rig.hold.together import all_at_once
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.knobs import SettingRequest
from benchvise.state.roles import find_roles

if TYPE_CHECKING:
    from benchvise.rig.hold.connection import EventObserver
    from benchvise.store import Store


@dataclass
class BoardBlock:
    """Boards to be measured in turn; ``ended`` has their runs, and boards that failed before."""

    request: RunRequest
    requests: Sequence[SettingRequest]
    named: NamedBoards
    store: Store
    observe: Observer
    ended: list[RunResult] = field(default_factory=list)
    _sessions: list[Session] = field(default_factory=list)

    @property
    def run_ids(self) -> list[str]:
        """The runs that were begun, in that order."""
        begun = [result.run_id for result in self.ended] + [s.run_id for s in self._sessions]
        return [run_id for run_id in dict.fromkeys(begun) if run_id]

    @property
    def is_begun(self) -> bool:
        """Whether a run of it was."""
        return bool(self.run_ids)

    def measure(self, observe_rig: EventObserver | None) -> None:
        """Opens the boards, measures a run with each combination of settings, and closes them.

        On any error or interruption what was set is put back, and unfinished runs are marked with
        what happened; then it is raised.
        """
        with deferred(), ExitStack() as stack:
            with let_through():
                self._sessions, failed = open_sessions(self.request, self.named, stack, observe_rig)
            self.ended += [RunResult("", name, (), error) for name, error in failed]
            boards = [session.reached for session in self._sessions]
            try:
                with let_through():
                    combinations = settings.combinations(self.requests, boards)
                for combination in combinations:
                    with (
                        settings.applied_to_all(combination, boards) as interventions,
                        let_through(),
                    ):
                        for session, intervention in itertools.zip_longest(
                            self._sessions, interventions
                        ):
                            session.intervention = intervention
                        self._measure_in_turn(combination)
                    self.ended += [
                        RunResult(s.run_id, s.name, tuple(s.failures), s.lost)
                        for s in self._sessions
                    ]
            except KeyboardInterrupt:
                self._end_all(RunStatus.INTERRUPTED, "stopped by the user")
                raise
            except BenchviseError as error:
                self._end_all(RunStatus.FAILED, str(error))
                raise
            self._sessions = []  # of many boards, each keeps what it knows of one

    def fail(self, error: BenchviseError) -> None:
        """Takes an error that ended it for that of each board that has not ended before."""
        begun = {session.name: session for session in self._sessions}
        failed = {result.board for result in self.ended if not result.run_id}
        done = {result.run_id for result in self.ended}
        for name in self.named.names:
            session = begun.get(name)
            if name not in failed and (session is None or not session.run_id):
                self.ended.append(RunResult("", name, (), error))
            elif session is not None and session.run_id not in done:
                self.ended.append(RunResult(session.run_id, name, tuple(session.failures), error))
        self._sessions = []

    def _measure_in_turn(self, combination: Combination) -> None:
        """One run on each board, process by process in turn."""
        request, store, sessions = self.request, self.store, self._sessions
        group = uuid.uuid4().hex[:12] if len(sessions) > 1 else ""
        for session in sessions:
            session.begin(
                store, combination, label=request.label, suite=request.suite_name, group=group
            )
        while not all(session.finished for session in sessions):
            for session in sessions:
                if not session.finished:
                    try:
                        session.advance(store, self.observe)
                    except (BoardUnreachable, ProbeError) as error:
                        # Settings that were made have to be put back, which is the caller's.
                        if len(sessions) == 1 or combination.settings:
                            raise
                        session.end(store, RunStatus.FAILED, str(error))
                        session.finished, session.lost = True, error

    def _end_all(self, status: RunStatus, reason: str) -> None:
        """Marks every unfinished run; a store that fails too must not hide the first error."""
        for session in self._sessions:
            with contextlib.suppress(BenchviseError):  # the next reader sees that nobody measures
                session.end(self.store, status, reason)


def open_sessions(
    request: RunRequest, named: NamedBoards, stack: ExitStack, observe: EventObserver | None
) -> tuple[list[Session], list[tuple[str, BenchviseError]]]:
    """The boards that can be measured, and those that cannot with the reason.

    Raises where none can, and UsageError.
    """
    opened, failed = open_named(
        named, stack, image=request.image, keep_on=request.keep_on, observe=observe
    )
    # All at once, as each has to be sent its probe and asked what it can do. What is opened for a
    # board is the stack's to close from the beginning, also when this is interrupted.
    waiting = [(stack.enter_context(ExitStack()), *pair) for pair in opened]
    sessions = []
    for (own, board, _), session, error in all_at_once(
        waiting, lambda entry: _open_session(request, *entry)
    ):
        if error is None:
            sessions.append(session)
        elif isinstance(error, UsageError):
            raise error
        else:
            failed.append((board.name, error))
            own.close()
            board.close()
    if not sessions:
        raise all_failed(failed)
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
