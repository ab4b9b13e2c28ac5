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
from functools import lru_cache
from operator import mul
from statistics import NormalDist

from benchvise.statistics.quantiles import median_of_sorted

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
        for step in _steps(x, y, [1.0] * len(y), _LEAST_RISE)
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
        bases = bases or dict(zip(n, y, strict=True))
        if size == 0 or len(row) < 2 * _LEAST_POINTS:
            continue
        is_known = size != min(rows) and all(count in bases for count in n)
        base = [bases[count] if is_known else 1.0 for count in n]
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
            for step in _steps([count * size for count in n], y, base, _LEAST_SWITCH_RISE)
        ]
    return knees


def _check(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    x = [point[0] for point in points]
    y = [point[1] for point in points]
    if not all(math.isfinite(value) and value > 0.0 for value in (*x, *y)):
        raise ValueError("a curve has positive, finite values only")
    if len(set(x)) < len(x):
        raise ValueError("a curve has one value for each size or number")
    return x, y


# -- the model -------------------------------------------------------------------------------------

_Floats = Sequence[float]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A possible step: its capacity, whether of a cache, and the share of misses at each point."""

    capacity: float
    cache: bool
    misses: _Floats


def _linear(ratio: float) -> float:
    return min(1.0, max(0.0, 8.0 * (ratio - 1.0)))


def _steep(ratio: float) -> float:
    return 1.0 / (1.0 + math.exp(-3.3 * math.log2(ratio)))


def _gentle(ratio: float) -> float:
    return 1.0 / (1.0 + math.exp(-1.8 * math.log2(ratio)))


def _random(ratio: float) -> float:
    return max(0.0, 1.0 - 1.0 / ratio)


def _slow(ratio: float) -> float:
    return max(0.0, math.log2(ratio) / 6.0)


_CACHES = (_linear, _steep, _gentle, _random)


@lru_cache(maxsize=64)
def _candidates(x: tuple[float, ...]) -> tuple[_Candidate, ...]:
    steps = math.ceil(math.log2(x[-1] / x[0]) * _PER_OCTAVE)
    capacities = [x[0] * 2.0 ** (step / _PER_OCTAVE) for step in range(steps)]
    candidates = []
    for shape in (*_CACHES, _slow):
        for capacity in capacities:
            misses = [shape(size / capacity) for size in x]
            # Lest one point off makes a step, several lie on either side of it.
            seen = misses[_LEAST_POINTS - 1] <= _FITS
            if shape is not _slow:
                seen = seen and misses[-_LEAST_POINTS] >= 1.0 - _FITS
            if seen:
                candidates.append(_Candidate(capacity, shape is not _slow, misses))
    return tuple(candidates)


def _dot(left: _Floats, right: _Floats) -> float:
    return sum(map(mul, left, right), 0.0)


def _without(vector: _Floats, direction: _Floats) -> list[float]:
    """What is left of a vector across a direction of length 1."""
    along = _dot(vector, direction)
    return [value - along * part for value, part in zip(vector, direction, strict=True)]


@dataclass(frozen=True, slots=True)
class _Explained:
    """What base and some columns explain: an orthonormal basis of them; what it leaves of the
    target; and of each candidate, its square across that basis, and its part in what is left."""

    basis: tuple[_Floats, ...]
    rest: _Floats
    squares: _Floats
    parts: _Floats


class _Fit:
    """A weighted least-squares fit of the base and some of the candidates."""

    def __init__(
        self, candidates: Sequence[_Candidate], base: _Floats, target: _Floats, weight: _Floats
    ) -> None:
        self.candidates = candidates
        self.columns = [list(map(mul, each.misses, weight)) for each in candidates]
        self.norms = [_dot(column, column) for column in self.columns]
        self.base = list(map(mul, base, weight))
        self.target = list(map(mul, target, weight))
        self.chosen: list[int] = []
        self._explained: dict[tuple[int, ...], _Explained] = {}
        parts = [_dot(column, self.target) for column in self.columns]
        nothing = _Explained((), self.target, self.norms, parts)
        self._explained[()] = self._and(nothing, self.base)

    def loss(self, chosen: Sequence[int]) -> float:
        """The sum of squares that base and chosen columns leave."""
        rest = self._by(chosen).rest
        return _dot(rest, rest)

    def losses_with(self, chosen: Sequence[int], cache: bool = True) -> list[float]:
        """The same with each cache (or slow rise) besides; infinite where it would go down."""
        explained = self._by(chosen)
        loss = _dot(explained.rest, explained.rest)
        return [
            loss - part * part / square
            if part > 0.0 and square > 1e-9 * norm and candidate.cache == cache
            else math.inf
            for part, square, norm, candidate in zip(
                explained.parts, explained.squares, self.norms, self.candidates, strict=True
            )
        ]

    def _by(self, chosen: Sequence[int]) -> _Explained:
        """Kept, as moving steps asks for many again."""
        key = tuple(chosen)
        if key not in self._explained:
            self._explained[key] = self._and(self._by(key[:-1]), self.columns[key[-1]])
        return self._explained[key]

    def _and(self, explained: _Explained, column: _Floats) -> _Explained:
        """With one column more, by Gram and Schmidt, twice against rounding.

        What the basis explains of a candidate has no part in what it leaves of the target, and is
        taken off its square by Pythagoras.
        """
        across = column
        for direction in (*explained.basis, *explained.basis):
            across = _without(across, direction)
        length = math.sqrt(_dot(across, across)) or math.inf
        direction = [value / length for value in across]
        along = _dot(explained.rest, direction)
        shares = [_dot(candidate, direction) for candidate in self.columns]
        return _Explained(
            (*explained.basis, direction),
            _without(explained.rest, direction),
            [
                square - share * share
                for square, share in zip(explained.squares, shares, strict=True)
            ],
            [part - share * along for part, share in zip(explained.parts, shares, strict=True)],
        )

    def heights(self) -> list[float]:
        """The factor of the base, then the heights of the chosen steps."""
        basis = self._by(self.chosen).basis
        columns = [self.base, *(self.columns[j] for j in self.chosen)]
        heights = [0.0] * len(columns)
        rest = self.target
        for k in range(len(columns) - 1, -1, -1):  # from the last: only it has that direction
            own = _dot(basis[k], columns[k])
            heights[k] = _dot(basis[k], rest) / own if own else 0.0
            rest = [value - heights[k] * part for value, part in zip(rest, columns[k], strict=True)]
        return heights

    def select(self, threshold: float) -> None:
        """Adds steps as long as one lowers the loss by more than the threshold."""
        while len(self.chosen) < _MOST_STEPS:
            losses = self.losses_with(self.chosen)
            if not losses or self.loss(self.chosen) - min(losses) <= threshold:
                return
            self.chosen.append(losses.index(min(losses)))
            self._sweep()

    def _sweep(self) -> None:
        """Moves each step to where it is best with the others as they are."""
        for _ in range(_SWEEPS):
            before = list(self.chosen)
            for k, chosen in enumerate(before):
                others = self.chosen[:k] + self.chosen[k + 1 :]
                losses = self.losses_with(others, self.candidates[chosen].cache)
                if min(losses) < math.inf:
                    self.chosen[k] = losses.index(min(losses))
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
            heights = self.heights()[1:]
            worth = [g if h > 0.0 else -math.inf for g, h in zip(gains, heights, strict=True)]
            if min(worth) > threshold:
                return
            del self.chosen[worth.index(min(worth))]
            self._sweep()

    def slow(self, threshold: float) -> None:
        """Gives up the last steps for one slow rise where that costs less, a step each."""
        capacity = [candidate.capacity for candidate in self.candidates]
        ordered = sorted(self.chosen, key=capacity.__getitem__)
        best, least = ordered, self.loss(ordered) + threshold * len(ordered)
        for kept in range(len(ordered)):
            head = ordered[:kept]
            losses = self.losses_with(head, cache=False)
            if head:
                least_capacity = capacity[head[-1]]
                losses = [
                    loss if size >= least_capacity else math.inf
                    for loss, size in zip(losses, capacity, strict=True)
                ]
            lowest = min(losses)
            # and half a step more: a cache is the better explanation
            cost = lowest + threshold * (kept + 1.5)
            if cost < least:
                best, least = [*head, losses.index(lowest)], cost
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


def _steps(x: _Floats, y: _Floats, base: _Floats, least_rise: float) -> list[_Step]:
    """The steps of a curve, in ascending order of x."""
    candidates = _candidates(tuple(x))
    if not any(candidate.cache for candidate in candidates):
        return []
    threshold = 2.0 * math.log(len(candidates)) + 2.0 * math.log(len(x))
    over_base = [value / below for value, below in zip(y, base, strict=True)]
    trust = [1.0] * len(y)
    for _ in range(_ROUNDS):
        weight = [math.sqrt(share) / value for share, value in zip(trust, y, strict=True)]
        fit = _Fit(candidates, base, y, weight)
        fit.select(threshold * _LEAST_NOISE**2)
        freedom = len(x) - 1.0 - 2.0 * len(fit.chosen)
        noise = _noise(_relative_residuals(fit, base, y), freedom, over_base)
        fit.eliminate(threshold * noise**2)
        residuals = _relative_residuals(fit, base, y)
        trust = [min(1.0, _HUBER * noise / max(residual, 1e-12)) for residual in residuals]
    fit.slow(threshold * noise**2)
    fit.eliminate(threshold * noise**2)
    steps = (_describe(fit, group, x, base, noise, threshold) for group in _groups(fit, x))
    # A curve that no such sum resembles may be fitted best by a level below zero: that is no knee.
    return [step for step in steps if 0.0 < (1.0 + least_rise) * step.before <= step.after]


def _noise(residuals: _Floats, freedom: float, y: _Floats) -> float:
    """Relative standard deviation: from residuals, or from neighbours if these differ less.

    The residuals are of a fit with too many steps; neighbours differ by steps too, but most of
    them lie on plateaus. Both by medians.
    """
    scale = 1.0 / NormalDist().inv_cdf(0.75)
    left = scale * median_of_sorted(sorted(residuals)) * math.sqrt(len(y) / max(1.0, freedom))
    steps = sorted(abs(math.log(after / value)) for value, after in itertools.pairwise(y))
    between = scale * median_of_sorted(steps) / math.sqrt(2.0)
    return max(_LEAST_NOISE, min(left, between))


def _relative_residuals(fit: _Fit, base: _Floats, y: _Floats) -> list[float]:
    """Without sign."""
    first, *heights = fit.heights()
    rest = [value - first * below for value, below in zip(y, base, strict=True)]
    for height, j in zip(heights, fit.chosen, strict=True):
        misses = fit.candidates[j].misses
        rest = [value - height * share for value, share in zip(rest, misses, strict=True)]
    return [abs(left / value) for left, value in zip(rest, y, strict=True)]


def _groups(fit: _Fit, x: _Floats) -> list[list[int]]:
    """The caches among the chosen steps by capacity, those too near to be two put together."""
    heights = dict(zip(fit.chosen, fit.heights()[1:], strict=True))
    logs = {j: math.log(fit.candidates[j].capacity) for j in fit.chosen}
    groups = [[j] for j in sorted(fit.chosen, key=logs.__getitem__) if fit.candidates[j].cache]

    def centre(group: Sequence[int]) -> float:
        return sum(logs[j] * heights[j] for j in group) / sum(heights[j] for j in group)

    def gap(a: Sequence[int], b: Sequence[int]) -> float:
        between = [
            size
            for at, size in enumerate(x)
            if min(fit.candidates[j].misses[at] for j in a) >= _MOST
            and max(fit.candidates[j].misses[at] for j in b) <= 1.0 - _MOST
        ]
        plateau = len(between) > 1 and between[-1] >= _PLATEAU * between[0]
        return math.inf if plateau else centre(b) - centre(a)

    while len(groups) > 1:
        gaps = [gap(a, b) for a, b in itertools.pairwise(groups)]
        nearest = gaps.index(min(gaps))
        if gaps[nearest] >= math.log(_LEAST_DISTANCE):
            break
        groups[nearest : nearest + 2] = [groups[nearest] + groups[nearest + 1]]
    return groups


def _describe(
    fit: _Fit, group: Sequence[int], x: _Floats, base: _Floats, noise: float, threshold: float
) -> _Step:
    """A group of steps as one."""

    def level(steps: Iterable[int], at: int) -> float:
        return sum(height[j] * fit.candidates[j].misses[at] for j in steps)

    others = [j for j in fit.chosen if j not in group]
    first, *heights = fit.heights()
    height = dict(zip(fit.chosen, heights, strict=True))
    rise = sum(height[j] for j in group)
    at = max(place for place in range(len(x)) if level(group, place) <= _FITS * rise)
    before = first * base[at] + level(others, at)
    low, high = _bounds(fit, [j for j in group if height[j] >= _MEMBER * rise], noise)
    gain = (fit.loss(others) - fit.loss(fit.chosen)) / noise**2
    return _Step(
        fits=x[at],
        low=min(x[at], max(size for size in x if size <= low)),
        high=max(x[at + 1], min(size for size in x if size >= high)),
        before=before,
        after=before + rise,
        confidence=1.0 / (1.0 + math.exp(-min(700.0, gain - threshold) / 2.0)),
    )


def _bounds(fit: _Fit, group: Sequence[int], noise: float) -> tuple[float, float]:
    """The least and the largest capacity with which some shape of a step fits nearly as well."""
    caches = [fit.candidates[j].capacity for j in fit.chosen if fit.candidates[j].cache]
    most = fit.loss(fit.chosen) + _PROFILE * noise**2
    near = []
    for this in group:
        own = fit.candidates[this].capacity
        losses = fit.losses_with([j for j in fit.chosen if j != this])
        # halfway to the next step and no farther: beyond, that one's place would be taken
        below = max((math.sqrt(size * own) for size in caches if size < own), default=0.0)
        above = min((math.sqrt(size * own) for size in caches if size > own), default=math.inf)
        near.append(own)
        near += [
            candidate.capacity
            for candidate, loss in zip(fit.candidates, losses, strict=True)
            if loss <= most and below < candidate.capacity < above
        ]
    return min(near), max(near)
