"""Where a change is that several boards may show: one place, and each board its own levels.

Boards are of different speed, and a change may be of different size on each, or not be there at
all. So each has a posterior of its own, whose unknowns are its levels, its scatter and the size of
its change. What they have in common is the place: the likelihood of a place is the product over
boards of a mixture, "the board has the change here" and "the board does not have it", which tells
nothing of the place. What the others know of it is each board's prior: a board that was measured
little has its levels from that too.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

import numpy as np

from benchvise.bisect.posterior import (
    NO_CHANGE,
    TWO_CHANGES,
    ChangePosterior,
    TwoChanges,
    passed_on,
    two_changes_of,
)
from benchvise.statistics import Floats

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
        self._logs: dict[str, tuple[Floats, float]] = {}
        self._known = False

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
        order = sorted({v for name in self.counting for v in self.boards[name].values})
        if len(order) < 3:
            return TwoChanges(0.0, (0, 0), 0.0, np.zeros(self.count))
        gaps = np.asarray(order[1:])
        seen, unseen = log(1.0 - UNSEEN), log(UNSEEN)
        logs = np.zeros((gaps.size, gaps.size))
        for name in self.counting:
            own_order, pairs = self.boards[name].pair_logs()
            own = np.searchsorted(np.asarray(own_order), gaps) - 1
            one, none = np.diag(pairs)[own], self._logs[name][1]
            both = 2.0 * seen + pairs[np.ix_(own, own)]
            either = seen + unseen + np.logaddexp(one[:, None], one[None, :])
            logs += np.logaddexp(np.logaddexp(both, either), 2.0 * unseen + none)
        weights = np.diff(np.asarray(order, dtype=np.float64))
        return two_changes_of(self.count, order, weights, logs, self._log_others, self.left_out)

    def _update(self) -> None:
        if self._known:
            return
        counting = self.counting
        seen, unseen = log(1.0 - UNSEEN), log(UNSEEN)
        mixed = {}
        for name in counting:
            if name not in self._logs:
                self._logs[name] = self.boards[name].place_logs
            logs, none = self._logs[name]
            mixed[name] = np.logaddexp(seen + logs, unseen + none)
        none = sum(self._logs[name][1] for name in counting)
        total = sum(mixed.values(), np.zeros(self.count))
        everywhere = np.arange(self.count) > 0
        # One change is one that some board has.
        unseen_by_all = len(counting) * unseen + none
        one = np.full(self.count, -np.inf)
        if counting:
            shown = np.minimum(unseen_by_all - total[everywhere], -1e-12)
            one[everywhere] = total[everywhere] + np.log1p(-np.exp(shown))
            one -= np.log1p(-exp(len(counting) * unseen))
        else:
            one[everywhere] = 0.0
        one -= log(self.count - 1)
        top = one.max()
        shares = np.exp(one - top)
        log_placed = top + log(shares.sum())
        shares /= shares.sum()
        self._places = passed_on(shares.copy(), self.left_out)
        none_odds = none + log(NO_CHANGE)
        one_odds = log_placed + log(1.0 - NO_CHANGE - TWO_CHANGES)
        self._log_others = float(np.logaddexp(none_odds, one_odds))
        self._no_change = exp(none_odds - self._log_others)
        self._seen = {}
        for name in counting:
            logs, _ = self._logs[name]
            self._seen[name] = float(shares @ np.exp(seen + logs - mixed[name]))
            others = total - mixed[name]
            others[0] = -np.inf
            expected = np.exp(others - others.max())
            self.boards[name].expect_places(expected / expected.sum())
        self._known = True
