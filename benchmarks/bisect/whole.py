"""The whole search as ``benchvise bisect`` makes it, without boards: with a second change."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from benchmarks.bisect.histories import SCATTER
from benchmarks.bisect.searches import CONFIDENCE
from benchvise.bisect.journal import JournalEntry
from benchvise.bisect.loop import BisectionSearch
from benchvise.bisect.model import Bisection, BisectionOptions, BisectionVerdict

_MOST = 1000
_LEAST = 0.01


@dataclass
class PlantedBench:
    """Versions with known levels, ms. Its clock goes on by 1 s a sample; builds cost nothing."""

    levels: list[float]
    seed: int
    unit: str = "ms"
    better: Literal["higher", "lower"] = "lower"
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self._chance = np.random.default_rng(self.seed)

    def ready(self, version: int) -> None:
        """The version is ready at once."""

    def measure(self, version: int) -> float:
        """A sample of the version."""
        self.now_s += 1.0
        return self.levels[version] * math.exp(SCATTER * self._chance.standard_normal())


@dataclass
class NoJournal:
    """Keeps what is measured in memory alone."""

    entries: tuple[JournalEntry, ...] = ()
    added: list[JournalEntry] = field(default_factory=list)

    def add(self, entry: JournalEntry) -> None:
        """Takes an entry."""
        self.added.append(entry)


def two_changes(seed: int, count: int, effect: float, second: float) -> tuple[str, int]:
    """What is answered where the value rises by ``effect`` scatters at one version and by
    ``second`` at a later one (0: there is one change), and after how many samples.
    """
    chance = np.random.default_rng([seed, count, 7])
    places = sorted(int(v) for v in chance.choice(np.arange(1, count), 2, replace=False))
    levels = [
        100.0 * math.exp(SCATTER * (effect * (v >= places[0]) + second * (v >= places[1])))
        for v in range(count)
    ]
    bench, names = PlantedBench(levels, seed), [str(version) for version in range(count)]
    search = BisectionSearch(
        names,
        bench,
        NoJournal(),
        BisectionOptions(CONFIDENCE, _LEAST, most_samples=_MOST),
        lambda _line: None,
        clock=lambda: bench.now_s,
    )
    verdict = search.run()
    answer = search.answer(verdict, "", lambda _good, _bad: "")
    return told_of_two(answer, places[0], places[1] if second else None), answer.samples


def told_of_two(answer: Bisection, first: int, second: int | None) -> str:
    """What an answer came to where there are two changes, or one where ``second`` is None."""
    planted = [str(place) for place in (first, second) if place is not None]
    match answer.verdict:
        case BisectionVerdict.TWO_CHANGES:
            is_right = [answer.first_bad, answer.second] == planted
            return "both found" if is_right else "wrong"
        case BisectionVerdict.FOUND:
            return "one found" if answer.first_bad in planted else "wrong"
    return "undecided"
