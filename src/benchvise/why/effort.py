"""What a diagnosis will take: experiments, trials, boots and time, for ``--dry-run``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchvise.why import confirm, gap
from benchvise.why.bench import Bench
from benchvise.why.model import Arm, Side, Suspect

_SCREENED = 3  # blocks of a screening experiment at least

Series = tuple[int, tuple[Arm, ...]]
"""So many blocks of these arms."""


@dataclass(frozen=True, slots=True)
class Effort:
    """``seconds`` are as the bench knows them by then: by a trial, and by a boot or two."""

    experiments: int
    trials: int
    boots: int
    seconds: float

    def __add__(self, other: Effort) -> Effort:
        return Effort(
            self.experiments + other.experiments,
            self.trials + other.trials,
            self.boots + other.boots,
            self.seconds + other.seconds,
        )

    def as_json(self) -> dict[str, Any]:
        """The effort as a mapping."""
        return {
            "experiments": self.experiments,
            "trials": self.trials,
            "boots": self.boots,
            "seconds": round(self.seconds, 1),
        }


def of_gap(bench: Bench) -> Effort:
    """Measuring the gap: no experiment, and the least of blocks."""
    live = tuple(Arm(side) for side in Side if bench.is_live(side))
    return _effort(bench, 0, [(gap.FIRST, live)])


def of_nothing(bench: Bench, suspects: Sequence[Suspect]) -> Effort:
    """That all of them at once change nothing."""
    if not suspects:
        return Effort(0, 0, 0, 0.0)
    arms = (Arm(Side.BAD), Arm(Side.BAD, tuple(suspects)))
    return _effort(bench, 1, [(_SCREENED, arms)])


def of_search(bench: Bench, suspects: Sequence[Suspect]) -> Effort:
    """Finding the one among them that is the cause, and proving it in both directions.

    All of them at once, thirds of what is left, and then that one on either side (on the bad one
    twice where that stands in for a record). The first stands for whichever it is.
    """
    if not suspects:
        return Effort(0, 0, 0, 0.0)
    thirds = math.ceil(math.log(len(suspects) + 1, 3))
    first, among = tuple(suspects[:1]), tuple(suspects[: max(1, len(suspects) // 3)])
    narrowing = [Arm(Side.BAD), Arm(Side.BAD, first), Arm(Side.BAD, among)]
    narrowed = [(_SCREENED, tuple(dict.fromkeys(narrowing)))] * thirds
    proof = list(_proof(bench, first))
    found = _effort(bench, thirds + 2, [*narrowed, *proof])
    return of_nothing(bench, suspects) + found


def _proof(bench: Bench, first: tuple[Suspect, ...]) -> Iterator[Series]:
    for side in Side:
        place = side if bench.is_live(side) else side.other
        yield confirm.FEWEST, (Arm(place), Arm(place, first))


def _effort(bench: Bench, experiments: int, series: Sequence[Series]) -> Effort:
    trials = boots = 0
    seconds = 0.0
    again = max(bench.seconds(Arm(side), Arm(side.other)) for side in Side if bench.is_live(side))
    for blocks, arms in series:
        for arm, before in zip(arms, (arms[-1], *arms[:-1]), strict=True):
            first = bench.seconds(arm, before)
            trials += blocks
            boots += blocks * bench.boots(arm, before)
            # An image in between is made once, and boots like the others then.
            seconds += first + (blocks - 1) * min(first, again)
    return Effort(experiments, trials, boots, seconds)
