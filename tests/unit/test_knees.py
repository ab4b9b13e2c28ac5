"""Cache sizes from curves: of caches that are simulated set by set, and of machines measured.

The simulation shares nothing with the model that is fitted: pages fall into the sets of a cache at
random or in order, and a set that holds more lines than it has ways misses all of them.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchvise.measure.knees import GridCell, GridKnee, Knee, grid_knees, infer_caches

KIB = 1 << 10
PAGE = 4 * KIB
DOUBLING = tuple(4 * KIB << k for k in range(15))
HALVES = tuple(sorted((*DOUBLING, *(6 * KIB << k for k in range(14)))))
SEEDS = 100
RECORDED = json.loads((Path(__file__).parent / "data" / "knees.json").read_text())


@dataclass(frozen=True)
class Machine:
    """Two caches and what is behind them, as a chain of loads meets them. Times in ns."""

    l1: int = 32 * KIB
    l2: int = 256 * KIB
    times: tuple[float, float, float] = (3.0, 11.0, 110.0)
    in_order: float = 0.5  # how often a buffer's pages are neighbours in physical memory
    is_random: bool = False  # replacement of the second cache
    hidden: float = 0.0  # share of the misses' time that prefetching hides
    noise: float = 0.02
    burst: float = 0.0  # how often another process lengthens a point by a third

    def latency(self, size: int, random: np.random.Generator) -> float:
        first = lines_lost(size, self.l1, ways=4)
        second = self._second(size, random)
        base, cache, memory = self.times
        tlb = max(0.0, 1 - 32 * PAGE / size) * 2 + max(0.0, 1 - 512 * PAGE / size) * 15
        lost = first * (cache - base) + min(first, second) * (memory - cache)
        value = base + (1 - self.hidden) * (lost + tlb)
        value *= math.exp(random.normal(0, self.noise))
        return value * (1.33 if random.random() < self.burst else 1.0)

    def _second(self, size: int, random: np.random.Generator) -> float:
        """As the median of three processes has it, each with pages of its own."""
        if self.is_random:
            return max(0.0, 1 - self.l2 / size)
        draws = [
            pages_lost(size, self.l2, random if random.random() >= self.in_order else None)
            for _ in range(3)
        ]
        return sorted(draws)[1]

    def curve(self, seed: int, sizes: Sequence[int] = DOUBLING) -> list[tuple[float, float]]:
        random = np.random.default_rng(seed)
        return [(size, self.latency(size, random)) for size in sizes]


@cache
def lines_lost(size: int, capacity: int, ways: int) -> float:
    """Share of lines that miss where the lines of a buffer are spread evenly over the sets."""
    sets = capacity // ways // 64
    lines = size // 64
    per_set = [lines // sets + (number < lines % sets) for number in range(sets)]
    return sum(count for count in per_set if count > ways) / lines


def pages_lost(size: int, capacity: int, random: np.random.Generator | None) -> float:
    """The same by whole pages, in eight ways, that lie at random (or in order)."""
    pages, colours = size // PAGE, capacity // 8 // PAGE
    where = random.integers(0, colours, pages) if random else np.arange(pages) % colours
    held = np.bincount(where, minlength=colours)
    return float(held[held > 8].sum()) / pages


CORTEX_A8 = Machine()
MACHINES = {
    "cortex-a8": CORTEX_A8,
    "pages in order": Machine(in_order=1),
    "pages at random": Machine(in_order=0),
    "random replacement": Machine(is_random=True),
    "noise of 5 %": Machine(noise=0.05),
    "hardly any noise": Machine(noise=0.001),
    "bursts": Machine(burst=0.05),
    "half is prefetched": Machine(hidden=0.5),
    "larger caches": Machine(l1=64 * KIB, l2=1024 * KIB),
    "smaller caches": Machine(l1=16 * KIB, l2=128 * KIB),
}


def found(knees: Sequence[Knee], machine: Machine) -> bool:
    """Both caches, as the first two knees, each within a factor of four."""
    return len(knees) >= 2 and all(
        knee.covers(capacity) and knee.high <= 4 * knee.low
        for knee, capacity in zip(knees, (machine.l1, machine.l2), strict=False)
    )


@pytest.mark.parametrize("sizes", [DOUBLING, HALVES], ids=["doubling", "halves"])
@pytest.mark.parametrize("name", MACHINES)
def test_both_caches_are_found(name: str, sizes: Sequence[int]) -> None:
    machine = MACHINES[name]
    seeds = SEEDS if machine is CORTEX_A8 else SEEDS // 3
    good = sum(found(infer_caches(machine.curve(seed, sizes)), machine) for seed in range(seeds))
    assert good >= 0.9 * seeds


@pytest.mark.parametrize("name", ["cortex-a8", "random replacement", "hardly any noise"])
def test_what_is_no_cache_is_not_reported(name: str) -> None:
    """Page tables add to the latency behind the last cache, slowly and by less than a quarter."""
    knees = [infer_caches(MACHINES[name].curve(seed, HALVES)) for seed in range(SEEDS)]
    assert sum(len(found) > 2 for found in knees) <= 0.05 * SEEDS


def test_levels_are_those_of_the_plateaus() -> None:
    first, second = infer_caches(Machine(in_order=1, noise=0.001).curve(1))
    assert (first.size, first.low, first.high) == (32 * KIB, 32 * KIB, 64 * KIB)
    assert first.before == pytest.approx(3, rel=0.05)
    assert first.after == second.before == pytest.approx(11, rel=0.05)
    assert second.size == 256 * KIB
    assert second.after == pytest.approx(115, rel=0.1)
    assert first.confidence > 0.999


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05, 0.1])
def test_a_flat_curve_has_no_knee(noise: float) -> None:
    """No cache, or one that holds all sizes."""
    wrong = 0
    for seed in range(SEEDS):
        random = np.random.default_rng(seed)
        curve = [(size, 5 * math.exp(random.normal(0, noise))) for size in HALVES]
        wrong += bool(infer_caches(curve))
    assert wrong <= (0.03 * SEEDS if noise >= 0.1 else 0)


def test_a_slow_rise_has_no_knee() -> None:
    curves = [
        [
            (size, (100 + 8 * k) * math.exp(np.random.default_rng((seed, k)).normal(0, 0.02)))
            for k, size in enumerate(DOUBLING)
        ]
        for seed in range(SEEDS)
    ]
    assert sum(bool(infer_caches(curve)) for curve in curves) <= 0.05 * SEEDS


def test_the_confidence_falls_with_the_step() -> None:
    """A step that noise might have made is not sure; one that it cannot, is."""

    def confidence(height: float) -> list[float]:
        values = []
        for seed in range(SEEDS):
            random = np.random.default_rng(seed)
            curve = [
                (s, (1 + height * (s > 64 * KIB)) * math.exp(random.normal(0, 0.12)))
                for s in DOUBLING
            ]
            values += [max((knee.confidence for knee in infer_caches(curve)), default=0.0)]
        return values

    assert np.mean(confidence(3.0)) > 0.99
    assert np.mean(confidence(0.3)) < 0.9


def test_few_or_bad_points() -> None:
    assert infer_caches([]) == []
    assert infer_caches([(4096, 1.0), (8192, 1.0), (16384, 9.0)]) == []
    for bad in (
        [(4096, 1.0), (4096, 2.0)],
        [(4096, 0.0)],
        [(0, 1.0)],
        [(4096, math.nan)],
        [(math.inf, 1.0)],
    ):
        with pytest.raises(ValueError, match="a curve has"):
            infer_caches(bad)


def test_the_order_of_points_is_nothing() -> None:
    curve = CORTEX_A8.curve(3, HALVES)
    assert infer_caches(reversed(curve)) == infer_caches(curve)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=40),
    st.sampled_from([1.05, 1.2, 2.0, 4.0]),
)
def test_any_curve_is_answered(values: list[float], ratio: float) -> None:
    curve = [(1000 * ratio**k, value) for k, value in enumerate(values)]
    sizes = {round(size) for size, _ in curve}
    knees = infer_caches(curve)
    for knee in knees:
        assert {knee.size, knee.low, knee.high} <= sizes
        assert knee.low <= knee.size < knee.high
        assert knee.after > knee.before > 0
        assert 0 <= knee.confidence <= 1
    assert knees == sorted(knees, key=lambda knee: knee.size)


# -- the grid of context switches ------------------------------------------------------------------

COUNTS = (2, 4, 8, 12, 16, 24, 32, 48, 64, 96)
SIZES = tuple(KIB * size for size in (0, 2, 4, 8, 16, 24, 32, 64))


def grid(
    seed: int, noise: float = 0.02, kernel: int = KIB, counts: Sequence[int] = COUNTS
) -> list[GridCell]:
    """A ring on a Cortex-A8, whose caches the kernel uses a KiB of for each process."""
    random = np.random.default_rng(seed)
    cells = []
    for size, count in itertools.product(SIZES, counts):
        footprint = count * (size + kernel)
        alone = size + kernel
        cost = 6000.0
        for capacity, miss in ((32 * KIB, 10.0), (256 * KIB, 90.0)):
            lost = min(1.0, max(0.0, 4 * (footprint / capacity - 1)))
            lost_alone = min(1.0, max(0.0, 4 * (alone / capacity - 1)))  # is subtracted
            cost += miss * ((size + kernel) / 64 * lost - size / 64 * lost_alone)
        cells.append(GridCell(count, size, cost * math.exp(random.normal(0, noise))))
    return cells


def at(knees: Sequence[GridKnee], size: int) -> list[GridKnee]:
    return [knee for knee in knees if knee.size == size]


def fits(knee: GridKnee, capacity: int) -> bool:
    """Whether the knee is that of the cache, of which the kernel may have its part or not."""
    return knee.low * knee.size <= capacity <= knee.high * (knee.size + KIB)


def test_processes_that_no_longer_fit() -> None:
    """Count x size is the cache, less what the kernel takes."""
    first = second = 0
    for seed in range(SEEDS):
        knees = grid_knees(grid(seed))
        for size in (8, 16, 24, 32, 64):
            second += any(fits(knee, 256 * KIB) for knee in at(knees, size * KIB)[-1:])
        for size in (4, 8):
            first += any(fits(knee, 32 * KIB) for knee in at(knees, size * KIB)[:1])
    assert second >= 0.95 * 5 * SEEDS
    assert first >= 0.6 * 2 * SEEDS  # a step of a tenth, in noise of 2 %


def test_a_knee_tells_where() -> None:
    (knee,) = at(grid_knees(grid(1, noise=0.002, kernel=0)), 64 * KIB)
    assert (knee.processes, knee.low, knee.high) == (4, 4, 8)
    assert knee.footprint == 256 * KIB
    assert knee.covers(256 * KIB)
    assert not knee.covers(32 * KIB)
    assert knee.after - knee.before == pytest.approx(64 * KIB / 64 * 90, rel=0.05)


def test_a_grid_without_caches_has_no_knee() -> None:
    """The kernel's own rise with the number of processes belongs to the base."""
    wrong = 0
    for seed in range(SEEDS):
        random = np.random.default_rng(seed)
        cells = [
            GridCell(count, size, 2000 * (1 + (count > 6)) * math.exp(random.normal(0, 0.03)))
            for size, count in itertools.product(SIZES, COUNTS)
        ]
        wrong += len(grid_knees(cells))
    assert wrong <= 0.02 * SEEDS * len(SIZES)


def test_a_grid_without_base_or_with_few_cells() -> None:
    cells = grid(2, noise=0.005)
    without = [cell for cell in cells if cell.size >= 16 * KIB]
    assert at(grid_knees(without), 64 * KIB)
    assert grid_knees([cell for cell in cells if cell.processes <= 8]) == []
    assert grid_knees([]) == []
    with pytest.raises(ValueError, match="one value for each"):
        grid_knees([*cells, cells[0]])
    with pytest.raises(ValueError, match="positive"):
        grid_knees([GridCell(2, 1024, -1.0)])


# -- a machine measured ----------------------------------------------------------------------------


@pytest.mark.parametrize("curve", RECORDED["latency"], ids=lambda curve: curve["name"])
def test_the_curve_of_a_machine(curve: Mapping[str, Any]) -> None:
    first, second = infer_caches(curve["points"])[:2]
    assert first.covers(RECORDED["caches"]["L1d"])
    assert second.covers(RECORDED["caches"]["L2"])


def test_the_grid_of_a_machine() -> None:
    """Of processes of 64 and of 256 KiB, about a MiB fits its second cache."""
    knees = grid_knees(GridCell(*cell) for cell in RECORDED["grid"]["cells"])
    for size in (64 * KIB, 256 * KIB):
        assert at(knees, size)[0].covers(RECORDED["caches"]["L2"])
