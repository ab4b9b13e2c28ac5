"""The types of a diagnosis: side, suspect, trial, experiment, cause, verdict.

Everything here is plain immutable data; nothing here measures, writes or prints. ``Diagnosis`` and
what it consists of are its JSON document too (see ``benchvise.documents``): fields are keys, and
the text below each is what the reference page and the JSON Schema say of it.

Values are compared as *goodness*: the logarithm of a value where higher is better, and minus that
where lower is better. So a shift above zero is an improvement, and the gap is the goodness of the
good side minus that of the bad one. Shares are fractions of the gap: 0.97 is 97 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from benchvise.documents import computed, in_json
from benchvise.measure.model import Better, SeriesSpec
from benchvise.state.knobs import Setting
from benchvise.text import NO_TEXT, SENTENCE_LIMIT, Untrusted
from benchvise.why.witness.model import Witness


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
    """What is measured: a benchmark with its parameters, also where that runs a user's command."""

    name: str
    """What a person calls it: the command, or the benchmark with its telling parameters."""
    benchmark: str
    """The benchmark."""
    params: Mapping[str, str] = field(hash=False)
    """Its parameters, those that have their default value too."""
    unit: str
    """Unit of its values."""
    better: Better
    """Which values are better."""
    counted: str = ""
    """What the value counts."""
    command: str = ""
    """The user's command line, where it is one."""

    @classmethod
    def of(
        cls, spec: SeriesSpec, unit: str, better: Better, counted: str = "", command: str = ""
    ) -> Metric:
        """The metric of a series; ``command`` is the command line where that runs one."""
        params = dict(spec.params)
        return cls(command or spec.key, spec.benchmark, params, unit, better, counted, command)

    @property
    def canonical(self) -> str:
        """A stable text of benchmark and parameters: the same for what measures the same."""
        return SeriesSpec(self.benchmark, tuple(self.params.items()), self.name).canonical

    def goodness(self, value: float) -> float:
        """The goodness of a value (see the module). ValueError where that is zero or less."""
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
    it is taken (a word of the command line, a line of a file), empty for all of it; of
    ``SERVICE_FILE_LAYER`` the service that is started anew, and the path of the file.
    """

    layer: str
    part: str = ""

    @property
    def service(self) -> str:
        """The service that is started anew with it; empty for other layers."""
        return self.part.partition("/")[0] if self.layer == SERVICE_FILE_LAYER else ""


SERVICE_FILE_LAYER = "service file"
"""The layer of a file that a service reads when it starts."""

Means = SettingMeans | ProcessMeans | LayerMeans


@dataclass(frozen=True, slots=True)
class Term:
    """One addend of a suspect's score: natural-logarithm units, and why."""

    name: str
    """What it stands for."""
    points: float = field(metadata=in_json(digits=3))
    """Its size, a natural logarithm."""
    reason: str
    """Why it has that size."""


@dataclass(frozen=True, slots=True)
class SuspectRecord:
    """A difference, or several that belong together, that may be a cause: what a document says."""

    id: str
    """Its name: that of the knob, item or layer."""
    title: str
    """What it is, in words."""
    layer: Layer
    """Where it lies."""
    item: str
    """The item of the catalogue of board state."""
    good: str
    """Its value on the good side, as shown."""
    bad: str
    """Its value on the bad side, as shown."""
    members: tuple[str, ...] = ()
    """The entries of the snapshots that belong to it."""
    untestable: str = ""
    """Why it could not be flipped here, where it could not."""
    terms: tuple[Term, ...] = ()
    """What its score is made of."""

    @computed.before("untestable")
    def testable(self) -> bool:
        """Whether it could be flipped here."""
        return not self.untestable

    @computed.before("terms")
    def score(self) -> float:
        """The sum of its terms: a larger one is tested earlier."""
        return round(self.log_odds, 3)

    @property
    def log_odds(self) -> float:
        """The score, not rounded."""
        return sum(term.points for term in self.terms)

    @property
    def weight(self) -> float:
        """What it counts when a set is halved: e to its score."""
        return math.exp(self.log_odds)


@dataclass(frozen=True, slots=True)
class Suspect(SuspectRecord):
    """A suspect with the way in which it is flipped.

    Where ``means`` is None it cannot be tested here, and ``untestable`` says why. Where it cannot
    be flipped on the good side too, ``not_on_good`` says why.
    """

    means: Means | None = field(default=None, metadata=in_json(hidden=True))
    not_on_good: str = field(default="", metadata=in_json(hidden=True))

    @computed.before("untestable")
    def testable(self) -> bool:
        """Whether it can be flipped here."""
        return self.means is not None


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
    """Counts the trials."""
    side: Side
    """The side that was measured."""
    flipped: tuple[str, ...]
    """Ids of what was flipped to the other side's value."""
    value: float
    """Median of its batches, in the metric's unit."""
    values: tuple[float, ...]
    """The batches."""
    started: float
    """Seconds since the diagnosis began."""
    seconds: float
    """What it took, with setting and undoing."""
    counters: Mapping[str, float] = field(default_factory=dict)
    """What was counted."""
    covariates: Mapping[str, float] = field(default_factory=dict)
    """Temperature, clock, pressure of that moment."""
    flags: tuple[str, ...] = ()
    """What disturbed it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """An estimate with its 95 % interval, in any one unit."""

    value: float
    """The estimate."""
    low: float
    """Lower end of its 95 % interval."""
    high: float
    """Upper end of its 95 % interval."""

    def contains(self, value: float) -> bool:
        """Whether a value lies in the interval."""
        return self.low <= value <= self.high


class ExperimentOutcome(StrEnum):
    """What an experiment showed."""

    CLOSES = "closes the gap"
    PARTLY = "closes a part of the gap"
    DOES_NOT = "does not close the gap"
    WIDENS = "widens the gap"
    UNDECIDED = "scatters too much to tell"
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
    """Counts the experiments."""
    purpose: Purpose
    """What it was made for."""
    question: str
    """The question that it answers."""
    side: Side
    """The side that was changed."""
    flipped: tuple[str, ...]
    """Ids of what one of its two arms had flipped."""
    context: tuple[str, ...]
    """Ids of what both arms had flipped."""
    outcome: ExperimentOutcome
    """What it showed."""
    shift: Bounds | None
    """Goodness gained on that side."""
    share: Bounds | None
    """Part of the gap that was closed, or opened."""
    p: float | None
    """Of the paired sign-flip test."""
    blocks: int
    """Repetitions, each with all arms in random order."""
    trials: tuple[int, ...]
    """Its trials."""
    seconds: float = field(metadata=in_json(digits=3))
    """What it took."""
    reason: str = ""
    """Why it is unresolved, where it is."""


@dataclass(frozen=True, slots=True)
class Gap:
    """How far the two sides are apart.

    ``goodness`` is the gap with its interval; ``floor`` the A/A noise floor in the same unit: what
    two measurements of the same side differ by. ``good`` and ``bad`` are medians in the metric's
    unit.
    """

    goodness: Bounds
    """The gap: difference of the logarithms, above 0 when good is better."""
    floor: float
    """The noise floor, in the unit of goodness."""
    good: float
    """Median of the good side, in the metric's unit."""
    bad: float
    """Median of the bad side, in the metric's unit."""
    blocks: int
    """Repetitions."""
    p: float
    """Of the sign-flip test."""
    trials: tuple[int, ...]
    """Its trials."""

    def of(self, side: Side) -> float:
        """The median of a side."""
        return self.good if side is Side.GOOD else self.bad

    @computed.before("floor")
    def ratio(self) -> float:
        """Median of the good side to that of the bad one."""
        return self.good / self.bad


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
    """The rule that found it, in a word."""
    grade: Grade
    """How much it weighs."""
    sentence: str
    """What it is."""
    evidence: str = ""
    """What was seen."""
    remedy: str = ""
    """What to do about it."""


NOT_FOUND = "not found"
"""The ``kind`` of an ``Origin`` where no line sets the value."""

NOT_KNOWN = "not known"
"""The value on both sides of what may differ or not."""

NOT_SEARCHED = "not searched"
"""The ``kind`` of an ``Origin`` where no file was looked at; its note says why."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A place that sets a value persistently.

    ``kind`` is ``sysctl.d``, ``rc.local``, ``udev``, ``kernel config``, …; ``line`` counts from 1,
    0 where a file has no lines. ``certain`` is false where the value is there but it is not sure
    that this line wins.
    """

    side: Side
    """On which side."""
    kind: str
    """``sysctl.d``, ``udev``, ``rc.local``, ``not found``, ``not searched``, and so on."""
    file: Untrusted
    """The file."""
    line: int
    """Its line, counted from 1; 0 where it has none."""
    text: Untrusted
    """What stands there."""
    certain: bool = True
    """Whether it is sure that this place wins."""
    note: Untrusted = NO_TEXT
    """What else is to be known of it."""

    @property
    def where(self) -> str:
        """``/etc/rc.local:12``."""
        file = f"{self.file:{SENTENCE_LIMIT}}"
        return f"{file}:{self.line}" if self.line else file


class Support(StrEnum):
    """Whether what was counted agrees with a mechanism."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_CHECKED = "not checked"


PredictedSign = Literal["+", "-", "0", "?"]
"""Of a counter: more, fewer, as many; ``?`` where the values of a case do not say."""


@dataclass(frozen=True, slots=True)
class CounterCheck:
    """One counter's predicted sign when the cause is repaired, and what was seen.

    ``change`` the ratio with to without, None where the
    counter is not available, for the ``reason``.
    """

    counter: str
    """Its name."""
    predicted: PredictedSign
    """Its predicted change when the cause is repaired."""
    change: float | None
    """The ratio with to without."""
    agrees: bool | None
    """Whether the two agree."""
    reason: str = ""
    """Why it is not available."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """How to make the good value last, in one way of building or running a system.

    ``system`` is ``Yocto``, ``Debian``, ``Buildroot``, ``command line``, ``now``; ``text`` is what
    to write, ready to be pasted.
    """

    system: str
    """Yocto, Debian, Buildroot, command line, now."""
    text: str
    """What to write, ready to be pasted."""
    cost: str = ""
    """What it costs elsewhere."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Why a cause has the effect it has: what a card says and what was checked of it.

    ``prediction`` is what the card computed for this case in words, with ``predicted`` the value
    as a ratio or None. ``artefact`` is a sentence where the metric does not measure what its name
    says, else empty.
    """

    card: str
    """Name of the card."""
    title: str
    """The mechanism in a few words."""
    explanation: str
    """How it works."""
    support: Support
    """Do the counters agree?."""
    checks: tuple[CounterCheck, ...] = ()
    """What was counted."""
    prediction: str = ""
    """What the card computed for this case."""
    predicted: float | None = None
    """That as a ratio."""
    artefact: str = ""
    """What the metric does not measure, where so."""
    remedies: tuple[Remedy, ...] = ()
    """How to make the good value last."""
    literature: tuple[str, ...] = ()
    """Where to read on."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What accounts for the gap or a part of it; several suspects where only together they do.

    ``repair`` and ``breaking`` are the experiments on fresh data; ``breaking`` is None where the
    good side cannot be set, for ``not_broken``. ``again`` says whether the bad side was as before
    once the repair was undone. ``share`` is of the gap.
    """

    suspects: tuple[SuspectRecord, ...]
    """Its suspects."""
    share: Bounds
    """Its share of the gap: 0.97 is 97 %."""
    repair: Experiment
    """The good value on the bad side."""
    breaking: Experiment | None
    """The bad value on the good side."""
    again: Experiment | None
    """The bad side once all was put back."""
    not_broken: str = ""
    """Why the good side was not broken, where so."""
    mechanism: Mechanism | None = None
    """Why it has that effect, where a card knows."""
    origins: tuple[Origin, ...] = ()
    """The places that set the value persistently."""
    remedies: tuple[Remedy, ...] = ()
    """How to make the good value last."""

    @computed.before("suspects")
    def name(self) -> str:
        """The ids, joined."""
        return " with ".join(suspect.id for suspect in self.suspects)

    @computed.before("suspects")
    def interacts(self) -> bool:
        """Whether it takes all its suspects together."""
        return len(self.suspects) > 1


@dataclass(frozen=True, slots=True)
class UntestedDifference:
    """A difference that may be the cause, and that no experiment has decided.

    ``command`` is one line to paste: it makes the good value by hand, or has Benchvise try it.
    """

    suspect: str
    """Id of the suspect."""
    title: str
    """What it is, in words."""
    good: str
    """Its value on the good side, as shown."""
    bad: str
    """Its value on the bad side, as shown."""
    score: float = field(metadata=in_json(digits=3))
    """The sum of the terms of its score: a larger one is likelier."""
    reason: str
    """Why it is not decided."""
    origins: tuple[Origin, ...] = ()
    """The places that set the value persistently."""
    command: str = ""
    """A command that tries it; empty where none can."""

    @property
    def place(self) -> str:
        """The file and the line that set the bad value, empty where none is certain."""
        lines = (o.where for o in self.origins if o.side is Side.BAD and o.line and o.certain)
        return next(lines, "")


class DiagnosisVerdict(StrEnum):
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
    TRIED = "only the named suspect was tried"
    FAILED = "the metric failed"
    NOT_PUT_BACK = "not everything is put back"


@dataclass(frozen=True, slots=True)
class Interaction:
    """The top two causes in a 2x2: their shares alone, and together.

    ``shown`` is whether the interval of together minus the sum of both excludes zero.
    """

    one: str
    """One cause."""
    other: str
    """The other."""
    alone: tuple[Bounds, Bounds]
    """The share of each alone."""
    together: Bounds
    """The share of both together."""
    excess: Bounds
    """Together minus the sum of both."""
    shown: bool
    """Whether that excludes zero."""


@dataclass(frozen=True, slots=True)
class Write:
    """One line of the journal of what was done to a board: a setting written or put back.

    ``at`` is in seconds since the diagnosis began.
    """

    at: float = field(metadata=in_json(digits=3))
    """Seconds since the diagnosis began."""
    side: Side
    """On which side."""
    knob: str
    """The knob."""
    path: str
    """The file."""
    old: str
    """What it held."""
    new: str
    """What it was set to."""
    undone: bool
    """Whether this put an old value back."""


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
    """What was measured."""
    good: str
    """Name of the good side."""
    bad: str
    """Name of the bad side."""
    verdict: DiagnosisVerdict
    """How the diagnosis ended."""
    headline: str
    """The answer in one sentence."""
    gap: Gap | None = None
    """How far the two sides are apart; null where not measured."""
    unexplained: Bounds | None = None
    """Share of the gap that no cause accounts for."""
    findings: tuple[Finding, ...] = ()
    """What must be known of the comparison itself."""
    causes: tuple[Cause, ...] = ()
    """What accounts for the gap, each confirmed on fresh data."""
    interaction: Interaction | None = None
    """The top two causes alone and together."""
    witness: Witness | None = None
    """What the command does differently on the bad side; null where it was not watched."""
    untested: tuple[UntestedDifference, ...] = ()
    """The likeliest differences that no experiment has decided, the likeliest first."""
    suspects: tuple[SuspectRecord, ...] = ()
    """All suspects, in the order of their score."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Differences that cannot matter, by name."""
    experiments: tuple[Experiment, ...] = ()
    """Every question that was put to a board, in order."""
    trials: tuple[Trial, ...] = ()
    """Every measurement, in order of time."""
    writes: tuple[Write, ...] = ()
    """The journal: everything that was set and put back."""
    needed: tuple[str, ...] = ()
    """What would be needed to know more."""
    stopped: Stop | None = None
    """What ended it early, if anything did."""
    reached: str = ""
    """How far it got, where it did not come to its end."""
    restored: bool = True
    """Whether everything that was set is as before."""
    simulated: bool = False
    """Whether a side is an emulated board."""
    started: str = ""
    """When it began, ISO 8601."""
    seconds: float = field(default=0.0, metadata=in_json(digits=3))
    """How long it took."""
    seed: int = 0
    """Of all random orders."""
    repeat: str = ""
    """The command line that makes this diagnosis again."""

    @computed.before("metric")
    def format(self) -> int:
        """1; raised when the meaning of a field changes."""
        return FORMAT

    def name(self, side: Side) -> str:
        """What the user calls a side."""
        return self.good if side is Side.GOOD else self.bad
