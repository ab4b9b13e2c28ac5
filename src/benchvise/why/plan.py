"""What a diagnosis would do, without setting anything: for ``--dry-run``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchvise.errors import SettingError
from benchvise.state import places
from benchvise.state.model import Snapshot
from benchvise.why import gap
from benchvise.why.bench import Bench
from benchvise.why.knowledge import Knowledge
from benchvise.why.model import Arm, Finding, Metric, ProcessMeans, SettingMeans, Side, Suspect
from benchvise.why.options import Options
from benchvise.why.search import testable

_SCREENED = 3  # blocks of a screening experiment at least
_CONFIRMED = 8  # blocks of a confirmation at least


@dataclass(frozen=True, slots=True)
class Flip:
    """One thing that would be written, or given to the measured process: ``path`` is empty then."""

    side: Side
    suspect: str
    what: str
    path: str
    value: str

    def as_json(self) -> dict[str, str]:
        """The flip as a mapping."""
        return {
            "side": str(self.side),
            "suspect": self.suspect,
            "what": self.what,
            "path": self.path,
            "value": self.value,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """``suspects`` are in the order in which they would be tested; ``seconds`` is about how long
    it takes where one of them is the cause, by what a process took to measure just now."""

    metric: Metric
    good: str
    bad: str
    findings: tuple[Finding, ...]
    suspects: tuple[Suspect, ...]
    excluded: Mapping[str, str]
    flips: tuple[Flip, ...]
    experiments: int
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The plan as a document."""
        return {
            "metric": self.metric.name,
            "good": self.good,
            "bad": self.bad,
            "findings": [finding.as_json() for finding in self.findings],
            "suspects": [suspect.as_json() for suspect in self.suspects],
            "excluded": dict(self.excluded),
            "flips": [flip.as_json() for flip in self.flips],
            "experiments": self.experiments,
            "seconds": round(self.seconds, 1),
        }


def plan(bench: Bench, options: Options, knowledge: Knowledge) -> Plan:
    """Looks at both sides and ranks what differs, as far as that goes without measuring the gap.

    Raises what looking at the sides raises.
    """
    facts = {side: bench.facts(side) for side in Side}
    snapshots = {side: bench.snapshot(side) for side in Side}
    findings = knowledge.examine(bench.metric, facts, snapshots)
    good, bad = snapshots[Side.GOOD], snapshots[Side.BAD]
    found = knowledge.find(good, bad, bench.metric, may_set=options.may_set)
    ranked = knowledge.rank(
        found.suspects, bench.metric, gap=None, checks=(), counters={}, corpus=options.corpus
    )
    tested = testable(ranked)
    searched = 1 + math.ceil(math.log(len(tested) + 1, 3)) if tested else 0
    live = [side for side in Side if bench.is_live(side)]
    trials = gap.FIRST * len(live) + 3 * _SCREENED * searched
    trials += 2 * _CONFIRMED * len(live) * bool(tested)
    each = max(bench.seconds(Arm(side, tuple(tested)), None) for side in live)
    return Plan(
        metric=bench.metric,
        good=bench.name(Side.GOOD),
        bad=bench.name(Side.BAD),
        findings=findings,
        suspects=ranked,
        excluded=found.excluded,
        flips=tuple(f for side in live for s in tested for f in _flips(s, side, snapshots[side])),
        experiments=searched + 2 * bool(tested),
        seconds=trials * each,
    )


def _flips(suspect: Suspect, side: Side, snapshot: Snapshot) -> Iterator[Flip]:
    if side is Side.GOOD and suspect.not_on_good:
        return
    match suspect.means:
        case SettingMeans() as means:
            for setting in means.towards(side.other):
                try:
                    paths = setting.paths or (places.expand(setting.knob, snapshot.roles),)
                except SettingError:  # said when it is tried
                    paths = (setting.knob.path,)
                for path in paths:
                    yield Flip(side, suspect.id, setting.knob.name, path, setting.value)
        case ProcessMeans() as means:
            for name, value in means.towards(side.other).items():
                yield Flip(side, suspect.id, f"process attribute {name}", "", value)
