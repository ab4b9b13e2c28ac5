"""Series over parameters: curves over one, the grid of context switches over two.

``figures`` puts them into a page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from benchvise.measure.knees import GridCell, GridKnee, grid_knees
from benchvise.quantities import size_or_none
from benchvise.report.data import Cache, RunData, SeriesData

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
# Times span decades over sizes that fit a cache and sizes that do not; rates rarely do.
_LOG_UNITS = frozenset({"ns"})
_SUBJECTS = {"B/s": "bandwidth", "ns": "latency"}
# How parameter values are written where a line is named after them.
_VALUE_NAMES = {"huge": "huge pages", "4k": "4 KiB pages"}


class NamedLine(Protocol):
    """A line of a chart, with what has to be said of it."""

    @property
    def name(self) -> str:
        """How the legend calls it."""

    @property
    def caveats(self) -> tuple[str, ...]:
        """Sentences that stand below the chart."""


def lines_by_caveat(lines: Iterable[NamedLine]) -> dict[str, list[str]]:
    """What has to be said below a chart, and of which lines."""
    by_caveat: defaultdict[str, list[str]] = defaultdict(list)
    for line in lines:
        for caveat in line.caveats:
            by_caveat[caveat].append(line.name)
    return by_caveat


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
        return lines_by_caveat(self.lines)


def curve_figures(runs: Sequence[RunData]) -> tuple[CurveFigure, ...]:
    """The curves of one run, or of all runs laid over each other."""
    return tuple(_run_curves(runs[0]) if len(runs) == 1 else _overlays(runs))


def curved(runs: Sequence[RunData]) -> frozenset[str]:
    """The benchmarks of which there are curves."""
    return frozenset(track.benchmark for run in runs for track in _tracks(run))


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
    chosen = [_chosen(track, members) for track, members in tracks.items()]
    common = [item for item in chosen[0] if all(item in others for others in chosen)]
    return " ".join([first.benchmark, *map("=".join, common), over])


def _chosen(track: _Track, members: Sequence[SeriesData]) -> list[tuple[str, str]]:
    """The parameters that the user chose, but for that of the axis."""
    return [item for item in members[0].chosen if item[0] != track.axis]


def _line_names(tracks: dict[_Track, list[SeriesData]]) -> dict[_Track, str]:
    """Names that say only what was asked for, or everything where that is not enough."""
    several = len({track.benchmark for track in tracks}) > 1
    names = {}
    for track, members in tracks.items():
        parts = [track.benchmark.partition(".")[2] or track.benchmark] if several else []
        parts += [_VALUE_NAMES.get(value, value) for _, value in _chosen(track, members)]
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


# -- the grid of context switches ------------------------------------------------------------------

# Cost by number and size of processes. Where processes no longer fit a cache together a switch gets
# dearer, so the steps of the grid lie on the lines "number times size is the size of a cache".

GRID_BENCHMARK = "os.context_switch_grid"

_GRID_AXES = ("processes", "size")
_LEAST_STEPS = 3  # numbers of processes, and sizes, that make a grid


@dataclass(frozen=True, slots=True)
class GridPlace:
    """What a switch costs in a ring of ``processes`` of ``size`` bytes; in the unit of the grid."""

    processes: int
    size: int
    median: float
    low: float
    high: float
    stable: bool


@dataclass(frozen=True, slots=True)
class GridStep:
    """Processes of ``size`` bytes stop fitting a cache together between these two numbers."""

    size: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class GridFigure:
    """One grid of one run, with the steps that were found in it and the caches sysfs tells of."""

    id: str
    title: str
    run: str
    unit: str
    simulated: bool
    processes: tuple[int, ...]
    sizes: tuple[int, ...]
    places: tuple[GridPlace, ...]
    steps: tuple[GridStep, ...]
    caches: tuple[Cache, ...]


def grid_figures(runs: Sequence[RunData]) -> tuple[GridFigure, ...]:
    """The grids of all runs: those of the same parameters next to each other."""
    grids = [
        (others, run, members)
        for run in runs
        for others, members in _grids(run).items()
        if all(len(_values(members, axis)) >= _LEAST_STEPS for axis in _GRID_AXES)
    ]
    order = list(dict.fromkeys(others for others, _, _ in grids))
    grids.sort(key=lambda grid: order.index(grid[0]))
    return tuple(
        _grid_figure(f"grid{number}", others, run, members)
        for number, (others, run, members) in enumerate(grids)
    )


_Others = tuple[tuple[str, str], ...]


def _grids(run: RunData) -> dict[_Others, list[SeriesData]]:
    """The measured series by what they have in common beside the two axes."""
    grids: defaultdict[_Others, list[SeriesData]] = defaultdict(list)
    for series in run.series:
        if series.benchmark == GRID_BENCHMARK and series.summary is not None:
            others = tuple(item for item in series.params.items() if item[0] not in _GRID_AXES)
            grids[others].append(series)
    return grids


def _values(members: Sequence[SeriesData], axis: str) -> tuple[int, ...]:
    values = (size_or_none(series.params.get(axis, "")) for series in members)
    return tuple(sorted({value for value in values if value is not None}))


def _grid_figure(
    identity: str, others: _Others, run: RunData, members: list[SeriesData]
) -> GridFigure:
    places = tuple(_places(members))
    order = dict(others).get("order", "")
    return GridFigure(
        id=identity,
        title="Context switches" + (f", memory in {order} order" if order else ""),
        run=run.name,
        unit=members[0].unit,
        simulated=run.simulated,
        processes=_values(members, "processes"),
        sizes=_values(members, "size"),
        places=places,
        steps=tuple(GridStep(k.size, k.low, k.high) for k in _knees(_cells(members))),
        caches=run.caches,
    )


def _places(members: Sequence[SeriesData]) -> Iterator[GridPlace]:
    for series in members:
        processes, size = (size_or_none(series.params.get(axis, "")) for axis in _GRID_AXES)
        summary = series.summary
        if processes is not None and size is not None and summary is not None:
            yield GridPlace(
                processes, size, summary.median, summary.low, summary.high, summary.stable
            )


def _cells(members: Sequence[SeriesData]) -> tuple[GridCell, ...]:
    """What the steps are found in: the least disturbed batch, as in the insight on caches."""
    cells = {}
    for series in members:
        processes, size = (size_or_none(series.params.get(axis, "")) for axis in _GRID_AXES)
        summary = series.summary
        if processes and size is not None and summary is not None and summary.minimum > 0:
            cells[processes, size] = GridCell(processes, size, summary.minimum)
    return tuple(cells.values())


@lru_cache(maxsize=64)
def _knees(cells: tuple[GridCell, ...]) -> tuple[GridKnee, ...]:
    return tuple(grid_knees(cells))
