"""The diagnosis that is scored: the loop with the knowledge that users get."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchvise.state.model import Snapshot
from benchvise.why import loop, ranking, suspects
from benchvise.why.bench import Bench, CrossCheck, Facts
from benchvise.why.evidence import EvidenceLog
from benchvise.why.model import (
    Arm,
    Bounds,
    Diagnosis,
    Finding,
    Gap,
    Mechanism,
    Metric,
    Origin,
    Remedy,
    Side,
    Suspect,
)
from benchvise.why.options import Options


class _Knowledge:
    """Suspects and ranking are the real ones; simulated boards have no counters and no files."""

    def examine(
        self, metric: Metric, facts: Mapping[Side, Facts], snapshots: Mapping[Side, Snapshot]
    ) -> tuple[Finding, ...]:
        return ()

    def find(
        self, good: Snapshot, bad: Snapshot, metric: Metric, *, may_set: Mapping[Side, bool]
    ) -> suspects.Found:
        return suspects.find(good, bad, metric, may_set=may_set)

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
        return None

    def remedies(
        self, suspect: Suspect, *, origins: Sequence[Origin], side_values: Mapping[Side, str]
    ) -> tuple[Remedy, ...]:
        return ()


def diagnose(bench: Bench, directory: Path, seed: int, resumed: bool) -> Diagnosis:
    """A diagnosis with its log in that directory, begun anew or gone on with."""
    log = EvidenceLog.resume(directory) if resumed else EvidenceLog.create(directory)
    try:
        options = Options(seed=seed)
        return loop.diagnose(bench, options, log, lambda event: None, _Knowledge())
    finally:
        log.close()
