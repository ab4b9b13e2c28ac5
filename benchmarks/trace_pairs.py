"""Whether ``trace compare`` claims what is true: pairs of made-up recordings whose truth is known.

``python -m benchmarks.trace_pairs [--pairs N] [--seed S]`` draws activations from processes that
are known in full, with nothing of the analysis: independent ones, ones that are late together, and
ones that come in bursts. It prints, for each process and each claim of the comparison, how often
the 95 % interval holds the true ratio, how often a change is claimed where there is none, and how
often one of that size is claimed. It ends with 1 where an interval holds the truth in fewer than
90 % of the pairs, or more than 7 % of those without a change are said to have one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchvise.trace.analysis.model import TraceSpan
from benchvise.trace.analysis.rate_changes import irregularity, rate_ratio
from benchvise.trace.analysis.tail_changes import longest_ones, tail_ratios

Values = npt.NDArray[np.float64]
Chance = np.random.Generator

SECOND = 1_000_000_000
LEAST_COVERAGE = 0.90
MOST_FALSE = 0.07
LEAST_JUDGED = 50
"""Of fewer intervals, chance decides whether nine in ten hold the truth."""


# -- processes whose truth is known ----------------------------------------------------------------


def independent(chance: Chance, count: int) -> Values:
    """Exponential times, none of which knows of another."""
    return chance.exponential(1.0, count)


def heavy(chance: Chance, count: int) -> Values:
    """Pareto times with the index 2.5: the longest is far from the others."""
    return 1.0 + chance.pareto(2.5, count)


def alike(chance: Chance, count: int) -> Values:
    """Times that follow each other: lognormal, the logarithm an AR(1) with 0.8."""
    steps = chance.normal(0.0, np.sqrt(1.0 - 0.8**2), count)
    value, logs = chance.normal(), np.empty(count)
    for at in range(count):
        value = 0.8 * value + steps[at]
        logs[at] = value
    return np.exp(0.7 * logs)


def late_together(chance: Chance, count: int) -> Values:
    """Short times, and episodes of about ten activations, 2 % of all, that are ten times late."""
    late, at = np.zeros(count, dtype=bool), 0
    is_late = chance.random() < 0.02
    while at < count:
        length = int(chance.geometric(0.1 if is_late else 0.1 * 0.02 / 0.98))
        late[at : at + length] = is_late
        at, is_late = at + length, not is_late
    return (1.0 + chance.exponential(0.3, count)) * np.where(late, 10.0, 1.0)


DURATIONS: dict[str, Callable[[Chance, int], Values]] = {
    "independent, exponential": independent,
    "independent, Pareto 2.5": heavy,
    "alike, AR(1) 0.8": alike,
    "late together, 10 at once": late_together,
}


def poisson(chance: Chance, rate: float, seconds: float) -> Values:
    """Activations of a Poisson process, in seconds."""
    return np.sort(chance.random(chance.poisson(rate * seconds)) * seconds)


def bursts(chance: Chance, rate: float, seconds: float) -> Values:
    """Bursts of eight on average, within ten milliseconds; these are a Poisson process."""
    begins = chance.random(chance.poisson(rate / 8 * (seconds + 0.01))) * (seconds + 0.01) - 0.01
    sizes = chance.geometric(1 / 8, begins.size)
    times = np.repeat(begins, sizes) + chance.random(int(sizes.sum())) * 0.01
    return np.sort(times[(times >= 0) & (times < seconds)])


def regular(chance: Chance, rate: float, seconds: float) -> Values:
    """A timer with a jitter of 5 % of its period, from a moment that nobody knows."""
    period = 1 / rate
    times = np.arange(chance.random() * period - period, seconds + period, period)
    times = np.sort(times + chance.normal(0, 0.05 * period, times.size))
    return times[(times >= 0) & (times < seconds)]


ARRIVALS: dict[str, Callable[[Chance, float, float], Values]] = {
    "Poisson": poisson,
    "bursts of 8": bursts,
    "a timer": regular,
}


def timer_with_losses(chance: Chance, count: int, share: float, together: float) -> Values:
    """Periods (ns) of a timer whose activations are missing with this share; of gaps, one in
    ``together`` is followed by another at once."""
    at, periods = 0, []
    while at < count:
        missed = 0
        while chance.random() < (share if missed == 0 else together):
            missed += 1
        periods.append((1 + missed) * 1e6 + chance.normal(0, 2e4))
        at += 1
    return np.array(periods)


# -- what is claimed of them -----------------------------------------------------------------------


@dataclass
class Score:
    """How often it was right: pairs that had an interval, whose interval holds the truth, and in
    which a change is claimed; ``is_null`` when there is none."""

    process: str
    claim: str
    true_ratio: float
    pairs: int = 0
    with_interval: int = 0
    held: int = 0
    claimed: int = 0

    def add(self, interval: tuple[float, float] | None, claimed: bool) -> None:
        """One pair."""
        self.pairs += 1
        self.claimed += claimed
        if interval is not None:
            self.with_interval += 1
            self.held += interval[0] <= self.true_ratio <= interval[1]

    @property
    def fails(self) -> bool:
        """Whether more is claimed than is true, as far as there are intervals to judge by."""
        few = self.with_interval < LEAST_JUDGED
        covered = few or self.held >= LEAST_COVERAGE * self.with_interval
        return not covered or (self.true_ratio == 1.0 and self.claimed > MOST_FALSE * self.pairs)

    def line(self) -> str:
        """A row of the table."""
        has = self.with_interval
        coverage = f"{100 * self.held / has:5.1f} %" if has else "      -"
        claimed = 100 * self.claimed / self.pairs
        return (
            f"{self.process:28} {self.claim:14} {self.true_ratio:5.2f} {self.pairs:6} {has:8} "
            f"{coverage} {claimed:7.1f} %{'  FAILS' if self.fails else ''}"
        )


def durations(
    process: str, ratio: float, pairs: int, seed: int, sizes: tuple[int, int] = (6000, 5000)
) -> list[Score]:
    """Tails of pairs of which the second's times are ``ratio`` times as long."""
    chance = np.random.default_rng(seed)
    names = ("p99", "p99.9", "max")
    scores = {name: Score(process, name, ratio) for name in (*names, "longest")}
    for _ in range(pairs):
        a = (1e5 * DURATIONS[process](chance, sizes[0])).astype(np.int64)
        b = (1e5 * ratio * DURATIONS[process](chance, sizes[1])).astype(np.int64)
        ascending = np.sort(a), np.sort(b)
        for tail in tail_ratios((a, b), ascending, 1):
            ends = None if tail.interval is None else (tail.interval.low, tail.interval.high)
            scores[tail.statistic].add(ends, tail.changed)
        longest = longest_ones((a, b), ascending, 1)
        scores["longest"].add(None, longest is not None and longest.shown)
    return list(scores.values())


def rates(
    process: str, ratio: float, pairs: int, seed: int, seconds: tuple[float, float] = (20.0, 15.0)
) -> Score:
    """Rates of pairs of which the second's is ``ratio`` times as high, of recordings of different
    lengths."""
    chance = np.random.default_rng(seed)
    score = Score(process, "rate", ratio)
    spans = [TraceSpan(0, int(one * SECOND)) for one in seconds]
    for _ in range(pairs):
        times = [
            (ARRIVALS[process](chance, rate, length) * SECOND).astype(np.int64)
            for rate, length in zip((100.0, 100.0 * ratio), seconds, strict=True)
        ]
        found = rate_ratio((times[0], times[1]), (spans[0], spans[1]))
        ends = None
        if found is not None and found.interval is not None:
            ends = found.interval.low, found.interval.high
        score.add(ends, found is not None and found.changed)
    return score


def missing(shares: tuple[float, float], together: float, pairs: int, seed: int) -> Score:
    """Missing activations of a timer, of which so many are lost in both recordings."""
    chance = np.random.default_rng(seed)
    score = Score(f"a timer, {together:.0%} go on", "missing", shares[1] / shares[0])
    for _ in range(pairs):
        periods = [
            timer_with_losses(chance, 3000, share, together).astype(np.int64) for share in shares
        ]
        found = irregularity((periods[0], periods[1]))
        score.add(None, found is not None and found.missing_changed)
    return score


def scores(pairs: int, seed: int) -> list[Score]:
    """All of them."""
    found = [
        score
        for ratio in (1.0, 1.5)
        for process in DURATIONS
        for score in durations(process, ratio, pairs, seed + int(ratio > 1))
    ]
    found += [
        rates(process, ratio, pairs, seed + int(ratio > 1))
        for ratio in (1.0, 1.2)
        for process in ARRIVALS
    ]
    found += [
        missing(shares, together, pairs, seed)
        for shares in ((0.01, 0.01), (0.01, 0.03))
        for together in (0.0, 0.5)
    ]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; 1 where more is claimed than is true."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=500, help="of each process (default 500)")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    print(f"{'process':28} {'claim':14} truth  pairs interval   holds   claimed")
    found = scores(asked.pairs, asked.seed)
    for score in found:
        print(score.line())
    return int(any(score.fails for score in found))


if __name__ == "__main__":
    sys.exit(main())
