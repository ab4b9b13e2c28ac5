"""The simulated bench: ``why.bench.Bench`` over two simulated boards.

Each setting goes through the real ``state.intervention`` and the real journal. Time is simulated:
a trial takes what it would on a board, and nobody waits.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.why import snapshots, values
from benchmarks.why.board import SimBoard, SimFiles, lost
from benchmarks.why.scenario import Fault, Scenario, SimLayer
from benchmarks.why.values import ROLES
from benchvise.board.channel import NotAvailable
from benchvise.errors import BoardUnreachable
from benchvise.state import interrupts
from benchvise.state.intervention import NotMade, intervening
from benchvise.state.knobs import Setting
from benchvise.state.model import Snapshot
from benchvise.why.bench import ArmRefused, CrossCheck, SideFacts
from benchvise.why.model import (
    Arm,
    Bounds,
    Finding,
    Grade,
    LayerMeans,
    Metric,
    Origin,
    ProcessMeans,
    SettingMeans,
    Side,
    Suspect,
    Trial,
    Write,
)
from benchvise.why.witness.model import SideWatch

_REQUEST_SECONDS = 0.004
_BOOT_SECONDS = 45.0
_FLASH_SECONDS = 75.0
_LOST_SECONDS = 20.0
_TRIES = 3

ATTRIBUTES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("thp", "off"): ("memory.thp", "never"),
    ("aslr", "off"): ("kernel.randomize_va_space", "0"),
}
"""Attributes of a measuring process, and the knob's value that has the same effect on it."""

_CHECK_PROCESSES = 4


_OF_RECORD = 0  # the boot in which a record was taken: none of those that are counted


@dataclass(frozen=True, slots=True)
class _Image:
    """What is booted: the image of a side, with layers swapped."""

    side: Side
    swapped: frozenset[tuple[str, str]] = frozenset()


def _image(arm: Arm) -> _Image:
    means = (suspect.means for suspect in arm.flipped)
    swapped = frozenset((m.layer, m.part) for m in means if isinstance(m, LayerMeans))
    return _Image(arm.side, swapped)


class SimBench:
    """Two boards of a scenario. ``life`` counts the processes that have diagnosed it."""

    def __init__(
        self, scenario: Scenario, boards: Mapping[Side, SimBoard], *, life: int = 0
    ) -> None:
        self.scenario = scenario
        self.boards = boards
        self._rng = random.Random(f"{scenario.seed}/{life}")  # noqa: S311
        self._clock = 0.0
        self._faults = [fault for fault in scenario.faults if life == 0]
        self._trials = 0
        self._phase = ""
        self._requests = 0
        self._gone = False
        self._rebooted = False
        self._writes: list[Write] = []
        self._findings: dict[str, Finding] = {}
        self._files = {side: self._connection(side) for side in Side}
        own = {self._seat(side): _Image(side) for side in Side}  # of one board the bad side's
        self._booted: dict[str, _Image] = own
        self._before: dict[str, list[tuple[_Image, tuple[str, ...]]]] = {seat: [] for seat in own}

    @property
    def metric(self) -> Metric:
        return self.scenario.metric.metric

    def name(self, side: Side) -> str:
        return self.boards[side].name

    def is_live(self, side: Side) -> bool:
        return side is Side.BAD or self.scenario.recorded is None

    def is_one_boot_each(self) -> bool:
        """See Bench. Where boots do not differ by chance, what they decide is no matter."""
        is_chance = self.scenario.noise.boot > 0.0
        return is_chance and not self.scenario.one_board and all(map(self.is_live, Side))

    def recorded(self, side: Side) -> Sequence[Trial]:
        """Of a record: one process after the other, taken some time before."""
        if self.is_live(side):
            return ()
        rng = random.Random(f"{self.scenario.seed}/record")  # noqa: S311
        seconds = self.scenario.metric.seconds
        return [
            self._trial(rng, Arm(side), number, number * seconds, seconds, boot=_OF_RECORD)
            for number in range(self.scenario.recorded or 0)
        ]

    def facts(self, side: Side) -> SideFacts:
        given = self.scenario.facts.get(side, SideFacts())
        return replace(given, host={**given.host, "uid": 0 if self.scenario.is_root else 1000})

    def snapshot(self, side: Side) -> Snapshot:
        if self._gone:
            raise lost(self.boards[side])
        self._clock += 1.5
        return snapshots.take(self.boards[side])

    def measure(self, arm: Arm) -> Trial:
        if not self.is_live(arm.side):
            raise ArmRefused(f"{self.name(arm.side)} is a record", "", arm.ids)
        self._trials += 1
        begin = self._clock
        for attempt in range(_TRIES):
            self._connect(arm.side)
            self._boot_for(arm)
            try:
                value = self._measure_once(arm)
            except BoardUnreachable:
                if self._gone or attempt + 1 == _TRIES:
                    raise
                continue
            return value if value.started == begin else _since(value, begin, self._clock)
        raise AssertionError("unreachable")

    def seconds(self, arm: Arm, after: Arm | None) -> float:
        settings = len(_settings(arm))
        return (
            self.scenario.metric.seconds
            + self.boots(arm, after) * (_FLASH_SECONDS + _BOOT_SECONDS)
            + _REQUEST_SECONDS * (20 + 6 * settings) * bool(settings)
        )

    def boots(self, arm: Arm, after: Arm | None) -> bool:
        """As the bench of a rig: what another board did leaves this one booted."""
        seat = self._seat(arm.side)
        if after is not None and self._seat(after.side) == seat:
            return _image(arm) != _image(after)
        return _image(arm) != self._booted[seat]

    def now(self) -> float:
        return self._clock

    def wait(self, seconds: float) -> float:
        self._clock += seconds
        return seconds

    def during(self, arm: Arm) -> Mapping[str, float]:
        """No counters are simulated: all that a board without them would say."""
        self.measure(arm)
        return {}

    def cross_check(self, keys: Sequence[str]) -> Sequence[CrossCheck]:
        """The benchmark that is the metric shows its gap, all others show none."""
        if not all(map(self.is_live, Side)) or self._gone:
            return ()
        return [self._cross_check(key) for key in keys]

    def watch(self, side: Side, trace: Path | None) -> SideWatch:  # noqa: ARG002
        """Nothing is run here that could be watched."""
        raise NotAvailable("nothing can be watched here")

    def remember(self, side: Side, watch: SideWatch) -> None:
        """Nothing: nothing was watched."""

    def digests(self, side: Side, paths: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """There are no files here."""
        raise NotAvailable("there are no files here")

    def can_swap_files(self) -> bool:
        """False: there are no files."""
        return False

    def has_images(self) -> bool:
        """See Bench."""
        return False

    def layers(self) -> Sequence[Suspect]:
        return [
            Suspect(
                id=layer.name,
                title=layer.title,
                layer=layer.layer,
                item="",
                good=layer.good,
                bad=layer.bad,
                means=LayerMeans(layer.name),
            )
            for layer in self.scenario.layers
        ]

    def parts(self, layer: Suspect) -> Sequence[Suspect]:
        means = layer.means
        assert isinstance(means, LayerMeans)
        assert not means.part
        found = next(one for one in self.scenario.layers if one.name == means.layer)
        return [_part(found, part) for part in found.parts]

    def origins(self, side: Side, suspect: Suspect) -> Sequence[Origin]:
        del side, suspect
        return ()

    def findings(self, *, look: bool = True) -> Sequence[Finding]:  # noqa: ARG002
        return tuple(self._findings.values())

    def writes(self) -> Sequence[Write]:
        return tuple(self._writes)

    def close(self) -> None:
        """The own images are back on the boards."""
        for image in list(self._booted.values()):
            if image.swapped and not self._gone:
                self._boot(_Image(image.side))
        for side in Side:
            self._files[side].close()

    # -- a trial -----------------------------------------------------------------------------------

    def _measure_once(self, arm: Arm) -> Trial:
        begin = self._clock
        settings = _settings(arm)
        if not settings:
            self._enter("measure")
            with interrupts.deferred():
                return self._process(arm, begin)
        written = len(self._writes)
        try:
            return self._measure_set(arm, settings, begin)
        finally:
            self._note_undone(self._writes[written:])

    def _measure_set(self, arm: Arm, settings: Sequence[Setting], begin: float) -> Trial:
        self._enter("apply")
        board = self.boards[arm.side]
        reopen = lambda: self._reopened(arm.side)  # noqa: E731
        with intervening(board.name, self._files[arm.side], reopen, ROLES) as intervention:
            try:
                intervention.apply(settings)
            except NotMade as error:
                self._enter("undo")
                raise ArmRefused(
                    error.message, error.remedy, _blamed(arm, error.settings)
                ) from error
            self._writes += [
                Write(self._clock, arm.side, one.knob, one.path, one.old, one.new, undone=False)
                for one in intervention.applied
            ]
            self._enter("measure")
            trial = self._process(arm, begin)
            try:
                intervention.check_held()
            except NotMade as error:
                raise ArmRefused(
                    error.message, error.remedy, _blamed(arm, error.settings)
                ) from error
            finally:
                self._enter("undo")
        return trial

    def _note_undone(self, made: Sequence[Write]) -> None:
        """What of it is back, as the board's files say."""
        for one in made:
            board = self.boards[one.side]
            if board.files.get(one.path) == board.at_boot.get(one.path):
                self._writes.append(
                    replace(one, at=self._clock, old=one.new, new=one.old, undone=True)
                )

    def _process(self, arm: Arm, begin: float) -> Trial:
        """One process of the metric, now."""
        with interrupts.let_through():
            self._step(arm.side)
            self._clock += self.scenario.metric.seconds
        board = self.boards[arm.side]
        if not self._files[arm.side].is_open:
            raise lost(board)
        board.settle()
        return self._trial(self._rng, arm, self._trials, begin, self._clock - begin)

    def _trial(
        self,
        rng: random.Random,
        arm: Arm,
        number: int,
        started: float,
        seconds: float,
        boot: int | None = None,
    ) -> Trial:
        """A trial in the boot that the board is in, or in that one of its boots."""
        swapped = _image(arm).swapped
        scenario = self.scenario

        def layer_of(layer: str, part: str) -> Side:
            taken = (layer, "") in swapped or (layer, part) in swapped
            return arm.side.other if taken else arm.side

        board, instead = self.boards[arm.side], _for_the_process(arm)

        def value(path: str) -> str:
            return instead.get(path) or board.value(path)

        goodness = scenario.response.goodness(arm.side, value, layer_of)
        goodness += scenario.noise.of_process(rng, started)
        if scenario.momentary is not None:
            goodness -= scenario.momentary(arm.side, value, layer_of, started, rng)
        boot = board.boot_number if boot is None else boot
        goodness += scenario.noise.of_boot(f"{scenario.kind}/{scenario.seed}/{arm.side}/{boot}")
        metric = self.metric
        batches = tuple(
            metric.value(goodness + offset) for offset in scenario.noise.of_batches(rng)
        )
        return Trial(
            number=number,
            side=arm.side,
            flipped=arm.ids,
            value=statistics.median(batches),
            values=batches,
            started=started,
            seconds=seconds,
            covariates={"temperature": 52 + rng.gauss(0, 1)},
        )

    def _cross_check(self, key: str) -> CrossCheck:
        floor = self.scenario.noise.floor
        gap = 0.0
        if key.partition(":")[0] == self.metric.benchmark:
            gap = self.scenario.goodness(Side.GOOD) - self.scenario.goodness(Side.BAD)
        seen = gap + self._rng.gauss(0, floor / 1.96)
        self._clock += 2 * _CHECK_PROCESSES * self.scenario.metric.seconds
        return CrossCheck(key, Bounds(seen, seen - floor, seen + floor), floor, abs(seen) > floor)

    # -- images ------------------------------------------------------------------------------------

    def _seat(self, side: Side) -> str:
        """The place of the board that a side is measured on."""
        return "both" if self.scenario.one_board else str(side)

    def _boot_for(self, arm: Arm) -> None:
        """Boots the image of an arm where another one runs, and, as the bench of a rig does, where
        an arm comes twice in a row between arms of other images: each value has its own boot."""
        seat, wanted = self._seat(arm.side), _image(arm)
        this = (wanted, arm.ids)
        match self._before[seat]:
            case [(image, _), last] if last == this and image != wanted:
                is_used = True
            case _:
                is_used = False
        if is_used or wanted != self._booted[seat]:
            self._boot(wanted)
        self._before[seat] = [*self._before[seat], this][-2:]

    def _boot(self, image: _Image) -> None:
        """Puts an image on the board and boots it."""
        self._booted[self._seat(image.side)] = image
        self._clock += _FLASH_SECONDS + _BOOT_SECONDS
        self.boards[image.side].reboot()
        self._files[image.side] = self._connection(image.side)

    # -- what goes wrong ---------------------------------------------------------------------------

    def _connection(self, side: Side) -> SimFiles:
        return SimFiles(self.boards[side], lambda: self._step(side))

    def _connect(self, side: Side) -> None:
        """A connection that is open; waits for a board that comes back."""
        if not self._files[side].is_open:
            self._files[side] = self._reopened(side)

    def _reopened(self, side: Side) -> SimFiles:
        if self._gone:
            raise lost(self.boards[side])
        self._clock += _BOOT_SECONDS if self._rebooted else _LOST_SECONDS
        self._rebooted = False
        return self._connection(side)

    def _enter(self, phase: str) -> None:
        self._phase, self._requests = phase, 0

    def _step(self, side: Side) -> None:
        """Before and after each request to a board: time goes by, and a fault may strike."""
        self._clock += _REQUEST_SECONDS / 2
        self._requests += 1
        for fault in self._faults:
            if self._is_due(fault):
                self._faults.remove(fault)
                self._strike(fault, side)
                break

    def _is_due(self, fault: Fault) -> bool:
        if fault.trial < self._trials:  # its phase was shorter than that: the next best moment
            return self._phase != ""
        return (
            fault.trial == self._trials
            and fault.phase == self._phase
            and fault.request <= self._requests
        )

    def _strike(self, fault: Fault, side: Side) -> None:
        board = self.boards[side]
        if fault.kind in ("kill", "interrupt"):
            os.kill(os.getpid(), signal.SIGKILL if fault.kind == "kill" else signal.SIGINT)
            return
        self._gone = fault.kind == "gone"
        if fault.kind == "reboot":
            self._rebooted = True
            board.reboot()
            self._findings["rebooted"] = Finding(
                "rebooted", Grade.WARNS, f"{board.name} booted again while it was measured"
            )
        self._files[side].is_open = False
        raise lost(board)


def open_boards(scenario: Scenario, directory: Path | None = None) -> dict[Side, SimBoard]:
    """The boards as the scenario has them; with a directory what is there outlives the process."""
    return {
        side: SimBoard(
            f"sim:{side}",
            scenario.files[side],
            quirks=scenario.quirks.get(side),
            is_root=scenario.is_root,
            log=None if directory is None else directory / f"{side}.log",
        )
        for side in Side
    }


def _since(trial: Trial, begin: float, now: float) -> Trial:
    return replace(trial, started=begin, seconds=now - begin)


def _for_the_process(arm: Arm) -> dict[str, str]:
    """What files are as good as set to for the measured process, by what is done to it alone."""
    return {
        path: values.shown(name, as_if)
        for suspect in arm.flipped
        if isinstance(suspect.means, ProcessMeans)
        for attribute in suspect.means.towards(arm.side.other).items()
        for name, as_if in [ATTRIBUTES[attribute]]
        for path in values.paths_of(name)
    }


def _settings(arm: Arm) -> list[Setting]:
    return [
        setting
        for suspect in arm.flipped
        if isinstance(suspect.means, SettingMeans)
        for setting in suspect.means.towards(arm.side.other)
    ]


def _blamed(arm: Arm, settings: Sequence[Setting]) -> list[str]:
    """The suspects that have one of these settings."""
    refused = {str(setting) for setting in settings}
    return [
        suspect.id
        for suspect in arm.flipped
        if isinstance(suspect.means, SettingMeans)
        and refused.intersection(map(str, suspect.means.towards(arm.side.other)))
    ]


def _part(layer: SimLayer, part: str) -> Suspect:
    can = part in layer.buildable
    return Suspect(
        id=f"{layer.name}: {part}",
        title=f"{part} in the {layer.title}",
        layer=layer.layer,
        item="",
        good=f"{part} as on the good side",
        bad=f"{part} as on the bad side",
        means=LayerMeans(layer.name, part) if can else None,
        untestable="" if can else "it takes a new build",
    )
