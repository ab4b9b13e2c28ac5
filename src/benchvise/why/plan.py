"""What a diagnosis would do, without setting anything: for ``--dry-run``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchvise.errors import SettingError
from benchvise.state import places
from benchvise.state.model import Snapshot
from benchvise.why.bench import Bench
from benchvise.why.effort import Effort, of_gap, of_nothing, of_search
from benchvise.why.knowledge import Knowledge
from benchvise.why.model import Finding, Metric, ProcessMeans, SettingMeans, Side, Suspect
from benchvise.why.options import Options
from benchvise.why.search import testable


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
    """``suspects`` are in the order in which they would be tested, ``effort`` is about what it
    takes where one of them is the cause. ``layers`` are what would be swapped after that, in their
    order, ``effort_layers`` what it takes where one of those is it; None where there is none."""

    metric: Metric
    good: str
    bad: str
    findings: tuple[Finding, ...]
    suspects: tuple[Suspect, ...]
    excluded: Mapping[str, str]
    flips: tuple[Flip, ...]
    effort: Effort
    layers: tuple[Suspect, ...] = ()
    effort_layers: Effort | None = None

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
            **self.effort.as_json(),
            "layers": [layer.as_json() for layer in self.layers],
            "effort_layers": None if self.effort_layers is None else self.effort_layers.as_json(),
        }


def plan(bench: Bench, options: Options, knowledge: Knowledge) -> Plan:
    """Looks at both sides and ranks what differs, as far as that goes without measuring the gap.

    Raises what looking at the sides raises, and ``Bench.layers``.
    """
    facts = {side: bench.facts(side) for side in Side}
    snapshots = {side: bench.snapshot(side) for side in Side}
    findings = knowledge.examine(bench.metric, facts, snapshots)
    good, bad = snapshots[Side.GOOD], snapshots[Side.BAD]
    found = knowledge.find(good, bad, bench.metric, may_set=options.may_set)

    def rank(suspects: Sequence[Suspect]) -> tuple[Suspect, ...]:
        return knowledge.rank(
            suspects, bench.metric, gap=None, checks=(), counters={}, corpus=options.corpus
        )

    ranked = rank(found.suspects)
    layers = rank(bench.layers()) if options.layers else ()
    tested, swapped = testable(ranked), testable(layers)
    live = [side for side in Side if bench.is_live(side)]
    before = of_gap(bench)
    return Plan(
        metric=bench.metric,
        good=bench.name(Side.GOOD),
        bad=bench.name(Side.BAD),
        findings=findings,
        suspects=ranked,
        excluded=found.excluded,
        flips=tuple(f for side in live for s in tested for f in _flips(s, side, snapshots[side])),
        effort=before + of_search(bench, tested),
        layers=layers,
        effort_layers=before + of_nothing(bench, tested) + of_search(bench, swapped)
        if swapped
        else None,
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
