"""A gap that is not there any more, once suspects were set for the first time.

A command may keep what it makes under a setting (compiled files, a cache, an index): it is fast
from then on, also with the setting put back. Its trials with and without look alike, which excludes
nothing. So where the bad side, as it is, has become far better than it was before the experiment,
the good side is measured once more: it may be other work on both that has ended.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchvise.why.experiments.estimate import error_of_median, spread
from benchvise.why.experiments.gap import Scale
from benchvise.why.experiments.laboratory import Blocks, Laboratory
from benchvise.why.experiments.question import WITH, WITHOUT
from benchvise.why.model import Arm, ExperimentOutcome, Side, Suspect, Trial

_LEFT = 0.5
"""With less than this part of the gap left it is called gone."""
_CHECKS = 3
_SURE = 2.0  # standard errors: levels of trials in a burst of noise are far apart by chance


def has_vanished(lab: Laboratory, scale: Scale, blocks: Blocks) -> bool:
    """Whether most of the gap is gone since the first trial of these blocks with what is flipped.

    Only where the arm without flips nothing. Takes trials of the good side where that is likely.
    """
    before, since = _around(lab, blocks)
    if blocks.arms[WITHOUT].flipped or scale.gap <= 0.0 or not before or not since:
        return False
    now = _level(lab, since)
    came = now - _level(lab, before)
    if came < max(_LEFT * scale.gap, _SURE * _error(lab, before, since)):
        return False
    if not lab.switches_cheaply():
        return False
    good = [lab.measure(Arm(Side.GOOD)) for _ in range(_CHECKS)]
    return _level(lab, good) - now < _LEFT * scale.gap


def reason_why(lab: Laboratory, flipped: Sequence[Suspect]) -> str:
    """What is to be said of a gap that has vanished, and done."""
    names = ", ".join(suspect.id for suspect in flipped)
    several = len(flipped) > 1
    return (
        f"the gap went when {names} {'were' if several else 'was'} first set, and did not come "
        f"back when {'they were' if several else 'it was'} put back: the command may have left "
        f"something that lasts, such as a cache. Put {lab.bench.name(Side.BAD)} back as it was "
        f"before, then set {'one of them' if several else 'it'} by hand and run the command twice"
    )


def mark(lab: Laboratory, flipped: Sequence[Suspect], reason: str) -> None:
    """Takes back what the experiments with these suspects said: they count neither way."""
    ids = tuple(suspect.id for suspect in flipped)
    lab.experiments = [
        replace(experiment, outcome=ExperimentOutcome.UNRESOLVED, share=None, reason=reason)
        if experiment.flipped == ids
        else experiment
        for experiment in lab.experiments
    ]


def _around(lab: Laboratory, blocks: Blocks) -> tuple[list[Trial], list[Trial]]:
    """The trials of the bad side as it is: before these blocks, and in them since the first one
    with what is flipped."""
    first = next((trial.number for name, trial in blocks.taken if name == WITH), None)
    if first is None:
        return [], []
    begin = min(blocks.numbers)
    before = [
        trial
        for trial in lab.trials
        if trial.side is Side.BAD and not trial.flipped and trial.number < begin
    ]
    since = [t for name, t in blocks.taken if name == WITHOUT and t.number > first]
    return before, since


def _level(lab: Laboratory, trials: Sequence[Trial]) -> float:
    return float(np.median(_goodness(lab, trials)))


def _error(lab: Laboratory, before: Sequence[Trial], since: Sequence[Trial]) -> float:
    """The standard error of the difference of two levels, by what the trials themselves scatter."""
    samples = [_goodness(lab, trials) for trials in (before, since)]
    errors = [error_of_median(spread([sample]), len(sample)) for sample in samples]
    return math.hypot(*errors)


def _goodness(lab: Laboratory, trials: Sequence[Trial]) -> list[float]:
    return [lab.bench.metric.goodness(trial.value) for trial in trials]
