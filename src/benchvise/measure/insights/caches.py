"""The sizes of the caches, inferred from latencies and from the grid of context switches, beside
what sysfs says.

Unstable series count here, with their smallest sample: a cache is where a whole curve steps, which
a burst of noise at one size cannot make, and the least disturbed batch is nearest to the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchvise.measure.insights.insight import Insight, SeriesPoint, differing, named, points
from benchvise.measure.knees import GridCell, GridKnee, Knee, grid_knees, infer_caches
from benchvise.measure.model import RunRecord
from benchvise.measure.validity import quantity
from benchvise.quantities import spell_size

_LEAST_SIZES = 8
_LEAST_COUNTS = 4
_DATA = ("Data", "Unified")


@dataclass(frozen=True, slots=True)
class _Cache:
    """A cache that holds data, as sysfs describes it: ``L2``, and its bytes."""

    name: str
    size: int


def cache_sizes(run: RunRecord) -> list[Insight]:
    """One insight for each latency curve over size: its steps, and the caches they stand for."""
    measured = points(run, "memory.latency")
    found = []
    for curve in _curves(measured, "size"):
        if len(curve) < _LEAST_SIZES:
            continue
        by_size = {point.size("size"): point.low for point in curve}
        apart = named(curve[0], differing(measured, "size"))
        found.append(_latency_insight(apart, infer_caches(by_size.items()), _described(run.host)))
    return found


def switching_knees(run: RunRecord) -> list[Insight]:
    """One insight for each grid of context switches: where processes stop fitting a cache."""
    measured = points(run, "os.context_switch_grid")
    found = []
    for grid in _curves(measured, "size", "processes"):
        cells = {
            (int(point.params["processes"]), point.size("size")): point.low
            for point in grid
            if point.low > 0
        }
        if len({count for count, _ in cells}) < _LEAST_COUNTS:
            continue
        knees = grid_knees(GridCell(count, size, cost) for (count, size), cost in cells.items())
        apart = named(grid[0], differing(measured, "size", "processes"))
        found.append(_grid_insight(apart, knees, _described(run.host)))
    return found


def _curves(measured: Sequence[SeriesPoint], *over: str) -> list[list[SeriesPoint]]:
    """Points that differ in these parameters only, in the run's order."""
    curves: dict[tuple[tuple[str, str], ...], list[SeriesPoint]] = {}
    for point in measured:
        if point.low > 0 or "processes" in over:
            curves.setdefault(point.others(*over), []).append(point)
    return list(curves.values())


def _latency_insight(apart: str, knees: Sequence[Knee], caches: Sequence[_Cache]) -> Insight:
    title = "Cache sizes from the latency of loads" + (f", {apart}" if apart else "")
    if not knees:
        sentence = "The latency shows no step: no cache can be told from it."
        return Insight(title, sentence + _unseen(caches))
    steps = ", ".join(
        f"{_span(knee.low, knee.high)} ({quantity(knee.before, 'ns')} to "
        f"{quantity(knee.after, 'ns')})"
        for knee in knees
    )
    seen = {cache.name for cache in caches for knee in knees if knee.covers(cache.size)}
    sentence = f"The latency of a load steps up at {steps}."
    return Insight(
        title,
        sentence + _agreement(caches, seen),
        ("fits up to", "lies between", "before", "after", "sysfs says", "certainty"),
        tuple(
            (
                spell_size(knee.size),
                _span(knee.low, knee.high),
                quantity(knee.before, "ns"),
                quantity(knee.after, "ns"),
                _names([c for c in caches if knee.covers(c.size)]),
                f"{knee.confidence * 100:.0f} %",
            )
            for knee in knees
        ),
    )


def _grid_insight(apart: str, knees: Sequence[GridKnee], caches: Sequence[_Cache]) -> Insight:
    title = "Caches from the cost of a context switch" + (f", {apart}" if apart else "")
    if not knees:
        sentence = "No size of process shows a step over the number of processes."
        return Insight(title, sentence + _unseen(caches))
    seen = {cache.name for cache in caches for knee in knees if knee.covers(cache.size)}
    sentence = (
        f"A switch gets dearer where processes no longer fit a cache together: "
        f"{len(knees)} steps in {len({knee.size for knee in knees})} sizes of process."
    )
    return Insight(
        title,
        sentence + _agreement(caches, seen),
        ("process", "fit together", "step between", "in all", "before", "after", "sysfs says"),
        tuple(
            (
                spell_size(knee.size),
                str(knee.processes),
                f"{knee.low} and {knee.high}",
                _span(knee.low * knee.size, knee.high * knee.size),
                quantity(knee.before, "ns"),
                quantity(knee.after, "ns"),
                _names([c for c in caches if knee.covers(c.size)]),
            )
            for knee in knees
        ),
    )


def _span(low: int, high: int) -> str:
    return f"{spell_size(low)} to {spell_size(high)}"


def _names(caches: Sequence[_Cache]) -> str:
    return ", ".join(f"{cache.name} {spell_size(cache.size)}" for cache in caches) or "nothing"


def _agreement(caches: Sequence[_Cache], seen: set[str]) -> str:
    if not caches:
        return " The board does not say which caches it has."
    agreeing = [cache for cache in caches if cache.name in seen]
    hidden = [cache for cache in caches if cache.name not in seen]
    text = f" That agrees with sysfs for {_names(agreeing)}." if agreeing else ""
    if hidden:
        text += f" Of what sysfs says, no step shows {_names(hidden)}"
        text += " (shared caches give less to one program; sysfs may also be wrong)."
    return text


def _unseen(caches: Sequence[_Cache]) -> str:
    return f" sysfs says {_names(caches)}." if caches else ""


def _described(host: Mapping[str, object]) -> list[_Cache]:
    """The caches that hold data, the smallest first; empty when the board does not say."""
    found: dict[str, int] = {}
    caches = host.get("caches")
    for cache in caches if isinstance(caches, list | tuple) else ():
        if isinstance(cache, Mapping) and cache.get("type") in _DATA:
            level, size = cache.get("level"), cache.get("size")
            if isinstance(level, int) and isinstance(size, int) and size > 0:
                found.setdefault(f"L{level}", size)
    return [_Cache(name, size) for name, size in sorted(found.items(), key=lambda one: one[1])]
