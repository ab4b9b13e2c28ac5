"""Proving a cause on fresh data: repair the bad side, break the good one, and put both back.

Where both sides can be measured and switched cheaply, a block is [bad, bad repaired, good, good
broken] in random order, so that effects and the gap come from the same moments. Else the break has
blocks of its own; and where the good side cannot be set, the bad one with everything as on the
good side stands in for it.

A claim needs the paired test below 1 % in the right direction both times, and the bad side as
before once the repair is undone (A-B-A: trials before and after each repaired one). What overturns
a proof is held to the same test: something stays only where that is below 1 % too. How many blocks
that takes is settled beforehand from the noise; more follow while the tests are short of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchvise.why.events import ExperimentBegun
from benchvise.why.experiments import estimate
from benchvise.why.experiments.estimate import Floats
from benchvise.why.experiments.gap import CLAIM, NEGLIGIBLE, Scale
from benchvise.why.experiments.laboratory import Blocks, Laboratory, Unmakeable
from benchvise.why.experiments.question import (
    Effect,
    Question,
    Unresolved,
    effect_of,
    is_burst,
    unresolved,
)
from benchvise.why.model import (
    Arm,
    Bounds,
    Experiment,
    ExperimentOutcome,
    Interaction,
    Purpose,
    Side,
    Suspect,
    Trial,
)

FEWEST = 8
MOST = 16
_STEP = 4
# Effects of less than so many times the noise want more blocks from the start.
_FAINT = 4.0
# Looked at from this block on: whether it is still worth while.
_LOOK = 3
_HOPELESS = 0.3
# With less of the gap between the sides, a repair that does nothing tells nothing; so often it is
# tried.
_HALF = 0.5
_TIMES = 2
# What may be left of a repair after it was undone, as a part of its effect.
_BACK = 0.25

BAD, REPAIRED, GOOD, BROKEN = "bad", "repaired", "good", "broken"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What became of a candidate: proven, with all a ``Cause`` needs, or not, and why."""

    suspects: tuple[Suspect, ...]
    proven: bool
    effect: Effect
    repair: Experiment
    share: Bounds
    breaking: Experiment | None = None
    again: Experiment | None = None
    not_broken: str = ""
    why_not: str = ""

    @property
    def name(self) -> str:
        """The ids, joined, as a ``Cause`` has them."""
        return " with ".join(suspect.id for suspect in self.suspects)

    @property
    def is_whole(self) -> bool:
        """Whether it closes the gap that its own blocks show, and does no more: then a gap that was
        another when it was measured, as boards were busier then, has left nothing."""
        return abs(1.0 - self.share.value) < NEGLIGIBLE and self.share.contains(1.0)


def confirm(
    lab: Laboratory,
    scale: Scale,
    suspects: tuple[Suspect, ...],
    *,
    expected: float,
    others: Sequence[Suspect],
    context: tuple[Suspect, ...] = (),
) -> Confirmation:
    """Tries to prove that these suspects together are a cause, with an effect of about that size.

    ``others`` are all that can be flipped on the bad side, for where that stands in for the good
    one. Unresolved when the repair cannot be made.
    """
    arms = {BAD: Arm(Side.BAD, context), REPAIRED: Arm(Side.BAD, context + suspects)}
    not_broken = _kept_from_good(suspects)
    if not context and lab.switches_cheaply():
        arms[GOOD] = Arm(Side.GOOD)
        if not not_broken:
            arms[BROKEN] = Arm(Side.GOOD, suspects)
    names = _names(suspects)
    question = Question(
        Purpose.REPAIR,
        f"does the good side's value of {names} close the gap on the bad side?",
        Side.BAD,
        suspects,
        context,
        _planned(lab, expected),
        MOST,
    )
    lab.require(lab.seconds(list(arms.values()), FEWEST), f"confirming {names}")
    lab.observe(question.begun())
    blocks, refused = _with_gap(lab, scale, arms, question, expected)
    effects = blocks.gained(REPAIRED, BAD)
    effect = effect_of(lab, effects)
    repair = _experiment(lab, scale, question, blocks, REPAIRED, BAD)
    share = repair.share or Bounds(0.0, 0.0, 0.0)
    if not _claims(effects, expected):
        return Confirmation(
            suspects, False, effect, repair, share, why_not="the repair has no sure effect"
        )
    breaking, not_broken = _broken(
        lab, scale, suspects, blocks, others, expected, not_broken or refused
    )
    again = _again(lab, scale, suspects, blocks, repair, effect)
    why_not = _refuted(breaking, again, effect.value)
    return Confirmation(
        suspects, not why_not, effect, repair, share, breaking, again, not_broken, why_not
    )


# -- the blocks ------------------------------------------------------------------------------------


def _kept_from_good(suspects: Sequence[Suspect]) -> str:
    """Why these cannot be flipped on the good side, as far as that is known before trying."""
    return "; ".join(f"{s.id}: {s.not_on_good}" for s in suspects if s.not_on_good)


def _planned(lab: Laboratory, expected: float) -> int:
    return FEWEST if abs(expected) >= _FAINT * lab.noise() else FEWEST + _STEP


def _with_gap(
    lab: Laboratory, scale: Scale, arms: dict[str, Arm], question: Question, expected: float
) -> tuple[Blocks, str]:
    """The blocks of a repair. Where it does nothing and the gap is not there either, as other work
    keeps both sides busy, they tell nothing: they are taken once more, and then are no answer."""
    for _ in range(_TIMES):
        blocks, refused = _first(lab, arms, question)
        _more(lab, scale, blocks, question.least, expected)
        if _claims(blocks.gained(REPAIRED, BAD), expected) or _has_gap(lab, scale, blocks):
            return blocks, refused
        lab.wait_for_quiet(len(arms))
    raise Unresolved(unresolved(lab, question, "the gap was not there while it was tried"))


def _has_gap(lab: Laboratory, scale: Scale, blocks: Blocks) -> bool:
    """Whether the good side is better in these blocks, by half of what it was; also where the noise
    does not tell."""
    if GOOD not in blocks.arms:
        return True
    gap = effect_of(lab, blocks.gained(GOOD, BAD))
    return gap.value >= _HALF * scale.gap or gap.value + 2.0 * gap.error >= scale.gap


def _first(lab: Laboratory, arms: dict[str, Arm], question: Question) -> tuple[Blocks, str]:
    """The first block, without the break where the good side refuses it, and why."""
    not_broken = ""
    while True:
        blocks = lab.blocks(arms)
        try:
            blocks.more(1)
        except Unmakeable as problem:
            if problem.arm == arms.get(BROKEN):
                not_broken = problem.reason
                lab.leave_out(Side.GOOD, question.flipped, problem.reason)
                arms = {name: arm for name, arm in arms.items() if name != BROKEN}
                continue
            lab.leave_out(Side.BAD, question.flipped, problem.reason)
            raise Unresolved(unresolved(lab, question, problem.reason)) from None
        return blocks, not_broken


def _more(lab: Laboratory, scale: Scale, blocks: Blocks, planned: int, expected: float) -> None:
    """Blocks up to the planned number unless it is hopeless, and then as long as it is not sure."""
    arms = list(blocks.arms.values())
    while blocks.count < MOST:
        effects = blocks.gained(REPAIRED, BAD)
        if blocks.count >= _LOOK and _hopeless(effect_of(lab, effects), expected):
            return
        if blocks.count >= planned and _settled(lab, scale, blocks, expected):
            return
        step = 1 if blocks.count < planned else _STEP
        if not lab.affords(lab.seconds(arms, step)):
            return
        if is_burst(lab, effects):
            lab.wait_for_quiet(len(arms))
        try:
            blocks.more(step)
        except Unmakeable:  # what could be made does not go any more: what there is must do
            blocks.whole()
            return


def _settled(lab: Laboratory, scale: Scale, blocks: Blocks, expected: float) -> bool:
    """Whether the repair is sure, what it leaves too, and the break too or nowhere near."""
    effects = blocks.gained(REPAIRED, BAD)
    if not _claims(effects, expected):
        return False
    stayed, _ = _stayed(lab, blocks)
    if _seems_to_stay(scale, stayed, float(np.median(effects))) and not _is_sure(stayed):
        return False
    if BROKEN not in blocks.arms:
        return True
    opened = blocks.gained(GOOD, BROKEN)
    return _hopeless(effect_of(lab, opened), expected) or _claims(opened, expected)


def _hopeless(effect: Effect, expected: float) -> bool:
    """Whether the effect is nowhere near what the search saw."""
    direction = 1.0 if expected > 0.0 else -1.0
    return direction * effect.value + 2.0 * effect.error < _HOPELESS * abs(expected)


def _claims(effects: Floats, expected: float) -> bool:
    """Whether differences show an effect in the expected direction."""
    if float(np.median(effects)) * expected <= 0.0:
        return False
    return _is_sure(effects)


def _is_sure(differences: Floats) -> bool:
    return estimate.p_value(differences) < CLAIM


def _stayed(lab: Laboratory, blocks: Blocks) -> tuple[Floats, tuple[int, ...]]:
    """By how much the bad side was better after each repair than before it; the trials' numbers.

    Repairs between the same two trials of the bad side are one: it is one difference, not two.
    """
    goodness = lab.bench.metric.goodness
    changes: list[float] = []
    numbers: set[int] = set()
    before: Trial | None = None
    repaired = False
    for name, trial in blocks.taken:
        if name == REPAIRED:
            repaired = True
        elif name == BAD:
            if before is not None and repaired:
                changes.append(goodness(trial.value) - goodness(before.value))
                numbers |= {before.number, trial.number}
            before, repaired = trial, False
    return np.array(changes), tuple(sorted(numbers))


def _seems_to_stay(scale: Scale, stayed: Floats, effect: float) -> bool:
    """Whether more is left of a repair than may be, and than noise alone would leave."""
    left = abs(float(np.median(stayed)))
    most = max(scale.floor, _BACK * abs(effect))
    return left > most and not estimate.shift(stayed).contains(0.0)


# -- the experiments made of them ------------------------------------------------------------------


def _experiment(
    lab: Laboratory, scale: Scale, question: Question, blocks: Blocks, better: str, worse: str
) -> Experiment:
    """The experiment of two arms, with its share by the same blocks where these have the gap."""
    effects = blocks.gained(better, worse)
    lab.differences.append(effects)
    effect = effect_of(lab, effects)
    if GOOD in blocks.arms and BAD in blocks.arms:
        share = scale.share_in_blocks(effects, blocks.gained(GOOD, BAD))
    else:
        share = scale.yardstick.share(effects, blocks.goodness(worse))
    taken = [trial.number for name, trial in blocks.taken if name in (better, worse)]
    outcome = scale.outcome(effect.value, effect.error)
    return lab.experiment(question.experiment(outcome, effects, blocks, share=share, trials=taken))


def _broken(
    lab: Laboratory,
    scale: Scale,
    suspects: tuple[Suspect, ...],
    blocks: Blocks,
    others: Sequence[Suspect],
    expected: float,
    not_broken: str,
) -> tuple[Experiment | None, str]:
    """The break, and why it is not one of the good side itself where it is not."""
    names = _names(suspects)
    text = f"does the bad side's value of {names} open the gap on the good side?"
    question = Question(Purpose.BREAK, text, Side.GOOD, suspects)
    if BROKEN in blocks.arms:
        return _experiment(lab, scale, question, blocks, GOOD, BROKEN), ""
    if lab.bench.is_live(Side.GOOD) and not not_broken:
        arms = {GOOD: Arm(Side.GOOD), BROKEN: Arm(Side.GOOD, suspects)}
        try:
            own = _own_blocks(lab, question, arms, GOOD, BROKEN, expected)
            return _experiment(lab, scale, question, own, GOOD, BROKEN), ""
        except Unmakeable as problem:
            not_broken = problem.reason
            lab.leave_out(Side.GOOD, suspects, problem.reason)
    reason = not_broken or "the good side is a record"
    rest = tuple(suspect for suspect in others if suspect not in suspects)
    text = f"with all good values set on the bad side, does undoing {names} open the gap?"
    question = Question(Purpose.BREAK, text, Side.BAD, suspects, rest)
    arms = {GOOD: Arm(Side.BAD, suspects + rest), BROKEN: Arm(Side.BAD, rest)}
    try:
        own = _own_blocks(lab, question, arms, GOOD, BROKEN, expected)
    except Unmakeable as problem:
        return None, f"{reason}; nor on the bad side: {problem.reason}"
    return (
        _experiment(lab, scale, question, own, GOOD, BROKEN),
        f"broken on the bad side, made like the good one: {reason}",
    )


def _own_blocks(
    lab: Laboratory,
    question: Question,
    arms: dict[str, Arm],
    better: str,
    worse: str,
    expected: float,
) -> Blocks:
    planned = _planned(lab, expected)
    lab.require(lab.seconds(list(arms.values()), planned), f"breaking {_names(question.flipped)}")
    lab.observe(ExperimentBegun(question.purpose, question.text, question.side, planned, MOST))
    blocks = lab.blocks(arms)
    blocks.more(planned)
    while blocks.count < MOST and not _claims(blocks.gained(better, worse), expected):
        if not lab.affords(lab.seconds(list(arms.values()), _STEP)):
            break
        blocks.more(_STEP)
    return blocks


def _again(
    lab: Laboratory,
    scale: Scale,
    suspects: tuple[Suspect, ...],
    blocks: Blocks,
    repair: Experiment,
    effect: Effect,
) -> Experiment:
    """Whether the bad side was as before after each repair: its trial after less the one before.

    Made of the trials of the repair, whose number it has: it took none of its own.
    """
    differences, numbers = _stayed(lab, blocks)
    bounds = estimate.shift(differences)
    left = float(np.median(differences))
    back = not (_seems_to_stay(scale, differences, effect.value) and _is_sure(differences))
    return Experiment(
        number=repair.number,
        purpose=Purpose.AGAIN,
        question=f"is the bad side as before once {_names(suspects)} is restored?",
        side=Side.BAD,
        flipped=(),
        context=repair.context,
        outcome=ExperimentOutcome.DOES_NOT if back else scale.outcome(left),
        shift=bounds,
        share=scale.share(bounds),
        p=estimate.p_value(differences),
        blocks=differences.size,
        trials=numbers,
        seconds=0.0,
        reason="" if back else "a part of the repair stays after it was undone",
    )


def _refuted(breaking: Experiment | None, again: Experiment, effect: float) -> str:
    """Why a repair that works is no proof after all; empty where it is one."""
    if breaking is not None:
        shift, p = breaking.shift, breaking.p
        if shift is None or p is None or p >= CLAIM or shift.value / effect < _HOPELESS:
            return "breaking it opens no gap"
    return again.reason


def _names(suspects: Sequence[Suspect]) -> str:
    return " and ".join(suspect.id for suspect in suspects)


# -- all causes together ---------------------------------------------------------------------------


_NONE, _ALL, _GOOD = "none", "all", "good"


@dataclass(frozen=True, slots=True)
class Together:
    """The share of the gap that no cause accounts for, and the 2x2 of the top two."""

    unexplained: Bounds
    interaction: Interaction | None = None


def measure_together(
    lab: Laboratory, scale: Scale, causes: Sequence[Confirmation]
) -> Together | None:
    """Measures it in blocks of its own; None where the causes cannot be set together."""
    by_share = sorted(causes, key=lambda cause: -abs(cause.share.value))
    first, other = by_share[:2]
    flipped = tuple(dict.fromkeys(s for cause in by_share for s in cause.suspects))
    arms = {
        _NONE: Arm(Side.BAD),
        first.name: Arm(Side.BAD, first.suspects),
        other.name: Arm(Side.BAD, other.suspects),
        _ALL: Arm(Side.BAD, flipped),
    }
    both = tuple(dict.fromkeys(first.suspects + other.suspects))
    pair = _ALL
    if len(by_share) > 2:
        pair = f"{first.name} and {other.name}"
        arms[pair] = Arm(Side.BAD, both)
    if lab.switches_cheaply():
        arms[_GOOD] = Arm(Side.GOOD)
    text = f"what do {' and '.join(cause.name for cause in by_share)} leave unexplained together?"
    lab.require(lab.seconds(list(arms.values()), FEWEST), "measuring the causes together")
    question = Question(Purpose.TOGETHER, text, Side.BAD, flipped, (), FEWEST, FEWEST)
    lab.observe(question.begun())
    blocks = lab.blocks(arms)
    try:
        blocks.more(FEWEST)
    except Unmakeable:
        return None
    gained = blocks.gained(_ALL, _NONE)
    lab.differences.append(gained)
    effect = effect_of(lab, gained)
    outcome = scale.outcome(effect.value, effect.error)
    share = _joint_share(scale, blocks, gained)
    lab.experiment(question.experiment(outcome, gained, blocks, share=share))
    excess = blocks.gained(pair, first.name) - blocks.gained(other.name, _NONE)
    excess_share = _joint_share(scale, blocks, excess)
    interaction = Interaction(
        one=first.name,
        other=other.name,
        alone=(
            _joint_share(scale, blocks, blocks.gained(first.name, _NONE)),
            _joint_share(scale, blocks, blocks.gained(other.name, _NONE)),
        ),
        together=_joint_share(scale, blocks, blocks.gained(pair, _NONE)),
        excess=excess_share,
        shown=not excess_share.contains(0.0),
    )
    return Together(estimate.complement(share), interaction)


def by_sum(causes: Sequence[Confirmation]) -> Bounds:
    """What the causes leave when their shares are added, as if each was sure by itself.

    Source of the interval: Zou & Donner, Statistics in Medicine 27 (2008) 1693.
    """
    value = sum(cause.share.value for cause in causes)
    down = math.hypot(*(cause.share.value - cause.share.low for cause in causes))
    up = math.hypot(*(cause.share.high - cause.share.value for cause in causes))
    return estimate.complement(Bounds(value, value - down, value + up))


def _joint_share(scale: Scale, blocks: Blocks, effects: Floats) -> Bounds:
    if _GOOD in blocks.arms:
        return scale.share_in_blocks(effects, blocks.gained(_GOOD, _NONE))
    return scale.yardstick.share(effects, blocks.goodness(_NONE))
