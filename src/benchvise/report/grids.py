"""The grid of context switches as a picture: cost by number and size of processes, and the caches.

Where processes no longer fit a cache together a switch gets dearer, so the steps of the grid lie on
the lines "number times size is the size of a cache".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from benchvise.measure.knees import GridCell, GridKnee, grid_knees
from benchvise.quantities import size_or_none
from benchvise.report.data import RunData, SeriesData
from benchvise.report.facts import Cache

BENCHMARK = "os.context_switch_grid"

_AXES = ("processes", "size")
_LEAST = 3  # numbers of processes, and sizes, that make a grid


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
        if all(len(_values(members, axis)) >= _LEAST for axis in _AXES)
    ]
    order = list(dict.fromkeys(others for others, _, _ in grids))
    grids.sort(key=lambda grid: order.index(grid[0]))
    return tuple(
        _figure(f"grid{number}", others, run, members)
        for number, (others, run, members) in enumerate(grids)
    )


_Others = tuple[tuple[str, str], ...]


def _grids(run: RunData) -> dict[_Others, list[SeriesData]]:
    """The measured series by what they have in common beside the two axes."""
    grids: defaultdict[_Others, list[SeriesData]] = defaultdict(list)
    for series in run.series:
        if series.benchmark == BENCHMARK and series.summary is not None:
            others = tuple(item for item in series.params.items() if item[0] not in _AXES)
            grids[others].append(series)
    return grids


def _values(members: Sequence[SeriesData], axis: str) -> tuple[int, ...]:
    values = (size_or_none(series.params.get(axis, "")) for series in members)
    return tuple(sorted({value for value in values if value is not None}))


def _figure(identity: str, others: _Others, run: RunData, members: list[SeriesData]) -> GridFigure:
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
        processes, size = (size_or_none(series.params.get(axis, "")) for axis in _AXES)
        summary = series.summary
        if processes is not None and size is not None and summary is not None:
            yield GridPlace(
                processes, size, summary.median, summary.low, summary.high, summary.stable
            )


def _cells(members: Sequence[SeriesData]) -> tuple[GridCell, ...]:
    """What the steps are found in: the least disturbed batch, as in the insight on caches."""
    cells = {}
    for series in members:
        processes, size = (size_or_none(series.params.get(axis, "")) for axis in _AXES)
        summary = series.summary
        if processes and size is not None and summary is not None and summary.minimum > 0:
            cells[processes, size] = GridCell(processes, size, summary.minimum)
    return tuple(cells.values())


@lru_cache(maxsize=64)
def _knees(cells: tuple[GridCell, ...]) -> tuple[GridKnee, ...]:
    return tuple(grid_knees(cells))
