"""The trace of a run: recorded from before its first batch until after its last.

The probe writes a line into the trace at the begin and the end of each batch, so that a batch can
be found in it: ``benchvise: begin memory.copy batch 3``.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.board.deploy import deploy
from benchvise.documents import encode
from benchvise.errors import BenchviseError, UsageError
from benchvise.measure.model import RunRemark
from benchvise.measure.runner import Sources
from benchvise.report.recording import summary
from benchvise.store import Store
from benchvise.trace.recording import Recorded, RecordingPlan, TraceRecorder

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


def _sentence(recorded: Recorded) -> str:
    early = {
        "size": "; it ended early, as its size was at its limit",
        "memory": "; it ended early, as the board had no more memory for it",
        "signal": "; it ended early, as somebody ended the recorder",
    }
    return (
        "tracing was on: every event takes time where it happens, so that these results are not "
        f"those of a run without --trace ({summary(recorded)}"
        f"{early.get(recorded.reason, '')})"
    )


def described(content: bytes) -> dict[str, Any]:
    """What a run keeps of its trace; as ``Recorded`` is written."""
    data = json.loads(content)
    return data if isinstance(data, dict) else {}
