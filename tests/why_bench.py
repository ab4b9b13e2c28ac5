"""A bench in memory: two sides, suspects by name, and a function from what is set to goodness."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchvise.board.channel import NotAvailable
from benchvise.errors import MeasurementError
from benchvise.measure.model import SeriesSpec
from benchvise.state.model import Snapshot
from benchvise.text import Untrusted
from benchvise.why import loop
from benchvise.why.bench import ArmRefused, CrossCheck, SideFacts
from benchvise.why.case import DiagnosisOptions
from benchvise.why.events import Event
from benchvise.why.experiments.evidence import EvidenceLog
from benchvise.why.model import (
    Arm,
    Bounds,
    Diagnosis,
    Finding,
    Gap,
    Layer,
    LayerMeans,
    Mechanism,
    Metric,
    Origin,
    ProcessMeans,
    Remedy,
    Side,
    Suspect,
    Term,
    Trial,
    Write,
)
from benchvise.why.rules import DiagnosisRules
from benchvise.why.suspects.find import SuspectSelection
from benchvise.why.witness.model import SideWatch

METRIC = Metric.of(SeriesSpec("memory.copy", (), "memory.copy"), "B/s", "higher")

Response = Callable[[frozenset[str]], float]
"""The goodness with these names at the bad side's value, all others at the good side's."""


def suspect(name: str, points: float = 0.0, *, layer: str = "") -> Suspect:
    return Suspect(
        id=name,
        title=name,
        layer=Layer.KERNEL if layer else Layer.RUN_TIME,
        item=name,
        good="on",
        bad="off",
        means=LayerMeans(layer) if layer else ProcessMeans({name: "on"}, {name: "off"}),
        terms=(Term("prior", points, "given"),),
    )


def losses(**by_name: float) -> Response:
    """Each name costs that much while it is bad."""
    return lambda bad: -sum(loss for name, loss in by_name.items() if name in bad)


@dataclass
class MemoryBench:
    """``refused`` and ``fails`` are names that cannot be flipped, on either side or on one
    (``good:name``); ``anonymous`` refusals do not say for whom. ``at`` raises something instead of
    taking the trial of that number. ``done`` trials were taken by others before."""

    names: tuple[str, ...]
    response: Response
    noise: float = 0.01
    rest: float = 0.0
    refused: frozenset[str] = frozenset()
    fails: frozenset[str] = frozenset()
    anonymous: bool = False
    at: Mapping[int, BaseException] = field(default_factory=dict)
    good_recorded: int | None = None
    layer_names: tuple[str, ...] = ()
    part_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scale: Callable[[random.Random], float] = lambda rng: rng.gauss(0.0, 1.0)
    done: int = 0
    trial_seconds: float = 1.0
    clock: float = 0.0
    one_boot_each: bool = False
    images: bool = False
    waited: float = 0.0
    disturbed: Mapping[Side, float] = field(default_factory=dict)

    @property
    def metric(self) -> Metric:
        return METRIC

    def name(self, side: Side) -> str:
        return f"the {side} one"

    def is_live(self, side: Side) -> bool:
        return side is Side.BAD or self.good_recorded is None

    def is_one_boot_each(self) -> bool:
        return self.one_boot_each

    def recorded(self, side: Side) -> Sequence[Trial]:
        return [self._trial(Arm(Side.GOOD), -n) for n in range(1, (self.good_recorded or 0) + 1)]

    def facts(self, side: Side) -> SideFacts:
        return SideFacts(simulated=True)

    def snapshot(self, side: Side) -> Snapshot:
        return Snapshot(str(side), "2024-01-01T00:00:00Z", "boot", "root", (), ())

    def _trial(self, arm: Arm, number: int) -> Trial:
        everything = {*self.names, *self.layer_names}
        everything |= {part for parts in self.part_names.values() for part in parts}
        flipped = set(arm.ids)
        for layer in self.layer_names:  # a layer brings its parts along
            flipped |= set(self.part_names.get(layer, ())) if layer in flipped else set()
        bad = frozenset(flipped if arm.side is Side.GOOD else everything - flipped)
        rng = random.Random(f"{arm.side}/{arm.ids}/{number}")
        goodness = 20.0 + self.response(bad) + self.noise * self.scale(rng)
        goodness -= self.rest * (arm.side is Side.BAD)
        value = METRIC.value(goodness)
        flags = ("preempted",) if rng.random() < self.disturbed.get(arm.side, 0.0) else ()
        return Trial(
            *(number, arm.side, arm.ids, value, (value,), self.clock, self.trial_seconds),
            flags=flags,
        )

    def measure(self, arm: Arm) -> Trial:
        self.done += 1
        if self.done in self.at:
            raise self.at[self.done]
        self.clock += self.trial_seconds
        blocked = [n for n in arm.ids if n in self.refused or f"{arm.side}:{n}" in self.refused]
        if blocked:
            raise ArmRefused(f"{blocked[0]} is read-only", "", () if self.anonymous else blocked)
        if self.fails & set(arm.ids):
            raise MeasurementError("the command ended with 1")
        return self._trial(arm, self.done)

    def seconds(self, arm: Arm, after: Arm | None) -> float:
        return self.trial_seconds

    def boots(self, arm: Arm, after: Arm | None) -> bool:
        flips = [arm.flipped, () if after is None else after.flipped]
        now, before = ({s for s in of if isinstance(s.means, LayerMeans)} for of in flips)
        return now != before

    def now(self) -> float:
        return self.clock

    def wait(self, seconds: float) -> float:
        self.clock += seconds
        self.waited += seconds
        return seconds

    def during(self, arm: Arm) -> Mapping[str, float]:
        raise NotAvailable("nothing is counted here")

    def cross_check(self, keys: Sequence[str]) -> Sequence[CrossCheck]:
        return [CrossCheck(key, Bounds(0.0, -0.1, 0.1), 0.01, False) for key in keys]

    def watch(self, side: Side, trace: Path | None) -> SideWatch:
        """Nothing is run here that could be watched."""
        raise NotAvailable("nothing can be watched here")

    def remember(self, side: Side, watch: SideWatch) -> None:
        """Nothing: no files are put before a command."""

    def digests(self, side: Side, paths: Sequence[str]) -> Mapping[str, str]:
        """There are no files here."""
        raise NotAvailable("there are no files here")

    def can_swap_files(self) -> bool:
        return False

    def has_images(self) -> bool:
        return self.images

    def layers(self) -> Sequence[Suspect]:
        return [suspect(name, layer=name) for name in self.layer_names]

    def parts(self, layer: Suspect) -> Sequence[Suspect]:
        return [suspect(name, layer=layer.id) for name in self.part_names.get(layer.id, ())]

    def origins(self, side: Side, suspect: Suspect) -> Sequence[Origin]:
        file = Untrusted("/etc/sysctl.d/9.conf")
        return [Origin(side, "sysctl.d", file, 1, Untrusted(suspect.id))]

    def findings(self, *, look: bool = True) -> Sequence[Finding]:
        return ()

    def writes(self) -> Sequence[Write]:
        return ()

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Given(DiagnosisRules):
    """Rules that know the suspects by name, likeliest first by ``points`` each; nothing else."""

    names: tuple[str, ...]
    points: Mapping[str, float] = field(default_factory=dict)
    says: tuple[Finding, ...] = ()

    def examine(
        self, metric: Metric, facts: Mapping[Side, SideFacts], snapshots: Mapping[Side, Snapshot]
    ) -> tuple[Finding, ...]:
        return self.says

    def find(
        self,
        good: Snapshot,
        bad: Snapshot,
        metric: Metric,
        *,
        may_set: Mapping[Side, bool],
        targets: Collection[str] = (),
    ) -> SuspectSelection:
        suspects = tuple(suspect(name, self.points.get(name, 0.0)) for name in self.names)
        return SuspectSelection(suspects, {})

    def rank(
        self,
        suspects: Sequence[Suspect],
        metric: Metric,
        *,
        gap: Gap | None,
        checks: Sequence[CrossCheck],
        counters: Mapping[Side, Mapping[str, float]],
        busy: Mapping[Side, Mapping[str, float]],
        corpus: Sequence[Snapshot],
    ) -> tuple[Suspect, ...]:
        return tuple(sorted(suspects, key=lambda one: -one.score))

    def explain(
        self,
        metric: Metric,
        suspects: Sequence[Suspect],
        *,
        snapshots: Mapping[Side, Snapshot],
        facts: Mapping[Side, SideFacts],
        effect: Bounds,
        during: Callable[[Arm], Mapping[str, float]],
        side: Side,
    ) -> Mechanism | None:
        during(Arm(Side.BAD, tuple(suspects)))
        return None

    def remedies(
        self,
        suspect: Suspect,
        *,
        origins: Sequence[Origin],
        side_values: Mapping[Side, str],
        roles: Mapping[str, str],
    ) -> tuple[Remedy, ...]:
        return (Remedy("now", f"{suspect.id}={side_values[Side.GOOD]}"),)


def diagnose(
    bench: MemoryBench,
    *,
    log: EvidenceLog | None = None,
    options: DiagnosisOptions | None = None,
    points: Mapping[str, float] | None = None,
    says: tuple[Finding, ...] = (),
    events: list[Event] | None = None,
) -> Diagnosis:
    return loop.diagnose(
        bench,
        options or DiagnosisOptions(seed=3),
        log or EvidenceLog.in_memory(),
        (events if events is not None else []).append,
        Given(bench.names, points or {}, says),
    )
