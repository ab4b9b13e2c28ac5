"""What a diagnosis knows of systems in general, apart from the loop that experiments.

What may be compared, what may matter, why it does and what helps: the loop asks for these here, so
that tests and the planted-cause bench can bring rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from benchvise.state.model import Snapshot
from benchvise.why.bench import CrossCheck, SideFacts
from benchvise.why.explain import mechanism, remedies
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
from benchvise.why.suspects import admissibility, ranking
from benchvise.why.suspects.find import SuspectSelection, find, is_allowed, needs_consent


@dataclass(frozen=True)
class DiagnosisRules:
    """The rules that Benchvise ships.

    ``allowed`` are patterns of settings that can disturb the whole board, and may be tried.
    """

    allowed: tuple[str, ...] = field(default=(), kw_only=True)

    def examine(
        self, metric: Metric, facts: Mapping[Side, SideFacts], snapshots: Mapping[Side, Snapshot]
    ) -> tuple[Finding, ...]:
        """What must be known of the comparison itself, findings that stop it first."""
        return admissibility.examine(metric, facts, snapshots)

    def find(
        self,
        good: Snapshot,
        bad: Snapshot,
        metric: Metric,
        *,
        may_set: Mapping[Side, bool],
        targets: Collection[str] = (),
    ) -> SuspectSelection:
        """What differs and may matter. ``may_set`` says where settings can be made, ``targets``
        what the command was seen to open, ask or wait for."""
        return find(good, bad, metric, may_set=may_set, allowed=self.allowed, targets=targets)

    def not_allowed(self, knob: str) -> str:
        """Why a setting that can disturb the whole board is not tried; empty with consent."""
        return "" if is_allowed((knob,), self.allowed) else needs_consent((knob,))

    def rank(
        self,
        suspects: Sequence[Suspect],
        metric: Metric,
        *,
        gap: Gap | None,
        checks: Sequence[CrossCheck],
        counters: Mapping[Side, Mapping[str, float]],
        busy: Mapping[Side, Mapping[str, float]],
        corpus: Sequence[Snapshot],
    ) -> tuple[Suspect, ...]:
        """The suspects, best first, with the terms of their scores."""
        return ranking.rank(
            suspects,
            metric,
            gap=gap,
            checks=checks,
            counters=counters,
            busy=busy,
            corpus=corpus,
        )

    def explain(
        self,
        metric: Metric,
        suspects: Sequence[Suspect],
        *,
        snapshots: Mapping[Side, Snapshot],
        facts: Mapping[Side, SideFacts],
        effect: Bounds,
        during: Callable[[Arm], Mapping[str, float]],
        side: Side,
    ) -> Mechanism | None:
        """Why a proven cause has its effect; None where no mechanism card is about it."""
        return mechanism.explain(
            metric,
            suspects,
            snapshots=snapshots,
            facts=facts,
            effect=effect,
            during=during,
            side=side,
        )

    def remedies(
        self,
        suspect: Suspect,
        *,
        origins: Sequence[Origin],
        side_values: Mapping[Side, str],
        roles: Mapping[str, str],
    ) -> tuple[Remedy, ...]:
        """How to make the good value last, what is nearest to its origin first."""
        return remedies.remedies(suspect, origins=origins, side_values=side_values, roles=roles)
