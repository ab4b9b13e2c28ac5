"""What an insight is, and what its finders share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchvise.measure.model import RunRecord, SeriesRecord
from benchvise.measure.validity import quantity, summarise
from benchvise.quantities import size_or_none

UNSTABLE = "unstable"


@dataclass(frozen=True, slots=True)
class Insight:
    """A finding: ``sentence`` with its values, and the table behind it, which may be empty.

    Every row has as many cells as there are ``columns``. Texts may hold what a board or a user
    wrote, and are to be cleaned before they are shown.
    """

    title: str
    sentence: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """A measured series: its parameters, and its median if one number may stand for it.

    ``low`` and ``high`` are its smallest and largest samples.
    """

    series: SeriesRecord
    params: Mapping[str, str]
    median: float
    low: float
    high: float
    stable: bool

    @property
    def text(self) -> str:
        """The median with its unit, or that there is none."""
        return quantity(self.median, self.series.unit) if self.stable else UNSTABLE

    def size(self, name: str) -> int:
        """A parameter that is a size, in bytes; 0 when it is none."""
        return size_or_none(self.params.get(name, "")) or 0

    def others(self, *names: str) -> tuple[tuple[str, str], ...]:
        """All parameters but these: what series have in common that differ in these only."""
        return tuple(item for item in self.series.spec.params if item[0] not in names)


def points(run: RunRecord, benchmark: str) -> list[SeriesPoint]:
    """The measured series of a benchmark, in the run's order."""
    measured = []
    for series in run.series:
        if series.spec.benchmark != benchmark or not series.values:
            continue
        if not all(math.isfinite(value) for values in series.values for value in values):
            continue
        summary = summarise(series)
        measured.append(
            SeriesPoint(
                series,
                dict(series.spec.params),
                median=summary.median,
                low=summary.minimum,
                high=summary.maximum,
                stable=summary.stable and summary.median > 0,
            )
        )
    return measured


def differing(members: Iterable[SeriesPoint], *names: str) -> list[str]:
    """Which parameters, besides these, are not the same in all of them."""
    alike = list(members)
    return [
        name
        for name in (alike[0].params if alike else ())
        if name not in names and len({point.params.get(name) for point in alike}) > 1
    ]


def named(point: SeriesPoint, names: Iterable[str]) -> str:
    """``size=64M, order=local``: the values of some of its parameters."""
    return ", ".join(f"{name}={point.params[name]}" for name in names if name in point.params)


def times(ratio: float) -> str:
    """``1.52``, ``37.1`` or ``20500``: a ratio for a sentence, three digits of it."""
    return f"{float(f'{ratio:.3g}'):.0f}" if ratio >= 100 else f"{ratio:.3g}"


def change(ratio: float) -> str:
    """``-21 %``: by how much a ratio differs from one."""
    percent = (ratio - 1) * 100
    text = f"{percent:+.0f}" if abs(percent) >= 9.95 else f"{percent:+.1f}"
    return f"{text} %"
