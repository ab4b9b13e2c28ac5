"""Tables of results before anybody has decided where they are shown.

A ``ColumnSpec`` says once what stands above a column, in which unit its values are and how they are
read from a row; a ``ValueUnit`` how a value of its kind is written for people and called in CSV.
``report.rendering`` makes terminal, Markdown, pages and CSV of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Generic, Literal, TypeVar

from benchvise.quantities import (
    format_change,
    format_clock,
    format_count,
    format_cpus,
    format_range,
    format_size,
    format_value,
)

Tone = Literal["plain", "strong", "muted", "doubt", "good", "bad"]
"""How much a cell of a table wants to be seen."""

RowT = TypeVar("RowT")

_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Bars:
    """Values over time: one a bin of ``width`` ns from ``begin``. ``top`` is the highest bar's."""

    values: Sequence[float]
    top: float
    begin: int
    width: int

    def __str__(self) -> str:
        """One block a value, as high as its part of the top; a space where there is nothing."""
        if self.top <= 0:
            return " " * len(self.values)
        last = len(_BLOCKS) - 1
        return "".join(
            " " if value <= 0 else _BLOCKS[min(last, int(value / self.top * len(_BLOCKS)))]
            for value in self.values
        )


def _format_share(value: float) -> str:
    percent = 100 * value
    return f"{percent:.1f} %" if percent >= 9.95 or value == 0 else f"{percent:.2f} %"


def _of(unit: str, scale: float = 1) -> Callable[[Any], str]:
    return lambda value: format_value(value * scale, unit)


def _between(unit: str, scale: float = 1) -> Callable[[Any], str]:
    return lambda pair: format_range(pair[0] * scale, pair[1] * scale, unit)


class ValueUnit(Enum):
    """What the values of a column are, and how people and CSV get them.

    Each has what the reference pages say of it, how a value is written in tables, what ends its
    name in CSV, and whether it stands left, as text does. Values of a ``…_RANGE`` are pairs, two
    columns in CSV.
    """

    TEXT = "text", str, "", True
    ACTOR = "name of an actor", str, "", True
    STAGE = "text, long", str, "", True
    DRAWING = "drawing; not in CSV", str, "", True
    BARS = "bars; CSV: one column a bin", str, "", True
    """``Bars``: values over time."""
    NUMBER = "number", lambda v: f"{v:.0f}" if isinstance(v, float) else str(v)
    """One that names something: a CPU."""
    VALUE = "number, as it is", lambda v: f"{v:g}" if isinstance(v, float) else str(v)
    """One of which nothing is known but the number, as the least of a field."""
    QUANTITY = "number, with fractions", _of("")
    """A value without a unit, as a mean of counts."""
    COUNT = "count", format_count
    NUMBER_RANGE = "number, interval", _between("")
    NS = "ns", _of("ns"), "_ns"
    NS_EACH = "ns, one a stage", lambda v: " + ".join(map(_of("ns"), v)), "_ns", True
    """Several durations that add up."""
    NS_RANGE = "ns, interval", _between("ns"), "_ns"
    MOMENT = "s of the trace's clock; CSV: ns", format_clock, "_ns"
    """Nanoseconds of the trace's clock."""
    SECONDS = "s", _of("ns", 1e9), "_s"
    SECONDS_RANGE = "s, interval", _between("ns", 1e9), "_s"
    JIFFIES = "jiffies", lambda v: f"{v:g} jiffies", "_jiffies"
    SHARE = "%; CSV: share of one", _format_share
    """A share of one, small ones with two decimals."""
    FINE_SHARE = "%, three decimals; CSV: share of one", lambda v: f"{100 * v:.3f} %"
    """A share that is close to all: 99.981 %."""
    COARSE_SHARE = "%, one decimal; CSV: share of one", lambda v: f"{100 * v:.1f} %", "_share"
    HERTZ = "Hz", _of("Hz"), "_Hz"
    BAUD = "Bd", _of("Bd"), "_Bd"
    DECIBEL = "dB", _of("dB"), "_dB"
    PPM = "ppm", _of("ppm"), "_ppm"
    PER_SECOND = "1/s", _of("")
    """A number of things a second, whose heading says so."""
    EVENTS_PER_SECOND = "events/s", _of("1/s"), "_per_s"
    """The same where only the value can say so."""
    BYTES = "B", _of("B"), "_bytes"
    BYTES_PER_SECOND = "B/s", _of("B/s"), "_bytes_per_s"
    SIZE = "B, in powers of 1024", format_size, "_bytes"
    """Bytes in powers of 1024."""
    CPUS = "list of CPUs", format_cpus
    """Numbers of CPUs."""
    RATIO = "%; CSV: ratio B / A", format_change
    """B / A, shown as a change in percent."""
    RATIO_RANGE = "ratio, interval", lambda v: f"{v[0]:.3f} to {v[1]:.3f}"
    EFFECT = "-1 to 1", lambda v: f"{v:+.2f}"
    """From -1 to 1."""

    def __init__(
        self,
        description: str,
        write: Callable[[Any], str],
        suffix: str = "",
        left: bool = False,
    ) -> None:
        self.description = description
        self.write = write
        self.suffix = suffix
        self.left = left

    @property
    def is_range(self) -> bool:
        """Whether its values are pairs."""
        return self.name.endswith("_RANGE")


@dataclass(frozen=True, slots=True)
class ColumnSpec(Generic[RowT]):
    """One column: what is above it, in which unit, and how its value is read from a row.

    A heading that begins with a line break goes on below the one before: its first line is shared.
    ``key`` is the whole name in CSV (of an interval, before ``_low`` and ``_high``) where heading
    and unit do not make one. ``text`` is what tables show in place of the value in its unit;
    ``otherwise`` is shown where this one has no value. ``detail`` is for those who have room: CSV
    and Markdown.
    """

    heading: str
    unit: ValueUnit
    value: Callable[[RowT], object]
    tone: Tone | Callable[[RowT], Tone] = "plain"
    key: str = ""
    text: Callable[[RowT], str] | None = None
    otherwise: ColumnSpec[RowT] | None = None
    detail: bool = False


@dataclass(frozen=True, slots=True)
class TableSpec(Generic[RowT]):
    """A table with its rows, of which people see the first ``limit``; below it stands what has to
    be said in sentences. ``name`` is for commands that print one of several.
    """

    title: str
    columns: tuple[ColumnSpec[RowT], ...]
    rows: Sequence[RowT]
    remarks: tuple[str, ...] = ()
    limit: int | None = None
    name: str = ""

    def first(self, limit: int, more: str = "more (--json)") -> TableSpec[RowT]:
        """The table cut after ``limit`` rows; a remark says how many ``more`` there are."""
        left_out = len(self.rows) - limit
        remarks = (f"{left_out} {more}",) if left_out > 0 else ()
        return replace(self, limit=limit, remarks=(*self.remarks, *remarks))


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A row of a table with two columns: what it is, and the value as text."""

    name: str
    text: str
    tone: Tone = "plain"


def named_values(
    title: str,
    rows: Sequence[NamedValue],
    remarks: Sequence[str] = (),
    headings: tuple[str, str] = ("", ""),
) -> TableSpec[NamedValue]:
    """A table of single values, one below the other."""
    columns: tuple[ColumnSpec[NamedValue], ...] = (
        ColumnSpec(headings[0], ValueUnit.TEXT, lambda row: row.name),
        ColumnSpec(headings[1], ValueUnit.TEXT, lambda row: row.text, lambda row: row.tone),
    )
    return TableSpec(title, columns, rows, tuple(remarks))
