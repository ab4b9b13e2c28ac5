"""How far the two sides are apart, and how far a side is from itself.

Blocks of one trial a side, in random order, until it is clear whether there is a gap. The noise
floor is what two such measurements of one and the same side would differ by (A/A).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from benchvise.statistics.means import paired_process_interval
from benchvise.statistics.ranks import hodges_lehmann_shift, mann_whitney
from benchvise.why.events import GapMeasured
from benchvise.why.experiments import estimate
from benchvise.why.experiments.estimate import Floats
from benchvise.why.experiments.laboratory import Blocks, Laboratory
from benchvise.why.model import Arm, Bounds, ExperimentOutcome, Gap, Side
from benchvise.why.wording import LEAST_COMMAND_GAP

# The fewest blocks whose signed-rank interval reaches 95 %, and the most that are taken.
FIRST = 6
MOST = 16
_STEP = 2
# A gap is one at this level. Before the test can reach it (eight pairs), Student's t may, at a
# stricter level, for the looks that are taken add up.
CLAIM = 0.01
_EARLY = 0.998
RANKED = 8
# A gap that chance shows less often than this is believed at once, if it is the expected one. Every
# other is to be seen on as many pairs again, of which no look has been taken: several looks at a
# handful of pairs find a gap between equal sides now and then, and a burst of load can make one.
_BEYOND_DOUBT = 0.9999
_SEEN_AGAIN = 0.1  # two-sided, of the fresh pairs alone, which have to point the same way
# From here on it is not worth going on when nothing at all points to a gap.
_HOPELESS_AFTER = 10
_HOPELESS = 0.3
# Where no gap is shown, or one that is not that far above the noise floor, and pairs scatter by so
# much, in goodness, it may be a burst of noise: so often it is looked again, and blocks that
# scatter by so many times less count alone. An effect below the floor would not count later.
_CLEAR = 0.3
_LOUD = 0.15
_AFTER_BURSTS = 2
_QUIETER = 1.5
# A/A distances of metrics that give the same figure each time; nobody looks for less.
_MOST_OF_IT = 0.5
_LEAST_FLOOR = 0.002
# The least for a record: between two sessions on one unchanged machine, layout of memory and what
# else runs move medians by this much, which no session shows within itself (Mytkowicz et al.,
# "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009; Kalibera and Jones,
# "Rigorous benchmarking in reasonable time", ISMM 2013).
_LEAST_RECORD_FLOOR = 0.025
# The least for two boards that are each in one boot: where a boot puts things in memory moves a
# metric by about a per cent for as long as it lasts (same sources; seen here on simulated boards
# that count instructions, where nothing else differed).
LEAST_BOOT_FLOOR = 0.015
# A small gap to a record is looked at for that long, or so often: a machine whose level comes and
# goes, as those do that share a host with others, is not what it was when it was recorded either.
_SMALL = 0.3
_LASTS_S = 12.0
_OFTEN = 48


class Yardstick(Protocol):
    """What effects are held against to become shares of the gap."""

    def share(self, effects: Floats, bad: Floats) -> Bounds:
        """The share that effects have, whose blocks started from ``bad``."""


@dataclass(frozen=True, slots=True)
class PairedGap:
    """A gap measured in blocks of its own: the good side's lead in each of them. ``boots`` is by
    how much of it the boots of the two sides may be apart alone."""

    leads: Floats
    boots: float = 0.0

    def share(self, effects: Floats, bad: Floats) -> Bounds:  # noqa: ARG002
        """The share, with gap and effects from blocks of their own."""
        return estimate.drifting(estimate.share_apart(effects, self.leads), self.boots)


@dataclass(frozen=True, slots=True)
class RecordedGap:
    """A gap to recorded trials of the good side, in goodness.

    They were taken at another time than those that a share starts from, in another session. What
    that may mean is told by how far the bad side drifts while it is diagnosed, ``plain`` gives all
    its trials, and by how far two sessions are apart that do not drift.
    """

    good: Floats
    plain: Callable[[], Floats]

    def share(self, effects: Floats, bad: Floats) -> Bounds:
        """The share of a gap to other times, its interval widened by what that may mean."""
        share = estimate.share_recorded(effects, bad, self.good)
        gap = abs(float(np.median(np.subtract.outer(self.good, bad))))
        by = math.hypot(estimate.drift(self.plain()), _LEAST_RECORD_FLOOR)
        return estimate.drifting(share, by / gap) if gap else share


@dataclass(frozen=True, slots=True)
class MeasuredGap:
    """The gap, what shares are taken of, and whether it is shown in either direction. ``boots`` is
    how far the two sides may be apart by their boots alone, in goodness."""

    gap: Gap
    yardstick: Yardstick
    shown: bool
    boots: float = 0.0

    @property
    def reversed(self) -> bool:
        """Whether the good side is shown to be the worse one."""
        return self.shown and self.gap.goodness.value < 0.0


def measure_gap(lab: Laboratory) -> MeasuredGap | None:
    """The gap between the sides; None where the good one is a record without trials.

    MeasurementError or NotAvailable where the metric gives no value on a side.
    """
    if lab.bench.is_live(Side.GOOD):
        measured = _live(lab)
    else:
        good = lab.recorded(Side.GOOD)
        if good.size == 0:
            return None
        measured = _recorded(lab, good)
    lab.observe(GapMeasured(measured.gap))
    return measured


def gap_by_all_in(lab: Laboratory, blocks: Blocks, changed: str, bad: str) -> MeasuredGap:
    """The gap as what setting everything as recorded changes, where that is all one has."""
    floor = _floor([blocks.goodness(changed), blocks.goodness(bad)])
    measured = _paired(lab, blocks, changed, bad, floor)
    lab.observe(GapMeasured(measured.gap))
    return measured


def shows_gap(leads: Floats, floor: float) -> bool:
    """Whether paired differences show a gap beyond the noise floor."""
    if abs(estimate.shift(leads).value) <= floor:
        return False
    if leads.size >= RANKED:
        return estimate.p_value(leads) < CLAIM
    interval = paired_process_interval(leads, _EARLY)
    return bool((leads > 0).all() or (leads < 0).all()) and not interval.low <= 0 <= interval.high


def _live(lab: Laboratory) -> MeasuredGap:
    blocks, floor, is_seen_again = _series(lab)
    for _ in range(_AFTER_BURSTS):
        leads = blocks.gained("good", "bad")
        noise = estimate.spread([leads])
        is_shown = is_seen_again and shows_gap(leads, floor)
        is_clear = is_shown and floor < _CLEAR * abs(float(np.median(leads)))
        cost = lab.seconds(list(blocks.arms.values()), FIRST)
        if is_clear or noise < _LOUD or not lab.affords(cost):
            break
        lab.wait_for_quiet(len(blocks.arms))
        again = _series(lab)
        if estimate.spread([again[0].gained("good", "bad")]) * _QUIETER < noise:
            blocks, floor, is_seen_again = again
    lab.differences.append(blocks.gained("good", "bad"))
    boots = LEAST_BOOT_FLOOR if lab.bench.is_one_boot_each() else 0.0
    measured = _paired(lab, blocks, "good", "bad", floor, boots)
    is_enough = not lab.bench.metric.command or is_beyond_layout(measured.gap)
    return replace(measured, shown=measured.shown and is_seen_again and is_enough)


def _series(lab: Laboratory) -> tuple[Blocks, float, bool]:
    """Blocks of both sides until they show a gap, or it is not worth going on; their noise floor,
    and whether a gap that may be chance is seen again."""
    arms = {"good": Arm(Side.GOOD), "bad": Arm(Side.BAD)}
    lab.require(lab.seconds(list(arms.values()), FIRST), "measuring the gap")
    blocks = lab.blocks(arms)
    blocks.more(FIRST)
    while blocks.count < MOST:
        leads = blocks.gained("good", "bad")
        if shows_gap(leads, _floor_between(lab, [blocks.goodness("good"), blocks.goodness("bad")])):
            break
        if leads.size >= _HOPELESS_AFTER and estimate.p_value(leads) > _HOPELESS:
            break
        if not lab.affords(lab.seconds(list(blocks.arms.values()), _STEP)):
            break
        blocks.more(_STEP)
    floor = _floor_between(lab, [blocks.goodness("good"), blocks.goodness("bad")])
    return blocks, floor, _is_seen_again(lab, blocks, floor)


def is_beyond_layout(gap: Gap) -> bool:
    """Whether a gap of a command is larger than what its layout in memory alone may make."""
    return abs(gap.goodness.value) > LEAST_COMMAND_GAP


def _is_seen_again(lab: Laboratory, blocks: Blocks, floor: float) -> bool:
    """Takes fresh pairs where the gap that is shown may be chance; whether these show it too. True
    where there is nothing to be asked, or no time for it."""
    leads = blocks.gained("good", "bad")
    if not shows_gap(leads, floor) or not _is_doubtful(leads):
        return True
    begun, count = leads.size, FIRST
    while lab.affords(lab.seconds(list(blocks.arms.values()), count)):
        blocks.more(count)
        fresh = blocks.gained("good", "bad")[begun:]
        points_there = bool(np.sign(np.median(fresh)) == np.sign(np.median(leads)))
        if points_there and estimate.p_value(fresh) <= _SEEN_AGAIN:
            return True
        if fresh.size >= MOST or (fresh.size >= _HOPELESS_AFTER and not points_there):
            return False
        count = _STEP
    return blocks.count == begun


def _is_doubtful(leads: Floats) -> bool:
    """Whether a gap may be chance all the same, or is not the one that was asked about."""
    interval = paired_process_interval(leads, _BEYOND_DOUBT)
    return interval.low <= 0.0


def _paired(
    lab: Laboratory, blocks: Blocks, good: str, bad: str, floor: float, boots: float = 0.0
) -> MeasuredGap:
    leads = blocks.gained(good, bad)
    lead = estimate.widened(estimate.shift(leads), boots)
    gap = Gap(
        goodness=lead,
        floor=floor,
        good=_median(lab, blocks.goodness(good)),
        bad=_median(lab, blocks.goodness(bad)),
        blocks=blocks.count,
        p=estimate.p_value(leads),
        trials=blocks.numbers,
    )
    relative = boots / abs(lead.value) if lead.value else 0.0
    return MeasuredGap(gap, PairedGap(leads, relative), shows_gap(leads, floor), boots)


def _recorded(lab: Laboratory, good: Floats) -> MeasuredGap:
    recorded = tuple(range(len(lab.trials) - good.size + 1, len(lab.trials) + 1))
    lab.require(lab.seconds([Arm(Side.BAD)], RANKED), "measuring the gap")
    blocks = lab.blocks({"bad": Arm(Side.BAD)})
    blocks.more(RANKED)
    while True:
        bad = blocks.goodness("bad")
        floor = max(_LEAST_RECORD_FLOOR, _floor([good, bad]), estimate.drift_of_level(bad))
        lead = hodges_lehmann_shift(good, bad)
        p = mann_whitney(good, bad)
        is_shown = p < CLAIM and abs(lead.value) > floor
        if is_shown:
            is_known = lab.at - blocks.began >= _LASTS_S or blocks.count >= _OFTEN
            if is_known or abs(lead.value) > _SMALL:
                break
        elif blocks.count >= MOST or (blocks.count >= _HOPELESS_AFTER and p > _HOPELESS):
            break
        if not lab.affords(lab.seconds(list(blocks.arms.values()), _STEP)):
            break
        blocks.more(_STEP)
    # Neighbours in time stand for the blocks that a recorded side does not have.
    lab.differences.append(np.diff(bad))
    gap = Gap(
        goodness=estimate.widened(
            Bounds(lead.value, lead.interval.low, lead.interval.high), _LEAST_RECORD_FLOOR
        ),
        floor=floor,
        good=_median(lab, good),
        bad=_median(lab, bad),
        blocks=blocks.count,
        p=p,
        trials=recorded + blocks.numbers,
    )
    return MeasuredGap(gap, RecordedGap(good, partial(_plain, lab)), is_shown)


def _floor_between(lab: Laboratory, sides: list[Floats]) -> float:
    """The noise floor between two live sides."""
    least = LEAST_BOOT_FLOOR if lab.bench.is_one_boot_each() else _LEAST_FLOOR
    return max(least, _floor(sides))


def _floor(sides: list[Floats]) -> float:
    """The A/A noise floor of a comparison with so many trials a side, in goodness.

    Trials of one side that follow each other differ by noise alone. Their differences tell what
    the comparison of two sets of trials of the same side would come to, in 95 of 100 cases.
    """
    steps = np.concatenate([np.abs(np.diff(side)) for side in sides])
    if steps.size == 0:
        return _LEAST_FLOOR
    deviation = float(np.median(steps)) / 0.6745
    return max(_LEAST_FLOOR, 1.96 * deviation / math.sqrt(min(side.size for side in sides)))


def _plain(lab: Laboratory) -> Floats:
    """All trials of the bad side as it is so far, in the order of time."""
    goodness = lab.bench.metric.goodness
    plain = [t for t in lab.trials if t.side is Side.BAD and not t.flipped]
    return np.array([goodness(trial.value) for trial in plain])


def _median(lab: Laboratory, goodness: Floats) -> float:
    return lab.bench.metric.value(float(np.median(goodness)))


# -- what an effect means beside the gap -----------------------------------------------------------


NEGLIGIBLE = 0.1
"""Of the gap: what is smaller is not looked for."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The gap in goodness, its noise floor, and what shares are taken of. ``boots`` is how far the
    two sides may be apart by their boots alone."""

    gap: float
    floor: float
    yardstick: Yardstick
    boots: float = 0.0

    @classmethod
    def of(cls, measured: MeasuredGap) -> Scale:
        """The scale of a gap that is shown."""
        gap = measured.gap
        return cls(gap.goodness.value, gap.floor, measured.yardstick, measured.boots)

    @property
    def least(self) -> float:
        """The smallest effect that counts, in goodness."""
        return max(self.floor, NEGLIGIBLE * self.gap)

    def share_in_blocks(self, effects: Floats, gaps: Floats) -> Bounds:
        """The share that effects have of the gap that the same blocks show."""
        return estimate.drifting(estimate.share(effects, gaps), self.boots / abs(self.gap))

    def share(self, shift: Bounds) -> Bounds:
        """The share of the gap as if that were known exactly: enough to decide what is next."""
        return estimate.scaled(shift, 1.0 / self.gap)

    def outcome(self, effect: float, error: float = 0.0) -> ExperimentOutcome:
        """What an effect with that standard error comes to. One that may as well be none as half
        of the gap decides nothing: it is not told that it does not close it."""
        if abs(effect) < max(self.least, 2.0 * error):
            is_open = effect + 2.0 * error >= _MOST_OF_IT * self.gap > 0.0
            return ExperimentOutcome.UNDECIDED if is_open else ExperimentOutcome.DOES_NOT
        if effect < 0.0:
            return ExperimentOutcome.WIDENS
        return (
            ExperimentOutcome.CLOSES
            if effect >= self.gap - self.least
            else ExperimentOutcome.PARTLY
        )
