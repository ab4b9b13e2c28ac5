"""A bisection on several boards: a thread for each lane, which asks the search what to measure.

    lanes     boards that share something, measured in turn; all lanes at once (``rig.lanes``)
      └ lane  opens its boards ─→ asks ─→ builds or boots, measures ─→ tells ─→ asks …
                                   └────────── bisect.fleet ──────────┘

A board that is lost is left out, and the others go on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchvise.bisect.fleet import FleetSearch, FleetTask
from benchvise.bisect.fleet_answer import fleet_answer
from benchvise.bisect.journal import JournalEntry, MeasurementJournal
from benchvise.bisect.model import (
    Bisection,
    BisectionOptions,
    VersionUnbuildable,
    VersionUnusable,
)
from benchvise.board import Board
from benchvise.errors import BenchviseError, UsageError
from benchvise.flows import bisect_benches as benches
from benchvise.flows.bisect_builds import CommitBuilds, GitMaker
from benchvise.flows.boards import NamedBoards, all_failed, observe_waits, open_named
from benchvise.interruption import Interruption, heeding
from benchvise.rig.environment import PREFIX, is_rig
from benchvise.rig.lanes import plan_fleet
from benchvise.rig.sharing import THIS_MACHINE, shared_by
from benchvise.state.interrupts import let_through

if TYPE_CHECKING:
    from benchvise.flows.bisect_request import BisectRequest
    from benchvise.rig.hold.board import BootSession

_MOST_FAILED = 5
"""Versions in a row that cannot be measured on a board, after which it is the board that fails."""


@dataclass
class _Lane:
    """Boards that are measured in turn by one thread."""

    boards: tuple[str, ...]
    interruption: Interruption


class FleetBisection:
    """The boards of a bisection, and the search on them; signals are deferred by the caller.

    ``observe`` is told lines, ``observe_board`` what a board does now; both by several threads.
    """

    def __init__(
        self,
        request: BisectRequest,
        directory: Path,
        journal: MeasurementJournal,
        limits: BisectionOptions,
        observe: Callable[[str], None],
        observe_board: Callable[[str, str], None],
    ) -> None:
        self._request = request
        self._journal = journal
        self._limits = limits
        self._observe = observe
        self._observe_rig = observe_waits(observe)
        self._observe_board = observe_board
        self._metric = benches.VersionMetric(request.bench, request.command)
        self._tree = directory.resolve() / "tree" if request.kind == "git" else None
        self._lock = threading.Lock()
        self._benches: dict[str, benches.BoardBench] = {}
        self._failed: dict[str, BenchviseError] = {}
        self._unusable: dict[str, int] = {}
        self._search: FleetSearch | None = None
        self._builds: CommitBuilds | None = None
        self._begun = time.monotonic()
        self._before_s = 0.0
        self._unit = ""

    def run(
        self, stack: ExitStack, next_step: Callable[[str, str, str], str], directory: str
    ) -> Bisection:
        """Measures until it is decided, or the time is up, or no board is left.

        Raises what opening raises where no board can be measured, VersionUnusable where the good or
        the bad version cannot be built, and KeyboardInterrupt.
        """
        with let_through():
            boards = self._request.boards
            named = NamedBoards.of(boards, self._request.rig, stack, self._observe_rig)
            fleet = plan_fleet(named.names, named.rig, self._request.parallel)
            for sentence in fleet.sentences():
                self._observe(sentence)
            shared = shared_by(named.names, named.rig)
            self._on_this_machine = {n for n in named.names if THIS_MACHINE in shared[n]}
            self._names = named.names
            opened = self._reach(named, stack)
        # Lanes that do not go on at once are one.
        lanes = [
            _Lane(
                tuple(b for lane in fleet.lanes[number :: fleet.at_once] for b in lane.boards),
                Interruption(),
            )
            for number in range(fleet.at_once)
        ]
        for lane in lanes:
            stack.callback(lane.interruption.close)
        self._lanes = lanes
        self._measure(opened, stack)
        search = self._search
        if search is None:
            raise all_failed(list(self._failed.items()))
        answer = fleet_answer(search, self._unit, directory, next_step)
        return replace(answer, seconds=self._seconds())

    # -- boards ------------------------------------------------------------------------------------

    def _reach(
        self, named: NamedBoards, stack: ExitStack
    ) -> dict[str, Callable[[ExitStack], benches.Maker]]:
        """What opens each board's maker; boards that cannot be reached are told and left out."""
        if self._request.kind == "images":
            return {
                name: partial(self._images, session)
                for name, session in self._sessions(named, stack)
            }
        opened, failed = open_named(named, stack, observe=self._observe_rig)
        for name, error in failed:
            self._lose(name, error)
        if self._tree is not None:
            self._builds = CommitBuilds(
                Path(self._request.git), self._tree, self._request.build, len(opened)
            )
            stack.callback(self._builds.close)
        return {board.name: partial(self._maker, board) for board, _ in opened}

    def _sessions(self, named: NamedBoards, stack: ExitStack) -> Iterator[tuple[str, BootSession]]:
        """Boards whose cards are written, each held."""
        from benchvise.rig.hold.board import BootSession  # labgrid takes its time
        from benchvise.rig.hold.client import HeldBoard

        for name in named.names:
            if not is_rig(name) or named.rig is None:
                raise UsageError(
                    f"{name} is no board of a rig, and --images are written to cards",
                    "name boards by rig:NAME",
                )
        assert named.rig is not None  # noqa: S101 - looked at above
        for name in named.names:
            board = name.removeprefix(PREFIX)
            hold = named.holds.get(board)
            try:
                if name in named.refused:
                    raise named.refused[name]
                if hold is not None and not isinstance(hold, HeldBoard):
                    raise UsageError(f"{name} has no card that can be written", "name another")
                session = BootSession(named.rig, board, "bisect", self._observe_rig, held=hold)
            except UsageError:
                raise
            except BenchviseError as error:
                self._lose(name, error)
                continue
            stack.callback(session.close)
            yield name, session

    def _images(self, session: BootSession, own: ExitStack) -> benches.Maker:
        entry = self._metric.entry(self._request.names[0], session.name)
        maker = benches.ImageMaker(session, entry)
        own.callback(maker.close)
        return maker

    def _maker(self, board: Board, own: ExitStack) -> benches.Maker:
        entry = self._metric.entry(self._request.names[0], board.name, self._tree)
        live = benches.live_board(board, self._request.rig, entry, own)
        if self._builds is None:
            return benches.CommandMaker(live)
        return GitMaker(self._builds, self._request.deploy, live, is_alone=False)

    def _lose(self, board: str, error: BenchviseError) -> None:
        """Goes on without a board. The caller has the lock, or is the only thread."""
        self._failed[board] = error
        self._observe_board(board, f"left out: {error.message}")
        if self._search is not None:
            self._search.lose(board, error.message)
        else:
            self._observe(f"{board}: {error.message}: it is left out")

    # -- threads -----------------------------------------------------------------------------------

    def _measure(
        self, opened: dict[str, Callable[[ExitStack], benches.Maker]], stack: ExitStack
    ) -> None:
        """All lanes, each in a thread, until the search needs none of their boards any more."""
        own = {name: stack.enter_context(ExitStack()) for name in opened}

        def work(lane: _Lane) -> None:
            with heeding(lane.interruption):
                try:
                    self._measure_lane(lane, opened, own)
                except KeyboardInterrupt:
                    with self._lock:
                        if not self._is_done(lane):
                            raise

        pool = ThreadPoolExecutor(len(self._lanes), thread_name_prefix="lane")
        try:
            futures = [pool.submit(work, lane) for lane in self._lanes]
            with let_through():
                for future in as_completed(futures):
                    future.result()
        except BaseException:
            for lane in self._lanes:
                lane.interruption.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _measure_lane(
        self,
        lane: _Lane,
        opened: dict[str, Callable[[ExitStack], benches.Maker]],
        own: dict[str, ExitStack],
    ) -> None:
        boards = [name for name in lane.boards if name in opened]
        for name in boards:
            with self._lock:
                if self._is_done(lane):
                    return
            self._open(name, opened[name], own[name])
        while True:
            with self._lock:
                task = None
                if self._search is not None:
                    there = [name for name in boards if name in self._benches]
                    task = self._search.ask(there, self._seconds())
                self._end_idle_lanes()
            if task is None:
                self._tell_done(boards)
                return
            if not task.is_ready:
                name = self._request.names[task.version]
                self._observe_board(task.board, f"{name}: making it ready")
            self._carry_out(task)

    def _open(self, name: str, make: Callable[[ExitStack], benches.Maker], own: ExitStack) -> None:
        """Makes the good version ready on a board, which tells what is measured."""
        self._observe_board(name, f"{self._request.names[0]}: making it ready")
        try:
            with self._quiet(name) if self._builds is None else nullcontext():
                bench = benches.BoardBench(self._request.names, self._metric, make(own))
        except (VersionUnbuildable, UsageError):
            raise
        except BenchviseError as error:
            with self._lock:
                self._lose(name, error)
            return
        with self._lock:
            self._benches[name] = bench
            if self._search is None:
                self._begin(bench.better, bench.unit)
            assert self._search is not None  # noqa: S101 - begun
            self._search.boards[name].current = 0

    def _begin(self, better: Literal["higher", "lower"], unit: str) -> None:
        """The search begins with the first board that tells which way its value is better."""
        self._unit = unit
        self._search = FleetSearch(
            self._request.names,
            self._names,
            better,
            self._journal,
            self._limits,
            self._observe,
            self._built,
        )
        self._before_s = self._search.seconds
        for board, error in self._failed.items():
            self._search.lose(board, error.message)

    def _built(self, board: str) -> Collection[int]:
        if self._builds is None:
            return ()
        built = self._builds.built(board)
        return [number for number, name in enumerate(self._request.names) if name in built]

    def _carry_out(self, task: FleetTask) -> None:
        """Makes a version ready on a board, measures it, and tells the search."""
        bench, name = self._benches[task.board], self._request.names[task.version]
        begun = time.monotonic()
        ready_s = build_s = 0.0
        try:
            if not task.is_ready:
                bench.ready(task.version)
                ready_s, build_s = time.monotonic() - begun, bench.maker.build_s
            self._observe_board(task.board, f"{name}: measuring")
            with self._quiet(task.board):
                begun = time.monotonic()
                value = bench.measure(task.version)
            seconds = time.monotonic() - begun
            entry = JournalEntry(name, ready_s, seconds, value, "", "", task.board, build_s)
        except VersionUnusable as error:
            is_everywhere = isinstance(error, VersionUnbuildable)
            board = "" if is_everywhere else task.board
            spent = time.monotonic() - begun
            entry = JournalEntry(name, spent, 0.0, None, str(error.message), "", board)
            if not is_everywhere and self._has_failed_often(task.board):
                with self._lock:
                    self._lose(task.board, _failing(error))
                return
        except BenchviseError as error:
            with self._lock:
                self._lose(task.board, error)
            return
        if entry.value is not None:
            self._unusable[task.board] = 0
        with self._lock:
            assert self._search is not None  # noqa: S101 - it gave the task
            self._search.tell(task.board, task.version, entry)

    def _has_failed_often(self, board: str) -> bool:
        self._unusable[board] = self._unusable.get(board, 0) + 1
        return self._unusable[board] >= _MOST_FAILED

    @contextmanager
    def _quiet(self, board: str) -> Iterator[None]:
        """Nothing is built here while a board is measured that is this machine."""
        if self._builds is None or board not in self._on_this_machine:
            yield
        else:
            with self._builds.quiet():
                yield

    def _tell_done(self, boards: Sequence[str]) -> None:
        for board in boards:
            if board not in self._failed:
                self._observe_board(board, "done")

    # -- the end -----------------------------------------------------------------------------------

    def _seconds(self) -> float:
        return self._before_s + time.monotonic() - self._begun

    def _is_done(self, lane: _Lane) -> bool:
        search = self._search
        if search is None or search.verdict is None:
            return False
        return all(search.is_done(name, self._seconds()) for name in lane.boards)

    def _end_idle_lanes(self) -> None:
        """What is built or measured for boards that are done with need not come to its end; only a
        card that is being written is not left half written."""
        if self._search is None or self._search.verdict is None or self._request.kind == "images":
            return
        for lane in self._lanes:
            if self._is_done(lane):
                lane.interruption.set()


def _failing(error: VersionUnusable) -> BenchviseError:
    return BenchviseError(
        f"{_MOST_FAILED} versions in a row could not be measured; the last: {error.message}",
        error.remedy,
    )
