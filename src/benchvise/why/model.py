"""The words of a diagnosis: side, suspect, trial, experiment, cause, verdict.

Everything here is plain immutable data; nothing here measures, writes or prints.

Values are compared as *goodness*: the logarithm of a value where higher is better, and minus that
where lower is better. So a shift above zero is an improvement, and the gap is the goodness of the
good side minus that of the bad one. Shares are fractions of the gap: 0.97 is 97 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from benchvise.measure.model import Better, SeriesSpec
from benchvise.state.knobs import Setting


class Side(StrEnum):
    """One of the two that are compared."""

    GOOD = "good"
    BAD = "bad"

    @property
    def other(self) -> Side:
        """The one that it is compared with."""
        return Side.BAD if self is Side.GOOD else Side.GOOD


class Layer(StrEnum):
    """Where a difference lies, from the cheapest to change to the dearest."""

    PROCESS = "process"
    RUN_TIME = "run time"
    USERLAND = "userland"
    COMMAND_LINE = "command line"
    KERNEL = "kernel"
    DEVICE_TREE = "device tree"
    ROOT = "root file system"
    INIT_SETTINGS = "init settings"
    LIBC = "libc"
    BOOTLOADER = "bootloader"
    HARDWARE = "hardware"


@dataclass(frozen=True, slots=True)
class Metric:
    """What is measured: a benchmark with its parameters, also where that runs a user's command.

    ``command`` is the command line where it does, else empty.
    """

    spec: SeriesSpec
    unit: str
    better: Better
    counted: str = ""
    command: str = ""

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.command or self.spec.key

    def goodness(self, value: float) -> float:
        """See the module. ValueError for a value of zero or less."""
        return math.log(value) if self.better == "higher" else -math.log(value)

    def value(self, goodness: float) -> float:
        """The value of a goodness, in the metric's unit."""
        return math.exp(goodness if self.better == "higher" else -goodness)


# -- what could be the cause -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SettingMeans:
    """Flipped by writing settings: ``to_good`` has the good side's values, ``to_bad`` the bad's."""

    to_good: tuple[Setting, ...]
    to_bad: tuple[Setting, ...]

    def towards(self, side: Side) -> tuple[Setting, ...]:
        """The settings that make a board like that side."""
        return self.to_good if side is Side.GOOD else self.to_bad


@dataclass(frozen=True, slots=True)
class ProcessMeans:
    """Flipped for the measured process alone: by words before its command, or its environment.

    ``attributes`` are those of ``bvprobe run``'s launcher (``thp=off``, ``timer_slack=50000``, …).
    """

    to_good: Mapping[str, str] = field(default_factory=dict, hash=False)
    to_bad: Mapping[str, str] = field(default_factory=dict, hash=False)

    def towards(self, side: Side) -> Mapping[str, str]:
        """The attributes that make the process like one of that side."""
        return self.to_good if side is Side.GOOD else self.to_bad


@dataclass(frozen=True, slots=True)
class LayerMeans:
    """Flipped by giving a side a layer of the other one, whole or in a part.

    ``layer`` is a name of ``benchvise.rig.compose.LAYERS`` or ``userland``; ``part`` names what of
    it is taken (a word of the command line, a line of a file), empty for all of it.
    """

    layer: str
    part: str = ""


Means = SettingMeans | ProcessMeans | LayerMeans


@dataclass(frozen=True, slots=True)
class Term:
    """One addend of a suspect's score: natural-logarithm units, and why."""

    name: str
    points: float
    reason: str

    def as_json(self) -> dict[str, Any]:
        """The term as a mapping."""
        return {"name": self.name, "points": round(self.points, 3), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Suspect:
    """A difference, or several that belong together, that may be a cause.

    ``id`` is the knob's, item's or layer's name; ``good`` and ``bad`` are the values as shown.
    ``members`` are the names of the snapshot entries in it. Where ``means`` is None it cannot be
    tested here, and ``untestable`` says why. ``terms`` make up its score. Where it cannot be
    flipped on the good side too, ``not_on_good`` says why.
    """

    id: str
    title: str
    layer: Layer
    item: str
    good: str
    bad: str
    members: tuple[str, ...] = ()
    means: Means | None = None
    untestable: str = ""
    not_on_good: str = ""
    terms: tuple[Term, ...] = ()

    @property
    def score(self) -> float:
        """The sum of its terms: a larger one is tested earlier."""
        return sum(term.points for term in self.terms)

    @property
    def weight(self) -> float:
        """What it counts when a set is halved: e to its score."""
        return math.exp(self.score)

    def as_json(self) -> dict[str, Any]:
        """The suspect as a mapping."""
        return {
            "id": self.id,
            "title": self.title,
            "layer": str(self.layer),
            "item": self.item,
            "good": self.good,
            "bad": self.bad,
            "members": list(self.members),
            "testable": self.means is not None,
            "untestable": self.untestable,
            "score": round(self.score, 3),
            "terms": [term.as_json() for term in self.terms],
        }


# -- experiments -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arm:
    """One side, with these suspects flipped to the other side's value."""

    side: Side
    flipped: tuple[Suspect, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of what is flipped."""
        return tuple(suspect.id for suspect in self.flipped)


@dataclass(frozen=True, slots=True)
class Trial:
    """One fresh process of the metric on one arm.

    ``value`` is the median of its batches ``values``, in the metric's unit. ``started`` is in
    seconds since the diagnosis began, ``seconds`` what it took with setting and undoing.
    ``counters`` are what the probe counted, per batch or for the process (see cards), and
    ``covariates`` what else is known of that moment (temperature, clock, pressure). ``flags`` are
    the pollution marks of its batches, each once.
    """

    number: int
    side: Side
    flipped: tuple[str, ...]
    value: float
    values: tuple[float, ...]
    started: float
    seconds: float
    counters: Mapping[str, float] = field(default_factory=dict)
    covariates: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The trial as a mapping."""
        return {
            "number": self.number,
            "side": str(self.side),
            "flipped": list(self.flipped),
            "value": self.value,
            "values": list(self.values),
            "started": self.started,
            "seconds": self.seconds,
            "counters": dict(self.counters),
            "covariates": dict(self.covariates),
            "flags": list(self.flags),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Trial:
        """The trial of ``as_json``; KeyError, TypeError or ValueError when it is not one."""
        return cls(
            number=int(data["number"]),
            side=Side(data["side"]),
            flipped=tuple(map(str, data["flipped"])),
            value=float(data["value"]),
            values=tuple(map(float, data["values"])),
            started=float(data["started"]),
            seconds=float(data["seconds"]),
            counters={str(k): float(v) for k, v in data["counters"].items()},
            covariates={str(k): float(v) for k, v in data["covariates"].items()},
            flags=tuple(map(str, data["flags"])),
        )


@dataclass(frozen=True, slots=True)
class Bounds:
    """An estimate with its 95 % interval, in any one unit."""

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        """The estimate as a mapping."""
        return {"value": self.value, "low": self.low, "high": self.high}

    def contains(self, value: float) -> bool:
        """Whether a value lies in the interval."""
        return self.low <= value <= self.high


class Outcome(StrEnum):
    """What an experiment showed."""

    CLOSES = "closes the gap"
    PARTLY = "closes a part of the gap"
    DOES_NOT = "does not close the gap"
    WIDENS = "widens the gap"
    UNRESOLVED = "unresolved"


class Purpose(StrEnum):
    """What an experiment was made for."""

    PROBE = "the same probe on both"
    PROCESS = "per process"
    ALL_IN = "all at once"
    HALVING = "halving"
    CONTEXT = "what it needs beside it"
    REPAIR = "repair the bad side"
    BREAK = "break the good side"
    AGAIN = "back as before"
    TOGETHER = "both together"
    LAYER = "layer"


@dataclass(frozen=True, slots=True)
class Experiment:
    """One question put to a board: blocks of trials with and without what is flipped.

    ``context`` are suspects that were flipped in both arms. ``shift`` is the goodness gained on
    that side, ``share`` that of the gap (for a break: the part of the gap that it opens, positive
    when it does). ``blocks`` counts the repetitions, ``p`` is the paired sign-flip test's.
    ``trials`` are the numbers of its trials. Where the outcome is unresolved, ``reason`` says why.
    """

    number: int
    purpose: Purpose
    question: str
    side: Side
    flipped: tuple[str, ...]
    context: tuple[str, ...]
    outcome: Outcome
    shift: Bounds | None
    share: Bounds | None
    p: float | None
    blocks: int
    trials: tuple[int, ...]
    seconds: float
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """The experiment as a mapping."""
        return {
            "number": self.number,
            "purpose": str(self.purpose),
            "question": self.question,
            "side": str(self.side),
            "flipped": list(self.flipped),
            "context": list(self.context),
            "outcome": str(self.outcome),
            "shift": None if self.shift is None else self.shift.as_json(),
            "share": None if self.share is None else self.share.as_json(),
            "p": self.p,
            "blocks": self.blocks,
            "trials": list(self.trials),
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Gap:
    """How far the two sides are apart.

    ``goodness`` is the gap with its interval; ``floor`` the A/A noise floor in the same unit: what
    two measurements of the same side differ by. ``good`` and ``bad`` are medians in the metric's
    unit.
    """

    goodness: Bounds
    floor: float
    good: float
    bad: float
    blocks: int
    p: float
    trials: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """The gap as a mapping; ``ratio`` is good to bad."""
        return {
            "goodness": self.goodness.as_json(),
            "ratio": self.good / self.bad,
            "floor": self.floor,
            "good": self.good,
            "bad": self.bad,
            "blocks": self.blocks,
            "p": self.p,
            "trials": list(self.trials),
        }


# -- the answer ------------------------------------------------------------------------------------


class Grade(StrEnum):
    """How much a finding of admissibility weighs."""

    STOPS = "stops"
    WARNS = "warns"
    NOTES = "notes"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the comparison itself that must be known: an artefact, fewer CPUs, heat.

    ``rule`` is its word, ``evidence`` what was seen, ``remedy`` what to do about it.
    """

    rule: str
    grade: Grade
    sentence: str
    evidence: str = ""
    remedy: str = ""

    def as_json(self) -> dict[str, Any]:
        """The finding as a mapping."""
        return {
            "rule": self.rule,
            "grade": str(self.grade),
            "sentence": self.sentence,
            "evidence": self.evidence,
            "remedy": self.remedy,
        }


NOT_FOUND = "not found"
"""The ``kind`` of an ``Origin`` where no line sets the value."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A place that sets a value persistently.

    ``kind`` is ``sysctl.d``, ``rc.local``, ``udev``, ``kernel config``, …; ``line`` counts from 1,
    0 where a file has no lines. ``certain`` is false where the value is there but it is not sure
    that this line wins.
    """

    side: Side
    kind: str
    file: str
    line: int
    text: str
    certain: bool = True
    note: str = ""

    @property
    def where(self) -> str:
        """``/etc/rc.local:12``."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def as_json(self) -> dict[str, Any]:
        """The origin as a mapping."""
        return {
            "side": str(self.side),
            "kind": self.kind,
            "file": self.file,
            "line": self.line,
            "text": self.text,
            "certain": self.certain,
            "note": self.note,
        }


class Support(StrEnum):
    """Whether what was counted agrees with a mechanism."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class CounterCheck:
    """One counter's predicted sign when the cause is repaired, and what was seen.

    ``predicted`` is ``+``, ``-`` or ``0``; ``change`` the ratio with to without, None where the
    counter is not available, for the ``reason``.
    """

    counter: str
    predicted: str
    change: float | None
    agrees: bool | None
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """The check as a mapping."""
        return {
            "counter": self.counter,
            "predicted": self.predicted,
            "change": self.change,
            "agrees": self.agrees,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Remedy:
    """How to make the good value last, in one way of building or running a system.

    ``system`` is ``Yocto``, ``Debian``, ``Buildroot``, ``command line``, ``now``; ``text`` is what
    to write, ready to be pasted.
    """

    system: str
    text: str
    cost: str = ""

    def as_json(self) -> dict[str, str]:
        """The remedy as a mapping."""
        return {"system": self.system, "text": self.text, "cost": self.cost}


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Why a cause has the effect it has: what a card says and what was checked of it.

    ``prediction`` is what the card computed for this case in words, with ``predicted`` the value
    as a ratio or None. ``artefact`` is a sentence where the metric does not measure what its name
    says, else empty.
    """

    card: str
    title: str
    explanation: str
    support: Support
    checks: tuple[CounterCheck, ...] = ()
    prediction: str = ""
    predicted: float | None = None
    artefact: str = ""
    remedies: tuple[Remedy, ...] = ()
    literature: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The mechanism as a mapping."""
        return {
            "card": self.card,
            "title": self.title,
            "explanation": self.explanation,
            "support": str(self.support),
            "checks": [check.as_json() for check in self.checks],
            "prediction": self.prediction,
            "predicted": self.predicted,
            "artefact": self.artefact,
            "remedies": [remedy.as_json() for remedy in self.remedies],
            "literature": list(self.literature),
        }


@dataclass(frozen=True, slots=True)
class Cause:
    """What accounts for the gap or a part of it; several suspects where only together they do.

    ``repair`` and ``breaking`` are the experiments on fresh data; ``breaking`` is None where the
    good side cannot be set, for ``not_broken``. ``again`` says whether the bad side was as before
    once the repair was undone. ``share`` is of the gap.
    """

    suspects: tuple[Suspect, ...]
    share: Bounds
    repair: Experiment
    breaking: Experiment | None
    again: Experiment | None
    not_broken: str = ""
    mechanism: Mechanism | None = None
    origins: tuple[Origin, ...] = ()
    remedies: tuple[Remedy, ...] = ()

    @property
    def interacts(self) -> bool:
        """Whether it takes all its suspects together."""
        return len(self.suspects) > 1

    @property
    def name(self) -> str:
        """The ids, joined."""
        return " with ".join(suspect.id for suspect in self.suspects)

    def as_json(self) -> dict[str, Any]:
        """The cause as a mapping."""
        return {
            "name": self.name,
            "interacts": self.interacts,
            "suspects": [suspect.as_json() for suspect in self.suspects],
            "share": self.share.as_json(),
            "repair": self.repair.as_json(),
            "breaking": None if self.breaking is None else self.breaking.as_json(),
            "again": None if self.again is None else self.again.as_json(),
            "not_broken": self.not_broken,
            "mechanism": None if self.mechanism is None else self.mechanism.as_json(),
            "origins": [origin.as_json() for origin in self.origins],
            "remedies": [remedy.as_json() for remedy in self.remedies],
        }


class Verdict(StrEnum):
    """How a diagnosis ends."""

    EXPLAINED = "explained"
    PARTLY = "partly explained"
    UNEXPLAINED = "unexplained"
    NO_DIFFERENCE = "no difference shown"
    REVERSED = "the good side is the worse one"
    NOT_ADMISSIBLE = "not admissible"
    INCOMPLETE = "incomplete"


class Stop(StrEnum):
    """What ended a diagnosis before it came to its own end."""

    INTERRUPTED = "interrupted"
    UNREACHABLE = "contact lost"
    BUDGET = "the budget was spent"
    FAILED = "the metric failed"
    NOT_PUT_BACK = "not everything is put back"


@dataclass(frozen=True, slots=True)
class Interaction:
    """The top two causes in a 2x2: their shares alone, and together.

    ``shown`` is whether the interval of together minus the sum of both excludes zero.
    """

    one: str
    other: str
    alone: tuple[Bounds, Bounds]
    together: Bounds
    excess: Bounds
    shown: bool

    def as_json(self) -> dict[str, Any]:
        """The interaction as a mapping."""
        return {
            "one": self.one,
            "other": self.other,
            "alone": [bounds.as_json() for bounds in self.alone],
            "together": self.together.as_json(),
            "excess": self.excess.as_json(),
            "shown": self.shown,
        }


@dataclass(frozen=True, slots=True)
class Write:
    """One line of the journal of what was done to a board: a setting written or put back.

    ``at`` is in seconds since the diagnosis began.
    """

    at: float
    side: Side
    knob: str
    path: str
    old: str
    new: str
    undone: bool

    def as_json(self) -> dict[str, Any]:
        """The write as a mapping."""
        return {
            "at": round(self.at, 3),
            "side": str(self.side),
            "knob": self.knob,
            "path": self.path,
            "old": self.old,
            "new": self.new,
            "undone": self.undone,
        }


FORMAT = 1
"""Raised when the meaning of a diagnosis' fields changes."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The answer of ``why``.

    ``good`` and ``bad`` name the sides. ``unexplained`` is the share of the gap that no cause
    accounts for. ``stopped`` is set and ``reached`` says how far it got where it did not come to
    its end; ``needed`` are sentences that say what would be needed to know more. ``restored`` is
    false where something is still set. ``suspects`` are in the order of their score. ``repeat`` is
    the command line that makes it again.
    """

    metric: Metric
    good: str
    bad: str
    verdict: Verdict
    headline: str
    gap: Gap | None = None
    unexplained: Bounds | None = None
    findings: tuple[Finding, ...] = ()
    causes: tuple[Cause, ...] = ()
    interaction: Interaction | None = None
    suspects: tuple[Suspect, ...] = ()
    excluded: Mapping[str, str] = field(default_factory=dict)
    experiments: tuple[Experiment, ...] = ()
    trials: tuple[Trial, ...] = ()
    writes: tuple[Write, ...] = ()
    needed: tuple[str, ...] = ()
    stopped: Stop | None = None
    reached: str = ""
    restored: bool = True
    simulated: bool = False
    started: str = ""
    seconds: float = 0.0
    seed: int = 0
    repeat: str = ""

    def as_json(self) -> dict[str, Any]:
        """The diagnosis as a document; ``benchvise.why.shape`` says what each field means."""
        return {
            "format": FORMAT,
            "metric": {
                "name": self.metric.name,
                "benchmark": self.metric.spec.benchmark,
                "params": dict(self.metric.spec.params),
                "unit": self.metric.unit,
                "better": self.metric.better,
                "counted": self.metric.counted,
                "command": self.metric.command,
            },
            "good": self.good,
            "bad": self.bad,
            "verdict": str(self.verdict),
            "headline": self.headline,
            "gap": None if self.gap is None else self.gap.as_json(),
            "unexplained": None if self.unexplained is None else self.unexplained.as_json(),
            "findings": [finding.as_json() for finding in self.findings],
            "causes": [cause.as_json() for cause in self.causes],
            "interaction": None if self.interaction is None else self.interaction.as_json(),
            "suspects": [suspect.as_json() for suspect in self.suspects],
            "excluded": dict(self.excluded),
            "experiments": [experiment.as_json() for experiment in self.experiments],
            "trials": [trial.as_json() for trial in self.trials],
            "writes": [write.as_json() for write in self.writes],
            "needed": list(self.needed),
            "stopped": None if self.stopped is None else str(self.stopped),
            "reached": self.reached,
            "restored": self.restored,
            "simulated": self.simulated,
            "started": self.started,
            "seconds": round(self.seconds, 3),
            "seed": self.seed,
            "repeat": self.repeat,
        }
