"""What a diagnosis knows of systems in general, as functions that can be replaced.

The loop itself knows only how to experiment; what may be compared, what may matter, why, and what
helps is somebody else's. Tests and the planted-cause bench bring their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from benchvise.state.model import Snapshot
from benchvise.why.bench import CrossCheck, Facts
from benchvise.why.model import (
    Arm,
    Bounds,
    Finding,
    Gap,
    Mechanism,
    Metric,
    Origin,
    Remedy,
    Side,
    Suspect,
)


class Found(Protocol):
    """What differs: what may be a cause, and why the rest cannot (by the entry's name)."""

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """In any order."""

    @property
    def excluded(self) -> Mapping[str, str]:
        """Entry name to reason."""


class Knowledge(Protocol):
    """See the functions of the same names in ``admissibility``, ``suspects``, ``ranking``,
    ``mechanism`` and ``remedies``."""

    def examine(
        self, metric: Metric, facts: Mapping[Side, Facts], snapshots: Mapping[Side, Snapshot]
    ) -> tuple[Finding, ...]:
        """What must be known of the comparison itself."""

    def find(
        self, good: Snapshot, bad: Snapshot, metric: Metric, *, may_set: Mapping[Side, bool]
    ) -> Found:
        """What differs and may matter."""

    def rank(
        self,
        suspects: Sequence[Suspect],
        metric: Metric,
        *,
        gap: Gap | None,
        checks: Sequence[CrossCheck],
        counters: Mapping[Side, Mapping[str, float]],
        corpus: Sequence[Snapshot],
    ) -> tuple[Suspect, ...]:
        """Best first, with the terms of their scores."""

    def explain(
        self,
        metric: Metric,
        suspects: Sequence[Suspect],
        *,
        snapshots: Mapping[Side, Snapshot],
        facts: Mapping[Side, Facts],
        effect: Bounds,
        during: Callable[[Arm], Mapping[str, float]],
        side: Side,
    ) -> Mechanism | None:
        """Why a cause has its effect."""

    def remedies(
        self,
        suspect: Suspect,
        *,
        origins: Sequence[Origin],
        side_values: Mapping[Side, str],
        roles: Mapping[str, str],
    ) -> tuple[Remedy, ...]:
        """How to make the good value last."""
