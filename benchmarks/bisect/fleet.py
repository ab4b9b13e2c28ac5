"""Searches on several simulated boards at once: boards of other speed, level and noise."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.bisect.histories import SCATTER
from benchmarks.bisect.searches import CONFIDENCE, MOST
from benchmarks.bisect.whole import NoJournal, told_of_two
from benchvise.bisect.fleet import FleetSearch
from benchvise.bisect.fleet_answer import fleet_answer
from benchvise.bisect.journal import JournalEntry
from benchvise.bisect.model import Bisection, BisectionOptions, BisectionVerdict

_LEAST = 1e-4  # no change is too small to count
HELD_OUT_FLEET_SEEDS = 70_000
"""Seeds below were used while the search was made."""


@dataclass(frozen=True, slots=True)
class SimulatedBoard:
    """``effect`` is its change in standard deviations of a sample; a sample takes ``seconds``."""

    effect: float
    seconds: float = 1.0
    level: float = 100.0
    scatter: float = SCATTER


@dataclass(frozen=True, slots=True)
class FleetOutcome:
    """What a search on several boards came to. ``samples`` and ``seconds`` are until the place was
    known, ``all_seconds`` until it was clear which boards have the change, as far as it became so.

    ``covered`` are, of the boards with a change that was seen, those whose interval has the planted
    ratio; ``told`` is the answer for each board.
    """

    found: bool
    verdict: BisectionVerdict
    samples: int
    seconds: float
    all_seconds: float
    covered: tuple[bool, ...]
    told: tuple[str, ...]


def make_boards(
    seed: int, count: int, effect: float, slow: float = 1.0, unseen: int = 0
) -> list[SimulatedBoard]:
    """Boards of levels and noise of their own; of the last ones, ``unseen`` have no change. The
    last one takes ``slow`` times as long for a sample."""
    chance = np.random.default_rng([seed, count, 3])
    levels = 100.0 * np.exp(chance.uniform(-1.0, 1.0, count))
    scatters = SCATTER * np.exp(chance.uniform(-0.7, 0.7, count))
    return [
        SimulatedBoard(
            0.0 if number >= count - unseen else effect,
            slow if number == count - 1 else 1.0,
            float(levels[number]),
            float(scatters[number]),
        )
        for number in range(count)
    ]


def search_on(boards: Sequence[SimulatedBoard], seed: int, count: int) -> FleetOutcome:
    """One search of a change that is anywhere among ``count`` versions."""
    chance = np.random.default_rng([seed, count, len(boards), 11])
    place = int(chance.integers(1, count))
    answer, decided = _searched(boards, count, {place: 1.0}, chance)
    covered = tuple(
        row.ratio_low <= math.exp(board.scatter * board.effect) <= row.ratio_high
        for row, board in zip(answer.boards, boards, strict=True)
        if board.effect and row.seen == "seen" and row.ratio_low and row.ratio_high
    )
    return FleetOutcome(
        answer.verdict is BisectionVerdict.FOUND and answer.first_bad == str(place),
        answer.verdict,
        decided[0],
        decided[1],
        answer.seconds,
        covered,
        tuple(str(row.seen) for row in answer.boards),
    )


def two_changes_on(
    boards: Sequence[SimulatedBoard], seed: int, count: int, second: float
) -> tuple[str, int]:
    """What is answered where a later change is ``second`` times as large as the first (0: there is
    one), and after how many samples.
    """
    chance = np.random.default_rng([seed, count, len(boards), 13])
    first, later = sorted(int(v) for v in chance.choice(np.arange(1, count), 2, replace=False))
    answer, decided = _searched(boards, count, {first: 1.0, later: second}, chance)
    return told_of_two(answer, first, later if second else None), decided[0]


def _searched(
    boards: Sequence[SimulatedBoard],
    count: int,
    changes: Mapping[int, float],
    chance: np.random.Generator,
) -> tuple[Bisection, tuple[int, float]]:
    """The answer, and the samples and seconds until the place was known.

    ``changes`` are parts of a board's effect, by the version from which on they hold. The boards go
    on at the same time, and each is free again when it has measured. A sample that is not ended
    when the search is decided is not counted.
    """
    names = [f"board{number}" for number in range(len(boards))]
    search = FleetSearch(
        [str(version) for version in range(count)],
        names,
        "lower",
        NoJournal(),
        BisectionOptions(CONFIDENCE, _LEAST, most_samples=MOST),
        lambda _line: None,
    )
    running: list[tuple[float, int, int]] = []

    def begin(number: int, now: float) -> None:
        task = search.ask([names[number]])
        if task is not None:
            heapq.heappush(running, (now + boards[number].seconds, number, task.version))

    for number in range(len(boards)):
        begin(number, 0.0)
    now, decided = 0.0, (0, 0.0)
    while running:
        now, number, version = heapq.heappop(running)
        if search.is_done(names[number]):
            continue
        board = boards[number]
        change = board.effect * sum(part for place, part in changes.items() if version >= place)
        value = board.level * math.exp(board.scatter * (change + chance.standard_normal()))
        entry = JournalEntry(str(version), 0.0, board.seconds, value, board=names[number])
        search.tell(names[number], version, entry)
        was_open = search.verdict is None
        begin(number, now)
        if was_open and search.verdict is not None:
            decided = (search.posterior.samples, now)
    answer = fleet_answer(search, "ms", "", lambda _good, _bad, _board: "")
    seconds = max(state.seconds for state in search.boards.values())
    return replace(answer, seconds=seconds), decided
