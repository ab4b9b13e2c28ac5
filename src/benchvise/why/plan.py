"""What a diagnosis would do and take, without setting anything: for ``--dry-run``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchvise.documents import computed, in_json
from benchvise.errors import SettingError
from benchvise.state import places
from benchvise.state.conditions import busy_programs
from benchvise.state.model import Snapshot
from benchvise.why.bench import Bench
from benchvise.why.case import DiagnosisOptions
from benchvise.why.experiments import confirm, gap
from benchvise.why.experiments.search import testable
from benchvise.why.model import Arm, Finding, ProcessMeans, SettingMeans, Side, Suspect
from benchvise.why.rules import DiagnosisRules


@dataclass(frozen=True, slots=True)
class PlannedFlip:
    """One thing that would be written, or given to the measured process."""

    side: Side
    """On which side."""
    suspect: str
    """Id of the suspect that it flips."""
    what: str
    """The knob, or the attribute of the process."""
    path: str
    """The file; empty for the process."""
    value: str
    """What it would be set to."""


@dataclass(frozen=True, slots=True)
class DiagnosisPlan:
    """What would be done, and about what it takes where one of the suspects is the cause."""

    metric: str
    """Name of what would be measured."""
    good: str
    """Name of the good side."""
    bad: str
    """Name of the bad side."""
    findings: tuple[Finding, ...]
    """What must be known of the comparison itself."""
    suspects: tuple[Suspect, ...]
    """What may be the cause, in the order in which it would be tested."""
    excluded: Mapping[str, str]
    """Differences that cannot matter, by name."""
    flips: tuple[PlannedFlip, ...]
    """What would be set, on which side."""
    effort: Effort = field(metadata=in_json(hidden=True))
    layers: tuple[Suspect, ...] = ()
    """The layers that would be swapped after that, in their order."""
    effort_layers: Effort | None = None
    """What it takes where one of these is the cause; null where there is none."""

    @computed.before("layers")
    def experiments(self) -> int:
        """About how many experiments it takes."""
        return self.effort.experiments

    @computed.before("layers")
    def trials(self) -> int:
        """About how many trials."""
        return self.effort.trials

    @computed.before("layers")
    def boots(self) -> int:
        """About how many boots."""
        return self.effort.boots

    @computed.before("layers")
    def seconds(self) -> float:
        """About how long it takes."""
        return round(self.effort.seconds, 1)


def plan(bench: Bench, options: DiagnosisOptions, rules: DiagnosisRules) -> DiagnosisPlan:
    """Looks at both sides and ranks what differs, as far as that goes without measuring the gap.

    Raises what looking at the sides raises, and ``Bench.layers``.
    """
    facts = {side: bench.facts(side) for side in Side}
    snapshots = {side: bench.snapshot(side) for side in Side}
    findings = rules.examine(bench.metric, facts, snapshots)
    good, bad = snapshots[Side.GOOD], snapshots[Side.BAD]
    selection = rules.find(good, bad, bench.metric, may_set=options.may_set)

    busy = {side: busy_programs(snapshot) for side, snapshot in snapshots.items()}

    def rank(suspects: Sequence[Suspect]) -> tuple[Suspect, ...]:
        return rules.rank(
            suspects,
            bench.metric,
            gap=None,
            checks=(),
            counters={},
            busy=busy,
            corpus=options.corpus,
        )

    ranked = rank(selection.suspects)
    layers = rank(bench.layers()) if options.layers else ()
    tested, swapped = testable(ranked), testable(layers)
    live = [side for side in Side if bench.is_live(side)]
    before = of_gap(bench)
    return DiagnosisPlan(
        metric=bench.metric.name,
        good=bench.name(Side.GOOD),
        bad=bench.name(Side.BAD),
        findings=findings,
        suspects=ranked,
        excluded=selection.excluded,
        flips=tuple(f for side in live for s in tested for f in _flips(s, side, snapshots[side])),
        effort=before + of_search(bench, tested),
        layers=layers,
        effort_layers=before + of_nothing(bench, tested) + of_search(bench, swapped)
        if swapped
        else None,
    )


def _flips(suspect: Suspect, side: Side, snapshot: Snapshot) -> Iterator[PlannedFlip]:
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
                    yield PlannedFlip(side, suspect.id, setting.knob.name, path, setting.value)
        case ProcessMeans() as means:
            for name, value in means.towards(side.other).items():
                yield PlannedFlip(side, suspect.id, f"process attribute {name}", "", value)


# -- what it will take -----------------------------------------------------------------------------


_SCREENED = 3  # blocks of a screening experiment at least

Series = tuple[int, tuple[Arm, ...]]
"""So many blocks of these arms."""


@dataclass(frozen=True, slots=True)
class Effort:
    """About what a search takes."""

    experiments: int
    """How many experiments."""
    trials: int
    """How many trials."""
    boots: int
    """How many boots."""
    seconds: float = field(metadata=in_json(digits=1))
    """How long, by what the bench knows by then: by a trial, and by a boot or two."""

    def __add__(self, other: Effort) -> Effort:
        return Effort(
            self.experiments + other.experiments,
            self.trials + other.trials,
            self.boots + other.boots,
            self.seconds + other.seconds,
        )


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
    finding = _effort(bench, thirds + 2, [*narrowed, *proof])
    return of_nothing(bench, suspects) + finding


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
