"""What the noise lets a search resolve: effects that are clear, and searches that are futile."""

from __future__ import annotations

import math

from benchvise.why.experiments.confirm import MOST
from benchvise.why.experiments.estimate import error_of_median
from benchvise.why.experiments.gap import Scale
from benchvise.why.experiments.question import Effect
from benchvise.why.wording import apart, percent

# Standard errors: of an effect that may be the other thing, and of one that a test may show.
_CLEAR = 2.5
_SURE = 2.0


def is_clear(effect: Effect, gap_left: float, scale: Scale) -> bool:
    """Whether an effect is surely something that counts, or surely not most of ``gap_left``, all in
    goodness."""
    reach = _CLEAR * effect.error
    direction = math.copysign(1.0, gap_left)
    is_something = abs(effect.value) - reach > scale.least
    return is_something or direction * effect.value + reach < abs(gap_left) / 2.0


def why_futile(left: float, scale: Scale, deviation: float) -> str:
    """Why no suspect can be proven to make what is left of the gap, in goodness: it is so small
    beside the noise that the most blocks of a confirmation would not show it. Empty where one can.

    ``deviation`` is the standard deviation of a difference of two trials.
    """
    if abs(left) > _SURE * error_of_median(deviation, MOST):
        return ""
    return (
        f"{percent(abs(left) / abs(scale.gap))} % of the gap is left, which {MOST} pairs of trials "
        f"do not resolve in this noise (two trials are {apart(deviation)} apart by chance): repeat "
        "while nothing else runs, or use a command that takes longer"
    )
