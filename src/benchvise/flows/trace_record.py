"""``benchvise trace record``: a board, a recorder, a file."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.board import Board
from benchvise.board.deploy import deploy
from benchvise.errors import Interrupted
from benchvise.flows.boards import open_boards
from benchvise.output_files import check_new_directory, check_output_file
from benchvise.state.interrupts import deferred, let_through
from benchvise.trace.lttng import LttngSession
from benchvise.trace.recording import (
    CONSOLE_BYTES,
    Observer,
    Recorded,
    RecordingPlan,
    TraceRecorder,
    record_over_console,
)

if TYPE_CHECKING:
    from benchvise.rig.hold.client import EventObserver


@dataclass(frozen=True, slots=True)
class RecordRequest:
    """What is to be recorded where. ``lttng``: by the board's LTTng, into a directory."""

    board: str
    plan: RecordingPlan
    output: Path
    lttng: bool = False
    rig: str | None = None
    keep_on: bool = False


def record(
    request: RecordRequest,
    observe: Observer | None = None,
    observe_rig: EventObserver | None = None,
) -> Recorded:
    """Records and fetches. Ctrl-C ends the recording early and keeps what was recorded.

    Raises Interrupted after that, when it was to last for a time or a command; without either,
    Ctrl-C is how it ends.
    """
    (check_new_directory if request.lttng else check_output_file)(request.output, "the trace")
    with deferred(), ExitStack() as stack:
        with let_through():
            opened, _ = open_boards(
                [request.board],
                stack,
                rig_file=request.rig,
                keep_on=request.keep_on,
                observe=observe_rig,
            )
        board = opened[0][0]
        if request.lttng:
            return _by_lttng(board, request, observe)
        if board.kind == "console":
            return _over_console(board, request)
        return _by_probe(board, request, observe)


def _by_probe(board: Board, request: RecordRequest, observe: Observer | None) -> Recorded:
    early = False
    with ExitStack() as stack:
        with let_through():
            program = deploy(board).path
        recorder = stack.enter_context(TraceRecorder(board, program, request.plan, observe))
        try:
            with let_through():
                recorder.wait()
        except KeyboardInterrupt:
            early = True
            recorder.stop()
        with let_through():  # which may take long: a second Ctrl-C gives it up
            recorded = recorder.fetch(request.output)
    if early and (request.plan.seconds is not None or request.plan.command):
        raise _interrupted(recorded)
    return recorded


def _over_console(board: Board, request: RecordRequest) -> Recorded:
    plan = request.plan
    small = RecordingPlan(
        plan.events, plan.seconds, plan.command, plan.clock, plan.buffer_kb,
        plan.size or str(CONSOLE_BYTES), kallsyms=False, wall_time=plan.wall_time,
    )  # fmt: skip
    with let_through():
        return record_over_console(board, deploy(board).path, small, request.output)


def _by_lttng(board: Board, request: RecordRequest, observe: Observer | None) -> Recorded:
    early = False
    with LttngSession(board, request.plan, observe) as session:
        with contextlib.suppress(KeyboardInterrupt):
            early = True
            with let_through():
                session.run()
            early = False
        with let_through():
            recorded = session.fetch(request.output)
    if early and (request.plan.seconds is not None or request.plan.command):
        raise _interrupted(recorded)
    return recorded


def _interrupted(recorded: Recorded) -> Interrupted:
    return Interrupted(
        f"interrupted after {recorded.seconds:.1f} s; what was recorded until then is kept in "
        f"{recorded.path}",
        f"benchvise trace info {recorded.path}",
    )
