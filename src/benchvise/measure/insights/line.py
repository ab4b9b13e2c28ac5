"""The size of a cache line, from what a second load costs the further it lies away."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchvise.measure.insights.insight import Insight, SeriesPoint, differing, named, points
from benchvise.measure.model import RunRecord
from benchvise.measure.validity import quantity

# A load that misses takes ten times one that hits, of which prefetching may hide the most.
_STEP = 1.1
_LEAST_OFFSETS = 4

_Cost = tuple[int, SeriesPoint]


def line_sizes(run: RunRecord) -> list[Insight]:
    """One insight for each set of memory.line series that differ in their offset only."""
    measured = points(run, "memory.line")
    found = []
    for rest in dict.fromkeys(point.others("offset") for point in measured):
        members = [point for point in measured if point.others("offset") == rest]
        costs = sorted(((p.size("offset"), p) for p in members), key=lambda cost: cost[0])
        stable = [cost for cost in costs if cost[1].stable]
        if len(stable) >= _LEAST_OFFSETS:
            apart = named(members[0], differing(measured, "offset"))
            found.append(_insight(apart, costs, stable, run.host))
    return found


def _insight(
    apart: str, costs: Sequence[_Cost], stable: Sequence[_Cost], host: Mapping[str, object]
) -> Insight:
    steps = _steps(stable)
    return Insight(
        title="The size of a cache line" + (f", {apart}" if apart else ""),
        sentence=_sentence(stable, steps, _reported(host)),
        columns=("second load", "a visit"),
        rows=tuple((f"{offset} bytes away", point.text) for offset, point in costs),
    )


def _steps(stable: Sequence[_Cost]) -> list[int]:
    """Positions at which a visit gets dearer than all since the step before, and stays so."""
    found, begin = [], 0
    for at in range(1, len(stable)):
        level = statistics.median(point.median for _, point in stable[begin:at])
        if all(point.median > level * _STEP for _, point in stable[at:]):
            found.append(at)
            begin = at
    return found


def _sentence(stable: Sequence[_Cost], steps: Sequence[int], reported: int | None) -> str:
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


def _reported(host: Mapping[str, object]) -> int | None:
    """The line size of the first-level data cache, as the board's sysfs says."""
    caches = host.get("caches")
    for cache in caches if isinstance(caches, list | tuple) else ():
        if isinstance(cache, Mapping) and cache.get("type") in ("Data", "Unified"):
            line = cache.get("line")
            if isinstance(line, int) and line > 0:
                return line
    return None
