"""Bars: what is not a curve over anything, the runs next to each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchvise.report.data import RunData, SeriesData
from benchvise.report.grids import BENCHMARK as GRID

_Group: TypeAlias = tuple[str, str, str]  # benchmark, unit and direction

_MOST_ROWS = 24
"""Of one chart; the others are in the tables."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A series of one run. ``best`` is its best batch; ``style`` chooses the colour."""

    style: int
    run: str
    median: float
    low: float
    high: float
    best: float
    stable: bool
    caveat: bool
    n: int


@dataclass(frozen=True, slots=True)
class BarRow:
    """The same series in all runs that measured it."""

    name: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class BarFigure:
    """The series of one benchmark on one axis, which begins at zero.

    ``counted`` is empty where they do not all count the same.
    ``left_out`` says how many series are not drawn.
    """

    id: str
    title: str
    unit: str
    better: str
    counted: str
    simulated: bool
    rows: tuple[BarRow, ...]
    left_out: int

    @property
    def several(self) -> bool:
        """Whether a row has several bars."""
        return any(len(row.bars) > 1 for row in self.rows)


def bar_figures(runs: Sequence[RunData], drawn: Collection[str] = ()) -> tuple[BarFigure, ...]:
    """One chart a benchmark, but for those that are ``drawn`` in another way.

    Of several runs, what at least two of them measured; of a single one, benchmarks of at least
    two series, as there is nothing to compare within one.
    """
    rows: defaultdict[_Group, dict[tuple[str, str], list[Bar]]] = defaultdict(dict)
    first: dict[_Group, SeriesData] = {}
    for style, run in enumerate(runs):
        for series in run.series:
            if series.summary is None or series.benchmark in drawn or series.benchmark == GRID:
                continue
            if series.summary.minimum <= 0:  # a bar could not tell it from nothing
                continue
            group = (series.benchmark, series.unit, series.better)
            first.setdefault(group, series)
            row = rows[group].setdefault((series.name, series.counted), [])
            row.append(_bar(style, run, series))
    figures: list[BarFigure] = []
    for group, named in rows.items():
        shown = {n: bars for n, bars in named.items() if len(runs) == 1 or len(bars) > 1}
        if len(shown) + (len(runs) > 1) < 2:
            continue
        figures.append(_figure(f"bars{len(figures)}", first[group], shown, runs))
    return tuple(figures)


def _figure(
    identity: str,
    first: SeriesData,
    named: dict[tuple[str, str], list[Bar]],
    runs: Sequence[RunData],
) -> BarFigure:
    rows = [BarRow(name, tuple(bars)) for (name, _), bars in named.items()]
    counted = {counted for _, counted in named}
    styles = {bar.style for row in rows for bar in row.bars}
    return BarFigure(
        id=identity,
        title=first.benchmark,
        unit=first.unit,
        better=first.better,
        counted=counted.pop() if len(counted) == 1 else "",
        simulated=any(runs[style].simulated for style in styles),
        rows=tuple(rows[:_MOST_ROWS]),
        left_out=max(0, len(rows) - _MOST_ROWS),
    )


def _bar(style: int, run: RunData, series: SeriesData) -> Bar:
    summary = series.summary
    if summary is None:
        raise ValueError(f"{series.key}: nothing to draw")
    return Bar(
        style=style,
        run=run.name,
        median=summary.median,
        low=summary.low,
        high=summary.high,
        best=summary.minimum if series.better == "lower" else summary.maximum,
        stable=summary.stable,
        caveat=bool(series.caveats),
        n=summary.n,
    )
