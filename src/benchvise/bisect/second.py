"""Whether a search has found one change, or two: a second one is looked for before it ends."""

from __future__ import annotations

from typing import Protocol

from benchvise.bisect.model import BisectionVerdict
from benchvise.bisect.posterior import TwoChanges

_LOOK_FOR_TWO_AFTER = 8  # samples between two looks for a second change, which take a while
_RATHER_TWO = 0.5
_HARDLY_TWO = 0.1  # at most as likely are two changes where one is found


class PairPosterior(Protocol):
    """What samples say of two changes."""

    @property
    def samples(self) -> int:
        """How many were taken."""

    def two_changes(self) -> TwoChanges:
        """What speaks for two changes; takes longer than other answers."""


class SecondChange:
    """What is known of a second change while a search goes on."""

    def __init__(self, confidence: float) -> None:
        self._confidence = confidence
        self._two: TwoChanges | None = None
        self._placed_after: int | None = None  # samples until one place was certain at first

    @property
    def leading(self) -> TwoChanges | None:
        """Two changes, where they are what has to be measured next; else None."""
        enough = self._confidence if self._placed_after is None else _HARDLY_TWO
        return self._two if self._two is not None and self._two.share > enough else None

    def verdict(
        self, posterior: PairPosterior, taken: int, *, placed: bool
    ) -> tuple[BisectionVerdict, int, int] | None:
        """Two changes and their places, or one that is found; None where that is not decided.

        ``placed``: one place is certain enough. ``taken`` are the samples of this search.
        """
        is_due = posterior.samples % _LOOK_FOR_TWO_AFTER == 0
        if placed or is_due or (self._two is not None and self._two.share > _HARDLY_TWO):
            self._two = posterior.two_changes()
            is_certain = self._two.probability >= self._confidence
            if self._two.share > self._confidence and is_certain:
                return (BisectionVerdict.TWO_CHANGES, *self._two.places)
            if placed and self._is_one_change(self._two, taken):
                return BisectionVerdict.FOUND, 0, 0
        return None

    def _is_one_change(self, two: TwoChanges, taken: int) -> bool:
        """Whether a second change is unlikely enough, or was looked for as long as the first."""
        if self._placed_after is None:
            self._placed_after = taken
        if two.share <= _HARDLY_TWO:
            return True
        return two.share < _RATHER_TWO and taken >= 2 * self._placed_after
