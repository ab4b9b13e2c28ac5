"""A board of a diagnosis, held open: measured one process at a time, set, and put back.

A connection that is lost is made anew, within a patience; what was being done is begun again by
whoever asked for it. A board that comes back as another boot is noted. A cross-check is a benchmark
of the probe on both boards: the same static program, so no compiler and no libc.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

from benchvise import interruption
from benchvise.board import Board
from benchvise.board.channel import NotAvailable, ProbeChannel, open_channel
from benchvise.board.messages import BeginMessage, FileValue, HostMessage, SampleMessage
from benchvise.documents import JsonObject
from benchvise.errors import (
    BenchviseError,
    BoardUnreachable,
    BoardUnusable,
    MeasurementError,
    ProbeError,
    SettingError,
    UsageError,
)
from benchvise.measure.model import Better, MetricKind, SeriesSpec, measured_kind
from benchvise.measure.registry import Registry
from benchvise.measure.runner import Sources, board_registry
from benchvise.measure.suite import SuiteEntry, parse_bench
from benchvise.state import journal
from benchvise.state.board_note import BoardNotes
from benchvise.state.intervention import Intervention, intervening, read_boot_id
from benchvise.state.restore import RestoreContact, restore
from benchvise.state.roles import find_roles
from benchvise.why.bench import PATIENCE_S, CrossCheck
from benchvise.why.benches.command_words import paths_in
from benchvise.why.explain.counters import READS, between, work_of
from benchvise.why.model import Bounds, Side
from benchvise.why.witness.model import SideWatch
from benchvise.why.witness.watch import watch

BATCHES = 5
RUNS = 3
"""Batches of a process, and runs of a command; fewer where one takes long."""

_PROCESS_S = 1.5  # what the batches of a process may take, as long as there is one
_RETRY_S = 2.0


@dataclass(frozen=True, slots=True)
class Process:
    """One fresh process as it was measured: the probe's lines, and what the board counted from
    before it was started until after it had ended, for one unit of work (see ``counters``)."""

    host: JsonObject
    begin: JsonObject
    samples: tuple[Mapping[str, Any], ...]
    counted: Mapping[str, float]

    @property
    def values(self) -> tuple[float, ...]:
        """Of its batches."""
        return tuple(float(sample["value"]) for sample in self.samples)

    @property
    def flags(self) -> tuple[str, ...]:
        """What polluted its batches, each once."""
        return tuple(dict.fromkeys(str(f) for s in self.samples for f in s.get("flags", ())))


class LiveBoard:
    """One board of a diagnosis, held open.

    ``board`` is the connection that is there, ``reopen`` reaches the board anew.

    Raises what opening a channel raises, and UsageError when ``entry`` is not one thing to measure.
    """

    def __init__(
        self,
        board: Board,
        reopen: Callable[[], Board],
        entry: SuiteEntry,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.name = board.name
        self.entry = entry
        self._reopen = reopen
        self._board = board
        self._patience_s = patience_s
        self.boots = 0
        self._connect()
        specs = entry.specs(self.registry)
        if len(specs) != 1:
            self.close()
            raise UsageError(
                f"{entry.benchmark}: {len(specs)} things to measure are asked for",
                "a diagnosis is of one: give each parameter one value",
            )
        self.spec = specs[0]
        self.batches = 1 if self.is_command else BATCHES

    @property
    def is_command(self) -> bool:
        """Whether a user's command is measured."""
        return self.entry.benchmark.startswith("command.")

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that a command names."""
        return paths_in(" ".join(self.entry.params.get("run", ()))) if self.is_command else ()

    @property
    def board(self) -> Board:
        """The connection."""
        return self._board

    @property
    def boot_id(self) -> str:
        """The kernel's id of the boot that it is in; empty where it tells none."""
        return self._boot_id

    # -- measuring ---------------------------------------------------------------------------------

    def first(self) -> tuple[Process, MetricKind]:
        """A process that counts for nothing: it fills caches, and tells what is measured, how long
        that takes, and what the value is."""
        begun = time.monotonic()
        process = self.process(self.spec)
        described = self.registry.get(self.spec.benchmark)
        kind = measured_kind(
            process.begin, MetricKind(described.unit, described.better, described.counted)
        )
        elapsed = [n / 1e9 for n in (s.get("elapsed_ns") for s in process.samples) if is_count(n)]
        if self.is_command and "warmup" not in self.entry.params:
            self.spec = _with(self.spec, warmup="0")
        batch_s = statistics.median(elapsed) if elapsed else time.monotonic() - begun
        most = RUNS if self.is_command else BATCHES
        self.batches = max(1, min(most, int(_PROCESS_S / max(batch_s, 1e-3))))
        return process, kind

    def process(
        self,
        spec: SeriesSpec,
        *,
        batches: int | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> Process:
        """Measures one fresh process.

        Raises NotAvailable, UsageError and MeasurementError, with the channel still usable, and
        BoardUnreachable or ProbeError when contact is lost.
        """
        before = self._texts()
        host: JsonObject = {}
        begin: JsonObject = {}
        samples: list[JsonObject] = []
        self._sources.run_as(attributes or {})
        try:
            for message in self._sources.messages(spec, batches or self.batches):
                match message:
                    case HostMessage():
                        host = message.host
                    case BeginMessage():
                        begin = message.begin
                    case SampleMessage():
                        samples.append({"value": message.value, **message.evidence})
        except NotAvailable:
            raise
        except ProbeError as error:
            if not self.channel.is_open:
                raise
            raise MeasurementError(error.message, error.remedy) from error
        finally:
            self._sources.run_as({})
        after = self._texts()
        values = [sample.get("value") for sample in samples]
        if not values or not all(isinstance(v, int | float) and v > 0 for v in values):
            raise MeasurementError(
                f"{self.name}: {spec.key} gives no value above zero, so no ratio can be had",
                "measure something that is larger than nothing",
            )
        counted = between(before, after, sum(map(work_of, samples)) or len(samples))
        return Process(host, begin, tuple(samples), counted)

    def watch(self, usual_s: float, trace: Path | None) -> SideWatch:
        """What the command does, which takes ``usual_s``; ``trace`` is where a recording is kept.

        Raises NotAvailable where a benchmark of the probe is measured, and as ``process`` does.
        """
        if not self.is_command:
            raise NotAvailable("only commands are watched")
        command = dict(self.spec.params)["run"]
        return watch(self._board, self.channel, command, usual_s, trace)

    def _texts(self) -> dict[str, str]:
        """The files that the kernel counts in."""
        return {
            path: content.value
            for path, content in self.channel.read(READS).items()
            if isinstance(content, FileValue) and isinstance(content.value, str)
        }

    def intervention(self) -> contextlib.AbstractContextManager[Intervention]:
        """An intervention to apply settings by, undone at the end; see ``state.intervention``."""
        notes = BoardNotes(self._board)
        return intervening(
            self.name, self.channel, lambda: open_channel(self._board), self.roles, notes
        )

    def counting(self) -> SeriesSpec:
        """What is measured, with perf counters on, and with a look at what its memory is made of.

        A number that a command prints is found by running it as ``command.time``, which counts.
        """
        if self.spec.benchmark == "command.output":
            own = dict(self.spec.params)
            params = {"run": own["run"], "timeout_s": own["timeout_s"], "warmup": "0"}
            counted = {"counters": "on", "observe": "pages"}
            return self.registry.spec("command.time", {**params, **counted})
        return _with(self.spec, counters="on", observe="pages")

    # -- the connection ----------------------------------------------------------------------------

    def settle(self, error: BenchviseError) -> None:
        """After an error that may have come of a lost connection: connects anew if it is gone, and
        puts back what could not be put back without it.

        Raises BoardUnreachable when the board does not come back, SettingError when something is
        still set.
        """
        if not self.channel.is_open:
            self._await(error)
            reached = RestoreContact(self.channel, BoardNotes(self._board))
            for _ in restore(self.name, reach=lambda _name: contextlib.nullcontext(reached)):
                pass
        left = still_set(self.name)
        if left:
            raise SettingError(
                f"{self.name}: not put back: {', '.join(left)}", f"benchvise restore {self.name}"
            )

    def close(self) -> None:
        """Ends the probe there and the connection. May be called more than once."""
        with contextlib.suppress(BenchviseError):
            self._sources.close()
            self.channel.close()
        self._board.close()

    def _connect(self) -> None:
        self.channel: ProbeChannel = open_channel(self._board)
        try:
            self.registry: Registry = board_registry(self.channel)
            self.roles = find_roles(self.channel, self.paths).roles
            boot_id = read_boot_id(self.channel)
            self._sources = Sources(self._board, self.channel)
        except BaseException:
            self.channel.close()
            raise
        self._boot_id, before = boot_id, getattr(self, "_boot_id", boot_id)
        self.boots += bool(before and boot_id and before != boot_id)

    def _await(self, error: BenchviseError) -> None:
        """Connects anew, again and again until the patience is at its end."""
        deadline = time.monotonic() + self._patience_s
        self.close()
        while True:
            try:
                self._board = self._reopen()
                try:
                    self._connect()
                except BaseException:
                    self._board.close()
                    raise
                return
            except (BoardUnreachable, BoardUnusable, ProbeError) as again:
                if time.monotonic() + _RETRY_S > deadline:
                    raise self._gone(error, again) from error
            interruption.sleep(_RETRY_S)

    def _gone(self, error: BenchviseError, again: BenchviseError) -> BoardUnreachable:
        set_still = ", ".join(still_set(self.name))
        return BoardUnreachable(
            f"{self.name} was lost ({error.message}) and did not come back within "
            f"{self._patience_s:.0f} s ({again.message})"
            + (f"; still set there: {set_still}" if set_still else "; nothing is set there"),
            f"benchvise restore {self.name}"
            if set_still
            else "see whether it is on and its network works, then --resume",
        )


def still_set(board: str) -> list[str]:
    """The knobs that a session which is over has left set on a board, by the journals here."""
    return sorted(
        {
            change.knob
            for session in journal.sessions()
            if session.board == board and session.is_due
            for change in session.pending
            if change.new is not None
        }
    )


def is_count(value: object) -> TypeGuard[int]:
    """Whether a board's answer is a number of something."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _with(spec: SeriesSpec, **params: str) -> SeriesSpec:
    """The series with other values of parameters that it has."""
    values = {**dict(spec.params), **{k: v for k, v in params.items() if k in dict(spec.params)}}
    return replace(spec, params=tuple(values.items()))


# -- cross-checks ----------------------------------------------------------------------------------

PROCESSES = 4
"""On each board, in turn; the least with which two boards can be told apart by rank at all
(p = 0.029 where every value of the one is above all of the other)."""


def cross_check(
    key: str, boards: Mapping[Side, LiveBoard], measure: Callable[[Side, SeriesSpec], Process]
) -> CrossCheck | None:
    """Measures it on both; None where a board cannot, or knows no such benchmark.

    Neighbours in time are compared.
    """
    try:
        specs = {side: parse_bench(key).specs(board.registry)[0] for side, board in boards.items()}
        values: dict[Side, list[float]] = {side: [] for side in boards}
        for turn in range(PROCESSES):
            for side in boards if turn % 2 else reversed(list(boards)):
                values[side].append(statistics.median(measure(side, specs[side]).values))
        better = boards[Side.GOOD].registry.get(specs[Side.GOOD].benchmark).better
    except (NotAvailable, MeasurementError, UsageError):
        return None
    return compared(key, better, values)


def one_side(key: str, board: LiveBoard) -> tuple[Better, list[float]] | None:
    """The same number of processes on one board alone, and which way is better."""
    try:
        spec = parse_bench(key).specs(board.registry)[0]
        values = [statistics.median(board.process(spec).values) for _ in range(PROCESSES)]
        return board.registry.get(spec.benchmark).better, values
    except (NotAvailable, MeasurementError, UsageError):
        return None


def compared(key: str, better: Better, values: Mapping[Side, Sequence[float]]) -> CrossCheck:
    """The gap is the median of the differences, in goodness, from the least to the greatest of
    them; the floor is what processes of one side differ by."""
    sign = 1 if better == "higher" else -1
    good, bad = ([sign * math.log(v) for v in values[side]] for side in (Side.GOOD, Side.BAD))
    gaps = sorted(g - b for g, b in zip(good, bad, strict=True))
    floor = max(
        statistics.median(abs(a - b) for a, b in itertools.combinations(values_of_side, 2))
        for values_of_side in (good, bad)
    )
    gap = Bounds(statistics.median(gaps), gaps[0], gaps[-1])
    apart = min(good) > max(bad) or min(bad) > max(good)
    return CrossCheck(key, gap, floor, shown=apart and abs(gap.value) > floor)
