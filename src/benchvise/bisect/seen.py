"""Which boards have the change, and how large it is there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchvise.bisect.model import ChangeSeen
from benchvise.bisect.shared import UNSEEN, SharedPosterior
from benchvise.statistics.means import t_quantile


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A board's change as a difference of logarithms, ``low`` to ``high`` its interval."""

    seen: ChangeSeen
    probability: float
    apart: float
    low: float
    high: float


def seen_changes(posterior: SharedPosterior, confidence: float) -> dict[str, SeenChange]:
    """What each board that has measured both ends shows.

    Each board's probability is at even odds beforehand, so that a board without the change is
    seldom said to have it. It has the change with the stated confidence, or does not; not either
    where it surely has less than half of the smallest one of another board. Levels are estimated
    from the samples, so the interval is of Student's t, with a degree of freedom less for each
    level and for the scatter.
    """
    changes: dict[str, SeenChange] = {}
    for name in posterior.counting:
        board = posterior.boards[name]
        probability = _at_even_odds(posterior.seen(name))
        levels = board.levels
        apart = levels.after - levels.before
        margin = t_quantile(0.5 + confidence / 2.0, max(board.samples - 3, 1)) * levels.doubt
        seen = ChangeSeen.UNCLEAR
        if probability >= confidence:
            seen = ChangeSeen.SEEN
        elif probability <= 1.0 - confidence:
            seen = ChangeSeen.NOT_SEEN
        changes[name] = SeenChange(seen, probability, apart, apart - margin, apart + margin)
    half = _half_of_smallest(changes.values())
    return {
        name: SeenChange(ChangeSeen.NOT_SEEN, row.probability, row.apart, row.low, row.high)
        if row.seen is ChangeSeen.UNCLEAR and row.high < half
        else row
        for name, row in changes.items()
    }


def _at_even_odds(seen: float) -> float:
    """P(seen) where it is as likely as not beforehand."""
    has, has_not = seen * UNSEEN, (1.0 - seen) * (1.0 - UNSEEN)
    return has / (has + has_not)


def _half_of_smallest(changes: Iterable[SeenChange]) -> float:
    sizes = [row.apart for row in changes if row.seen is ChangeSeen.SEEN and row.apart > 0.0]
    return min(sizes) / 2.0 if sizes else float("-inf")
