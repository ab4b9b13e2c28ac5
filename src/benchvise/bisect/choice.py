"""Which version to measure next, and whether anything changed at all.

The next version is the one that is expected to tell most about the place a minute: what a sample
tells is the mutual information between the side that a version is on and the value of a binary
input with noise; a version that has to be built or booted first costs that time too, so the longer
it takes, the more samples have to be worth it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import erf, log, sqrt

import numpy as np

from benchvise.bisect.posterior import ChangePosterior, TwoChanges
from benchvise.long_arrays import Floats

LEAST_CHANGE = 0.01
"""A change that is smaller is none; as in comparisons."""

FIRST_SAMPLES = 2
"""Of the good and of the bad version, before the search begins."""

_VISITS = (1, 2, 4, 8, 16)  # samples of one visit that are considered
_DOUBTFUL = 0.25  # as likely is it that nothing has changed when both ends are measured again
_DOUBTFUL_SHARE = 0.7
_APART = 2.0  # standard deviations between the levels: fewer, and the ends are measured, too
_UNSHOWN_SHARE = 0.5
_SETTLED = 50.0  # the variance of a version's scatter, in those of the mean of its samples


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds: of a ``sample``, and of making a version ready (``switch``) that is not ready.

    ``current`` is the version that is ready now; None: none is. Of several boards, ``build`` more
    are needed for a version that no board has ``built``, and ``first`` samples of each end.
    """

    sample: float = 1.0
    switch: float = 0.0
    current: int | None = None
    build: float = 0.0
    built: Collection[int] = ()
    first: int = FIRST_SAMPLES

    @property
    def first_samples(self) -> int:
        """Of each end before the search begins: more where going back there is dear."""
        return self.first if self.switch <= 3.0 * self.sample else 2 * self.first

    def of(self, count: int) -> Floats:
        """(count) seconds until a version is ready to be measured."""
        costs = np.full(count, self.switch + self.build)
        costs[list(self.built)] = self.switch
        if self.current is not None:
            costs[self.current] = 0.0
        return costs


@dataclass(frozen=True, slots=True)
class PlaceGuess:
    """What may be known of the place soon: ``after`` (count) is P(a version has the change), if
    what is being measured elsewhere comes out in one way; ``weight`` is how likely it does."""

    weight: float
    after: Floats


def next_version(
    posterior: ChangePosterior,
    costs: Costs,
    least: float = LEAST_CHANGE,
    guesses: Sequence[PlaceGuess] = (),
    avoided: Collection[int] = (),
) -> int:
    """The version to measure next; both ends first, and again while no change is likely.

    ``guesses`` are what may be known of the place; without them, it is what the posterior says.
    ``avoided`` are not measured.
    """
    ends = (0, posterior.count - 1)
    taken = [len(posterior.values.get(end, ())) for end in ends]
    if min(taken) < costs.first_samples:
        return next_end(posterior, costs)
    levels = posterior.levels
    are_apart = abs(levels.after - levels.before) > _APART * levels.doubt
    share = sum(taken) / posterior.samples
    doubtful = no_change(posterior, least) > _DOUBTFUL
    if (doubtful and share < _DOUBTFUL_SHARE) or (not are_apart and share < _UNSHOWN_SHARE):
        return next_end(posterior, costs)
    if not guesses:
        guesses = (PlaceGuess(1.0, np.cumsum(posterior.places)),)
    for guess in guesses:  # tells nothing: it cannot be measured
        guess.after[[*posterior.left_out, *avoided]] = 0.0
    mean = np.sum([guess.weight * guess.after for guess in guesses], axis=0)
    waits = costs.of(posterior.count)
    settled = _settled_versions(posterior)
    best, rate = 0, -1.0
    for visit in _VISITS if waits.max() > 0.0 else _VISITS[:1]:
        bits = sum(
            guess.weight * _information_gain(posterior, visit, guess.after) for guess in guesses
        )
        rates = bits / (waits + visit * costs.sample)
        rates[settled] = 0.0
        version = _middle(rates, mean)
        if rates[version] > rate:
            best, rate = version, float(rates[version])
    return best


def next_version_of_two(
    posterior: ChangePosterior, two: TwoChanges, costs: Costs, avoided: Collection[int] = ()
) -> int:
    """The version that tells most a second of where two changes are, if there are two."""
    rates = two.doubt * _shown_by(posterior, 1) / (costs.of(posterior.count) + costs.sample)
    rates[list(avoided)] = 0.0
    return int(np.argmax(rates))


@dataclass(frozen=True, slots=True)
class PendingSample:
    """A version that is being measured elsewhere; ``effect`` is the change in standard deviations
    of what is known then, ``seen`` P(that board has the change)."""

    version: int
    effect: float
    seen: float = 1.0


_MOST_PENDING = 6  # of more, those that tell most are looked at: guesses double with each


def place_guesses(places: Floats, pending: Sequence[PendingSample]) -> list[PlaceGuess]:
    """What may be known of the place when what is pending is measured: each may come out as after
    the change or as before it, and mislead as often as noise of its size does."""
    guesses = [(1.0, places)]
    until = np.cumsum(places)
    telling = sorted(pending, key=lambda p: abs(until[p.version] - 0.5))[:_MOST_PENDING]
    for sample in telling:
        misleading = 0.5 * (1.0 - sample.seen * erf(sample.effect / (2.0 * sqrt(2.0))))
        as_changed = np.full(places.size, misleading)
        as_changed[: sample.version + 1] = 1.0 - misleading
        halves = [
            (weight, shares * outcome)
            for weight, shares in guesses
            for outcome in (as_changed, 1.0 - as_changed)
        ]
        guesses = [
            (weight * float(part.sum()), part / part.sum())
            for weight, part in halves
            if weight * part.sum() > 1e-6
        ]
    return [PlaceGuess(weight, np.cumsum(shares)) for weight, shares in guesses]


def sample_effect(posterior: ChangePosterior) -> float:
    """The change in standard deviations of the first sample of a version."""
    levels = posterior.levels
    noise = sqrt(levels.spread**2 + levels.scatter**2 + levels.doubt**2)
    return max(levels.after - levels.before, 0.0) / max(noise, 1e-12)


def no_change(posterior: ChangePosterior, least: float) -> float:
    """P(nothing changed to the worse by more than ``least``, a share of the value)."""
    levels = posterior.levels
    apart = levels.after - levels.before
    small = 0.5 * (1.0 + erf((log(1.0 + least) - apart) / (max(levels.doubt, 1e-12) * sqrt(2.0))))
    return posterior.no_change + (1.0 - posterior.no_change) * small


def next_end(posterior: ChangePosterior, costs: Costs) -> int:
    """The end with fewer samples; of a costly change of versions, all of one end first."""
    ends = (0, posterior.count - 1)
    taken = [len(posterior.values.get(end, ())) for end in ends]
    if costs.switch > costs.sample and costs.current in ends:
        own = ends.index(costs.current)
        if taken[own] < costs.first_samples or taken[own] <= taken[1 - own]:
            return ends[own]
    return ends[0] if taken[0] <= taken[1] else ends[1]


def _middle(rates: Floats, after: Floats) -> int:
    """The best version; of those as good the one nearest to the middle of what is possible."""
    candidates = np.flatnonzero(rates >= rates.max() * (1.0 - 1e-9))
    return int(candidates[np.argmin(np.abs(after[candidates] - 0.5))])


def _settled_versions(posterior: ChangePosterior) -> list[int]:
    """Versions whose own level is known so well that more samples of them tell nothing.

    One between the levels may lie elsewhere by chance, as versions scatter, or have one of two
    changes: that is told by whether its neighbours scatter.
    """
    levels = posterior.levels
    enough = _SETTLED * (levels.scatter**2 + levels.doubt**2)
    return [
        version
        for version, values in posterior.values.items()
        if len(values) * levels.spread**2 > enough
    ]


def _information_gain(posterior: ChangePosterior, visit: int, after: Floats) -> Floats:
    """(count) bits that so many further samples of each version tell about its side.

    Where versions scatter, too, the first samples of one tell more than those that follow.
    """
    effects = np.sqrt(_shown_by(posterior, visit))
    rows = np.minimum((effects * _ROWS_AN_EFFECT).astype(np.intp), _ROWS - 1)
    columns = after * (_COLUMNS - 1)
    below = np.minimum(columns.astype(np.intp), _COLUMNS - 2)
    table = _information()
    share = columns - below
    information: Floats = table[rows, below] * (1.0 - share) + table[rows, below + 1] * share
    return information


def _shown_by(posterior: ChangePosterior, visit: int) -> Floats:
    """(count) the square of the effect that so many further samples of each version show."""
    levels = posterior.levels
    apart = (levels.after - levels.before) ** 2
    one_sample = levels.scatter**2 + levels.doubt**2

    def strength(samples: Floats) -> Floats:
        noise = levels.spread**2 + one_sample / np.maximum(samples, 1.0)
        return np.where(samples > 0, apart / noise, 0.0)

    taken = np.zeros(posterior.count)
    for version, values in posterior.values.items():
        taken[version] = len(values)
    gain: Floats = strength(taken + visit) - strength(taken)
    return gain


_ROWS, _ROWS_AN_EFFECT, _COLUMNS = 128, 16, 129


@lru_cache(maxsize=1)
def _information() -> Floats:
    """Bits that a value tells about a side: by the effect, in 16ths, and the side's probability."""
    shares = np.linspace(0.0, 1.0, _COLUMNS)[:, None]
    rows = []
    for row in range(_ROWS):
        effect = (row + 0.5) / _ROWS_AN_EFFECT
        x = np.linspace(-8.0, effect + 8.0, 201)
        changed, other = np.exp(-0.5 * (x - effect) ** 2), np.exp(-0.5 * x**2)
        changed, other = changed / changed.sum(), other / other.sum()
        mixed = shares * changed + (1.0 - shares) * other
        bits = shares * changed * np.log2(changed / mixed) + (1.0 - shares) * other * np.log2(
            other / mixed
        )
        rows.append(np.maximum(bits.sum(axis=1), 0.0))
    return np.stack(rows)
