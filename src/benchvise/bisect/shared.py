"""Where a change is that several boards may show: one place, and each board its own levels.

Boards are of different speed, and a change may be of different size on each, or not be there at
all. So each has a posterior of its own, whose unknowns are its levels and its scatter. What they
have in common is the place and about the size (``bisect.sizes``): the likelihood of a place and a
usual size is the product over boards of a mixture, "the board has the change here" and "the board
does not have it", which tells nothing of the place. What the others know of it is each board's
prior: a board that was measured little has its levels from that too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from benchvise.bisect.posterior import (
    NO_CHANGE,
    TWO_CHANGES,
    ChangePosterior,
    TwoChanges,
    log_sum,
    spread_places,
    two_changes_of,
)
from benchvise.bisect.sizes import size_prior
from benchvise.long_arrays import Floats

UNSEEN = 0.1
"""How likely it is beforehand that a board does not have a change that others have."""


class SharedPosterior:
    """What the samples of several boards say of the place of a change among ``count`` versions.

    A board counts as soon as it has measured both ends. Deterministic, as ``ChangePosterior``.
    """

    def __init__(self, count: int, boards: Sequence[str]) -> None:
        self.count = count
        self.boards = {board: ChangePosterior(count, all_gaps=True) for board in boards}
        self.left_out: set[int] = set()
        self._logs: dict[str, _BoardLogs] = {}
        self._known = False
        self._seen: dict[str, float] = {}
        self._no_change = NO_CHANGE

    def add(self, board: str, version: int, value: float) -> None:
        """Takes a sample: the logarithm of the value, the larger the worse."""
        self.boards[board].add(version, value)
        self._logs.pop(board, None)
        self._known = False

    def leave_out(self, version: int) -> None:
        """No board can build or run the version. It must not be the first or the last one."""
        self.left_out.add(version)
        self._known = False

    @property
    def counting(self) -> list[str]:
        """The boards that have measured both ends."""
        ends = {0, self.count - 1}
        return [name for name, board in self.boards.items() if ends <= set(board.values)]

    @property
    def samples(self) -> int:
        """How many were taken, on all boards."""
        return sum(board.samples for board in self.boards.values())

    @property
    def places(self) -> Floats:
        """(count) P(the change is at this version | one change); 0 for the first one."""
        self._update()
        return self._places

    @property
    def no_change(self) -> float:
        """P(no change on any board) against one change."""
        self._update()
        return self._no_change

    @property
    def best(self) -> tuple[int, float]:
        """The likeliest place, and P(this place | one change) (1 - P(no change))."""
        place = int(np.argmax(self.places))
        return place, float(self.places[place]) * (1.0 - self.no_change)

    def seen(self, board: str) -> float:
        """P(this board has the change | one change); what is so beforehand of one that does not
        count."""
        self._update()
        return self._seen.get(board, 1.0 - UNSEEN)

    def two_changes(self) -> TwoChanges:
        """What speaks for two changes, each of which a board may have or not."""
        self._update()
        if len(self._order) < 3:
            return TwoChanges(0.0, (0, 0), 0.0, np.zeros(self.count))
        seen, unseen = log(1.0 - UNSEEN), log(UNSEEN)
        size = len(self._order) - 1
        pairs, single, none = np.zeros((size, size)), np.zeros(size), 0.0
        for name, gaps in self._gaps.items():
            _, own_pairs = self.boards[name].pair_logs()
            logs = self._logs[name]
            own = logs.apart[gaps]
            both = 2.0 * seen + own_pairs[np.ix_(gaps, gaps)]
            either = seen + unseen + np.logaddexp(own[:, None], own[None, :])
            pairs += np.logaddexp(np.logaddexp(both, either), 2.0 * unseen + logs.none)
            # Here each size is a board's own, as those of pairs are.
            single += np.logaddexp(seen + own, unseen + logs.none)
            none += logs.none
        placed = float(log_sum(single + np.log(self._weights / self._weights.sum())))
        others = float(
            np.logaddexp(none + log(NO_CHANGE), placed + log(1.0 - NO_CHANGE - TWO_CHANGES))
        )
        return two_changes_of(self.count, self._order, self._weights, pairs, others, self.left_out)

    def _update(self) -> None:
        if self._known:
            return
        counting = self.counting
        if not counting:
            self._order, self._gaps, self._seen = [0, self.count - 1], {}, {}
            self._places = np.full(self.count, 1.0 / (self.count - 1))
            self._places[0] = 0.0
            self._no_change = NO_CHANGE
            self._known = True
            return
        for name in counting:
            if name not in self._logs:
                order, apart, none = self.boards[name].gap_logs
                self._logs[name] = _BoardLogs(
                    order, apart, self.boards[name].sized_gap_logs(), none
                )
        # Between versions that no board has measured, places cannot be told apart.
        order = sorted({v for name in counting for v in self._logs[name].order})
        ends = np.asarray(order[1:])
        self._order = order
        self._gaps = {n: np.searchsorted(self._logs[n].order, ends) - 1 for n in counting}
        self._weights = np.diff(np.asarray(order, dtype=np.float64))
        self._weigh(counting)
        self._known = True

    def _weigh(self, counting: Sequence[str]) -> None:
        """All answers, from the likelihood of each gap and usual size on each board."""
        seen, unseen = log(1.0 - UNSEEN), log(UNSEEN)
        scatters = [log(self.boards[name].levels.scatter) for name in counting]
        log_sizes = np.log(size_prior(exp(sum(scatters) / len(scatters))))
        sized = {name: seen + self._logs[name].sized[self._gaps[name]] for name in counting}
        mixed = {n: np.logaddexp(sized[n], unseen + self._logs[n].none) for n in counting}
        total = sum(mixed.values(), np.zeros(1))
        none = sum(self._logs[name].none for name in counting)
        # One change is one that some board has.
        by_none = len(counting) * unseen + none
        joint = total + np.log1p(-np.exp(np.minimum(by_none - total, -1e-12)))
        joint += log_sizes - np.log1p(-exp(len(counting) * unseen))
        joint += np.log(self._weights / self._weights.sum())[:, None]
        log_placed = float(log_sum(joint))
        shares = np.exp(joint - log_placed)
        self._places = spread_places(self.count, self._order, shares.sum(axis=1), self.left_out)
        none_odds = none + log(NO_CHANGE)
        one_odds = log_placed + log(1.0 - NO_CHANGE - TWO_CHANGES)
        self._no_change = exp(none_odds - float(np.logaddexp(none_odds, one_odds)))
        self._seen = {n: float((shares * np.exp(sized[n] - mixed[n])).sum()) for n in counting}
        for name in counting:
            others = log_sum(total - mixed[name] + log_sizes, axis=1)
            expected = np.exp(others - others.max()) * self._weights
            places = spread_places(self.count, self._order, expected / expected.sum(), ())
            self.boards[name].expect_places(places)


@dataclass(frozen=True, slots=True)
class _BoardLogs:
    """Logarithms of likelihoods of one board: ``apart`` (gaps) between the versions ``order`` that
    it measured, with a size of its own, ``sized`` (gaps, J) by the usual size, and of no change."""

    order: list[int]
    apart: Floats
    sized: Floats
    none: float
