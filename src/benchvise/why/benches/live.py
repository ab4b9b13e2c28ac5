"""The bench of real boards: two that are live, or one that is and a record of the other.

A trial is one fresh process with few batches. What is flipped for it is set by
``state.intervention`` (in the journal, read back, held, undone) or given to the measuring process
alone; signals are held back from the first write until everything is undone.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchvise.board.channel import NotAvailable, ProbeChannel
from benchvise.errors import (
    BenchviseError,
    BoardUnreachable,
    MeasurementError,
    ProbeError,
    SettingError,
    UsageError,
)
from benchvise.measure.model import MetricKind, SeriesSpec
from benchvise.state.conditions import conditions
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.intervention import (
    AppliedSetting,
    BroughtAlong,
    Intervention,
    NotHeld,
    NotMade,
)
from benchvise.state.knobs import Setting
from benchvise.state.model import Snapshot
from benchvise.state.snapshot import take_snapshot
from benchvise.why.bench import ArmRefused, CrossCheck, SideFacts
from benchvise.why.benches.file_digests import digests_on
from benchvise.why.benches.file_swap import SEARCH_PATH, FileSwap, is_file
from benchvise.why.benches.leftovers import MadeFiles, RunningPrograms, not_back
from benchvise.why.benches.live_board import LiveBoard, Process, cross_check, still_set
from benchvise.why.benches.processes import OtherChange, ProcessChecks
from benchvise.why.benches.record import Record, covariates
from benchvise.why.benches.userland import RootTree, find_programs
from benchvise.why.benches.userland_swap import UserlandSwap, is_userland
from benchvise.why.explain.counters import of_samples
from benchvise.why.model import (
    Arm,
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
from benchvise.why.provenance import find_origins
from benchvise.why.provenance.sources import ProbedFiles
from benchvise.why.witness.covered import FSTAB, is_missing, origins_of_missing
from benchvise.why.witness.database_suspects import DATABASE, origins_of_database
from benchvise.why.witness.model import SideWatch
from benchvise.why.witness.opened import (
    OF_LINK,
    OPENED_FILE,
    is_data,
    origins_of_file,
    origins_of_link,
)
from benchvise.why.witness.partner_suspects import (
    STATE,
    is_service_file,
    origins_of_state,
    state_files,
)
from benchvise.why.witness.written import changed_paths

T = TypeVar("T")

_TRIES = 4  # of the first process
_LOST = 3  # so often is something begun again over a new connection
_COUNTING_BATCHES = 11  # every pass of counters twice
_COUNTING_RUNS = 5
_SETTING_S = 0.1  # what setting and undoing adds, until it is known


class LiveBench:
    """The bench of real boards (``why.bench.Bench``).

    ``sides`` are as opened; each live one measures one process here, which counts for nothing.
    ``simulated`` marks boards whose values are not those of hardware. ``root`` has the good
    side's programs; where there is no good side besides, it is the bad board with these. Raises
    UsageError where the sides do not measure the same, and what measuring raises.
    """

    def __init__(
        self,
        sides: Mapping[Side, LiveBoard | Record],
        *,
        simulated: frozenset[Side] = frozenset(),
        root: RootTree | None = None,
    ) -> None:
        self._begun = time.monotonic()
        self._live = {s: board for s, board in sides.items() if isinstance(board, LiveBoard)}
        self._records = {s: record for s, record in sides.items() if isinstance(record, Record)}
        self._simulated = simulated
        self._root = root
        self._is_one_board = Side.GOOD not in sides
        if self._is_one_board:
            self._live[Side.GOOD] = self._live[Side.BAD]
        self._writes: list[Write] = []
        self._findings: list[Finding] = []
        self._taken: dict[Side, Snapshot] = {}
        self._facts: dict[Side, SideFacts] = {}
        self._durations: dict[tuple[Side, bool], list[float]] = {}
        self._interventions: dict[Side, Intervention] = {}
        self._boots = {board.name: 0 for board in self._live.values()}
        self._number = 0
        spec = next(iter(self._live.values())).spec
        self._running = {side: RunningPrograms(board.board) for side, board in self._boards()}
        self._made: dict[Side, MadeFiles] = {}
        self._watched: dict[Side, SideWatch] = {}
        if spec.benchmark.startswith("command."):
            for running in self._running.values():
                running.look()
        self._metric, kind, self._hosts = self._first(spec)
        command = self._metric.command
        if root is not None and not command:
            raise UsageError(
                f"{self._metric.name} runs no program of {root.name}: it is the probe's own",
                "give a command that is there: --command CMD",
            )
        swappable = command and (root is not None or len(self._live) == len(Side))
        self._userland = UserlandSwap(self._live, command, root) if swappable else None
        has_both = command and len(self._live) == len(Side) and not self._is_one_board
        self._file_swap = FileSwap(self._live) if has_both else None
        self._checks = ProcessChecks()
        self._files: dict[Side, tuple[ProbeChannel, ProbedFiles]] = {}
        self._recorded = {
            side: record.trials(spec, kind, side) for side, record in self._records.items()
        }
        self._number = max((len(trials) for trials in self._recorded.values()), default=0)

    # -- what there is -----------------------------------------------------------------------------

    @property
    def metric(self) -> Metric:
        """What is measured."""
        return self._metric

    def name(self, side: Side) -> str:
        """What the user calls that side."""
        if side is Side.GOOD and self._is_one_board and self._root is not None:
            return f"{self._live[side].name} with the programs of {self._root.name}"
        return self._live[side].name if side in self._live else self._records[side].name

    def is_live(self, side: Side) -> bool:
        """Whether it can be measured."""
        return side in self._live

    def is_one_boot_each(self) -> bool:
        """Whether the sides are two kernels, and not two containers of one."""
        boots = [board.boot_id for board in self._live.values()]
        return len(boots) == len(Side) and all(boots) and boots[0] != boots[1]

    def recorded(self, side: Side) -> Sequence[Trial]:
        """The trials of a recorded run of that side."""
        return self._recorded.get(side, ())

    def now(self) -> float:
        """Seconds since the bench was opened, by a clock that cannot be set."""
        return time.monotonic() - self._begun

    def facts(self, side: Side) -> SideFacts:
        """What is known of a side besides its snapshot."""
        if side not in self._live:
            run = self._records[side].run
            return SideFacts(host=run.host if run else {}, simulated=bool(run and run.simulated))
        if side not in self._facts:
            board = self._live[side]
            programs, versions = self._lasting(
                side, lambda: find_programs(board.board, self._metric.command)
            )
            if side is Side.GOOD and self._is_one_board and self._userland is not None:
                programs, versions = self._userland.programs(), {}
            simulated = side in self._simulated
            self._facts[side] = SideFacts(self._hosts[side], programs, versions, simulated)
        return self._facts[side]

    def snapshot(self, side: Side) -> Snapshot:
        """Its state now, or as recorded."""
        if side not in self._live:
            return self._records[side].snapshot
        if self._is_one_board and self._taken:
            return next(iter(self._taken.values()))
        board = self._live[side]
        taken = self._lasting(
            side, lambda: take_snapshot(board.board, board.channel, paths=board.paths)
        )
        self._taken.setdefault(side, taken)
        return taken

    # -- measuring ---------------------------------------------------------------------------------

    def measure(self, arm: Arm) -> Trial:
        """Makes the arm, measures one fresh process, and puts everything back."""
        usual_s = self.seconds(Arm(arm.side), None) / self._batches()
        if arm.flipped:
            self._prepare(arm.side, usual_s)
        started = self.now()

        def verified(board: LiveBoard, attributes: Mapping[str, str]) -> Process:
            spec = self._spec(arm, board.spec)
            self._checks.check(arm, board, spec, attributes, usual_s)
            return board.process(spec, batches=self._batches(), attributes=attributes)

        try:
            process = self._on_arm(arm, verified)
        except OtherChange:  # somebody else may have changed something since it was looked at
            self._checks.forget(arm.side)
            self._prepare(arm.side, usual_s)
            process = self._on_arm(arm, verified)
        seconds = self.now() - started
        self._durations.setdefault((arm.side, bool(arm.flipped)), []).append(seconds)
        self._number += 1
        return Trial(
            number=self._number,
            side=arm.side,
            flipped=arm.ids,
            value=statistics.median(process.values),
            values=process.values,
            started=round(started, 3),
            seconds=round(seconds, 3),
            counters={**of_samples(process.samples), **process.counted},
            covariates=covariates(process.samples),
            flags=process.flags,
        )

    def _prepare(self, side: Side, usual_s: float) -> None:
        """Looks at the command's processes on the board as it is."""
        board = self._live[side]

        def look() -> None:
            self._checks.prepare(side, board, self._spec(Arm(side), board.spec), usual_s)

        self._lasting(side, look)

    def seconds(self, arm: Arm, after: Arm | None) -> float:  # noqa: ARG002 - nothing boots here
        """What ``measure`` will take, as an estimate: with a boot where one is needed."""
        durations = self._durations.get((arm.side, bool(arm.flipped)))
        if durations:
            return statistics.median(durations[-20:])
        plain = self._durations.get((arm.side, False), [0.0])
        return statistics.median(plain) + _SETTING_S * bool(arm.flipped)

    def wait(self, seconds: float) -> float:
        """Lets a load on the boards pass; the seconds that it waited, 0 on emulated ones, whose
        time is counted by instructions."""
        if self._simulated:
            return 0.0
        with deferred(), let_through():
            time.sleep(seconds)
        return seconds

    def boots(self, arm: Arm, after: Arm | None) -> bool:  # noqa: ARG002
        """False: nothing boots here."""
        return False

    def during(self, arm: Arm) -> Mapping[str, float]:
        """Measures the arm once with everything counted that can be, for a mechanism's checks."""

        def count(board: LiveBoard, attributes: Mapping[str, str]) -> Process:
            batches = _COUNTING_RUNS if board.is_command else _COUNTING_BATCHES
            if self.seconds(Arm(arm.side), None) * batches > 30 * self._batches():
                batches = self._batches()
            return board.process(
                self._spec(arm, board.counting()), batches=batches, attributes=attributes
            )

        process = self._on_arm(arm, count)
        return {**process.counted, **of_samples(process.samples)}

    def cross_check(self, keys: Sequence[str]) -> Sequence[CrossCheck]:
        """Measures these benchmarks of the probe (``memory.copy:size=64M``) on both sides."""
        if len(self._live) < len(Side) or self._is_one_board:
            return ()
        checks = []
        for key in keys:
            check = cross_check(
                key,
                self._live,
                lambda side, spec: self._lasting(side, lambda: self._live[side].process(spec)),
            )
            checks += [check] if check is not None else []
        return checks

    def watch(self, side: Side, trace: Path | None) -> SideWatch:
        """What the command does on a side, once or twice: no trial."""
        if self._is_one_board or side not in self._live:
            raise NotAvailable("it takes two boards: what is recorded cannot be run")
        usual_s = self.seconds(Arm(side), None) / self._batches()
        watch = self._lasting(side, lambda: self._live[side].watch(usual_s, trace))
        self.remember(side, watch)
        if len(self._watched) == len(Side):
            self._look_for_files()
        return watch

    def remember(self, side: Side, watch: SideWatch) -> None:
        """Keeps what was seen of the command, so that no experiment loses what it writes."""
        self._watched[side] = watch
        if self._file_swap is not None:
            watches = self._watched.values()
            calls = [call for of in watches for call in of.calls]
            held = [p for of in watches for partner in of.partners for p in partner.opened]
            self._file_swap.written = (*changed_paths(calls), *filter(is_data, held))

    def _look_for_files(self) -> None:
        """Remembers what is there where the command writes, before the first experiment."""
        for side, board in self._boards():
            own, other = (self._watched[which].calls for which in (side, side.other))
            self._made[side] = MadeFiles(board.board, own, other, self._running[side].since)
            self._lasting(side, self._made[side].look)

    def digests(self, side: Side, paths: Sequence[str]) -> Mapping[str, str]:
        """The SHA-256 of those of these files that a side has."""
        if side not in self._live:
            raise NotAvailable("the files of a record are not there")
        return self._lasting(side, lambda: digests_on(self._live[side].board, paths))

    # -- what else the loop asks for ---------------------------------------------------------------

    def can_swap_files(self) -> bool:
        """Whether the command of one side can be given files of the other one."""
        return self._file_swap is not None

    def has_images(self) -> bool:
        """Whether the images of both sides are at hand: what ``layers`` does not name is alike."""
        return False

    def layers(self) -> Sequence[Suspect]:
        """The userland of a command; what takes a boot is swapped by ``benches.rig``."""
        if self._userland is None:
            return ()
        return self._lasting(Side.BAD, self._userland.layers)

    def parts(self, layer: Suspect) -> Sequence[Suspect]:
        """What differs inside a layer, each with means to swap it alone."""
        if self._userland is None or not is_userland(layer, whole=True):
            return ()
        return self._userland.parts()

    def origins(self, side: Side, suspect: Suspect) -> Sequence[Origin]:
        """The places that set a value; of a record no more than its root is known."""
        if self._userland is not None and is_userland(suspect):
            return self._userland.origins(side, suspect)
        if suspect.id.startswith(OPENED_FILE):
            if is_missing(side, suspect):
                tables = {s: self._contents_on(s, (FSTAB,)).get(FSTAB) for s in Side}
                return origins_of_missing(side, suspect, tables)
            contents = self._contents(suspect)
            is_private = self._file_swap is not None and self._file_swap.is_private(
                suspect.id.removeprefix(OPENED_FILE)
            )
            return origins_of_file(side, suspect, contents, is_private=is_private)
        if suspect.id.startswith(OF_LINK):
            return origins_of_link(side, suspect)
        if suspect.id.startswith(DATABASE):
            return origins_of_database(side, suspect)
        if suspect.id.startswith(STATE):
            return origins_of_state(side, suspect, self._contents_on(side, state_files(suspect)))
        if side is Side.GOOD and self._root is not None:
            return find_origins(self._root, suspect, side)
        if side not in self._live:
            return ()
        board = self._live[side]

        def find() -> Sequence[Origin]:
            channel, files = self._files.get(side, (None, None))
            if files is None or channel is not board.channel:
                files = ProbedFiles(board.channel, board.name, board.roles)
                self._files[side] = board.channel, files
            return find_origins(files, suspect, side)

        return self._lasting(side, find)

    def _contents(self, suspect: Suspect) -> Mapping[Side, bytes | None]:
        """What a file that differs holds on each side; nothing where one side has no board."""
        swap = self._file_swap
        if swap is None:
            return {}
        path = suspect.id.removeprefix(OPENED_FILE)
        return {side: self._lasting(side, partial(swap.content, side, path)) for side in Side}

    def _contents_on(self, side: Side, paths: Sequence[str]) -> Mapping[str, bytes | None]:
        """What files of one side hold."""
        swap = self._file_swap
        if swap is None:
            return {}
        return {path: self._lasting(side, partial(swap.content, side, path)) for path in paths}

    def findings(self, *, look: bool = True) -> Sequence[Finding]:
        """What was noticed; with ``look`` the boards are cleared up, and their state is read once
        more."""
        if look:
            self._clear_up()
        findings = [f for record in self._records.values() for f in record.findings()]
        findings += self._userland.findings() if self._userland is not None else []
        findings += self._checks.findings()
        for side, board in self._boards() if look else ():
            before = self._taken.get(side)
            if before is None or not board.channel.is_open:
                continue
            try:
                after = take_snapshot(board.board, board.channel, paths=board.paths)
            except (BoardUnreachable, ProbeError):
                continue  # whoever measures next says so
            findings += [
                Finding(condition.rule, Grade.WARNS, f"{board.name}: {condition.sentence}")
                for condition in conditions(before, after)
                if condition.rule != "rebooted"  # counted by its boots
            ]
        return (*self._findings, *findings)

    def writes(self) -> Sequence[Write]:
        """All that was written so far, in order."""
        return tuple(self._writes)

    def close(self) -> None:
        """Puts everything back and lets the boards go."""
        self._clear_up()
        if self._userland is not None:
            with suppress(BenchviseError):  # a board that is gone keeps the copies
                self._userland.close()
        if self._file_swap is not None:
            with suppress(BenchviseError):
                self._file_swap.close()
        for board in self._live.values():
            board.close()

    def _clear_up(self) -> None:
        """Has the command leave the boards as it does without being measured."""
        for side in list(self._running):
            with suppress(BenchviseError):  # nobody clears up on a board that is gone
                usual_s = self.seconds(Arm(side), None) / self._batches()
                gone = self._running.pop(side).bring_back(self._metric.command, usual_s)
                if gone:
                    self._findings.append(not_back(self._live[side].name, gone))
            if side in self._made:
                with suppress(BenchviseError):
                    self._made.pop(side).remove()

    # -- making an arm -----------------------------------------------------------------------------

    def _on_arm(
        self, arm: Arm, measure: Callable[[LiveBoard, Mapping[str, str]], Process]
    ) -> Process:
        """Makes the arm, measures, checks that it held, and puts everything back."""
        settings, inherited = means_of(arm)
        of_files: dict[str, tuple[Setting, ...]] = {}
        if any(map(is_service_file, arm.flipped)) and self._file_swap is not None:
            swap = self._file_swap
            of_files = self._lasting(arm.side, partial(swap.service_settings, arm))
            settings += [setting for made in of_files.values() for setting in made]
        board = self._live[arm.side]

        def attributes() -> Mapping[str, str]:
            files = {} if self._file_swap is None else self._file_swap.attributes(arm)
            if SEARCH_PATH in files and SEARCH_PATH in inherited:
                raise ArmRefused(
                    f"{board.name}: PATH is changed, and it finds programs of the other side",
                    "try them one by one",
                    [suspect.id for suspect in arm.flipped if is_file(suspect)],
                )
            return {**files, **inherited}

        def once() -> Process:
            with let_through():  # before anything is read and set for it, an interrupt is cheap
                swapped = attributes()
            with board.intervention() as intervention:
                self._interventions[arm.side] = intervention
                try:
                    intervention.apply(settings)
                finally:
                    self._note(arm.side, intervention.applied, undone=False)
                with let_through():
                    process = measure(board, swapped)
                    intervention.check_held()
            return process

        def flipped() -> Process:
            try:
                return once()
            except (BroughtAlong, NotHeld):  # somebody else may have set something just then
                self._note_undone(arm.side)
                return once()

        def plain() -> Process:
            with let_through():
                return measure(board, attributes())

        try:
            with deferred():
                return self._lasting(arm.side, flipped if settings else plain, interruptible=False)
        except NotMade as error:
            raise self._refused(arm, error, of_files) from error
        except (NotAvailable, UsageError) as error:
            ids = refusing(arm, error.message)
            if not ids:
                raise
            raise ArmRefused(error.message, error.remedy, ids) from error

    def _refused(
        self, arm: Arm, error: NotMade, of_files: Mapping[str, Sequence[Setting]]
    ) -> ArmRefused:
        """Names the suspects whose settings failed; tries each alone where nobody knows which.
        ``of_files`` are the settings of those that start services anew."""
        failed = _names(error.settings)
        ids = [
            s.id
            for s in arm.flipped
            if (_settings(s, arm.side) | _names(of_files.get(s.id, ()))) & failed
        ]
        if not error.settings and len(arm.flipped) > 1:
            ids = [s.id for s in arm.flipped if not self._can_be_made(arm.side, s, of_files)]
        elif not error.settings:
            ids = list(arm.ids)
        return ArmRefused(error.message, error.remedy, ids)

    def _can_be_made(
        self, side: Side, suspect: Suspect, of_files: Mapping[str, Sequence[Setting]]
    ) -> bool:
        settings, _ = means_of(Arm(side, (suspect,)))
        settings += of_files.get(suspect.id, ())

        def make() -> bool:
            with self._live[side].intervention() as intervention:
                intervention.apply(settings)
            return True

        try:
            return self._lasting(side, make, interruptible=False)
        except NotMade:
            return False

    def _note(self, side: Side, changes: Sequence[AppliedSetting], *, undone: bool) -> None:
        at = self.now()
        for change in reversed(changes) if undone else changes:
            old, new = (change.new, change.old) if undone else (change.old, change.new)
            self._writes.append(Write(at, side, change.knob, change.path, old, new, undone))

    def _note_undone(self, side: Side) -> None:
        """What the last intervention had set is as before now."""
        last = self._interventions.pop(side, None)
        if last is not None:
            self._note(side, last.applied, undone=True)

    # -- a connection that lasts -------------------------------------------------------------------

    def _lasting(self, side: Side, act: Callable[[], T], *, interruptible: bool = True) -> T:
        """Does it, and does it again if the connection is lost meanwhile and can be had anew."""
        with deferred():
            for last in (*([False] * _LOST), True):
                try:
                    if not interruptible:
                        return act()
                    with let_through():
                        return act()
                except (NotAvailable, NotMade):
                    raise
                except (BoardUnreachable, ProbeError, SettingError) as error:
                    was_open = self._live[side].channel.is_open
                    with let_through():
                        self._live[side].settle(error)
                    self._note_boots(side)
                    if last and not was_open and self._is_set(side):
                        # It came back each time, without what was set: an MTU that the other end
                        # of the cable does not have, a driver that dies of it.
                        raise NotMade(
                            f"contact is lost while it is set ({error.message})", error.remedy
                        ) from error
                    if last or was_open:
                        raise
                finally:
                    if side in self._interventions and not still_set(self._live[side].name):
                        self._note_undone(side)
        raise AssertionError("unreachable")

    def _is_set(self, side: Side) -> bool:
        """Whether something was set when contact was lost."""
        last = self._interventions.get(side)
        return last is not None and bool(last.applied)

    def _note_boots(self, side: Side) -> None:
        board = self._live[side]
        if board.boots > self._boots[board.name]:
            self._boots[board.name] = board.boots
            self._findings.append(
                Finding(
                    "booted again",
                    Grade.WARNS,
                    f"{board.name} booted again in the middle of the diagnosis",
                    f"its boot id changed {self.now():.0f} s after the beginning",
                    "what was being measured was begun again; what is not set at boot is gone",
                )
            )

    # -- the beginning -----------------------------------------------------------------------------

    def _first(
        self, spec: SeriesSpec
    ) -> tuple[Metric, MetricKind, dict[Side, Mapping[str, object]]]:
        """What is measured, by a process on each live board; the kinds have to agree."""
        command = spec if spec.benchmark.startswith("command.") else None
        kinds: dict[Side, MetricKind] = {}
        hosts: dict[Side, Mapping[str, object]] = {}
        for side, board in self._live.items():
            started = self.now()
            process, kinds[side] = self._lasting(side, partial(_first_of, board))
            hosts[side] = process.host
            share = self._batches() / len(process.samples)
            self._durations[side, False] = [(self.now() - started) * share]
        kind = next(iter(kinds.values()))
        if any((k.unit, k.better) != (kind.unit, kind.better) for k in kinds.values()):
            raise UsageError(
                f"the two boards count {spec.key} in different units: "
                + " and ".join(k.unit or "none" for k in kinds.values()),
                "measure something that both count alike",
            )
        metric = Metric.of(
            spec,
            kind.unit,
            kind.better,
            kind.counted,
            dict(command.params)["run"] if command else "",
        )
        return metric, kind, hosts

    def _spec(self, arm: Arm, spec: SeriesSpec) -> SeriesSpec:
        """What is measured, with the other side's programs where the arm has them."""
        return spec if self._userland is None else self._userland.spec(arm, spec)

    def _boards(self) -> Iterator[tuple[Side, LiveBoard]]:
        """Each board once, with a side that it is."""
        for side, board in self._live.items():
            if side is Side.BAD or not self._is_one_board:
                yield side, board

    def _batches(self) -> int:
        """The same on both sides."""
        return min(board.batches for board in self._live.values())


def _first_of(board: LiveBoard) -> tuple[Process, MetricKind]:
    """The first process; a command that fails now and then is tried again."""
    for _ in range(_TRIES - 1):
        with suppress(MeasurementError):
            return board.first()
    return board.first()


def means_of(arm: Arm) -> tuple[list[Setting], dict[str, str]]:
    """Settings and process attributes of an arm; ArmRefused for what a live board cannot."""
    settings: dict[Setting, str] = {}
    attributes: dict[str, str] = {}
    for suspect in arm.flipped:
        match suspect.means:
            case SettingMeans() as means:
                towards = means.towards(arm.side.other)
                settings |= dict.fromkeys(towards, suspect.id)
                if not towards:
                    raise ArmRefused(f"{suspect.title} cannot be set there", "", [suspect.id])
            case ProcessMeans() as means:
                attributes |= means.towards(arm.side.other)
            case LayerMeans() if is_userland(suspect) or is_file(suspect):
                pass  # another command line, or files put before it, and no setting
            case LayerMeans() if is_service_file(suspect):
                pass  # its settings name copies, which are made for the arm
            case _:
                raise ArmRefused(
                    f"{suspect.title} is not set on a running board",
                    suspect.untestable or "swap the layer on a board of a rig",
                    [suspect.id],
                )
    values: dict[tuple[str, tuple[str, ...]], str] = {}
    for setting, owner in settings.items():
        key = (setting.knob.name, setting.paths)
        if values.setdefault(key, setting.value) != setting.value:
            raise ArmRefused(f"{setting.knob.name} would be set to two values at once", "", [owner])
    return list(settings), attributes


_Named = frozenset[tuple[str, str, tuple[str, ...]]]


def _settings(suspect: Suspect, side: Side) -> _Named:
    means = suspect.means
    return _names(means.towards(side.other)) if isinstance(means, SettingMeans) else frozenset()


def _names(settings: Sequence[Setting]) -> _Named:
    """Knobs and values: what was not kept may be one file of a setting of several. Of knobs whose
    files are settings of their own, the file too."""
    return frozenset((s.knob.name, s.value, s.paths if s.knob.each else ()) for s in settings)


def refusing(arm: Arm, message: str) -> list[str]:
    """The suspects whose process attribute a message of the probe is about: ``--as thp=off: …``."""
    attribute = message.partition("--as ")[2].partition("=")[0]
    return [
        suspect.id
        for suspect in arm.flipped
        if isinstance(suspect.means, ProcessMeans)
        and attribute in suspect.means.towards(arm.side.other)
    ]
