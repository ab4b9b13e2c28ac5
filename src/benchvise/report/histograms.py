"""Histograms of the latencies that benchmarks kept.

Those of the series of a run share their axes, or those of several runs stand side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchvise.report.curves import lines_by_caveat
from benchvise.report.data import LatencyData, RunData, SeriesData

# More lines than this in one chart cannot be told apart.
_MOST_LINES = 6


@dataclass(frozen=True, slots=True)
class LatencyLine:
    """The latencies of one series. ``style`` chooses colour and marker."""

    name: str
    style: int
    caveats: tuple[str, ...]
    latencies: LatencyData


@dataclass(frozen=True, slots=True)
class LatencyFigure:
    """Histograms on common axes, the latency along the one and the share along the other."""

    id: str
    title: str
    simulated: bool
    lines: tuple[LatencyLine, ...]

    @property
    def caveats(self) -> dict[str, list[str]]:
        """What has to be said below the chart, and of which lines."""
        return lines_by_caveat(self.lines)


def latency_figures(runs: Sequence[RunData]) -> tuple[LatencyFigure, ...]:
    """One chart for each benchmark of a run, or for each series that several runs have."""
    groups = _of_one_run(runs[0]) if len(runs) == 1 else _of_several(runs)
    return tuple(
        LatencyFigure(
            id=f"latency{number}",
            title=title,
            simulated=any(run.simulated for _, _, run, _ in lines),
            lines=tuple(
                LatencyLine(name, style, series.caveats, series.latencies)
                for name, style, _, series in lines
                if series.latencies is not None
            ),
        )
        for number, (title, lines) in enumerate(groups)
    )


_Line = tuple[str, int, RunData, SeriesData]


def _of_one_run(run: RunData) -> Iterator[tuple[str, list[_Line]]]:
    benchmarks: defaultdict[str, list[SeriesData]] = defaultdict(list)
    for series in run.series:
        if series.latencies is not None:
            benchmarks[series.benchmark].append(series)
    for benchmark, members in benchmarks.items():
        for part in _split(members):
            differing = _differing(part)
            common = [f"{name}={value}" for name, value in part[0].chosen if name not in differing]
            yield (
                " ".join([benchmark, *common]),
                [
                    (_name(series, differing), style, run, series)
                    for style, series in enumerate(part)
                ],
            )


def _of_several(runs: Sequence[RunData]) -> Iterator[tuple[str, list[_Line]]]:
    by_series: defaultdict[tuple[str, tuple[tuple[str, str], ...]], list[_Line]]
    by_series = defaultdict(list)
    for style, run in enumerate(runs):
        for series in run.series:
            if series.latencies is not None:
                key = (series.benchmark, tuple(series.params.items()))
                by_series[key].append((run.name, style, run, series))
    for lines in by_series.values():
        if len(lines) > 1:
            yield lines[0][3].key, lines


def _split(members: list[SeriesData]) -> Iterator[list[SeriesData]]:
    """By the first parameter that differs, until few enough are left to be drawn together."""
    if len(members) <= _MOST_LINES:
        yield members
        return
    parts: defaultdict[str, list[SeriesData]] = defaultdict(list)
    for name in _differing(members)[:1]:
        for series in members:
            parts[series.params[name]].append(series)
    if 1 < len(parts) < len(members):
        for part in parts.values():
            yield from _split(part)
    else:  # one parameter with many values, or none
        for begin in range(0, len(members), _MOST_LINES):
            yield members[begin : begin + _MOST_LINES]


def _differing(members: Sequence[SeriesData]) -> list[str]:
    """The parameters in which they differ, in the benchmark's order."""
    return [
        name
        for name in members[0].params
        if len({series.params.get(name) for series in members}) > 1
    ]


def _name(series: SeriesData, differing: Sequence[str]) -> str:
    return " ".join(f"{name}={series.params[name]}" for name in differing) or series.name
