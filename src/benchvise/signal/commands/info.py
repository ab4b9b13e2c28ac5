"""``benchvise signal info``: what a capture holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchvise.command import CommandRecord
from benchvise.quantities import format_value
from benchvise.signal.commands.options import CaptureOptions, format_seconds
from benchvise.table import ColumnSpec, NamedValue, TableSpec, ValueUnit, named_values

if TYPE_CHECKING:
    from benchvise.signal.capture import CaptureSummary, LineSummary

LINE_COLUMNS: tuple[ColumnSpec[LineSummary], ...] = (
    ColumnSpec(
        "Line",
        ValueUnit.TEXT,
        lambda line: line.name,
        lambda line: "strong" if line.edges else "muted",
    ),
    ColumnSpec("Edges", ValueUnit.COUNT, lambda line: line.edges),
    ColumnSpec("First edge", ValueUnit.SECONDS, lambda line: line.first_edge),
    ColumnSpec("Shortest level", ValueUnit.SECONDS, lambda line: line.shortest_level),
    ColumnSpec("Rate", ValueUnit.HERTZ, lambda line: line.rate),
    ColumnSpec("High", ValueUnit.COARSE_SHARE, lambda line: line.high),
)


def run(options: CaptureOptions) -> CaptureSummary:
    """Summary of a capture."""
    from benchvise.signal.capture import summarise

    return summarise(options.open())


def tables(capture: CaptureSummary) -> list[TableSpec[Any]]:
    """The file, and each of its lines."""
    counted = "samples a second" if capture.sampled else "ticks a second, by events"
    return [
        named_values(
            Path(capture.path).name,
            (
                NamedValue("format", capture.form),
                NamedValue("length", format_seconds(capture.seconds)),
                NamedValue("clock", f"{format_value(capture.rate, 'Hz')} {counted}"),
                NamedValue("error of an interval", f"up to {format_seconds(capture.resolution)}"),
            ),
        ),
        TableSpec("Lines", LINE_COLUMNS, capture.lines, capture.notes),
    ]


INFO = CommandRecord(
    name="info",
    kind="signal-info",
    summary="Show what a capture holds: its lines, their edges, the clock.",
    example="benchvise signal info capture.sr",
    options=CaptureOptions,
    run=run,
    document=lambda capture: capture,
    tables=lambda capture, _options: tables(capture),
    columns=LINE_COLUMNS,
    rows=lambda capture: capture.lines,
)
