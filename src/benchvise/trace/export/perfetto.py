"""Perfetto's native protobuf, so that its viewer shows tasks, interrupts and softirqs on tracks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchvise.trace.opening import OpenTrace


@dataclass(frozen=True, slots=True)
class PerfettoWritten:
    """``generic`` events are those without a message of their own; they keep name and fields.

    ``left_out`` are events without a CPU, which Perfetto cannot place.
    """

    events: int
    generic: int
    left_out: int


def write_perfetto(trace: OpenTrace, path: Path) -> PerfettoWritten:
    """Writes all events of a trace. Times become those of the boot clock, Perfetto's default.

    Raises:
        OSError: the file cannot be written.
    """
    return PerfettoWritten(*trace.decoded().export_perfetto(trace.analysis["actors"], path))
