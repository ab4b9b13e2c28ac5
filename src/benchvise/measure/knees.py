"""Cache sizes from measured curves: where a latency or a switching cost steps up.

Two kinds of curve show them. The latency of a load over the size of what is loaded from steps up
where the size passes a cache (``infer_caches``). The cost of a context switch over the number of
processes steps up where all their memory together passes one (``grid_knees``).

Method. A curve is taken as a sum of steps upwards: y(x) = a b(x) + sum of d_k f(x / C_k), with a
known base b (one, or what the switch costs without memory), capacities C_k, heights d_k > 0, and f
the share of accesses that miss a cache of capacity 1 when x is gone through again and again:

- least recently used, contiguous memory: all miss as soon as x exceeds C by one line a set;
- least recently used, pages at random physical addresses: some sets overflow from C / 2 on, all do
  at 2 C;
- random replacement: 1 - C / x.

Steps are added one by one where they lower the sum of squares of the relative residuals most, then
moved and taken away again (forward selection with a sweep over all steps after each, and backward
elimination), until each that is left lowers chi-squared by more than the number of candidates
makes likely by chance. The last steps are given up for a slow rise, over six octaves and more,
where that fits as well: it is no cache, but ever more page tables to read. Points far off count
less (Huber), as a neighbour's burst is no step. Steps nearer to each other than caches ever are
make one knee together. The bounds of a capacity are those within which some shape fits nearly as
well (profile of chi-squared, 3 sigma), widened to the next sizes that were measured.

Sources: the regimes of a loop over caches: R. Saavedra and A. Smith, IEEE Trans. Computers 44
(1995) 1223; of context switches: L. McVoy and C. Staelin, USENIX 1996; stepwise selection and the
posterior from BIC: A. Raftery, Sociological Methodology 25 (1995) 111; P. Huber, Ann. Math.
Statist. 35 (1964) 73.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from benchvise.long_arrays import Floats

# Candidates for a capacity lie so close, in a factor of two.
_PER_OCTAVE = 6
_MOST_STEPS = 6
_SWEEPS = 3
_ROUNDS = 3
# Relative noise is never taken for less: the shapes are models too.
_LEAST_NOISE = 0.02
# Residuals beyond so many sigma count as if they were that far.
_HUBER = 1.5
# How much worse chi-squared may be within the bounds of a capacity: 3 sigma of one parameter.
_PROFILE = 9.0
# A step shows between two plateaus: so many points on either side.
_LEAST_POINTS = 2
# A step lower than this share of what lies below it is not reported.
_LEAST_RISE = 0.25
_LEAST_SWITCH_RISE = 0.08
# Caches of two levels differ by a factor of four at least; what is estimated, by nearly that.
_LEAST_DISTANCE = 2.0**1.5
# Nearer steps are two caches only with a plateau between them, so many times as wide: points
# where so much of the lower step is there, and not of the upper.
_PLATEAU = 2.0
_MOST = 0.9
# Of steps put together, those with so much of the height decide about the bounds.
_MEMBER = 0.3
# So much of a step's height may be there at a size that is said to fit.
_FITS = 1.0 / 3.0


@dataclass(frozen=True, slots=True)
class Knee:
    """A cache as a latency curve shows it.

    ``size`` is the largest size measured that (mostly) fits; the capacity lies between ``low``
    and ``high``, both sizes that were measured, in bytes. ``before`` and ``after`` are the
    latencies of the plateaus in the unit of the curve. ``confidence`` (0..1) is the approximate
    posterior probability that there is a step, not that the bounds are right.
    """

    size: int
    low: int
    high: int
    before: float
    after: float
    confidence: float

    def covers(self, capacity: float) -> bool:
        """Whether a cache of so many bytes lies within the bounds."""
        return self.low <= capacity <= self.high


@dataclass(frozen=True, slots=True)
class GridCell:
    """The cost of a switch in a ring of ``processes``, each going through ``size`` bytes."""

    processes: int
    size: int
    cost: float


@dataclass(frozen=True, slots=True)
class GridKnee:
    """Where processes of one size no longer fit a cache together.

    Up to ``processes`` of ``size`` bytes fit; the step lies between ``low`` and ``high`` processes,
    all of them numbers that were measured. ``before`` and ``after`` are what a switch costs on the
    plateaus, in the unit of the cells. ``confidence`` is as of ``Knee``.
    """

    size: int
    processes: int
    low: int
    high: int
    before: float
    after: float
    confidence: float

    @property
    def footprint(self) -> int:
        """Bytes that fit: less than the cache by what kernel, stacks and pipes need of it."""
        return self.processes * self.size

    def covers(self, capacity: float) -> bool:
        """Whether a cache of so many bytes lies within the bounds."""
        return self.low * self.size <= capacity <= self.high * self.size


def infer_caches(curve: Iterable[tuple[float, float]]) -> list[Knee]:
    """The caches that a latency curve shows, smallest first; empty when it shows no knee.

    ``curve`` holds pairs of size in bytes and latency (both positive) in any order, one a size,
    from a random chain of loads: sizes by doubling at least, at least two below the first cache
    and two beyond the last. Base pages add a knee where a TLB ends, so give it the curve on huge
    pages, or of ``order=local``, when there is one. ValueError when values are not positive and
    finite, or when a size is there twice.
    """
    points = sorted((float(size), float(latency)) for size, latency in curve)
    if len(points) < 2 * _LEAST_POINTS:
        _check(points)
        return []
    x, y = _check(points)
    return [
        Knee(
            size=round(step.fits),
            low=round(step.low),
            high=round(step.high),
            before=step.before,
            after=step.after,
            confidence=step.confidence,
        )
        for step in _steps(x, y, np.ones_like(y), _LEAST_RISE)
    ]


def grid_knees(cells: Iterable[GridCell]) -> list[GridKnee]:
    """For each size of process the numbers of processes where a switch steps up in cost.

    Ordered by size, then number; a size without a knee is left out. What a switch costs at the
    smallest size of the grid is the base, with its own rise over the number of processes (which
    is that of the kernel); it is taken as constant where that size lacks a number. Cells are of
    one order (sequential or random) and one CPU. ValueError when values are not positive and finite
    (sizes may be 0), or when a cell is there twice.
    """
    rows: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for cell in cells:
        rows[cell.size].append((float(cell.processes), float(cell.cost)))
    bases: dict[float, float] = {}
    knees: list[GridKnee] = []
    for size, row in sorted(rows.items()):
        n, y = _check(sorted(row))
        bases = bases or dict(zip(n.tolist(), y.tolist(), strict=True))
        if size == 0 or len(row) < 2 * _LEAST_POINTS:
            continue
        is_known = size != min(rows) and all(count in bases for count in n.tolist())
        base = np.array([bases[count] for count in n.tolist()]) if is_known else np.ones_like(y)
        knees += [
            GridKnee(
                size=size,
                processes=round(step.fits / size),
                low=round(step.low / size),
                high=round(step.high / size),
                before=step.before,
                after=step.after,
                confidence=step.confidence,
            )
            for step in _steps(n * size, y, base, _LEAST_SWITCH_RISE)
        ]
    return knees


def _check(points: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    x = np.array([point[0] for point in points], dtype=np.float64)
    y = np.array([point[1] for point in points], dtype=np.float64)
    if not (np.isfinite(x).all() and np.isfinite(y).all() and (x > 0).all() and (y > 0).all()):
        raise ValueError("a curve has positive, finite values only")
    if np.unique(x).size < x.size:
        raise ValueError("a curve has one value for each size or number")
    return x, y


# -- the model -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Possible steps: capacity, whether of a cache, and the share of misses at each point."""

    capacity: Floats
    cache: npt.NDArray[np.bool_]
    misses: Floats


def _candidates(x: Floats) -> _Candidates:
    octaves = np.arange(0.0, math.log2(x[-1] / x[0]), 1.0 / _PER_OCTAVE)
    capacity = x[0] * 2.0**octaves
    ratio = x[:, np.newaxis] / capacity[np.newaxis, :]
    shapes = [
        np.clip(8.0 * (ratio - 1.0), 0.0, 1.0),
        1.0 / (1.0 + np.exp(-3.3 * np.log2(ratio))),
        1.0 / (1.0 + np.exp(-1.8 * np.log2(ratio))),
        np.maximum(0.0, 1.0 - 1.0 / ratio),
        np.clip(np.log2(ratio) / 6.0, 0.0, None),
    ]
    misses = np.hstack(shapes)
    cache = np.repeat([True, True, True, True, False], capacity.size)
    # Lest one point off makes a step, several lie on either side of it.
    seen = misses[_LEAST_POINTS - 1] <= _FITS
    seen &= ~cache | (misses[-_LEAST_POINTS] >= 1.0 - _FITS)
    return _Candidates(np.tile(capacity, len(shapes))[seen], cache[seen], misses[:, seen])


class _Fit:
    """A weighted least-squares fit of the base and some of the candidates."""

    def __init__(
        self, candidates: _Candidates, base: Floats, target: Floats, weight: Floats
    ) -> None:
        self.candidates = candidates
        self.columns = candidates.misses * weight[:, np.newaxis]
        self.norms = np.einsum("ij,ij->j", self.columns, self.columns)
        self.base = base * weight
        self.target = target * weight
        self.chosen: list[int] = []
        self._bases: dict[tuple[int, ...], Floats] = {}

    def loss(self, chosen: Sequence[int]) -> float:
        """The sum of squares that base and chosen columns leave."""
        rest = self._rest(self._basis(chosen))
        return float(rest @ rest)

    def losses_with(self, chosen: Sequence[int], cache: bool = True) -> Floats:
        """The same with each cache (or slow rise) besides; infinite where it would go down."""
        basis = self._basis(chosen)
        rest = self._rest(basis)
        # What the basis explains of a column has no part in what it leaves of the target, and is
        # taken off its square by Pythagoras.
        explained = basis.T @ self.columns
        projection = self.columns.T @ rest
        norms = self.norms - np.einsum("ij,ij->j", explained, explained)
        usable = (self.candidates.cache == cache) & (projection > 0.0)
        usable &= norms > 1e-9 * self.norms
        gains = np.where(usable, projection**2 / np.where(usable, norms, 1.0), -np.inf)
        losses: Floats = float(rest @ rest) - gains
        return losses

    def _basis(self, chosen: Sequence[int]) -> Floats:
        """An orthonormal basis of base and chosen columns; moving steps asks for many again."""
        key = tuple(chosen)
        if key not in self._bases:
            matrix = np.column_stack([self.base, self.columns[:, list(chosen)]])
            self._bases[key], _ = np.linalg.qr(matrix)
        return self._bases[key]

    def _rest(self, basis: Floats) -> Floats:
        """The target, less what base and chosen columns explain of it."""
        rest: Floats = self.target - basis @ (basis.T @ self.target)
        return rest

    def heights(self) -> Floats:
        """The factor of the base, then the heights of the chosen steps."""
        matrix = np.column_stack([self.base, self.columns[:, self.chosen]])
        solution, *_ = np.linalg.lstsq(matrix, self.target, rcond=None)
        heights: Floats = np.asarray(solution, dtype=np.float64)
        return heights

    def select(self, threshold: float) -> None:
        """Adds steps as long as one lowers the loss by more than the threshold."""
        while len(self.chosen) < _MOST_STEPS:
            losses = self.losses_with(self.chosen)
            best = int(np.argmin(losses))
            if self.loss(self.chosen) - losses[best] <= threshold:
                return
            self.chosen.append(best)
            self._sweep()

    def _sweep(self) -> None:
        """Moves each step to where it is best with the others as they are."""
        for _ in range(_SWEEPS):
            before = list(self.chosen)
            for k, chosen in enumerate(before):
                others = self.chosen[:k] + self.chosen[k + 1 :]
                losses = self.losses_with(others, bool(self.candidates.cache[chosen]))
                if losses.min() < np.inf:
                    self.chosen[k] = int(np.argmin(losses))
            if self.chosen == before:
                return

    def eliminate(self, threshold: float) -> None:
        """Takes away steps that go down, and those without which the loss is hardly larger."""
        while self.chosen:
            whole = self.loss(self.chosen)
            gains = [
                self.loss(self.chosen[:k] + self.chosen[k + 1 :]) - whole
                for k in range(len(self.chosen))
            ]
            worth = np.where(self.heights()[1:] > 0.0, gains, -np.inf)
            weakest = int(np.argmin(worth))
            if worth[weakest] > threshold:
                return
            del self.chosen[weakest]
            self._sweep()

    def slow(self, threshold: float) -> None:
        """Gives up the last steps for one slow rise where that costs less, a step each."""
        capacity = self.candidates.capacity
        ordered = sorted(self.chosen, key=lambda j: capacity[j])
        best, least = ordered, self.loss(ordered) + threshold * len(ordered)
        for kept in range(len(ordered)):
            head = ordered[:kept]
            losses = self.losses_with(head, cache=False)
            if head:
                losses[capacity < capacity[head[-1]]] = np.inf
            if not losses.size or losses.min() == np.inf:
                continue
            rise = int(np.argmin(losses))
            # and half a step more: a cache is the better explanation
            cost = float(losses[rise]) + threshold * (kept + 1.5)
            if cost < least:
                best, least = [*head, rise], cost
        self.chosen = best


# -- steps -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Step:
    """A step as found: sizes in units of x, levels in units of y."""

    fits: float
    low: float
    high: float
    before: float
    after: float
    confidence: float


def _steps(x: Floats, y: Floats, base: Floats, least_rise: float) -> list[_Step]:
    """The steps of a curve, in ascending order of x."""
    candidates = _candidates(x)
    if not candidates.cache.any():
        return []
    threshold = 2.0 * math.log(candidates.capacity.size) + 2.0 * math.log(x.size)
    trust = np.ones_like(y)
    for _ in range(_ROUNDS):
        fit = _Fit(candidates, base, y, np.sqrt(trust) / y)
        fit.select(threshold * _LEAST_NOISE**2)
        residuals = np.abs(_relative_residuals(fit, base, y))
        noise = _noise(residuals, x.size - 1.0 - 2.0 * len(fit.chosen), y / base)
        fit.eliminate(threshold * noise**2)
        residuals = np.abs(_relative_residuals(fit, base, y))
        trust = np.minimum(1.0, _HUBER * noise / np.maximum(residuals, 1e-12))
    fit.slow(threshold * noise**2)
    fit.eliminate(threshold * noise**2)
    steps = (_describe(fit, group, x, base, noise, threshold) for group in _groups(fit, x))
    # A curve that no such sum resembles may be fitted best by a level below zero: that is no knee.
    return [step for step in steps if 0.0 < (1.0 + least_rise) * step.before <= step.after]


def _noise(residuals: Floats, freedom: float, y: Floats) -> float:
    """Relative standard deviation: from residuals, or from neighbours if these differ less.

    The residuals are of a fit with too many steps; neighbours differ by steps too, but most of
    them lie on plateaus. Both by medians.
    """
    scale = 1.0 / NormalDist().inv_cdf(0.75)
    left = scale * float(np.median(residuals)) * math.sqrt(y.size / max(1.0, freedom))
    between = scale * float(np.median(np.abs(np.diff(np.log(y))))) / math.sqrt(2.0)
    return max(_LEAST_NOISE, min(left, between))


def _relative_residuals(fit: _Fit, base: Floats, y: Floats) -> Floats:
    heights = fit.heights()
    fitted = heights[0] * base + fit.candidates.misses[:, fit.chosen] @ heights[1:]
    residuals: Floats = (y - fitted) / y
    return residuals


def _groups(fit: _Fit, x: Floats) -> list[list[int]]:
    """The caches among the chosen steps by capacity, those too near to be two put together."""
    heights = dict(zip(fit.chosen, fit.heights()[1:], strict=True))
    logs = np.log(fit.candidates.capacity)
    caches = sorted((j for j in fit.chosen if fit.candidates.cache[j]), key=lambda j: logs[j])
    groups = [[j] for j in caches]

    def centre(group: Sequence[int]) -> float:
        return float(np.average(logs[group], weights=[heights[j] for j in group]))

    def gap(a: Sequence[int], b: Sequence[int]) -> float:
        misses = fit.candidates.misses
        full = np.min(misses[:, a], axis=1) >= _MOST
        empty = np.max(misses[:, b], axis=1) <= 1.0 - _MOST
        between = x[full & empty]
        plateau = between.size > 1 and between[-1] >= _PLATEAU * between[0]
        return math.inf if plateau else centre(b) - centre(a)

    while len(groups) > 1:
        gaps = [gap(a, b) for a, b in itertools.pairwise(groups)]
        nearest = int(np.argmin(gaps))
        if gaps[nearest] >= math.log(_LEAST_DISTANCE):
            break
        groups[nearest : nearest + 2] = [groups[nearest] + groups[nearest + 1]]
    return groups


def _describe(
    fit: _Fit, group: Sequence[int], x: Floats, base: Floats, noise: float, threshold: float
) -> _Step:
    """A group of steps as one."""
    misses = fit.candidates.misses
    others = [j for j in fit.chosen if j not in group]
    heights = fit.heights()
    height = dict(zip(fit.chosen, heights[1:], strict=True))
    rise = sum(height[j] for j in group)
    share = sum(height[j] * misses[:, j] for j in group) / rise
    at = int(np.flatnonzero(share <= _FITS)[-1])
    before = float(heights[0] * base[at] + sum(height[j] * misses[at, j] for j in others))
    low, high = _bounds(fit, [j for j in group if height[j] >= _MEMBER * rise], noise)
    gain = (fit.loss(others) - fit.loss(fit.chosen)) / noise**2
    return _Step(
        fits=float(x[at]),
        low=float(min(x[at], x[x <= low][-1])),
        high=float(max(x[at + 1], x[x >= high][0])),
        before=before,
        after=before + float(rise),
        confidence=1.0 / (1.0 + math.exp(-min(700.0, gain - threshold) / 2.0)),
    )


def _bounds(fit: _Fit, group: Sequence[int], noise: float) -> tuple[float, float]:
    """The least and the largest capacity with which some shape of a step fits nearly as well."""
    capacity = fit.candidates.capacity
    caches = [j for j in fit.chosen if fit.candidates.cache[j]]
    near = []
    for this in group:
        others = [j for j in fit.chosen if j != this]
        fits = fit.losses_with(others) - fit.loss(fit.chosen) <= _PROFILE * noise**2
        # halfway to the next step and no farther: beyond, that one's place would be taken
        below = [capacity[j] for j in caches if capacity[j] < capacity[this]]
        above = [capacity[j] for j in caches if capacity[j] > capacity[this]]
        if below:
            fits &= capacity > math.sqrt(max(below) * capacity[this])
        if above:
            fits &= capacity < math.sqrt(min(above) * capacity[this])
        near += [*capacity[fits], capacity[this]]
    return float(min(near)), float(max(near))
