"""The bench of images: one board of a rig that is written and booted as each arm needs it.

Within a boot it is a live board (``why.live``): run-time settings are made and put back as there.
Arms with layers swapped boot from composed images. Where images are compared, boots are what is
repeated: the same arm twice in a row, between arms of another image, is measured in two boots.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchvise.board import Board
from benchvise.board.channel import NotAvailable
from benchvise.errors import BenchviseError, BoardUnreachable
from benchvise.measure.suite import SuiteEntry
from benchvise.rig.boot.verdict import BootError
from benchvise.rig.faults import FlashError, RigError
from benchvise.rig.hold.board import BootSession
from benchvise.rig.images import ImageError
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.model import Snapshot
from benchvise.why.bench import ArmRefused, CrossCheck, SideFacts
from benchvise.why.benches.images import Flips, Images
from benchvise.why.benches.live import LiveBench
from benchvise.why.benches.live_board import LiveBoard, compared, one_side
from benchvise.why.model import (
    Arm,
    Finding,
    Grade,
    LayerMeans,
    Metric,
    Origin,
    Side,
    Suspect,
    Trial,
    Write,
)
from benchvise.why.witness.model import SideWatch

_TRIES = 2  # of a boot: a board may fail once without its image being to blame
_BOOT_S = 60.0  # until one was seen
_COMPOSE_S = 20.0


_Key = tuple[Side, Flips, tuple[str, ...]]
"""What a trial was measured on: the image, and what was set besides."""


@dataclass(frozen=True, slots=True)
class _Boot:
    """A board as it is booted now, from which arm's image; ``offset`` is when, in seconds."""

    side: Side
    flips: Flips
    board: LiveBoard
    live: LiveBench
    offset: float


class RigBench:
    """The bench of images on a rig (``why.bench.Bench``).

    ``seats`` are the boards that the sides are measured on, the same one twice where they share
    it. The first boot, of the bad side's image, tells what the metric is. Raises as
    ``BootSession``, ``Images`` and measuring do.
    """

    def __init__(
        self,
        seats: Mapping[Side, BootSession],
        images: Mapping[Side, Path],
        entry: SuiteEntry,
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._begun = time.monotonic()
        self._seats = dict(seats)
        self._images = Images(images, entry.benchmark)
        self._entry = entry
        self._say = say
        self._booted: dict[BootSession, _Boot] = {}
        self._before: dict[BootSession, list[_Key]] = {seat: [] for seat in seats.values()}
        self._unbootable: dict[tuple[Side, Flips], ArmRefused] = {}
        self._looked: dict[Side, tuple[SideFacts, Snapshot]] = {}
        self._measured: dict[Side, list[float]] = {side: [] for side in Side}
        self._composed: list[float] = []
        self._findings: list[Finding] = []
        self._writes: list[Write] = []
        self._number = 0
        self._closed = False
        self._metric = self._boot(self._seats[Side.BAD], Arm(Side.BAD), frozenset()).live.metric

    # -- what there is -----------------------------------------------------------------------------

    @property
    def metric(self) -> Metric:
        """What is measured."""
        return self._metric

    def name(self, side: Side) -> str:
        """The names of the image and of the board that it runs on."""
        return f"{self._images.own(side).path.name} on {self._seats[side].name}"

    def is_live(self, side: Side) -> bool:  # noqa: ARG002 - any image can be booted
        """Whether it can be measured."""
        return True

    def is_one_boot_each(self) -> bool:
        """Whether the sides have two boards: one boots anew whenever the side changes."""
        return self._seats[Side.GOOD] is not self._seats[Side.BAD]

    def recorded(self, side: Side) -> Sequence[Trial]:  # noqa: ARG002
        """The trials of a recorded run of that side."""
        return ()

    def now(self) -> float:
        """Seconds since the bench was opened, by a clock that cannot be set."""
        return time.monotonic() - self._begun

    def facts(self, side: Side) -> SideFacts:
        """What is known of a side besides its snapshot."""
        return self._look(side)[0]

    def snapshot(self, side: Side) -> Snapshot:
        """Its state now, or as recorded."""
        return self._look(side)[1]

    # -- measuring ---------------------------------------------------------------------------------

    def measure(self, arm: Arm) -> Trial:
        """Makes the arm, measures one fresh process, and puts everything back."""
        started = self.now()
        flips, rest = _divided(arm)
        seat = self._seats[arm.side]
        boot = self._ready(arm, flips, rest)
        trial = boot.live.measure(rest)
        self._before[seat] = [*self._before[seat], (arm.side, flips, rest.ids)][-2:]
        self._measured[arm.side].append(trial.seconds)
        self._number += 1
        return replace(
            trial,
            number=self._number,
            flipped=arm.ids,
            started=round(started, 3),
            seconds=round(self.now() - started, 3),
            covariates={**trial.covariates, "boot": float(seat.boots)},
        )

    def wait(self, seconds: float) -> float:
        """Lets a load on the boards pass; the seconds that it waited, 0 where a board is emulated,
        whose time is counted by instructions."""
        if any(seat.simulated for seat in self._seats.values()):
            return 0.0
        with deferred(), let_through():
            time.sleep(seconds)
        return seconds

    def seconds(self, arm: Arm, after: Arm | None) -> float:
        """What ``measure`` will take; with a boot where one is needed after that other arm."""
        flips = _flips(arm)
        durations = self._measured[arm.side] or self._measured[arm.side.other] or [0.0]
        measuring = statistics.median(durations[-20:])
        if not self.boots(arm, after):
            return measuring
        composing = 0.0
        if not self._images.is_made(arm.side, flips):
            composing = statistics.median(self._composed) if self._composed else _COMPOSE_S
        return measuring + composing + _typical(self._seats[arm.side])

    def boots(self, arm: Arm, after: Arm | None) -> bool:
        """Whether ``measure`` has to boot; what another board did leaves this one booted."""
        seat, wanted = self._seats[arm.side], (arm.side, _flips(arm))
        if after is not None and self._seats[after.side] is seat:
            return (after.side, _flips(after)) != wanted
        boot = self._booted.get(seat)
        return boot is None or (boot.side, boot.flips) != wanted

    def during(self, arm: Arm) -> Mapping[str, float]:
        """Measures the arm once with everything counted that can be, for a mechanism's checks."""
        flips, rest = _divided(arm)
        return self._ready(arm, flips, rest, fresh=False).live.during(rest)

    def cross_check(self, keys: Sequence[str]) -> Sequence[CrossCheck]:
        """Measures all on one side, then all on the other, as that takes fewer boots."""
        taken = {}
        for side in Side:
            board = self._ready(Arm(side), frozenset(), Arm(side), fresh=False).board
            taken[side] = {key: one_side(key, board) for key in keys}
        checks = []
        for key in keys:
            good, bad = taken[Side.GOOD][key], taken[Side.BAD][key]
            if good is not None and bad is not None:
                values = {Side.GOOD: good[1], Side.BAD: bad[1]}
                checks.append(compared(key, good[0], values))
        return checks

    def watch(self, side: Side, trace: Path | None) -> SideWatch:
        """What the command does with the image of a side."""
        boot = self._ready(Arm(side), frozenset(), Arm(side), fresh=False)
        usual_s = boot.live.seconds(Arm(side), None) / boot.board.batches
        return boot.board.watch(usual_s, trace)

    def remember(self, side: Side, watch: SideWatch) -> None:
        """Nothing: no file of an image is put before a command."""

    def digests(self, side: Side, paths: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Images are compared by their layers."""
        raise NotAvailable("images are compared by their layers")

    # -- layers ------------------------------------------------------------------------------------

    def can_swap_files(self) -> bool:
        """False: the sides are images."""
        return False

    def has_images(self) -> bool:
        """Whether the images of both sides are at hand: what ``layers`` does not name is alike."""
        return True

    def layers(self) -> Sequence[Suspect]:
        """The layers that can be swapped between the sides and that differ."""
        return self._images.layers()

    def parts(self, layer: Suspect) -> Sequence[Suspect]:
        """What differs inside a layer, each with means to swap it alone."""
        means = layer.means
        if not isinstance(means, LayerMeans) or means.part:
            return ()
        return self._images.parts(means.layer)

    def origins(self, side: Side, suspect: Suspect) -> Sequence[Origin]:
        """The places in the side's image that set the value."""
        return self._images.origins(side, suspect, self._look(side)[1].roles)

    # -- what happened -----------------------------------------------------------------------------

    def findings(self, *, look: bool = True) -> Sequence[Finding]:
        """What was noticed while measuring: throttling, a board that booted again, a clock."""
        boots = self._booted.values()
        booted = [finding for boot in boots for finding in boot.live.findings(look=look)]
        return (*self._findings, *booted)

    def writes(self) -> Sequence[Write]:
        """All that was written so far, in order."""
        running = [write for boot in self._booted.values() for write in _rebased(boot)]
        return sorted([*self._writes, *running], key=lambda write: write.at)

    def close(self) -> None:
        """Switches the boards off; with that everything is as before."""
        if self._closed:
            return
        self._closed = True
        for seat in list(self._booted):
            self._end(seat)
        failed: BenchviseError | None = None
        for seat in dict.fromkeys(self._seats.values()):
            try:
                seat.close()
            except BenchviseError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    # -- booting -----------------------------------------------------------------------------------

    def _look(self, side: Side) -> tuple[SideFacts, Snapshot]:
        """What there is to see of a side; once, as going back for more takes a boot."""
        if side not in self._looked:
            live = self._ready(Arm(side), frozenset(), Arm(side), fresh=False).live
            self._looked[side] = live.facts(side), live.snapshot(side)
        return self._looked[side]

    def _ready(self, arm: Arm, flips: Flips, rest: Arm, *, fresh: bool = True) -> _Boot:
        """The board, running that arm's image; for a trial, in a boot that may count for it."""
        seat = self._seats[arm.side]
        boot = self._booted.get(seat)
        if boot is not None and (boot.side, boot.flips) == (arm.side, flips):
            match self._before[seat]:
                case [before, last] if fresh and last == (arm.side, flips, rest.ids):
                    if before[:2] == last[:2]:
                        return boot
                case _:
                    return boot
        return self._boot(seat, arm, flips)

    def _boot(self, seat: BootSession, arm: Arm, flips: Flips) -> _Boot:
        """Boots an arm's image. ArmRefused when that comes to nothing because of its layers."""
        failure = self._unbootable.get((arm.side, flips))
        if failure is not None:
            raise failure
        swapped = [s for s in arm.flipped if isinstance(s.means, LayerMeans)]
        ids = [s.id for s in swapped]
        try:
            with let_through():  # nothing is set on a board that is off
                image = self._composed_image(arm.side, swapped)
                self._end(seat)
                board = self._opened(seat, image)
        except BootError as error:
            if not flips:
                raise BoardUnreachable(error.message, error.remedy) from error
            # Of several, it is not known which one does it.
            refused = ArmRefused(
                f"with {' and '.join(ids)}: {error.fault}: {error.message}",
                error.remedy,
                ids if len(ids) == 1 else (),
            )
            self._unbootable[arm.side, flips] = refused
            raise refused from error
        simulated = frozenset({arm.side}) if seat.simulated else frozenset()
        try:
            live = LiveBench({arm.side: board}, simulated=simulated)
        except BaseException:
            board.close()
            raise
        boot = _Boot(arm.side, flips, board, live, self.now() - live.now())
        self._booted[seat] = boot
        if not flips:
            self._look(arm.side)
        return boot

    def _composed_image(self, side: Side, swapped: Sequence[Suspect]) -> Path:
        flips = _flips(Arm(side, tuple(swapped)))
        begun = time.monotonic()
        was_made = self._images.is_made(side, flips)
        try:
            path = self._images.make(side, flips, self._say)
        except ImageError as error:
            alone = [s.id for s in swapped if len(swapped) == 1 or not self._fits(side, s)]
            raise ArmRefused(error.message, error.remedy, alone) from error
        if not was_made:
            self._composed.append(time.monotonic() - begun)
        return path

    def _fits(self, side: Side, suspect: Suspect) -> bool:
        """Whether a layer can be swapped at all."""
        try:
            self._images.make(side, _flips(Arm(side, (suspect,))), self._say)
        except ImageError:
            return False
        return True

    def _opened(self, seat: BootSession, image: Path) -> LiveBoard:
        """The board as it runs from an image; once it is lost it is booted from it again."""

        def again() -> Board:
            try:
                return seat.boot(image)
            except (BootError, FlashError, RigError) as error:
                raise BoardUnreachable(error.message, error.remedy) from error

        self._say(f"{seat.name}: booting {image.name}")
        board = self._started(seat, image)
        try:
            return LiveBoard(board, again, self._entry, patience_s=0.0)
        except BaseException:
            board.close()
            raise

    def _started(self, seat: BootSession, image: Path) -> Board:
        """A boot; tried once more where it fails. What the rig cannot do is final."""
        for last in (*([False] * (_TRIES - 1)), True):
            try:
                return seat.boot(image)
            except BootError as error:
                self._findings.append(
                    Finding("boot failed", Grade.NOTES, error.message, image.name, error.remedy)
                )
                if last:
                    raise
            except (FlashError, RigError) as error:
                raise BoardUnreachable(error.message, error.remedy) from error
        raise AssertionError("unreachable")

    def _end(self, seat: BootSession) -> None:
        """Ends a boot: what it found and wrote is kept."""
        boot = self._booted.pop(seat, None)
        if boot is not None:
            self._writes += _rebased(boot)
            noted = {(finding.rule, finding.sentence) for finding in self._findings}
            for finding in boot.live.findings():
                if (finding.rule, finding.sentence) not in noted:
                    self._findings.append(finding)
            boot.live.close()


def _divided(arm: Arm) -> tuple[Flips, Arm]:
    """What of an arm is in its image, and what is set once that runs."""
    rest = tuple(s for s in arm.flipped if not isinstance(s.means, LayerMeans))
    return _flips(arm), Arm(arm.side, rest)


def _flips(arm: Arm) -> Flips:
    return frozenset(s.means for s in arm.flipped if isinstance(s.means, LayerMeans))


def _rebased(boot: _Boot) -> list[Write]:
    """The writes of a boot, by the bench's own clock."""
    return [replace(write, at=write.at + boot.offset) for write in boot.live.writes()]


def _typical(seat: BootSession) -> float:
    """What a boot with another image takes there, in seconds."""
    durations = seat.seconds[True] or seat.seconds[False]
    return statistics.median(durations) if durations else _BOOT_S
