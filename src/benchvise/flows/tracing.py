"""Recording what boards' kernels do: together with a run, or by itself.

``Tracing`` records from before the first batch of a run until after its last. The probe writes a
line into the trace at the begin and the end of each batch, so that a batch can be found in it:
``benchvise: begin memory.copy batch 3``. ``record`` is ``benchvise trace record``: a board, a
recorder, a file.
"""

from __future__ import annotations

import contextlib
import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.board.deploy import deploy
from benchvise.documents import JsonObject, encode
from benchvise.errors import BenchviseError, Interrupted, UsageError
from benchvise.flows.boards import open_boards
from benchvise.flows.recordings import BoardObserver, record_boards
from benchvise.measure.model import RunRemark
from benchvise.measure.runner import Sources
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
from benchvise.trace.recording_set import RecordingSet

if TYPE_CHECKING:
    from benchvise.rig.hold.connection import EventObserver
    from benchvise.store import Store

ATTACHMENT = "trace"
"""The name under which a run keeps what is known of its trace, and where the file is."""


class Tracing:
    """Records one board while it is measured; ``begin`` and ``end`` once for each run."""

    def __init__(
        self, board: Board, channel: ProbeChannel, sources: Sources, plan: RecordingPlan
    ) -> None:
        if board.kind == "console":
            raise UsageError(
                f"{board.name}: --trace needs a second connection, and a console has but one",
                "give the board a network, or record by itself: benchvise trace record",
            )
        self._board = board
        self._channel = channel
        self._sources = sources
        self._plan = plan
        self._recorder: TraceRecorder | None = None

    def begin(self) -> None:
        """Begins to record. Raises what Recorder raises."""
        place = self._channel.place
        program = deploy(self._board).path if place is None else place[1]
        self._recorder = TraceRecorder(self._board, program, self._plan)
        self._sources.mark_batches(self._recorder.marker)

    def mark(self, text: str) -> None:
        """Puts a line into the trace."""
        if self._recorder is not None:
            self._recorder.mark(f"benchvise: {text}")

    def end(self, store: Store, run_id: str) -> list[RunRemark]:
        """Ends the recording and keeps it with the run.

        Returns what is to be known with the results. That a trace cannot be had is no reason to
        lose a measurement.
        """
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return []
        self._sources.mark_batches("")
        try:
            with recorder:
                recorder.stop()
                recorded = recorder.fetch(store.trace_file(run_id))
            store.attach(run_id, ATTACHMENT, json.dumps(encode(recorded)).encode())
        except BenchviseError as error:
            return [RunRemark("traced", f"tracing was on, and the trace was lost: {error.message}")]
        return [RunRemark("traced", _sentence(recorded))]

    def drop(self) -> None:
        """Ends a recording that nobody wants any more."""
        if self._recorder is not None:
            with contextlib.suppress(BenchviseError):
                self._recorder.close()


def recording_summary(recorded: Recorded) -> str:
    """Events, time, and losses, in one sentence."""
    lost = f"{recorded.lost} events lost" if recorded.lost else "no event lost"
    return f"{recorded.events} events in {recorded.seconds:.2f} s, {lost}"


def _sentence(recorded: Recorded) -> str:
    early = {
        "size": "; it ended early, as its size was at its limit",
        "memory": "; it ended early, as the board had no more memory for it",
        "signal": "; it ended early, as somebody ended the recorder",
    }
    return (
        "tracing was on: every event takes time where it happens, so that these results are not "
        f"those of a run without --trace ({recording_summary(recorded)}"
        f"{early.get(recorded.reason, '')})"
    )


def recorded_trace(content: bytes) -> JsonObject:
    """What a run keeps of its trace; as ``Recorded`` is written."""
    data = json.loads(content)
    return data if isinstance(data, dict) else {}


# -- a recording by itself -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordRequest:
    """What is to be recorded where. ``lttng``: by the board's LTTng, into a directory.

    Of several boards (``others``, or a name that stands for several), ``output`` is a directory.
    """

    board: str
    plan: RecordingPlan
    output: Path
    others: tuple[str, ...] = ()
    lttng: bool = False
    rig: str | None = None
    keep_on: bool = False


def record(
    request: RecordRequest,
    observe: BoardObserver | None = None,
    observe_rig: EventObserver | None = None,
) -> Recorded | RecordingSet:
    """Records and fetches. Ctrl-C ends the recording early and keeps what was recorded.

    Raises Interrupted after that, when it was to last for a time or a command; without either,
    Ctrl-C is how it ends.
    """
    into_directory = request.lttng or bool(request.others)
    (check_new_directory if into_directory else check_output_file)(request.output, "the trace")
    tell: BoardObserver = observe or (lambda _board, _kind, _line: None)
    with deferred(), ExitStack() as stack:
        with let_through():
            opened, failed = open_boards(
                [request.board, *request.others],
                stack,
                rig_file=request.rig,
                keep_on=request.keep_on,
                measures=False,  # what is measured here may be what is recorded
                observe=observe_rig,
            )
        boards = [board for board, _ in opened]
        if request.others or len(boards) + len(failed) > 1:
            if failed:
                raise failed[0][1]
            if request.lttng:
                raise UsageError("LTTng records one board", "leave --tracer out")
            return record_boards(boards, request.plan, request.output, tell)
        board = boards[0]

        def observe_one(kind: str, line: object) -> None:
            tell(board.name, kind, line)

        if request.lttng:
            return _by_lttng(board, request, observe_one)
        if board.kind == "console":
            return _over_console(board, request)
        return _by_probe(board, request, observe_one)


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
    size = request.plan.size or str(CONSOLE_BYTES)
    small = replace(request.plan, size=size, kallsyms=False)
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
