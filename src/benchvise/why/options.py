"""What a diagnosis is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchvise.state.model import Snapshot
from benchvise.why.model import Side


@dataclass(frozen=True, slots=True)
class Options:
    """``budget`` is in minutes, None for no limit. ``corpus`` are snapshots of other boards, for
    what is usual. ``cross_checks`` are benchmarks of the probe that are measured on both sides
    beside the metric. ``may_set`` says whether settings may be written on a side; ``started`` is
    ISO 8601 in UTC.
    """

    budget: float | None = None
    layers: bool = True
    seed: int = 0
    corpus: tuple[Snapshot, ...] = ()
    cross_checks: tuple[str, ...] = ()
    may_set: Mapping[Side, bool] = field(default_factory=lambda: {Side.GOOD: True, Side.BAD: True})
    started: str = ""
