"""The search on several boards at once: what each measures next, and when the place is known.

Nothing is measured here: whoever has a board that is free asks what to measure on it, and tells
what came of it.

    task = search.ask(["rig:a"])     # None: there is nothing more to do for these boards
    search.tell(task.board, task.version, JournalEntry(…))
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from benchvise.bisect.choice import (
    FIRST_SAMPLES,
    Costs,
    PendingSample,
    next_end,
    next_version,
    next_version_of_two,
    no_change,
    place_guesses,
    sample_effect,
)
from benchvise.bisect.journal import EntryJournal, JournalEntry
from benchvise.bisect.model import (
    BisectionOptions,
    BisectionVerdict,
    ChangeSeen,
    VersionUnusable,
)
from benchvise.bisect.second import SecondChange
from benchvise.bisect.seen import seen_changes
from benchvise.bisect.shared import SharedPosterior

_LEAST_SAMPLES = 4
_FIRST_SAMPLES = 1
"""Of each end on each board: their scatter is learnt from what follows."""
_LEAST_TO_SEE = 12
"""Samples by which a board may show whether it has a change that others found."""


@dataclass(frozen=True, slots=True)
class FleetTask:
    """A version to be measured on a board; ``is_ready``: it was the last one there."""

    board: str
    version: int
    is_ready: bool


@dataclass
class SearchedBoard:
    """A board of the search, as far as it has come. Times are in seconds."""

    name: str
    current: int | None = None
    pending: int | None = None
    lost: str = ""
    is_there: bool = True
    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)
    builds: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    skipped: dict[int, str] = field(default_factory=dict)
    samples: dict[int, list[float]] = field(default_factory=dict)

    @property
    def is_alive(self) -> bool:
        """Whether more can be measured on it."""
        return self.is_there and not self.lost


class FleetSearch:
    """A bisection on several boards. ``names`` are its versions, from the good one to the bad.

    What the journal has of a board that is not of ``boards`` counts too. ``built`` tells which
    versions need no building for a board. Not for several threads at once: the caller has a lock.
    """

    def __init__(
        self,
        names: Sequence[str],
        boards: Sequence[str],
        better: Literal["higher", "lower"],
        journal: EntryJournal,
        options: BisectionOptions,
        observe: Callable[[str], None],
        built: Callable[[str], Collection[int]] = lambda _board: (),
    ) -> None:
        self.names = list(names)
        self.better = better
        self.options = options
        journalled = {entry.board: None for entry in journal.entries if entry.board}
        every = list(dict.fromkeys([*boards, *journalled]))
        self.boards = {name: SearchedBoard(name, is_there=name in boards) for name in every}
        self.posterior = SharedPosterior(len(self.names), every)
        self.unbuilt: dict[int, str] = {}
        self.verdict: BisectionVerdict | None = None
        self._most: dict[str, int] = {}  # samples of a board, once the search is over
        self._found_s = 0.0
        self._journal = journal
        self._observe = observe
        self._built = built
        self._sign = 1.0 if better == "lower" else -1.0
        # With several boards half of the error is allowed: at the stated one, 88 to 92 % of
        # simulated histories were right where the change is as small as the noise of a sample.
        self._enough = 1.0 - (1.0 - options.confidence) / (2.0 if len(every) > 1 else 1.0)
        self._second = SecondChange(options.confidence)
        numbers = {name: number for number, name in enumerate(self.names)}
        for entry in journal.entries:
            if entry.version in numbers:
                self._take(entry.board, numbers[entry.version], entry)
        for state in self.boards.values():
            state.current = None  # who knows what is on it now

    @property
    def seconds(self) -> float:
        """What the board took that was busy longest."""
        return max((state.seconds for state in self.boards.values()), default=0.0)

    def level(self, value: float) -> float:
        """A level as the posterior has it, as a value."""
        return math.exp(self._sign * value)

    # -- asking ------------------------------------------------------------------------------------

    def ask(self, boards: Sequence[str], seconds: float | None = None) -> FleetTask | None:
        """What to measure next, on one of these boards that are measured in turn: on the one that
        had the least time. None where all of these are done, or lost.

        ``seconds`` is how long the search goes on by now, for the budget; else it is what the
        busiest board took.
        """
        seconds = self.seconds if seconds is None else seconds
        self._decide(seconds)
        waiting = [self.boards[name] for name in boards if not self.is_done(name, seconds)]
        if not waiting:
            return None
        state = min(waiting, key=lambda state: state.seconds)
        costs = self._costs(state)
        if self.verdict is None:
            version = self._next(state, costs)
        else:
            version = next_end(self.posterior.boards[state.name], costs)
        state.pending = version
        return FleetTask(state.name, version, is_ready=version == state.current)

    def is_done(self, board: str, seconds: float | None = None) -> bool:
        """Whether nothing more is to be measured on a board: it is lost, or the search is over.

        Once the version is found, a board of which it is unclear whether it has the change is
        measured on, at most as long again, and with at most as many samples again.
        """
        state = self.boards[board]
        if not state.is_alive or self.verdict is None:
            return not state.is_alive
        seconds = self.seconds if seconds is None else seconds
        budget = self.options.budget_s
        is_late = seconds >= 2.0 * self._found_s or (budget is not None and seconds >= budget)
        if self.verdict is not BisectionVerdict.FOUND or is_late:
            return True
        if self.posterior.boards[board].samples >= self._most.get(board, 0):
            return True
        change = seen_changes(self.posterior, self.options.confidence).get(board)
        return change is not None and change.seen is not ChangeSeen.UNCLEAR

    def _costs(self, state: SearchedBoard) -> Costs:
        return Costs(
            statistics.median(state.times[-20:]) if state.times else 1.0,
            statistics.median(state.waits[-20:]) if state.waits else 0.0,
            state.current,
            statistics.median(state.builds[-20:]) if state.builds else 0.0,
            self._built(state.name),
            _FIRST_SAMPLES if len(self.boards) > 1 else FIRST_SAMPLES,
        )

    def _next(self, state: SearchedBoard, costs: Costs) -> int:
        posterior, shared = self.posterior.boards[state.name], self.posterior
        counting = shared.counting
        if state.name not in counting:
            return next_version(posterior, costs, self.options.least)
        avoided = {*state.skipped, *shared.left_out}
        places = shared.places  # what the others know is this board's too, from here on
        others = [s for s in self.boards.values() if s is not state and s.pending is not None]
        two = self._second.leading
        if two is not None:
            avoided |= {s.pending for s in others if s.pending is not None}
            return next_version_of_two(posterior, two, costs, avoided)
        pending = [
            PendingSample(s.pending, sample_effect(shared.boards[s.name]), shared.seen(s.name))
            for s in others
            if s.pending is not None and s.name in counting
        ]
        guesses = place_guesses(places, pending)
        return next_version(posterior, costs, self.options.least, guesses, avoided)

    # -- telling -----------------------------------------------------------------------------------

    def tell(self, board: str, version: int, entry: JournalEntry) -> None:
        """What came of measuring a version: on disk when this returns.

        Raises VersionUnusable where the good or the bad version cannot be built.
        """
        self.boards[board].pending = None
        if entry.value is None and version in (0, len(self.names) - 1):
            if not entry.board:
                raise VersionUnusable(entry.left_out, "name versions that can be built")
            self.lose(board, entry.left_out)
            return
        self._journal.add(entry)
        self._take(entry.board, version, entry, by=board)
        self._report(board, version, entry)

    def lose(self, board: str, reason: str) -> None:
        """Goes on without a board; what it measured counts."""
        state = self.boards[board]
        state.pending, state.lost = None, reason or "it was lost"
        left = sum(state.is_alive for state in self.boards.values())
        self._observe(f"{board}: {state.lost}; {left} boards are left")
        for version in list(state.skipped):
            self._leave_out_everywhere(version)

    def _take(self, board: str, version: int, entry: JournalEntry, by: str = "") -> None:
        is_unbuilt = entry.value is None and not entry.board
        if by or board:
            state = self.boards[by or board]
            state.seconds += entry.ready_s + entry.seconds
            state.current = None if entry.value is None else version
            if entry.ready_s > 0.0:
                state.waits.append(entry.ready_s - entry.build_s)
            if entry.build_s > 0.0:
                state.builds.append(entry.build_s)
        if is_unbuilt:
            self.unbuilt[version] = entry.left_out
            self.posterior.leave_out(version)
            return
        if not board:
            return
        state = self.boards[board]
        if entry.value is None or entry.value <= 0.0:
            state.skipped[version] = entry.left_out or "no value"
            self._leave_out_everywhere(version)
            return
        state.times.append(entry.seconds)
        state.samples.setdefault(version, []).append(entry.value)
        self.posterior.add(board, version, self._sign * math.log(entry.value))

    def _leave_out_everywhere(self, version: int) -> None:
        """A version that no board can measure is no place."""
        if version in self.posterior.left_out:
            return
        if not any(
            version in state.samples or (state.is_alive and version not in state.skipped)
            for state in self.boards.values()
        ):
            self.posterior.leave_out(version)

    def _report(self, board: str, version: int, entry: JournalEntry) -> None:
        name = self.names[version]
        if entry.value is None:
            where = f"{board}: " if entry.board else ""
            self._observe(f"{where}{name}: left out: {entry.left_out}")
            return
        line = f"{board}: {name}: {entry.value:.6g}"
        if self.posterior.counting:
            place, probability = self.posterior.best
            line += f"; likeliest {self.names[place]} ({100 * probability:.0f} %)"
        self._observe(line)

    # -- deciding ----------------------------------------------------------------------------------

    def no_change(self) -> float:
        """P(nothing became worse on any board by more than the least change that counts)."""
        posterior = self.posterior
        small = 1.0
        for name in posterior.counting:
            seen = posterior.seen(name)
            own = posterior.boards[name]
            none = own.no_change
            # Given that the board has the change, it is as small with this probability.
            is_small = (no_change(own, self.options.least) - none) / max(1.0 - none, 1e-12)
            small *= 1.0 - seen + seen * is_small
        return posterior.no_change + (1.0 - posterior.no_change) * small

    def _decide(self, seconds: float) -> None:
        """Sets the verdict once it is certain, or the time is up, or no board is left."""
        if self.verdict is not None:
            return
        self.verdict = self._certain()
        budget = self.options.budget_s
        is_over = budget is not None and seconds >= budget
        is_over = is_over or self.posterior.samples >= self.options.most_samples
        if self.verdict is None and (
            is_over or not any(state.is_alive for state in self.boards.values())
        ):
            self.verdict = BisectionVerdict.UNDECIDED
        if self.verdict is not None:
            self._found_s = seconds
            for name, board in self.posterior.boards.items():
                self._most[name] = max(2 * board.samples, _LEAST_TO_SEE)

    def _certain(self) -> BisectionVerdict | None:
        posterior, confidence = self.posterior, self.options.confidence
        counting = posterior.counting
        if posterior.samples < _LEAST_SAMPLES or not counting:
            return None
        is_whole = all(s.name in counting for s in self.boards.values() if s.is_alive)
        if is_whole and self.no_change() >= confidence:
            return BisectionVerdict.NO_CHANGE
        placed = posterior.best[1] >= self._enough
        decided = self._second.verdict(posterior, posterior.samples, placed=placed)
        return None if decided is None else decided[0]
