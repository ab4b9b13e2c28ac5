"""Recording several boards at once, with their clocks lined up: ``trace record --with``.

    boards ─→ a thread each: recorder ─ begins ─ round trips ─ ends ─ file
                  │  ↑                     │
                  │  └ one stops all       └ in turn, so that none waits for another's
                  ↓
    trace.time_shift: each file's times by this host's clock;  trace.recording_set: clocks.json

What ends one of them by itself (its time, its command, its size) ends no other; a condition that is
met and Ctrl-C end all.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
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
"""A board that does not answer delays the round trips of others by no more."""

BoardObserver: TypeAlias = Callable[[str, str, object], None]
"""Is told, with the name of the board, what ``trace.recording.Observer`` is told."""


@dataclass
class _Lane:
    """A board, and what its thread makes."""

    board: Board
    path: Path
    stopping: Interruption = field(default_factory=Interruption)
    trips_begun: int = 0
    trips: list[RoundTrip] = field(default_factory=list)
    recorded: Recorded | None = None
    error: BenchviseError | None = None


def record_boards(
    boards: Sequence[Board], plan: RecordingPlan, output: Path, observe: BoardObserver
) -> RecordingSet:
    """Records on boards that are open; ``output`` becomes a directory with a file of each.

    Signals have to be deferred by the caller. Ctrl-C ends all recordings early and keeps them.

    Raises what ``TraceRecorder`` raises where one board cannot record, and then nothing is kept;
    where one is lost later, the others are kept, and the error says where. Raises Interrupted after
    Ctrl-C, when there was a time or a command.
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
    """The threads of boards that record."""

    def __init__(self, lanes: Sequence[_Lane], plan: RecordingPlan, observe: BoardObserver) -> None:
        self._lanes = lanes
        self._plan = plan
        self._observe = observe
        self._turn = threading.Lock()
        self._abandoning = Interruption()
        self._timers: list[threading.Timer] = []
        self.interrupted = False

    def record(self) -> None:
        """Returns when all have ended. Raises the first error, where one cannot begin."""
        pool = ThreadPoolExecutor(len(self._lanes), thread_name_prefix="recorder")
        futures = [pool.submit(self._run, lane) for lane in self._lanes]
        try:
            try:
                with let_through():
                    for future in as_completed(futures):
                        future.result()
            except KeyboardInterrupt:
                self.interrupted = True
                self._stop(self._lanes)
                with let_through():  # which may take long: a second Ctrl-C gives it up
                    for future in as_completed(futures):
                        future.result()
        except BaseException:
            self._abandoning.set()
            self._stop(self._lanes)
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            for timer in self._timers:
                timer.cancel()
            for lane in self._lanes:
                lane.stopping.close()
            self._abandoning.close()

    def _run(self, lane: _Lane) -> None:
        """In a thread of its own: one board from the begin of its recording to its file."""
        with heeding(self._abandoning):
            program = deploy(lane.board).path
            recorder = TraceRecorder(
                lane.board, program, self._plan, lambda kind, line: self._hear(lane, kind, line)
            )
        with recorder:
            try:
                self._follow(lane, recorder)
                with heeding(self._abandoning):
                    lane.recorded = recorder.fetch(lane.path)
            except BenchviseError as error:
                lane.error = error

    def _follow(self, lane: _Lane, recorder: TraceRecorder) -> None:
        """Until the recording has ended, or was told to."""
        try:
            with heeding(lane.stopping):
                self._measure_offset(lane, recorder, _FIRST_TRIPS)
                while not recorder.ends_within(SECONDS_BETWEEN):
                    self._measure_offset(lane, recorder, _FURTHER_TRIPS)
        except KeyboardInterrupt:
            with heeding(self._abandoning):
                self._measure_offset(lane, recorder, _FURTHER_TRIPS)
                recorder.stop()

    def _measure_offset(self, lane: _Lane, recorder: TraceRecorder, trips: int) -> None:
        """Some round trips, while no other board is asked: they would wait for each other."""
        in_turn = self._turn.acquire(timeout=_TURN_SECONDS)
        try:
            for _ in range(trips):
                lane.trips_begun += 1
                trip = recorder.round_trip(lane.trips_begun)
                if trip is None:
                    break
                lane.trips.append(trip)
        finally:
            if in_turn:
                self._turn.release()

    def _hear(self, lane: _Lane, kind: str, line: object) -> None:
        if kind == "met":
            others = [each for each in self._lanes if each is not lane]
            timer = threading.Timer(self._plan.after, self._stop, (others,))
            timer.daemon = True
            self._timers.append(timer)
            timer.start()
        self._observe(lane.board.name, kind, line)

    def _stop(self, lanes: Sequence[_Lane]) -> None:
        for lane in lanes:
            lane.stopping.set()


def _lined_up(lanes: Sequence[_Lane], wall_offset_ns: int) -> RecordingSet:
    """All recordings, each with its times on this host's clock."""
    clock = f"{secrets.randbits(62) | 1:#x}"
    members = tuple(
        line_up_recording(lane.board.name, lane.recorded, lane.trips, clock, wall_offset_ns)
        for lane in lanes
        if lane.recorded is not None
    )
    return RecordingSet(clock, wall_offset_ns, members)


def _wall_offset() -> int:
    """From this host's monotonic clock to its time of day, in ns: from the closest of some
    readings."""
    tries = []
    for _ in range(16):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        tries.append((after - before, wall - (before + after) // 2))
    return min(tries)[1]


def _file_names(boards: Sequence[str]) -> list[str]:
    """A file name for each board, by which people know it."""
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
