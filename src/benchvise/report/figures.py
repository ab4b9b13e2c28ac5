"""What the charts of the page draw: curves over a size or a count, samples, changes between runs.

These types are the counterpart of ``web/src/base/document.ts``; the page embeds them as JSON.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from benchvise.quantities import size_or_none
from benchvise.report.bars import BarFigure, bar_figures
from benchvise.report.data import ComparisonData, ReportData, RunData, SeriesData
from benchvise.report.facts import Cache
from benchvise.report.grids import GridFigure, grid_figures
from benchvise.report.latency_figures import LatencyFigure, latency_figures
from benchvise.report.response_figures import ResponseFigure, responses_of_runs

FORMAT = 1
"""Raised when the meaning of a field changes; the page's script refuses any other."""

NO_FIGURES: Mapping[str, Any] = MappingProxyType(
    {"format": FORMAT, "curves": [], "latencies": [], "samples": [], "changes": []}
)
"""What the page's script reads of a page without charts of runs."""

# Parameters that a curve may run over, and what they are called below the axis: counts first, as
# what varies in both is drawn with a line for each size.
_COUNTS = {
    "processes": "processes",
    "threads": "threads",
    "streams": "streams",
    "depth": "requests in flight",
    "concurrency": "concurrent requests",
}
_SIZES = {
    "offset": "bytes between two loads",
    "size": "buffer size",
    "span": "bytes whose pages are visited",
    "block": "bytes at once",
    "message": "bytes a message",
}
_AXES = _COUNTS | _SIZES
_LEAST_POINTS = 3
# More lines than this in one chart cannot be told apart, so they are drawn by benchmark.
_MOST_LINES = 6
# A chart of more samples is a blob; it shows every k-th, and says so.
_MOST_SAMPLES = 1000
# Times span decades over sizes that fit a cache and sizes that do not; rates rarely do.
_LOG_UNITS = frozenset({"ns"})
_SUBJECTS = {"B/s": "bandwidth", "ns": "latency"}
# How parameter values are written where a line is named after them.
_VALUE_NAMES = {"huge": "huge pages", "4k": "4 KiB pages"}


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A series on a curve: where it is, its values, and whether one number may stand for it."""

    x: int
    median: float
    low: float
    high: float
    stable: bool
    n: int


@dataclass(frozen=True, slots=True)
class CurveLine:
    """Series that differ in what the axis shows only. ``style`` chooses colour and marker."""

    name: str
    style: int
    caveat: bool
    points: tuple[CurvePoint, ...]
    caveats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CurveFigure:
    """Lines over one parameter on common axes."""

    id: str
    title: str
    family: str
    unit: str
    better: str
    x_name: str
    x_kind: str
    y_scale: str
    name_lines: bool
    simulated: bool
    caches: tuple[Cache, ...]
    lines: tuple[CurveLine, ...]

    @property
    def caveats(self) -> dict[str, list[str]]:
        """What has to be said below the chart, and of which lines."""
        by_sentence: defaultdict[str, list[str]] = defaultdict(list)
        for line in self.lines:
            for caveat in line.caveats:
                by_sentence[caveat].append(line.name)
        return by_sentence


@dataclass(frozen=True, slots=True)
class SamplePoint:
    """One batch, as drawn."""

    process: int
    value: float
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SampleFigure:
    """The samples of one series; ``every`` is above one when only each k-th is drawn."""

    id: str
    name: str
    unit: str
    stable: bool
    median: float
    low: float
    high: float
    every: int
    samples: tuple[SamplePoint, ...]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A series' ratio of the other run to the base."""

    name: str
    verdict: str
    better: str
    ratio: float
    low: float
    high: float
    noise_floor: float
    caveat: bool


@dataclass(frozen=True, slots=True)
class ChangeFigure:
    """All ratios of one comparison, the largest change first."""

    id: str
    base: str
    other: str
    rows: tuple[ChangeRow, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that is drawn in one page."""

    format: int
    curves: tuple[CurveFigure, ...]
    latencies: tuple[LatencyFigure, ...]
    samples: tuple[SampleFigure, ...]
    changes: tuple[ChangeFigure, ...]
    bars: tuple[BarFigure, ...] = ()
    grids: tuple[GridFigure, ...] = ()
    responses: tuple[ResponseFigure, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        """What the page's script reads."""
        return asdict(self)


def figures(data: ReportData) -> Figures:
    """The charts of a page: curves of one run, or of all runs laid over each other."""
    curves = curve_figures(data.runs)
    return Figures(
        format=FORMAT,
        curves=curves,
        latencies=latency_figures(data.runs),
        samples=tuple(
            sample_figure(series) for run in data.runs for series in run.series if series.summary
        ),
        changes=change_figures(data),
        bars=bar_figures(data.runs, curved(data.runs)),
        grids=grid_figures(data.runs),
        responses=responses_of_runs(data.runs),
    )


def curve_figures(runs: Sequence[RunData]) -> tuple[CurveFigure, ...]:
    """The curves of one run, or of all runs laid over each other."""
    return tuple(_run_curves(runs[0]) if len(runs) == 1 else _overlays(runs))


def change_figures(data: ReportData) -> tuple[ChangeFigure, ...]:
    """How each run compares with the first."""
    return tuple(_changes(data, comparison) for comparison in data.comparisons)


def curved(runs: Sequence[RunData]) -> frozenset[str]:
    """The benchmarks of which there are curves."""
    return frozenset(track.benchmark for run in runs for track in _tracks(run))


# -- curves ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Track:
    """What the series of one line have in common: all but the parameter of the axis."""

    benchmark: str
    axis: str
    unit: str
    better: str
    params: tuple[tuple[str, str], ...]


def _tracks(run: RunData) -> dict[_Track, list[SeriesData]]:
    """The measured series of a run that form lines, by line."""
    tracks: defaultdict[_Track, list[SeriesData]] = defaultdict(list)
    axes = _axes(run)
    for series in run.series:
        axis = axes.get(series.benchmark)
        if series.summary is None or axis is None or size_or_none(series.params[axis]) is None:
            continue
        rest = tuple(item for item in series.params.items() if item[0] != axis)
        track = _Track(series.benchmark, axis, series.unit, series.better, rest)
        tracks[track].append(series)
    return {
        track: members
        for track, members in tracks.items()
        if len({size_or_none(s.params[track.axis]) for s in members}) >= _LEAST_POINTS
    }


def _axes(run: RunData) -> dict[str, str]:
    """By benchmark, the first parameter of ``_AXES`` that has enough values for a curve."""
    values: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for series in run.series:
        for name in _AXES.keys() & series.params.keys():
            value = size_or_none(series.params[name])
            if series.summary is not None and value is not None:
                values[series.benchmark, name].add(value)
    axes: dict[str, str] = {}
    for name in _AXES:
        for (benchmark, parameter), numbers in values.items():
            if parameter == name and len(numbers) >= _LEAST_POINTS:
                axes.setdefault(benchmark, name)
    return axes


def _run_curves(run: RunData) -> Iterator[CurveFigure]:
    """One chart for all that shares an axis and a unit; one a benchmark when that is too many."""
    groups: defaultdict[tuple[str, str, str], dict[_Track, list[SeriesData]]] = defaultdict(dict)
    for track, members in _tracks(run).items():
        groups[_family(track), track.axis, track.unit][track] = members
    number = 0
    for group in groups.values():
        for part in _split(group):
            yield _run_curve(run, number, part)
            number += 1


def _family(track: _Track) -> str:
    return track.benchmark.partition(".")[0]


def _split(
    group: dict[_Track, list[SeriesData]],
) -> Iterator[dict[_Track, list[SeriesData]]]:
    if len(group) <= _MOST_LINES:
        yield group
        return
    for benchmark in dict.fromkeys(track.benchmark for track in group):
        part = {track: members for track, members in group.items() if track.benchmark == benchmark}
        yield from _by_parameter(part)


def _by_parameter(
    part: dict[_Track, list[SeriesData]],
) -> Iterator[dict[_Track, list[SeriesData]]]:
    """Too many lines of one benchmark, by the parameter that makes the fewest charts of them."""
    values: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for track in part:
        for name, value in track.params:
            values[name].setdefault(value)
    several = [name for name, numbers in values.items() if 1 < len(numbers) < len(part)]
    if len(part) <= _MOST_LINES or not several:
        yield part
        return
    name = min(several, key=lambda name: len(values[name]))
    for value in values[name]:
        yield {t: members for t, members in part.items() if (name, value) in t.params}


def _run_curve(run: RunData, number: int, tracks: dict[_Track, list[SeriesData]]) -> CurveFigure:
    names = _line_names(tracks)
    return _figure(
        f"curve{number}",
        tracks,
        [
            _line(names[track], style, track, members)
            for style, (track, members) in enumerate(tracks.items())
        ],
        caches=run.caches,
        simulated=run.simulated,
        name_lines=True,
    )


def _overlays(runs: Sequence[RunData]) -> Iterator[CurveFigure]:
    """One chart a line of the runs, with a curve for each run that measured it."""
    tracks = [_tracks(run) for run in runs]
    number = 0
    for track in dict.fromkeys(track for own in tracks for track in own):
        holders = [index for index, own in enumerate(tracks) if track in own]
        if len(holders) < 2:
            continue
        lines = [_line(runs[i].name, i, track, tracks[i][track]) for i in holders]
        yield _figure(
            f"curve{number}",
            {track: tracks[holders[0]][track]},
            lines,
            # Rules of different caches on top of each other would mark nothing.
            caches=runs[0].caches if len({runs[i].caches for i in holders}) == 1 else (),
            simulated=any(runs[i].simulated for i in holders),
            name_lines=False,
        )
        number += 1


def _figure(
    identity: str,
    tracks: dict[_Track, list[SeriesData]],
    lines: list[CurveLine],
    *,
    caches: tuple[Cache, ...],
    simulated: bool,
    name_lines: bool,
) -> CurveFigure:
    first = next(iter(tracks))
    return CurveFigure(
        id=identity,
        title=_title(tracks),
        family=_family(first),
        unit=first.unit,
        better=first.better,
        x_name=_AXES[first.axis],
        x_kind="count" if first.axis in _COUNTS else "size",
        y_scale="log" if first.unit in _LOG_UNITS else "linear",
        name_lines=name_lines,
        simulated=simulated,
        # Only memory's sizes are those of caches.
        caches=caches if first.axis == "size" and _family(first) == "memory" else (),
        lines=tuple(lines),
    )


def _title(tracks: dict[_Track, list[SeriesData]]) -> str:
    first = next(iter(tracks))
    over = f"over {_AXES[first.axis]}"
    if len({track.benchmark for track in tracks}) > 1:
        return f"{_family(first).capitalize()} {_SUBJECTS.get(first.unit, first.unit)} {over}"
    asked = [_special(track, members) for track, members in tracks.items()]
    special = [item for item in asked[0] if all(item in others for others in asked)]
    return " ".join([first.benchmark, *(f"{name}={value}" for name, value in special), over])


def _special(track: _Track, members: Sequence[SeriesData]) -> list[tuple[str, str]]:
    """The parameters that were asked for: those that stand in the name of a series."""
    named = set(members[0].name.split(", "))
    return [(name, value) for name, value in track.params if f"{name}={value}" in named]


def _line_names(tracks: dict[_Track, list[SeriesData]]) -> dict[_Track, str]:
    """Names that say only what was asked for, or everything where that is not enough."""
    several = len({track.benchmark for track in tracks}) > 1
    names = {}
    for track, members in tracks.items():
        parts = [track.benchmark.partition(".")[2] or track.benchmark] if several else []
        parts += [_VALUE_NAMES.get(value, value) for _, value in _special(track, members)]
        names[track] = " ".join(parts) or "defaults"
    if len(set(names.values())) < len(names):
        for track in tracks:
            values = " ".join(f"{name}={value}" for name, value in track.params)
            names[track] = f"{track.benchmark} {values}"
    return names


def _line(name: str, style: int, track: _Track, members: Sequence[SeriesData]) -> CurveLine:
    points = sorted(_points(track, members), key=lambda point: point.x)
    caveats = tuple(dict.fromkeys(c for series in members for c in series.caveats))
    return CurveLine(name, style, bool(caveats), tuple(points), caveats)


def _points(track: _Track, members: Sequence[SeriesData]) -> Iterator[CurvePoint]:
    for series in members:
        summary, x = series.summary, size_or_none(series.params[track.axis])
        if summary is None or not x or summary.low <= 0:
            continue
        yield CurvePoint(x, summary.median, summary.low, summary.high, summary.stable, summary.n)


# -- samples and changes ---------------------------------------------------------------------------


def sample_figure(series: SeriesData) -> SampleFigure:
    """The samples of a measured series."""
    summary = series.summary
    if summary is None:
        raise ValueError(f"{series.key}: nothing to draw")
    every = 1 + (len(series.samples) - 1) // _MOST_SAMPLES
    return SampleFigure(
        id=series.id,
        name=series.key,
        unit=series.unit,
        stable=summary.stable,
        median=summary.median,
        low=summary.low,
        high=summary.high,
        every=every,
        samples=tuple(SamplePoint(s.process, s.value, s.flags) for s in series.samples[::every]),
    )


def _changes(data: ReportData, comparison: ComparisonData) -> ChangeFigure:
    rows = [
        ChangeRow(
            name=c.key,
            verdict=c.verdict,
            better=c.better,
            ratio=c.ratio,
            low=c.low,
            high=c.high,
            noise_floor=c.noise_floor or 0.0,
            caveat=bool(c.caveats),
        )
        for c in comparison.changes
        if c.ratio and c.low and c.high
    ]
    rows.sort(key=lambda row: -max(row.ratio, 1 / row.ratio))
    return ChangeFigure(
        comparison.id,
        data.runs[comparison.base].name,
        data.runs[comparison.other].name,
        tuple(rows),
    )
