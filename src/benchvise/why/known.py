"""What is known of systems: this package's functions, as the loop is given them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchvise.state.model import Snapshot
from benchvise.why import admissibility, mechanism, ranking, remedies, suspects
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


class Known:
    """See ``knowledge.Knowledge``; ``with_risk`` as in ``suspects.find``."""

    def __init__(self, *, with_risk: bool = False) -> None:
        self._with_risk = with_risk

    def examine(
        self, metric: Metric, facts: Mapping[Side, Facts], snapshots: Mapping[Side, Snapshot]
    ) -> tuple[Finding, ...]:
        """See Knowledge."""
        return admissibility.examine(metric, facts, snapshots)

    def find(
        self, good: Snapshot, bad: Snapshot, metric: Metric, *, may_set: Mapping[Side, bool]
    ) -> suspects.Found:
        """See Knowledge."""
        return suspects.find(good, bad, metric, may_set=may_set, with_risk=self._with_risk)

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
        """See Knowledge."""
        return ranking.rank(
            suspects, metric, gap=gap, checks=checks, counters=counters, corpus=corpus
        )

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
        """See Knowledge."""
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
        """See Knowledge."""
        return remedies.remedies(suspect, origins=origins, side_values=side_values, roles=roles)
