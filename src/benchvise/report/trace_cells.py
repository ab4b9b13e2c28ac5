"""Cells that the tables of traces share: durations, moments, distributions, bars."""

from __future__ import annotations

from collections.abc import Sequence

from benchvise.quantities import ABSENT, format_range, format_value
from benchvise.report.tables import Cell
from benchvise.report.text import clean
from benchvise.trace.analysis.figures import Bounds, Distribution

_BLOCKS = "▁▂▃▄▅▆▇█"
NOTHING = Cell(ABSENT, "muted")


def stamp(time: int | None) -> str:
    """A moment as ``trace-cmd report -t`` writes it: seconds with nine digits."""
    if time is None:
        return ABSENT
    seconds, rest = divmod(time, 1_000_000_000)
    return f"{seconds}.{rest:09d}"


def moment(time: int | None) -> Cell:
    """A moment that a reader may look for in the trace."""
    return Cell(stamp(time), "muted" if time is None else "plain")


def duration(value: float | None) -> Cell:
    """Nanoseconds in a handy unit."""
    return NOTHING if value is None else Cell(format_value(value, "ns"))


def figure(found: Distribution | None, name: str, *, strong: bool = False) -> Cell:
    """One number of a distribution of durations."""
    if found is None:
        return NOTHING
    return Cell(format_value(getattr(found, name), "ns"), "strong" if strong else "plain")


def interval(found: Bounds | None) -> Cell:
    """A 95 % interval, when there is one."""
    return NOTHING if found is None else Cell(format_range(found.low, found.high, "ns"), "muted")


def spread(found: Distribution | None) -> tuple[Cell, ...]:
    """Median, its interval, p95, p99, maximum and mean of durations."""
    return (
        figure(found, "median", strong=True),
        interval(found.interval if found else None),
        figure(found, "p95"),
        figure(found, "p99"),
        figure(found, "maximum"),
        figure(found, "mean"),
    )


SPREAD = ("Median", "95 % interval", "p95", "p99", "Max", "Mean")


def count(value: int) -> Cell:
    """A number of things; none is muted."""
    return Cell(f"{value:,}".replace(",", " "), "plain" if value else "muted")


def share(value: float) -> Cell:
    """A share of one, in percent with a digit or two behind the point."""
    percent = 100 * value
    text = f"{percent:.1f} %" if percent >= 9.95 or value == 0 else f"{percent:.2f} %"
    return Cell(text, "plain" if value else "muted")


def bars(values: Sequence[float], top: float) -> str:
    """One block a value, as high as its part of ``top``; a space where there is nothing."""
    if top <= 0:
        return " " * len(values)
    last = len(_BLOCKS) - 1
    return "".join(
        " " if value <= 0 else _BLOCKS[min(last, int(value / top * len(_BLOCKS)))]
        for value in values
    )


def name(text: str) -> Cell:
    """The name of an actor."""
    return Cell(clean(text, 60))
