"""The sizes of the caches and of their lines, as measured, beside what sysfs says.

Sizes are inferred from latencies and from the grid of context switches. Unstable series count
there, with their smallest sample: a cache is where a whole curve steps, which a burst of noise at
one size cannot make, and the least disturbed batch is nearest to the truth. The size of a line
shows in what a second load costs the further it lies away.

How certain a step is says nothing of its cause: pages and tables of them make steps too, and a
cache that others use gives less than its size. So it counts as that of a cache only where sysfs
describes one of that size, and is none at all where the series beside it are unstable.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchvise.documents import JsonObject, array_at, whole_at
from benchvise.measure.insights.insight import (
    UNSTABLE,
    Insight,
    SeriesPoint,
    differing,
    named,
    points,
)
from benchvise.measure.knees import GridCell, GridKnee, Knee, grid_knees, infer_caches
from benchvise.measure.model import RunRecord
from benchvise.measure.validity import quantity
from benchvise.quantities import spell_size

_LEAST_SIZES = 8
_LEAST_COUNTS = 4
_DATA = ("Data", "Unified")
_MOST_PERCENT = 99
"""No curve makes anything more certain than that."""


@dataclass(frozen=True, slots=True)
class _Cache:
    """A cache that holds data, as sysfs describes it: ``L2``, and its bytes."""

    name: str
    size: int


def cache_sizes(run: RunRecord) -> list[Insight]:
    """One insight for each latency curve over size: its steps, and the caches they stand for."""
    measured = points(run, "memory.latency")
    insights = []
    for curve in _curves(measured, "size"):
        if len(curve) < _LEAST_SIZES:
            continue
        by_size = {point.size("size"): point.low for point in curve}
        apart = named(curve[0], differing(measured, "size"))
        steps = [
            _Step(knee, stable=_is_stable(curve, knee)) for knee in infer_caches(by_size.items())
        ]
        insights.append(_latency_insight(apart, steps, _described(run.host)))
    return insights


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a latency curve, and whether the series that it lies between are stable."""

    knee: Knee
    stable: bool

    def certainty(self, caches: Sequence[_Cache]) -> str:
        """``> 99 %`` of a cache that sysfs knows, ``step 97 %`` of any other step."""
        if not self.stable:
            return UNSTABLE
        percent = round(self.knee.confidence * 100)
        text = f"{percent} %" if percent <= _MOST_PERCENT else f"> {_MOST_PERCENT} %"
        return text if any(self.knee.covers(cache.size) for cache in caches) else f"step {text}"


def _is_stable(curve: Sequence[SeriesPoint], knee: Knee) -> bool:
    """Whether all are that the step lies between, its own bounds among them."""
    return all(p.stable for p in curve if knee.low <= p.size("size") <= knee.high)


def switching_knees(run: RunRecord) -> list[Insight]:
    """One insight for each grid of context switches: where processes stop fitting a cache."""
    measured = points(run, "os.context_switch_grid")
    insights = []
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
        insights.append(_grid_insight(apart, knees, _described(run.host)))
    return insights


def _curves(measured: Sequence[SeriesPoint], *over: str) -> list[list[SeriesPoint]]:
    """Points that differ in these parameters only, in the run's order."""
    curves: dict[tuple[tuple[str, str], ...], list[SeriesPoint]] = {}
    for point in measured:
        if point.low > 0 or "processes" in over:
            curves.setdefault(point.others(*over), []).append(point)
    return list(curves.values())


def _latency_insight(apart: str, steps: Sequence[_Step], caches: Sequence[_Cache]) -> Insight:
    title = "Cache sizes from the latency of loads" + (f", {apart}" if apart else "")
    knees = [step.knee for step in steps]
    if not knees:
        sentence = "The latency shows no step: no cache can be told from it."
        return Insight(title, sentence + _unseen(caches))
    places = ", ".join(
        f"{_span(knee.low, knee.high)} ({quantity(knee.before, 'ns')} to "
        f"{quantity(knee.after, 'ns')})"
        for knee in knees
    )
    seen = {cache.name for cache in caches for knee in knees if knee.covers(cache.size)}
    sentence = f"The latency of a load steps up at {places}."
    return Insight(
        title,
        sentence + _agreement(caches, seen) + _doubts(steps, caches),
        ("fits up to", "lies between", "before", "after", "sysfs says", "certainty"),
        tuple(
            (
                spell_size(knee.size),
                _span(knee.low, knee.high),
                quantity(knee.before, "ns"),
                quantity(knee.after, "ns"),
                _names([c for c in caches if knee.covers(c.size)]),
                step.certainty(caches),
            )
            for step in steps
            for knee in (step.knee,)
        ),
    )


def _doubts(steps: Sequence[_Step], caches: Sequence[_Cache]) -> str:
    """What steps that no cache of sysfs explains may be, and which rest on unstable series."""
    text = ""
    others = [
        _span(step.knee.low, step.knee.high)
        for step in steps
        if not any(step.knee.covers(cache.size) for cache in caches)
    ]
    if caches and others:
        text += (
            f" sysfs knows no cache that ends at {', '.join(others)}: page tables (a TLB), or a "
            "cache that other programs or machines share, make such a step too."
        )
    unstable = [_span(step.knee.low, step.knee.high) for step in steps if not step.stable]
    if unstable:
        text += f" The series at {', '.join(unstable)} are unstable: measure again in quiet."
    return text


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


def _described(host: JsonObject) -> list[_Cache]:
    """The caches that hold data, the smallest first; empty when the board does not say."""
    sizes: dict[str, int] = {}
    for cache in _data_caches(host):
        level, size = whole_at(cache, "level"), whole_at(cache, "size")
        if level is not None and size is not None and size > 0:
            sizes.setdefault(f"L{level}", size)
    return sorted((_Cache(name, size) for name, size in sizes.items()), key=lambda c: c.size)


def _data_caches(host: JsonObject) -> Iterator[JsonObject]:
    """The caches that hold data, as the probe took them from sysfs."""
    for cache in array_at(host, "caches"):
        if isinstance(cache, Mapping) and cache.get("type") in _DATA:
            yield cache


# -- the size of a line ----------------------------------------------------------------------------

# A load that misses takes ten times one that hits, of which prefetching may hide the most.
_STEP = 1.1
_LEAST_OFFSETS = 4

_Cost = tuple[int, SeriesPoint]


def line_sizes(run: RunRecord) -> list[Insight]:
    """One insight for each set of memory.line series that differ in their offset only."""
    measured = points(run, "memory.line")
    insights = []
    for rest in dict.fromkeys(point.others("offset") for point in measured):
        members = [point for point in measured if point.others("offset") == rest]
        costs = sorted(((p.size("offset"), p) for p in members), key=lambda cost: cost[0])
        stable = [cost for cost in costs if cost[1].stable]
        if len(stable) >= _LEAST_OFFSETS:
            apart = named(members[0], differing(measured, "offset"))
            insights.append(_line_insight(apart, costs, stable, run.host))
    return insights


def _line_insight(
    apart: str, costs: Sequence[_Cost], stable: Sequence[_Cost], host: JsonObject
) -> Insight:
    steps = _steps(stable)
    return Insight(
        title="The size of a cache line" + (f", {apart}" if apart else ""),
        sentence=_line_sentence(stable, steps, _reported_line(host)),
        columns=("second load", "a visit"),
        rows=tuple((f"{offset} bytes away", point.text) for offset, point in costs),
    )


def _steps(stable: Sequence[_Cost]) -> list[int]:
    """Positions at which a visit gets dearer than all since the step before, and stays so."""
    steps, begin = [], 0
    for at in range(1, len(stable)):
        level = statistics.median(point.median for _, point in stable[begin:at])
        if all(point.median > level * _STEP for _, point in stable[at:]):
            steps.append(at)
            begin = at
    return steps


def _line_sentence(stable: Sequence[_Cost], steps: Sequence[int], reported: int | None) -> str:
    if not steps:
        return (
            f"A second load costs the same up to {stable[-1][0]} bytes away: no line's end was "
            "met, or prefetching hides it."
        )
    at = steps[0]
    below, line = stable[at - 1][0], stable[at][0]
    inside = statistics.median(point.median for _, point in stable[:at])
    size = line if 2 * below >= line and line & (line - 1) == 0 else None
    text = (
        f"A visit takes {quantity(inside, 'ns')} while both loads are in one line and "
        f"{stable[at][1].text} from {line} bytes on: "
    )
    text += f"a line has {line} bytes" if size else f"a line ends between {below} and {line} bytes"
    if reported is not None:
        agrees = reported == size if size else below < reported <= line
        text += ", as sysfs says" if agrees else f", while sysfs says {reported}"
        if not agrees and reported < line:
            text += " (CPUs that fetch lines in pairs hide the step between the two)"
    for further in steps[1:2]:
        text += (
            f". From {stable[further][0]} bytes on it takes {stable[further][1].text}: up to "
            "there the CPU fetches neighbouring lines too"
        )
    return f"{text}."


def _reported_line(host: JsonObject) -> int | None:
    """The line size of the first-level data cache, as the board's sysfs says."""
    lines = (whole_at(cache, "line") for cache in _data_caches(host))
    return next((line for line in lines if line is not None and line > 0), None)
