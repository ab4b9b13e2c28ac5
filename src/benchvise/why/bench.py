"""The bench of a diagnosis: two sides that can be looked at, set, measured and put back.

The loop knows boards only by this protocol. ``live`` holds it for real boards, ``rig`` for images
that are flashed; the planted-cause bench has one that is simulated, with faults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchvise.documents import JsonObject
from benchvise.errors import BenchviseError
from benchvise.state.model import Snapshot
from benchvise.why.model import Arm, Bounds, Finding, Metric, Origin, Side, Suspect, Trial, Write
from benchvise.why.witness.model import SideWatch

PATIENCE_S = 90.0
"""Seconds that a lost board is waited for: longer than most need to boot."""


class ArmRefused(BenchviseError):  # noqa: N818
    """An arm could not be made: a write refused or clamped, a boot that failed, a setting not kept.

    ``suspects`` are the ids of those it failed for; empty where nobody knows which. Everything is
    as before when this is raised.
    """

    def __init__(self, message: str, remedy: str = "", suspects: Sequence[str] = ()) -> None:
        super().__init__(message, remedy)
        self.suspects = tuple(suspects)


@dataclass(frozen=True, slots=True)
class SideFacts:
    """What is known of a side besides its snapshot, for admissibility.

    ``host`` is the probe's ``host`` line, ``programs`` the SHA-256 of each executable that the
    metric's command runs, by path, ``versions`` what these say of themselves.
    """

    host: JsonObject = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """A benchmark of the probe, the same static program on both sides, beside the metric.

    ``gap`` is good to bad in goodness; ``shown`` whether it is beyond its noise.
    """

    key: str
    gap: Bounds
    floor: float
    shown: bool


class Bench(Protocol):
    """Two sides of one metric. Whoever opened it closes it; closing puts everything back."""

    @property
    def metric(self) -> Metric:
        """What is measured."""

    def name(self, side: Side) -> str:
        """What the user calls that side."""

    def is_live(self, side: Side) -> bool:
        """Whether it can be measured; False for a recorded one, which has a snapshot and no more
        than recorded trials (``recorded``)."""

    def is_one_boot_each(self) -> bool:
        """Whether each side is measured in one boot of its own, which the other does not share:
        what a boot decides by chance then looks like a difference between them."""

    def recorded(self, side: Side) -> Sequence[Trial]:
        """The trials of a recorded run of that side; none where it is live or has none."""

    def facts(self, side: Side) -> SideFacts:
        """What is known of a side besides its snapshot; of a recorded one what its record holds."""

    def snapshot(self, side: Side) -> Snapshot:
        """Its state now, or as recorded. BoardUnreachable when contact is lost."""

    def measure(self, arm: Arm) -> Trial:
        """Makes the arm, measures one fresh process, and puts everything back.

        Raises ArmRefused when the arm cannot be made, MeasurementError or NotAvailable when the
        metric gives no value, BoardUnreachable when contact is lost for good (a board that comes
        back is waited for, and its trial begun again), SettingError when something is still set.
        Interrupts arrive as KeyboardInterrupt or Interrupted, once everything is put back.
        """

    def seconds(self, arm: Arm, after: Arm | None) -> float:
        """What ``measure`` will take, as an estimate: with a boot where one is needed."""

    def boots(self, arm: Arm, after: Arm | None) -> bool:
        """Whether ``measure`` has to boot a board for that, after that other arm."""

    def now(self) -> float:
        """Seconds since the bench was opened, by a clock that cannot be set."""

    def wait(self, seconds: float) -> float:
        """Lets a load on the boards pass; the seconds that it waited.

        0 where load changes no value, as instructions are counted. Interrupts arrive as with
        ``measure``.
        """

    def during(self, arm: Arm) -> Mapping[str, float]:
        """Measures the arm once with everything counted that can be, for a mechanism's checks.

        Keys are names of counters as cards have them (``dtlb_misses``, ``vmstat.pgfault``,
        ``zero_page_bytes``, …); what cannot be counted is not there. Raises as ``measure`` does.
        """

    def cross_check(self, keys: Sequence[str]) -> Sequence[CrossCheck]:
        """Measures these benchmarks of the probe (``memory.copy:size=64M``) on both sides.

        None where a side is a record. Those that a side cannot measure are left out.
        """

    def watch(self, side: Side, trace: Path | None) -> SideWatch:
        """Runs the command of the metric on a side to see what it does, which is no trial.

        ``trace`` is where a recording is kept. Raises NotAvailable where nothing can be watched,
        and as ``measure`` does.
        """

    def remember(self, side: Side, watch: SideWatch) -> None:
        """Is told what ``watch`` answered for a side before the diagnosis was resumed."""

    def digests(self, side: Side, paths: Sequence[str]) -> Mapping[str, str]:
        """The SHA-256 of those of these files that a side has.

        Raises NotAvailable where its files cannot be read, and BoardUnreachable.
        """

    def can_swap_files(self) -> bool:
        """Whether the command of one side can be given files of the other one (suspects of
        ``witness.opened``)."""

    def has_images(self) -> bool:
        """Whether the images of both sides are at hand: what ``layers`` does not name is alike."""

    def layers(self) -> Sequence[Suspect]:
        """The layers that can be swapped between the sides and that differ, whole (``LayerMeans``
        without a part); none where nothing can be swapped."""

    def parts(self, layer: Suspect) -> Sequence[Suspect]:
        """What differs inside a layer, each with means to swap it alone, or without means where
        that takes building one anew (``untestable`` says so)."""

    def origins(self, side: Side, suspect: Suspect) -> Sequence[Origin]:
        """The places on that side, or in its image, that set the suspect's value persistently."""

    def findings(self, *, look: bool = True) -> Sequence[Finding]:
        """What was noticed while measuring: throttling, a board that booted again, a clock.

        With ``look`` live boards are read once more for that, which takes seconds on a slow one.
        """

    def writes(self) -> Sequence[Write]:
        """All that was written so far, in order."""

    def close(self) -> None:
        """Puts everything back and lets the boards go. May be called more than once."""
