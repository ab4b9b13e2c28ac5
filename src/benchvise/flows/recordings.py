"""Recording several boards at once, with their clocks lined up: ``trace record --with``.

    boards ─→ a thread each: recorder is prepared ─┐
                                                   ├─ all begin ─ round trips ─ ends ─ file
              a thread each: recorder is prepared ─┘  │  ↑           │
                  ┌───────────────────────────────────┘  │           └ in turn: they would delay
                  ↓                                      └ one stops all            each other
    trace.time_shift: each file's times by this host's clock;  trace.recording_set: clocks.json

A recording that ends by itself (its time, its command, its size) ends no other one. A condition
that is met on one board ends all, and so does Ctrl-C.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from benchvise.board import Board
from benchvise.board.deploy import deploy
from benchvise.errors import BenchviseError, Interrupted, UsageError
from benchvise.interruption import Interruption, heeding
from benchvise.output_files import new_directory
from benchvise.state.interrupts import let_through
from benchvise.trace.clock_alignment import RoundTrip
from benchvise.trace.recording import Recorded, RecordingPlan, TraceRecorder
from benchvise.trace.recording_set import RecordingSet
from benchvise.trace.time_shift import line_up_recording

SECONDS_BETWEEN = 0.5
"""Between round trips while a board records."""

_FIRST_TRIPS = 16
_FURTHER_TRIPS = 4
_TURN_SECONDS = 0.1
"""The longest that a board which does not answer delays the round trips of the others."""

_SIGNAL_SECONDS = 0.5
"""A signal that comes just before the main thread begins to wait does not wake it."""

BoardObserver: TypeAlias = Callable[[str, str, object], None]
"""Is called with the name of the board and what ``trace.recording.Observer`` is called with."""


@dataclass
class _Lane:
    """A board, and what its thread has recorded."""

    board: Board
    path: Path
    stopping: Interruption = field(default_factory=Interruption)
    recorder: TraceRecorder | None = None
    trips_begun: int = 0
    trips: list[RoundTrip] = field(default_factory=list)
    recorded: Recorded | None = None
    error: BenchviseError | None = None


def record_boards(
    boards: Sequence[Board], plan: RecordingPlan, output: Path, observe: BoardObserver
) -> RecordingSet:
    """Records on boards that are open; ``output`` becomes a directory with a file for each.

    The caller has to defer signals. Ctrl-C ends all recordings early and keeps them.

    Raises what ``TraceRecorder`` raises where a board cannot record; then nothing is kept. Where a
    board is lost later, the recordings of the others are kept, and the error says where. Raises
    Interrupted after Ctrl-C, if the recording had a time or a command.
    """
    unsuited = [board.name for board in boards if board.kind == "console"]
    if unsuited:
        raise UsageError(
            f"{', '.join(unsuited)}: over a console, clocks cannot be lined up",
            "give the board a network, or record it by itself",
        )
    with new_directory(output, "the traces") as directory:
        files = _file_names([board.name for board in boards])
        lanes = [_Lane(board, directory / name) for board, name in zip(boards, files, strict=True)]
        session = _Session(lanes, replace(plan, wall_time=False), observe)
        session.record()
        recordings = _lined_up(lanes, _wall_offset() if plan.wall_time else 0)
        if not recordings.members:
            raise next(lane.error for lane in lanes if lane.error is not None)
        recordings.write(directory)
    for lane in lanes:
        if lane.error is not None:
            kept = f"what the other boards recorded is kept in {output}"
            lane.error.message = f"{lane.error.message}; {kept}"
            raise lane.error
    if session.interrupted and (plan.seconds is not None or plan.command):
        raise Interrupted(
            f"interrupted; what was recorded until then is kept in {output}",
            f"benchvise trace info {output}",
        )
    return recordings


class _Session:
    """The threads of the boards, from the begin of their recordings to their files."""

    def __init__(self, lanes: Sequence[_Lane], plan: RecordingPlan, observe: BoardObserver) -> None:
        self._lanes = lanes
        self._plan = plan
        self._observe = observe
        self._turn = threading.Lock()
        self._abandoning = Interruption()
        self._timers: list[threading.Timer] = []
        self.interrupted = False

    def record(self) -> None:
        """Returns when all have ended. Raises the first error where one cannot begin."""
        pool = ThreadPoolExecutor(len(self._lanes), thread_name_prefix="recorder")
        try:
            with let_through():
                _results([pool.submit(self._prepare, lane) for lane in self._lanes])
            for lane in self._lanes:
                _recorder_of(lane).start()
            futures = [pool.submit(self._run, lane) for lane in self._lanes]
            try:
                with let_through():
                    _results(futures)
            except KeyboardInterrupt:
                self.interrupted = True
                self._stop(self._lanes)
                with let_through():  # which may take long: a second Ctrl-C gives it up
                    _results(futures)
        except BaseException:
            self._abandoning.set()
            self._stop(self._lanes)
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            for timer in self._timers:
                timer.cancel()
            for lane in self._lanes:
                if lane.recorder is not None:
                    lane.recorder.close()
                lane.stopping.close()
            self._abandoning.close()

    def _prepare(self, lane: _Lane) -> None:
        """Has a board prepare all, so that it begins at once when it is told to."""
        with heeding(self._abandoning):
            program = deploy(lane.board).path
            lane.recorder = TraceRecorder(
                lane.board,
                program,
                self._plan,
                lambda kind, line: self._hear(lane, kind, line),
                held=True,
            )

    def _run(self, lane: _Lane) -> None:
        """The thread of one board, from the begin of its recording to its file."""
        with _recorder_of(lane) as recorder:
            try:
                with heeding(self._abandoning):
                    recorder.await_begin()
                self._follow(lane, recorder)
                with heeding(self._abandoning):
                    lane.recorded = recorder.fetch(lane.path)
            except BenchviseError as error:
                lane.error = error

    def _follow(self, lane: _Lane, recorder: TraceRecorder) -> None:
        """Measures the offset until the recording has ended, or is told to end."""
        try:
            with heeding(lane.stopping):
                self._measure_offset(lane, recorder, _FIRST_TRIPS)
                while not recorder.ends_within(SECONDS_BETWEEN):
                    self._measure_offset(lane, recorder, _FURTHER_TRIPS)
        except KeyboardInterrupt:
            with heeding(self._abandoning):
                # Not in turn: a board that has ended answers late, and this one is to end now.
                _make_round_trips(lane, recorder, _FURTHER_TRIPS)
                recorder.stop()

    def _measure_offset(self, lane: _Lane, recorder: TraceRecorder, trips: int) -> None:
        """Makes some round trips while no other board makes any: they would delay each other."""
        in_turn = self._turn.acquire(timeout=_TURN_SECONDS)
        try:
            _make_round_trips(lane, recorder, trips)
        finally:
            if in_turn:
                self._turn.release()

    def _hear(self, lane: _Lane, kind: str, line: object) -> None:
        if kind == "met":
            others = [each for each in self._lanes if each is not lane]
            # A tracer that stops at its threshold does so at once.
            later = self._plan.after if self._plan.until else 0.0
            timer = threading.Timer(later, self._stop, (others,))
            timer.daemon = True
            self._timers.append(timer)
            timer.start()
        self._observe(lane.board.name, kind, line)

    def _stop(self, lanes: Sequence[_Lane]) -> None:
        for lane in lanes:
            lane.stopping.set()


def _make_round_trips(lane: _Lane, recorder: TraceRecorder, count: int) -> None:
    """Adds round trips to those of a board, until its recording has ended."""
    for _ in range(count):
        lane.trips_begun += 1
        trip = recorder.round_trip(lane.trips_begun)
        if trip is None:
            break
        lane.trips.append(trip)


def _results(futures: Sequence[Future[None]]) -> None:
    """Returns when all are done. Raises the first error, at once."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, _SIGNAL_SECONDS, FIRST_COMPLETED)
        for future in done:
            future.result()


def _recorder_of(lane: _Lane) -> TraceRecorder:
    assert lane.recorder is not None  # noqa: S101 - it was prepared
    return lane.recorder


def _lined_up(lanes: Sequence[_Lane], wall_offset_ns: int) -> RecordingSet:
    """The set of all recordings, their times on this host's clock."""
    clock = f"{secrets.randbits(62) | 1:#x}"
    members = tuple(
        line_up_recording(lane.board.name, lane.recorded, lane.trips, clock, wall_offset_ns)
        for lane in lanes
        if lane.recorded is not None
    )
    return RecordingSet(clock, wall_offset_ns, members)


def _wall_offset() -> int:
    """What leads from this host's monotonic clock to its time of day, in ns, by the closest of some
    pairs of readings."""
    tries = []
    for _ in range(16):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        tries.append((after - before, wall - (before + after) // 2))
    return min(tries)[1]


def _file_names(boards: Sequence[str]) -> list[str]:
    """A file name for each board, by which people recognise it."""
    names: list[str] = []
    for board in boards:
        address = re.sub(r"^(?:\w+:)?(?://)?(?:[^@/]*@)?", "", board)
        stem = re.sub(r"[^\w.-]+", "-", address, flags=re.ASCII).strip("-.")[:80] or "board"
        number, name = 1, f"{stem}.dat"
        while name in names:
            number += 1
            name = f"{stem}-{number}.dat"
        names.append(name)
    return names
