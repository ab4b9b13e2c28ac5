"""Booting a board many times from cold: how often it fails, where it stands then, what takes long.

A failure of the rig (a relay that sticks, a card that cannot be written) says nothing of the board:
such a boot is kept apart and does not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING

from benchvise.documents import computed, in_json
from benchvise.errors import Interrupted, UsageError
from benchvise.rig.boot.verdict import BootError
from benchvise.rig.faults import FlashError, RigError
from benchvise.rig.soak.cores import Core
from benchvise.statistics.means import incomplete_beta
from benchvise.statistics.quantiles import percentile, percentile_of_sorted
from benchvise.text import NO_TEXT, Untrusted

if TYPE_CHECKING:
    from benchvise.rig.boot.verdict import BootReport


CONFIDENCE = 0.95
"""Of the interval of a failure rate, unless another is asked for."""

RIG_FAULTS_IN_A_ROW = 3
"""So many, and the rig is taken as broken: the soak ends."""

# What differs from boot to boot in the same last line: the kernel's time stamp, addresses, numbers.
_STAMP = re.compile(r"^\[ *\d+\.\d+\]\s*")
_HEX = re.compile(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{8,}\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class SoakBoot:
    """One boot of a soak.

    ``number`` counts from 1. ``fault`` is empty for a good boot, else the fault's name, with
    ``sentence`` and ``evidence`` as the verdict gave them. ``phases`` are seconds since power on.
    ``console`` is the path of the console's log, empty when there is none. ``conditions`` says
    what was special about this boot: what RAM held, or that it began again. ``cores`` is where the
    cores stood when it had failed, as far as they could be read.
    """

    number: int
    fault: str = ""
    sentence: str = ""
    evidence: Untrusted = NO_TEXT
    phases: Mapping[str, float] = field(default_factory=dict, metadata=in_json(name="phases_s"))
    console: str = ""
    conditions: str = ""
    cores: tuple[Core, ...] = ()

    @computed.before("fault")
    def ok(self) -> bool:
        """Whether the board came up."""
        return not self.fault

    @property
    def where(self) -> str:
        """Where it stood when it failed: the same words for boots that failed in the same way.

        The functions in which the cores stand where they are known; else the last phase that was
        reached and the evidence without what changes from boot to boot.
        """
        if self.cores:
            return ", ".join(f"{core.name} in {core.function}" for core in self.cores)
        reached = max(self.phases, key=lambda name: self.phases[name], default="power-on")
        line = _STAMP.sub("", self.evidence.raw)
        line = _NUMBER.sub("N", _HEX.sub("ADDRESS", line))
        return f"after {reached}: {line}" if line else f"after {reached}"


@dataclass(frozen=True, slots=True)
class RigFault:
    """A boot that the rig prevented: the board is not to blame."""

    number: int
    fault: str
    sentence: str


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Boots that failed in the same way; ``boots`` are their numbers."""

    fault: str
    where: str
    boots: tuple[int, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class SoakResult:
    """The boots of a soak, and what follows from them.

    ``wanted`` is how many boots were asked for; ``ended`` says why there are fewer, empty when
    there are not. ``about`` is what it was made with: image, RAM contents, seed.
    """

    board: str
    wanted: int
    boots: tuple[SoakBoot, ...]
    rig_faults: tuple[RigFault, ...] = ()
    ended: str = ""
    simulated: bool = False
    about: dict[str, str] = field(default_factory=dict)
    confidence: float = CONFIDENCE

    @property
    def failed(self) -> tuple[SoakBoot, ...]:
        """The boots after which the board was not up."""
        return tuple(boot for boot in self.boots if not boot.ok)

    @property
    def failure_rate(self) -> FailureRate | None:
        """How often it fails, with the exact interval; None when no boot counts."""
        if not self.boots:
            return None
        return exact_rate(len(self.failed), len(self.boots), self.confidence)

    @property
    def groups(self) -> tuple[FailureGroup, ...]:
        """The failures by fault and by where they stood, the most frequent first."""
        alike: dict[tuple[str, str], list[SoakBoot]] = {}
        for boot in self.failed:
            alike.setdefault((boot.fault, boot.where), []).append(boot)
        groups = [
            FailureGroup(fault, where, tuple(boot.number for boot in boots), boots[0].sentence)
            for (fault, where), boots in alike.items()
        ]
        return tuple(sorted(groups, key=lambda group: (-len(group.boots), group.boots)))

    @property
    def phases(self) -> tuple[PhaseTimes, ...]:
        """How long each phase took, over the boots that reached it; failed ones among them."""
        return summarise([boot.phases for boot in self.boots])

    @property
    def outliers(self) -> tuple[Outlier, ...]:
        """Phases of good boots that took far longer, or far less, than in the others."""
        return outliers({boot.number: boot.phases for boot in self.boots if boot.ok})

    def boot(self, number: int) -> SoakBoot:
        """A boot by its number. KeyError when it does not count or was not made."""
        for boot in self.boots:
            if boot.number == number:
                return boot
        raise KeyError(number)


@dataclass(frozen=True, slots=True)
class UnknownRate:
    """Why there is no failure rate."""

    na: str


@dataclass(frozen=True, slots=True)
class SoakDocument:
    """What ``--json`` shows of a soak."""

    board: str
    simulated: bool
    about: Mapping[str, str]
    wanted: int
    """Boots that were asked for."""
    counted: int
    """Boots that were made, but for those that the rig prevented."""
    failed: int
    failure_rate: FailureRate | UnknownRate
    phases: tuple[PhaseTimes, ...]
    failures: tuple[FailureGroup, ...]
    outliers: tuple[Outlier, ...]
    rig_faults: tuple[RigFault, ...]
    ended: str
    """Why there are fewer boots than were asked for; empty where there are not."""
    boots: tuple[SoakBoot, ...]


def soak_document(result: SoakResult) -> SoakDocument:
    """A soak as ``--json`` shows it."""
    return SoakDocument(
        board=result.board,
        simulated=result.simulated,
        about=result.about,
        wanted=result.wanted,
        counted=len(result.boots),
        failed=len(result.failed),
        failure_rate=result.failure_rate or UnknownRate("no boot counts"),
        phases=result.phases,
        failures=result.groups,
        outliers=result.outliers,
        rig_faults=result.rig_faults,
        ended=result.ended,
        boots=result.boots,
    )


def soak(
    boot_once: Callable[[int], BootReport],
    boots: int,
    *,
    board: str,
    cores: Callable[[int], Sequence[Core]] | None = None,
    on_boot: Callable[[SoakBoot | RigFault], None] = lambda _boot: None,
    simulated: bool = False,
    about: dict[str, str] | None = None,
    confidence: float = CONFIDENCE,
) -> SoakResult:
    """Boots a board ``boots`` times from cold and says what came of it.

    ``boot_once`` is called with the number of each boot, from 1, switches the board off and on,
    and returns the report of the boot, a failed one too (or raises it as BootError). A RigError or
    FlashError is a fault of the rig: the boot does not count, and three in a row end the soak.
    ``cores`` is called after a failed boot, before the next, and says where the cores stand; when
    it cannot (RigError) the sentence of the boot says why. ``on_boot`` hears of each boot.

    Ctrl-C ends the soak and keeps what was seen; ``ended`` says so. Raises UsageError for fewer
    than one boot, and whatever else ``boot_once`` raises.
    """

    def boot_and_record(number: int) -> SoakBoot:
        try:
            boot = _from_report(number, boot_once(number))
        except BootError as error:
            boot = _from_error(number, error)
        return boot if boot.ok or cores is None else _with_cores(boot, cores)

    return run(
        boot_and_record,
        boots,
        board=board,
        on_boot=on_boot,
        simulated=simulated,
        about=about,
        confidence=confidence,
    )


def run(
    boot_once: Callable[[int], SoakBoot],
    boots: int,
    *,
    board: str,
    on_boot: Callable[[SoakBoot | RigFault], None] = lambda _boot: None,
    simulated: bool = False,
    about: dict[str, str] | None = None,
    confidence: float = CONFIDENCE,
) -> SoakResult:
    """The same as ``soak`` for a caller that makes the record of each boot itself."""
    if boots < 1:
        raise UsageError(f"a soak of {boots} boots finds nothing", "ask for one at least")
    done: list[SoakBoot] = []
    rig_faults: list[RigFault] = []
    ended = ""
    try:
        for outcome in _outcomes(boot_once, boots):
            if isinstance(outcome, SoakBoot):
                done.append(outcome)
            else:
                rig_faults.append(outcome)
            on_boot(outcome)
            if _rig_is_broken(done, rig_faults):
                ended = f"{RIG_FAULTS_IN_A_ROW} faults of the rig in a row"
                break
    except (KeyboardInterrupt, Interrupted):
        ended = "interrupted"
    return SoakResult(
        board=board,
        wanted=boots,
        boots=tuple(done),
        rig_faults=tuple(rig_faults),
        ended=ended,
        simulated=simulated,
        about=dict(about or {}),
        confidence=confidence,
    )


def _outcomes(boot_once: Callable[[int], SoakBoot], boots: int) -> Iterator[SoakBoot | RigFault]:
    for number in range(1, boots + 1):
        try:
            yield boot_once(number)
        except (RigError, FlashError) as error:
            yield RigFault(number, str(error.fault), error.message)


def _rig_is_broken(done: Sequence[SoakBoot], rig_faults: Sequence[RigFault]) -> bool:
    last = rig_faults[-RIG_FAULTS_IN_A_ROW:]
    counted = done[-1].number if done else 0
    return len(last) == RIG_FAULTS_IN_A_ROW and counted < last[0].number


def _from_report(number: int, report: BootReport) -> SoakBoot:
    failed = report.fault is not None
    return SoakBoot(
        number,
        str(report.fault or ""),
        report.sentence if failed else "",
        report.evidence if failed else NO_TEXT,
        dict(report.phases),
        report.console,
        f"began {report.restarts + 1} times" if report.restarts else "",
    )


def _from_error(number: int, error: BootError) -> SoakBoot:
    if error.report is not None and not error.report.ok:
        return _from_report(number, error.report)
    return SoakBoot(number, str(error.fault), error.message)


def _with_cores(boot: SoakBoot, cores: Callable[[int], Sequence[Core]]) -> SoakBoot:
    try:
        return replace(boot, cores=tuple(cores(boot.number)))
    except RigError as error:
        return replace(boot, sentence=f"{boot.sentence} (its cores: {error.message})")


# -- statistics: how often it fails, how long its phases take, which boots are outliers ------------

# Fewer boots than this have quartiles that say nothing of the others.
_FEWEST_FOR_OUTLIERS = 8
# Beyond this many interquartile ranges a value is "far out".
_FENCE = 3.0
# A phase that always takes the same to the millisecond would make an outlier of every other value,
# and when bytes of a console are seen depends on this machine too.
_LEAST_EXCESS = 0.05
_LEAST_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class FailureRate:
    """How often something happened: ``count`` of ``total``, and the interval of its probability.

    ``low`` and ``high`` are between 0 and 1 and hold the true probability with at least
    ``confidence``, however rare it is, if the boots do not depend on each other.
    """

    count: int
    total: int
    low: float
    high: float
    confidence: float

    @computed.before("low")
    def value(self) -> float:
        """The share that was seen."""
        return self.count / self.total


def exact_rate(count: int, total: int, confidence: float = CONFIDENCE) -> FailureRate:
    """``count`` events in ``total`` trials, with the exact interval of their probability.

    The probabilities at which as many or more, and as few or fewer, would be seen with half of
    1 - ``confidence`` each. Raises ValueError for impossible counts.

    Source: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404.
    """
    if not (0 <= count <= total and total > 0 and 0.0 < confidence < 1.0):
        raise ValueError(f"{count} of {total} with confidence {confidence} cannot be")
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if count == 0 else 1.0 - _highest(total - count, total, tail)
    high = 1.0 if count == total else _highest(count, total, tail)
    return FailureRate(count, total, low, high, confidence)


def _highest(count: int, total: int, tail: float) -> float:
    """The probability at which ``count`` or fewer of ``total`` have the probability ``tail``.

    Source: P(X <= k) = I(1 - p; n - k, k + 1), DLMF 8.17.5.
    """
    if count == 0:
        return -math.expm1(math.log(tail) / total)
    below, above = 0.0, 1.0
    while True:
        middle = (below + above) / 2.0
        if middle in (below, above):
            return middle
        if incomplete_beta(1.0 - middle, float(total - count), count + 1.0) > tail:
            below = middle
        else:
            above = middle


@dataclass(frozen=True, slots=True)
class Spread:
    """How long something took, in seconds, over ``n`` boots."""

    n: int
    median: float
    p95: float
    minimum: float = field(metadata=in_json(name="min"))
    maximum: float = field(metadata=in_json(name="max"))


def spread(seconds: Sequence[float]) -> Spread:
    """The distribution of durations; p95 is interpolated. ValueError when there are none."""
    if not seconds:
        raise ValueError("nothing has no distribution")
    p95 = percentile(seconds, 95.0)
    return Spread(len(seconds), median(seconds), p95, min(seconds), max(seconds))


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """A phase of the boot: ``at`` since power on, ``took`` since the phase before."""

    name: str
    at: Spread = field(metadata=in_json(name="at_s"))
    took: Spread = field(metadata=in_json(name="took_s"))


@dataclass(frozen=True, slots=True)
class Outlier:
    """A phase of one boot that took far longer, or far less, than in the others: in seconds."""

    boot: int
    phase: str
    took: float = field(metadata=in_json(name="took_s"))
    median: float = field(metadata=in_json(name="median_s"))


def durations(phases: Mapping[str, float]) -> dict[str, float]:
    """How long each phase took, from when each began since power on; in seconds, in their order.

    A phase's duration is the time since the phase before it was reached, or since power on, which
    is at 0 and no phase itself.
    """
    ordered = sorted((item for item in phases.items() if item[1] > 0.0), key=lambda item: item[1])
    previous = 0.0
    took = {}
    for name, at in ordered:
        took[name] = at - previous
        previous = at
    return took


def summarise(boots: Sequence[Mapping[str, float]]) -> tuple[PhaseTimes, ...]:
    """The phases of all boots, in the order of the boot that came furthest.

    Boots that did not reach a phase are missing from its ``n``.
    """
    at: dict[str, list[float]] = {}
    took: dict[str, list[float]] = {}
    for phases in boots:
        for name, seconds in durations(phases).items():
            at.setdefault(name, []).append(phases[name])
            took.setdefault(name, []).append(seconds)
    order = max((list(durations(phases)) for phases in boots), key=len, default=[])
    order += sorted(set(at) - set(order), key=lambda name: median(at[name]))
    return tuple(PhaseTimes(name, spread(at[name]), spread(took[name])) for name in order)


def outliers(boots: Mapping[int, Mapping[str, float]]) -> tuple[Outlier, ...]:
    """The boots of which a phase stands out, in their order; ``boots`` by their numbers.

    A phase stands out when its duration lies more than three interquartile ranges outside of the
    quartiles of all, and more than 5 % and 0.1 s off their median. With fewer than 8 boots none
    does.

    Source: J. W. Tukey, *Exploratory Data Analysis* (1977), chapter 2 ("far out").
    """
    by_phase: dict[str, list[tuple[int, float]]] = {}
    for number, phases in boots.items():
        for name, seconds in durations(phases).items():
            by_phase.setdefault(name, []).append((number, seconds))
    outlying = []
    for name, values in by_phase.items():
        if len(values) < _FEWEST_FOR_OUTLIERS:
            continue
        in_order = sorted(seconds for _, seconds in values)
        first, middle, third = (percentile_of_sorted(in_order, q) for q in (25.0, 50.0, 75.0))
        margin = _FENCE * (third - first)
        for number, seconds in values:
            far = seconds > third + margin or seconds < first - margin
            if far and abs(seconds - middle) > max(_LEAST_EXCESS * middle, _LEAST_SECONDS):
                outlying.append(Outlier(number, name, seconds, middle))
    return tuple(sorted(outlying, key=lambda outlier: outlier.boot))
