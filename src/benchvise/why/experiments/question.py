"""A question put to one side: what changes when these suspects are flipped?

Blocks of two trials, without and with, or of a third where the context is asked about as well,
until it is decided or too many. A suspect that cannot be
flipped is found, left out and named, and the question is put again without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchvise.why.events import ExperimentBegun
from benchvise.why.experiments import estimate
from benchvise.why.experiments.estimate import Floats
from benchvise.why.experiments.gap import Scale
from benchvise.why.experiments.laboratory import BURST, Blocks, Laboratory, Unmakeable
from benchvise.why.model import Arm, Bounds, Experiment, ExperimentOutcome, Purpose, Side, Suspect

# How often a question is put again without what could not be flipped, at most.
_TRIES = 20
_WIDER = 2.0


class Unresolved(Exception):  # noqa: N818
    """The question has no answer; ``experiment`` says why."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__(experiment.reason)
        self.experiment = experiment


@dataclass(frozen=True, slots=True)
class Question:
    """What flipping does on a side, beside a context that is flipped in both arms.

    With ``over`` there is a third arm, in which only that part of the context is flipped, so that
    the same blocks tell what the rest of the context does. ``least`` blocks are taken in any case
    and ``most`` at most.
    """

    purpose: Purpose
    text: str
    side: Side
    flipped: tuple[Suspect, ...]
    context: tuple[Suspect, ...] = ()
    least: int = 3
    most: int = 8
    over: tuple[Suspect, ...] | None = None

    def begun(self) -> ExperimentBegun:
        """The event that it is put."""
        return ExperimentBegun(self.purpose, self.text, self.side, self.least, self.most)

    def experiment(
        self,
        outcome: ExperimentOutcome,
        differences: Floats,
        blocks: Blocks,
        *,
        share: Bounds | None,
        trials: Sequence[int] | None = None,
        flipped: Sequence[Suspect] | None = None,
        reason: str = "",
    ) -> Experiment:
        """The experiment that answers it, by the differences of its blocks; not numbered yet.

        ``trials`` are all of the blocks, and ``flipped`` all that was to be, unless given.
        """
        return Experiment(
            number=0,
            purpose=self.purpose,
            question=self.text,
            side=self.side,
            flipped=_ids(self.flipped if flipped is None else flipped),
            context=_ids(self.context),
            outcome=outcome,
            shift=estimate.shift(differences),
            share=share,
            p=estimate.p_value(differences),
            blocks=blocks.count,
            trials=blocks.numbers if trials is None else tuple(trials),
            seconds=blocks.seconds,
            reason=reason,
        )


def _ids(suspects: Sequence[Suspect]) -> tuple[str, ...]:
    return tuple(suspect.id for suspect in suspects)


@dataclass(frozen=True, slots=True)
class Effect:
    """By how much goodness rises, with its standard error."""

    value: float
    error: float


def weighted(effects: Sequence[Effect]) -> Effect:
    """The mean of measurements of one effect, each weighted by the inverse of its variance; the
    plain mean where one has no error."""
    if not all(effect.error > 0.0 for effect in effects):
        value = sum(effect.value for effect in effects) / len(effects)
        return Effect(value, max(effect.error for effect in effects))
    weights = [effect.error**-2 for effect in effects]
    value = sum(w * effect.value for w, effect in zip(weights, effects, strict=True))
    return Effect(value / sum(weights), sum(weights) ** -0.5)


@dataclass(frozen=True, slots=True)
class ExperimentReading:
    """The answer to a question. ``flipped`` are those that could be; ``before`` is what the context
    does over its part ``over``, nothing where that was not asked.
    """

    experiment: Experiment
    flipped: tuple[Suspect, ...]
    effect: Effect
    before: Effect
    blocks: Blocks


NOTHING = Effect(0.0, 0.0)
WITH, WITHOUT, OVER = "with", "without", "over"
Decided = Callable[[Effect, Effect], bool]
"""Of the effect of what is flipped and that of the context: whether more blocks are not needed."""


def effect_of(lab: Laboratory, differences: Floats) -> Effect:
    """The effect that differences show, its error by the noise of all experiments so far.

    A handful of differences does not tell its own spread: a wild trial or two look like a wide one.
    Where it is wider than usual, as with a metric that becomes unsteady, that counts up to twice.
    In a burst of noise it counts whole: what was quiet before says nothing of these differences.
    """
    noise = estimate.spread([*lab.differences, differences])
    own = estimate.spread([differences])
    if is_burst(lab, differences):
        deviation = max(noise, own)
    else:
        deviation = max(noise, min(own, _WIDER * noise) if differences.size > 3 else 0.0)
    error = estimate.error_of_median(deviation, differences.size)
    return Effect(float(np.median(differences)), error)


def is_burst(lab: Laboratory, differences: Floats) -> bool:
    """Whether differences scatter far more than those of the experiments before."""
    usual = lab.noise()
    return usual > 0.0 and estimate.spread([differences]) > BURST * usual


def ask(
    lab: Laboratory,
    scale: Scale | None,
    question: Question,
    decided: Decided,
) -> ExperimentReading:
    """Puts the question; Unresolved when it cannot be answered.

    Without a scale, where this very question is to show the gap, the experiment has no share.
    """
    lab.observe(question.begun())
    flipped = question.flipped
    reasons: list[str] = []
    for _ in range(_TRIES):
        arms = {
            WITHOUT: Arm(question.side, question.context),
            WITH: Arm(question.side, question.context + flipped),
        }
        if question.over is not None:
            arms[OVER] = Arm(question.side, question.over)
        blocks = lab.blocks(arms)
        try:
            _take(lab, blocks, question, decided)
        except Unmakeable as problem:
            lost = culprits(lab, question.side, question.context, flipped, problem)
            lab.leave_out(question.side, lost, problem.reason)
            names = ", ".join(suspect.id for suspect in lost)
            if lost:
                reasons.append(f"left out {names}: {problem.reason}")
            flipped = tuple(suspect for suspect in flipped if suspect not in lost)
            if not flipped or problem.arm.flipped == question.context:
                break
            continue
        return _reading(lab, scale, question, flipped, blocks, "; ".join(reasons))
    raise Unresolved(unresolved(lab, question, "; ".join(reasons) or "it cannot be set up"))


def unresolved(lab: Laboratory, question: Question, reason: str) -> Experiment:
    """The experiment of a question that has no answer."""
    return lab.experiment(
        Experiment(
            number=0,
            purpose=question.purpose,
            question=question.text,
            side=question.side,
            flipped=_ids(question.flipped),
            context=_ids(question.context),
            outcome=ExperimentOutcome.UNRESOLVED,
            shift=None,
            share=None,
            p=None,
            blocks=0,
            trials=(),
            seconds=0.0,
            reason=reason,
        )
    )


def _take(lab: Laboratory, blocks: Blocks, question: Question, decided: Decided) -> None:
    """Blocks until it is decided, at most ``question.most``; twice as many in a burst of noise,
    after which other work on the boards is waited for."""
    blocks.more(question.least)
    while not decided(*_effects(lab, blocks)):
        noisy = is_burst(lab, blocks.gained(WITH, WITHOUT))
        if blocks.count >= question.most * (_WIDER if noisy else 1):
            return
        if not lab.affords(lab.seconds(list(blocks.arms.values()), 1)):
            return
        if noisy:
            lab.wait_for_quiet(len(blocks.arms))
        blocks.more(1)


def _effects(lab: Laboratory, blocks: Blocks) -> tuple[Effect, Effect]:
    effect = effect_of(lab, blocks.gained(WITH, WITHOUT))
    if OVER not in blocks.arms:
        return effect, NOTHING
    return effect, effect_of(lab, blocks.gained(WITHOUT, OVER))


def _reading(
    lab: Laboratory,
    scale: Scale | None,
    question: Question,
    flipped: tuple[Suspect, ...],
    blocks: Blocks,
    reason: str,
) -> ExperimentReading:
    differences = blocks.gained(WITH, WITHOUT)
    effect, before = _effects(lab, blocks)
    lab.differences.append(differences)
    if OVER in blocks.arms:
        lab.differences.append(blocks.gained(WITHOUT, OVER))
    if scale is None:
        outcome, share = ExperimentOutcome.CLOSES, None
    else:
        outcome = scale.outcome(effect.value, effect.error)
        share = scale.share(estimate.shift(differences))
    experiment = lab.experiment(
        question.experiment(
            outcome, differences, blocks, share=share, flipped=flipped, reason=reason
        )
    )
    return ExperimentReading(experiment, flipped, effect, before, blocks)


# -- what cannot be flipped ------------------------------------------------------------------------


def culprits(
    lab: Laboratory,
    side: Side,
    context: Sequence[Suspect],
    flipped: Sequence[Suspect],
    problem: Unmakeable,
) -> tuple[Suspect, ...]:
    """Those of ``flipped`` because of which the arm cannot be made; none if it can be after all."""
    named = tuple(suspect for suspect in flipped if suspect.id in problem.suspects)
    if named or len(flipped) <= 1:
        return named or tuple(flipped)
    return _split(lab, side, tuple(context), tuple(flipped))


def _split(
    lab: Laboratory, side: Side, context: tuple[Suspect, ...], group: tuple[Suspect, ...]
) -> tuple[Suspect, ...]:
    """Those of a group that cannot be made, by trying its halves."""
    if len(group) == 1:
        return group
    middle = len(group) // 2
    lost: list[Suspect] = []
    for half in (group[:middle], group[middle:]):
        if not _makeable(lab, side, context + half):
            lost.extend(_split(lab, side, context, half))
    if not lost and not _makeable(lab, side, context + group):
        return group[middle:]  # only together: the less suspect half goes
    return tuple(lost)


def _makeable(lab: Laboratory, side: Side, flipped: tuple[Suspect, ...]) -> bool:
    try:
        lab.measure(Arm(side, flipped))
    except Unmakeable:
        return False
    return True
