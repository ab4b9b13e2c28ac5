"""Whether two sides can be compared at all, before anything is measured.

A finding that stops is itself the diagnosis: the figures have nothing to do with each other. One
that warns can be the cause, or a part of it; one that notes is to be known with the answer.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchvise.state.model import Snapshot
from benchvise.why.artefacts import known_artefacts
from benchvise.why.bench import Facts
from benchvise.why.circumstances import examine_circumstances
from benchvise.why.hosts import Case
from benchvise.why.model import Finding, Grade, Metric, Side

_ORDER = list(Grade)


def examine(
    metric: Metric, facts: Mapping[Side, Facts], snapshots: Mapping[Side, Snapshot]
) -> tuple[Finding, ...]:
    """All findings, those that stop first."""
    case = Case(metric, facts, snapshots)
    found = dict.fromkeys([*known_artefacts(case), *examine_circumstances(case)])
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.grade)))
