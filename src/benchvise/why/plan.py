"""What a diagnosis would do, without doing it: for ``--dry-run``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchvise.why import confirm, gap
from benchvise.why.bench import Bench
from benchvise.why.knowledge import Knowledge
from benchvise.why.model import Arm, Finding, Grade, SettingMeans, Side, Suspect
from benchvise.why.options import Options

# Blocks of a screening experiment, which has two arms.
_SCREENING = 3


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A part of a diagnosis: about how many experiments, and trials and seconds they take.

    ``most`` is for the worst case; what is no experiment has none.
    """

    what: str
    experiments: int
    trials: int
    seconds: float
    most: float

    def as_json(self) -> dict[str, Any]:
        """The step as a mapping."""
        return {
            "what": self.what,
            "experiments": self.experiments,
            "trials": self.trials,
            "seconds": round(self.seconds, 1),
            "most": round(self.most, 1),
        }


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """A setting that would be written on a side, and put back each time."""

    side: Side
    suspect: str
    knob: str
    value: str

    def as_json(self) -> dict[str, str]:
        """The write as a mapping."""
        return {
            "side": str(self.side),
            "suspect": self.suspect,
            "knob": self.knob,
            "value": self.value,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """``suspects`` in the order in which they would be tested; those without means are not.

    Where a finding stops the comparison there is nothing else in it.
    """

    findings: tuple[Finding, ...]
    suspects: tuple[Suspect, ...] = ()
    excluded: Mapping[str, str] | None = None
    layers: tuple[Suspect, ...] = ()
    steps: tuple[PlannedStep, ...] = ()
    writes: tuple[PlannedWrite, ...] = ()

    @property
    def seconds(self) -> float:
        """About how long it would take."""
        return sum(step.seconds for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        """The plan as a document."""
        return {
            "findings": [finding.as_json() for finding in self.findings],
            "suspects": [suspect.as_json() for suspect in self.suspects],
            "excluded": dict(self.excluded or {}),
            "layers": [layer.as_json() for layer in self.layers],
            "steps": [step.as_json() for step in self.steps],
            "writes": [write.as_json() for write in self.writes],
            "seconds": round(self.seconds, 1),
        }


def plan(bench: Bench, options: Options, knowledge: Knowledge) -> Plan:
    """What ``diagnose`` would do with this bench: looks at both sides, and no more."""
    facts = {side: bench.facts(side) for side in Side}
    snapshots = {side: bench.snapshot(side) for side in Side}
    findings = knowledge.examine(bench.metric, facts, snapshots)
    if any(finding.grade is Grade.STOPS for finding in findings):
        return Plan(findings)
    good, bad = snapshots[Side.GOOD], snapshots[Side.BAD]
    found = knowledge.find(good, bad, bench.metric, may_set=options.may_set)
    ranked = knowledge.rank(
        found.suspects,
        bench.metric,
        gap=None,
        checks=(),
        counters={side: {} for side in Side},
        corpus=options.corpus,
    )
    tested = tuple(suspect for suspect in ranked if suspect.means is not None)
    layers = tuple(bench.layers()) if options.layers else ()
    return Plan(
        findings=findings,
        suspects=ranked,
        excluded=found.excluded,
        layers=layers,
        steps=tuple(_steps(bench, tested, layers)),
        writes=tuple(_writes(bench, tested)),
    )


def _steps(
    bench: Bench, tested: tuple[Suspect, ...], layers: Sequence[Suspect]
) -> Iterator[PlannedStep]:
    good_is_live = bench.is_live(Side.GOOD)
    plain = [Arm(Side.BAD)] + [Arm(Side.GOOD)] * good_is_live
    fewest = gap.FIRST if good_is_live else gap.RANKED
    yield _step(bench, "the gap and the noise", 0, plain, fewest, gap.MOST)
    if tested:
        arms = [Arm(Side.BAD), Arm(Side.BAD, tested)]
        yield _step(bench, f"all {len(tested)} at once", 1, arms, _SCREENING, 10)
        arms = [Arm(Side.BAD), Arm(Side.BAD, tested[: (len(tested) + 1) // 2])]
        number = round(_bits(tested))
        blocks = _SCREENING * number
        yield _step(bench, "which of them, by halving", number, arms, blocks, 8 * (number + 2))
        arms = [Arm(Side.BAD), Arm(Side.BAD, tested[:1])]
        if good_is_live:
            arms += [Arm(Side.GOOD), Arm(Side.GOOD, tested[:1])]
        else:
            arms += arms
        yield _step(bench, "proving a cause, and undoing it", 2, arms, confirm.FEWEST, confirm.MOST)
    for layer in layers:
        arms = [Arm(Side.BAD), Arm(Side.BAD, (layer,))]
        yield _step(bench, f"{layer.title}, if the settings are not it", 1, arms, _SCREENING, 8)


def _step(
    bench: Bench, what: str, experiments: int, arms: Sequence[Arm], blocks: int, most: int
) -> PlannedStep:
    around = zip(arms, [arms[-1], *arms[:-1]], strict=True)
    once = sum(bench.seconds(arm, before) for arm, before in around)
    return PlannedStep(what, experiments, blocks * len(arms), blocks * once, most * once)


def _bits(tested: Sequence[Suspect]) -> float:
    """The entropy of the weights: how often these have to be halved on average."""
    total = sum(suspect.weight for suspect in tested)
    shares = [suspect.weight / total for suspect in tested]
    return -sum(share * math.log2(share) for share in shares if share > 0.0)


def _writes(bench: Bench, tested: Sequence[Suspect]) -> Iterator[PlannedWrite]:
    for suspect in tested:
        if isinstance(suspect.means, SettingMeans):
            for setting in suspect.means.to_good:
                yield PlannedWrite(Side.BAD, suspect.id, setting.knob.name, setting.value)
            if bench.is_live(Side.GOOD) and not suspect.not_on_good:
                for setting in suspect.means.to_bad:
                    yield PlannedWrite(Side.GOOD, suspect.id, setting.knob.name, setting.value)
