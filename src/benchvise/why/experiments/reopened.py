"""What experiments leave open of that part of the gap which the causes do not explain.

An experiment is held against the gap that there is while it is made: what is surely less than half
of that does not close it. Once a cause is proven, less is to be explained, and what was too little
of the whole may be most of what is left. Then the experiment has excluded nothing.
"""

from __future__ import annotations

from dataclasses import replace

from benchvise.why.experiments.estimate import error_of_median
from benchvise.why.experiments.laboratory import Laboratory
from benchvise.why.model import Experiment, ExperimentOutcome, Purpose

_MOST_OF_IT = 0.5
_SURE = 2.0  # standard errors
_RANKED = 6
"""From so many blocks on an interval is of the experiment's own differences and not too wide."""
_SEARCHES = (Purpose.ALL_IN, Purpose.HALVING, Purpose.LAYER, Purpose.REPAIR)


def reopen(lab: Laboratory, left: float) -> None:
    """Takes back that experiments do not close the gap, where what they flipped may as well make
    most of what is left of it (in goodness)."""
    if left > 0.0:
        lab.experiments = [
            replace(experiment, outcome=ExperimentOutcome.UNDECIDED)
            if _is_open(experiment, left, lab.noise())
            else experiment
            for experiment in lab.experiments
        ]


def _is_open(experiment: Experiment, left: float, noise: float) -> bool:
    shift = experiment.shift
    excludes = experiment.outcome is ExperimentOutcome.DOES_NOT
    if not excludes or shift is None or experiment.purpose not in _SEARCHES:
        return False
    high = shift.value + _SURE * error_of_median(noise, experiment.blocks)
    if experiment.blocks >= _RANKED:
        high = max(high, shift.high)
    return high >= _MOST_OF_IT * left
