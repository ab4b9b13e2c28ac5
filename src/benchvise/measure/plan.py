"""A plan: what will be measured and in which order. It is data before anything runs.

Series are interleaved: each round measures every series once, in a fresh process, in an order
drawn for that round. So drift of the board (heat, a neighbour) falls on all series alike instead
of on whichever came last.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.measure.model import SeriesSpec

PROCESSES = 3


def _keys(series: tuple[SeriesSpec, ...]) -> tuple[str, ...]:
    return tuple(spec.key for spec in series)


@dataclass(frozen=True, slots=True)
class Plan:
    """Series, and how often each is measured.

    ``time_s`` is a wish: rounds go on until that many seconds are used, at least one. Without it
    there are ``processes`` rounds. ``batches`` is None where each benchmark takes as many as it
    takes by default.
    """

    series: tuple[SeriesSpec, ...] = field(metadata=in_json(through=_keys))
    seed: int
    processes: int = PROCESSES
    batches: int | None = None
    time_s: float | None = None

    def rounds(self) -> Iterator[tuple[int, ...]]:
        """The order of each round, as positions in ``series``; endless when time decides."""
        number = 0
        while self.time_s is not None or number < self.processes:
            order = list(range(len(self.series)))
            random.Random(f"{self.seed}/{number}").shuffle(order)  # noqa: S311
            yield tuple(order)
            number += 1


def make_plan(
    specs: Sequence[SeriesSpec],
    *,
    seed: int | None = None,
    processes: int = PROCESSES,
    batches: int | None = None,
    time_s: float | None = None,
) -> Plan:
    """A plan of these series, each once; UsageError when there is nothing to do."""
    unique = tuple(dict.fromkeys(specs))
    if not unique:
        raise UsageError("nothing to measure", "name a --suite or a --bench")
    if seed is None:
        seed = random.SystemRandom().randrange(1 << 31)
    return Plan(unique, seed, processes, batches, time_s)
