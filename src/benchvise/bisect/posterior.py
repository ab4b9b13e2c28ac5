"""Where the change is: a posterior over versions, beside "no change" and "two changes".

Versions are numbered in their order; the change is at the first one that is worse. What was not
measured in between cannot be told apart, and shares what is known of the place by equal parts. A
version that cannot be built or run is no place of its own: its share goes to the next one, as
the change is there or in one of those left out before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchvise.bisect.likelihood import (
    NoiseGrid,
    bounds,
    first_scale,
    make_grid,
    version_likelihood,
)
from benchvise.bisect.sizes import sized_likelihoods
from benchvise.long_arrays import Floats, Indices

NO_CHANGE = 0.05
TWO_CHANGES = 0.05
"""How likely these are beforehand; the rest is one change, anywhere with the same probability."""


_UNLIKELY = 1e-6
_ALL_GAPS_AFTER = 16
_REGRIDS = 3


@dataclass(frozen=True, slots=True)
class SideLevels:
    """What is known of the values on both sides: natural logarithms, the larger the worse.

    ``scatter`` is that of one sample, ``spread`` that of versions on the same side, ``doubt`` the
    standard deviation of the difference.
    """

    before: float
    after: float
    scatter: float
    spread: float
    doubt: float


@dataclass(frozen=True, slots=True)
class TwoChanges:
    """What is known if there are two.

    ``share`` is P(two changes) against one and none, ``places`` the likeliest pair and
    ``probability`` P(this pair | two changes). ``doubt`` (count) is how little the side of each
    version (before, between, after) is known, in nats; 0 of one that is left out.
    """

    share: float
    places: tuple[int, int]
    probability: float
    doubt: Floats


class ChangePosterior:
    """What measurements say of the place of a change among ``count`` versions, 0 the good one.

    Deterministic: the same samples in the same order give the same answer. With ``all_gaps``,
    unlikely places are worked out each time too, as ``gap_logs`` needs it.
    """

    def __init__(self, count: int, *, all_gaps: bool = False) -> None:
        self.count = count
        self._all_gaps = all_gaps
        self.values: dict[int, list[float]] = {}
        self.left_out: set[int] = set()
        self._grid: NoiseGrid | None = None
        self._doubt = 1.0
        self._logs: dict[int, Floats] = {}
        self._known = False
        self._whole = True
        self._known_levels: SideLevels | None = None
        self._prior: Floats | None = None

    def add(self, version: int, value: float) -> None:
        """Takes a sample: the logarithm of the value, the larger the worse."""
        self.values.setdefault(version, []).append(value)
        self._known = False
        if self._grid is not None and version not in self.left_out:
            self._logs[version] = version_likelihood(self._grid, self.values[version])

    def leave_out(self, version: int) -> None:
        """The version cannot be built or run. It must not be the first or the last one."""
        self.left_out.add(version)
        self.values.pop(version, None)
        self._logs.pop(version, None)
        self._known = False

    def expect_places(self, prior: Floats) -> None:
        """Takes what others know of the place, (count) shares, in the place of an even prior.

        Both ends have to be measured.
        """
        self._update()
        self._prior = prior
        self._weigh()

    @property
    def samples(self) -> int:
        """How many were taken."""
        return sum(map(len, self.values.values()))

    # -- answers -----------------------------------------------------------------------------------

    @property
    def places(self) -> Floats:
        """(count) P(the change is at this version | one change); 0 for the first one."""
        self._update()
        return self._places

    @property
    def no_change(self) -> float:
        """P(no change) against one change."""
        self._update()
        return self._no_change

    @property
    def levels(self) -> SideLevels:
        """Both sides and the scatter, each by its posterior mean."""
        self._update()
        if self._known_levels is None:
            self._known_levels = self._mean_levels()
        return self._known_levels

    @property
    def best(self) -> tuple[int, float]:
        """The likeliest place, and P(this place | one change) (1 - P(no change))."""
        place = int(np.argmax(self.places))
        return place, float(self.places[place]) * (1.0 - self.no_change)

    @property
    def gap_logs(self) -> tuple[list[int], Floats, float]:
        """The measured versions, the logarithm of the likelihood of a change in each gap between
        them, and of none. Both ends have to be measured.
        """
        assert self._all_gaps  # noqa: S101 - the caller made it so
        self._update()
        return list(self._order), self._log_one, self._log_none

    def sized_gap_logs(self) -> Floats:
        """(gaps, J) the same of a change, by its usual size (``bisect.sizes``)."""
        self._update()
        grid = self._grid
        assert grid is not None  # noqa: S101 - made by the update
        sized = np.log(sized_likelihoods(self._before, self._after, grid.spacing))
        sized += (self._tops + grid.log_prior[:, None])[..., None]
        return log_sum(sized, axis=0)

    def pair_logs(self) -> tuple[list[int], Floats]:
        """The measured versions, and the logarithm of the likelihood of two changes in the gaps
        between them, (gaps, gaps): the first in the row's, the second in the column's. Both in one
        gap are as good as one change there.
        """
        self._update()
        order = sorted(self.values)
        self._whole = True
        self._evaluate()
        grid = self._grid
        assert grid is not None  # noqa: S101 - made by the update
        left = self._cumulated[:, :-1]
        _, top_before = _lifted(left)
        _, top_after = _lifted(self._cumulated[:, -1:] - left)
        to_middle = self._before @ grid.change
        from_middle = self._after @ grid.change.transpose(0, 2, 1)
        gaps = len(order) - 1
        logs = np.full((gaps, gaps), -np.inf)
        for first in range(gaps):
            inner, top = _lifted(left[:, first + 1 :] - left[:, first : first + 1])
            joint = (to_middle[:, first : first + 1] * inner * from_middle[:, first + 1 :]).sum(2)
            tops = top_before[:, first : first + 1] + top + top_after[:, first + 1 :]
            with np.errstate(divide="ignore"):
                by_noise = np.log(joint) + tops + grid.log_prior[:, None]
            logs[first, first + 1 :] = log_sum(by_noise, axis=0)
            logs[first, first] = self._log_one[first]
        return order, logs

    def two_changes(self) -> TwoChanges:
        """What speaks for two changes; takes longer than the other answers."""
        self._update()
        if len(self.values) < 3:
            return TwoChanges(0.0, (0, 0), 0.0, np.zeros(self.count))
        weights = self._weights
        order, logs = self.pair_logs()
        others = np.logaddexp(
            self._log_none + np.log(NO_CHANGE),
            self._log_placed + np.log(1.0 - NO_CHANGE - TWO_CHANGES),
        )
        return two_changes_of(self.count, order, weights, logs, float(others), self.left_out)

    # -- how ---------------------------------------------------------------------------------------

    def _update(self) -> None:
        if self._known:
            return
        if self._grid is None:
            self._regrid(first_scale(self.values), self._doubt)
        self._evaluate()
        for _ in range(_REGRIDS):  # a grid that does not fit is made anew
            scale, doubt = self._scale_posterior()
            if self._fits(scale, doubt):
                break
            self._doubt = doubt
            self._regrid(scale, doubt)
            self._evaluate()
        self._known, self._whole = True, False

    def _fits(self, scale: float, doubt: float) -> bool:
        """Whether the grid is where the scatter is, and as fine as it is known."""
        grid = self._grid
        assert grid is not None  # noqa: S101 - evaluated
        low, high = grid.scatter[0], grid.scatter[-1]
        half = float(np.log(high / low)) / 2.0
        centre = float(np.sqrt(low * high))
        within = abs(np.log(scale / centre)) < 0.34 * half
        least, most = bounds(self.values)
        covered = grid.levels[0] <= least and most <= grid.levels[-1]
        fine = half <= max(4.5 * doubt, 0.2) and grid.spacing <= scale * max(
            2.2 / np.sqrt(self.samples), 0.16
        )
        return bool(within and covered and fine)

    def _regrid(self, scale: float, doubt: float) -> None:
        low, high = bounds(self.values)
        self._grid = make_grid(low, high, scale, doubt, self.samples)
        self._logs = {
            version: version_likelihood(self._grid, samples)
            for version, samples in self.values.items()
        }

    def _evaluate(self) -> None:
        """All that the answers are made of, by cumulated sums over the measured versions."""
        grid = self._grid
        assert grid is not None  # noqa: S101 - the caller made it
        order = sorted(self.values)
        self._order = order
        # (Q, K, G), as a product with (Q, G, G) is then one multiplication of matrices each.
        self._cumulated = np.cumsum(np.stack([self._logs[v] for v in order], axis=1), axis=1)
        kept = self._kept_gaps(order)
        left, whole = self._cumulated[:, kept], self._cumulated[:, -1:]
        self._before, top_before = _lifted(left)
        self._after, top_after = _lifted(whole - left)
        self._reached = self._after @ grid.worse.transpose(0, 2, 1)
        joint = (self._before * self._reached).sum(axis=2)
        with np.errstate(divide="ignore"):
            self._tops = top_before + top_after
            self._log_noise = np.log(joint) + self._tops + grid.log_prior[:, None]
        self._log_one = log_sum(self._log_noise, axis=0)
        none, top_none = _lifted(whole[:, 0])
        self._log_none = float(log_sum(np.log(none.sum(axis=1)) + top_none + grid.log_prior))
        self._kept = kept
        self._weigh()

    def _weigh(self) -> None:
        """What follows from the likelihood of each gap, and how likely it was beforehand."""
        order, kept = self._order, self._kept
        weights = np.diff(np.asarray(order, dtype=np.float64))
        if self._prior is not None:
            weights = np.add.reduceat(self._prior, np.asarray(order[:-1]) + 1)
        self._weights = weights
        with np.errstate(divide="ignore"):
            log_weights = np.log(self._weights[kept] / self._weights.sum())
        gaps = self._log_one + log_weights
        self._log_placed = float(log_sum(gaps))
        shares = np.zeros(len(order) - 1)
        shares[kept] = np.exp(gaps - self._log_placed)
        self._places = spread_places(self.count, order, shares, self.left_out, self._prior)
        none_odds = self._log_none + np.log(NO_CHANGE)
        one_odds = self._log_placed + np.log(1.0 - NO_CHANGE - TWO_CHANGES)
        self._no_change = float(np.exp(none_odds - np.logaddexp(none_odds, one_odds)))
        by_noise = self._log_noise + log_weights
        self._shares = np.exp(by_noise - by_noise.max())
        self._shares /= self._shares.sum()
        self._known_levels = None

    def _kept_gaps(self, order: Sequence[int]) -> Indices:
        """The gaps between measured versions that can have the change; all now and then.

        One that had less than a millionth of the probability is not worked out for some samples.
        """
        if not (self._whole or self._all_gaps) and self.samples % _ALL_GAPS_AFTER:
            low, high = np.asarray(order[:-1]), np.asarray(order[1:])
            until = np.concatenate([[0.0], np.cumsum(self._places)])
            kept = np.flatnonzero(until[high + 1] - until[low + 1] > _UNLIKELY)
            if kept.size:
                return kept
        return np.arange(len(order) - 1)

    def _scale_posterior(self) -> tuple[float, float]:
        """Mean and standard deviation of the logarithm of the scatter; the first as a scatter."""
        assert self._grid is not None  # noqa: S101 - evaluated
        weights = self._shares.sum(axis=1)
        logs = np.log(self._grid.scatter)
        mean = float(weights @ logs)
        deviation = float(np.sqrt(weights @ (logs - mean) ** 2))
        return float(np.exp(mean)), deviation

    def _mean_levels(self) -> SideLevels:
        """Over the likely places; each side is weighted by the levels of the other that follow."""
        grid = self._grid
        assert grid is not None  # noqa: S101 - evaluated
        likely = np.flatnonzero(self._shares.sum(axis=0) > 1e-4)
        shares = self._shares[:, likely]
        before, after = self._before[:, likely], self._after[:, likely]
        means, variances = [], []
        for joint in (before * self._reached[:, likely], after * (before @ grid.worse)):
            total = joint.sum(axis=2)
            density = np.einsum("qk,qkg->g", shares / np.where(total > 0.0, total, 1.0), joint)
            density /= max(density.sum(), 1e-300)
            mean = float(density @ grid.levels)
            means.append(mean)
            variances.append(float(density @ (grid.levels - mean) ** 2))
        by_noise = self._shares.sum(axis=1)
        scatter = float(by_noise @ grid.scatter)
        spread = float(np.sqrt(by_noise @ grid.spread**2))
        return SideLevels(means[0], means[1], scatter, spread, float(np.sqrt(sum(variances))))


def spread_places(
    count: int,
    order: Sequence[int],
    shares: Floats,
    left_out: Iterable[int],
    prior: Floats | None = None,
) -> Floats:
    """(count) the shares of the gaps between measured versions, given to the versions in them: by
    equal parts, or by a prior. That of one that is left out goes to the next."""
    places = np.zeros(count)
    for low, high, share in zip(order, order[1:], shares, strict=False):
        inside = slice(low + 1, high + 1)
        if prior is None:
            places[inside] = share / (high - low)
        elif share > 0.0:
            places[inside] = share * prior[inside] / prior[inside].sum()
    for version in sorted(left_out):
        if version + 1 < places.size:
            places[version + 1] += places[version]
            places[version] = 0.0
    return places


def two_changes_of(
    count: int,
    order: Sequence[int],
    weights: Floats,
    unweighted: Floats,
    others: float,
    left_out: Iterable[int],
) -> TwoChanges:
    """What speaks for two changes, by the likelihood of each pair of gaps.

    ``weights`` are how many places each gap has. ``others`` is the logarithm of the probability of
    one change and of none.
    """
    left_out = set(left_out)
    gaps = len(order) - 1
    logs = np.full((gaps, gaps), -np.inf)
    for first in range(gaps):
        logs[first, first + 1 :] = unweighted[first, first + 1 :] + np.log(weights[first])
        logs[first, first + 1 :] += np.log(weights[first + 1 :])
        inside = weights[first] * (weights[first] - 1.0) / 2.0
        if inside > 0.0:
            logs[first, first] = unweighted[first, first] + np.log(inside)
    whole_weight = weights.sum()
    pairs = max(whole_weight * (whole_weight - 1.0) / 2.0, 1.0)
    two = log_sum(logs.ravel()) - np.log(pairs) + np.log(TWO_CHANGES)
    share = float(np.exp(two - np.logaddexp(two, others)))
    pairs_known = np.exp(logs - log_sum(logs.ravel()))
    first_gap, second_gap = np.unravel_index(int(np.argmax(pairs_known)), logs.shape)
    starts = spread_places(count, order, pairs_known.sum(axis=1), left_out)
    ends = spread_places(count, order, pairs_known.sum(axis=0), left_out)
    places = tuple(
        order[gap] + 1 + int(np.argmax(part[order[gap] + 1 : order[gap + 1] + 1]))
        for gap, part in ((int(first_gap), starts), (int(second_gap), ends))
    )
    inside = weights[first_gap] * weights[second_gap]
    if first_gap == second_gap:
        inside = weights[first_gap] * (weights[first_gap] - 1.0) / 2.0
    begun, ended = np.cumsum(starts), np.cumsum(ends)
    sides = np.clip(np.stack([1.0 - begun, begun - ended, ended]), 1e-12, 1.0)
    doubt = -(sides * np.log(sides)).sum(axis=0)
    doubt[list(left_out)] = 0.0
    return TwoChanges(
        share,
        (places[0], places[1]),
        float(pairs_known[first_gap, second_gap] / inside),
        doubt,
    )


def _lifted(logs: Floats) -> tuple[Floats, Floats]:
    """exp of the values relative to the largest along the last axis, and that largest."""
    top = logs.max(axis=-1)
    return np.exp(logs - top[..., None]), top


def log_sum(logs: Floats, axis: int | None = None) -> Floats:
    """The logarithm of the sum of what these are logarithms of, along an axis or of all."""
    top = np.max(logs, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total: Floats = np.log(np.exp(logs - top).sum(axis=axis, keepdims=True)) + top
    return total.squeeze() if axis is None else total.squeeze(axis)
