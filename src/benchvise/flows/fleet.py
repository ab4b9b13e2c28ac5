"""Lanes of boards, many at once: a thread drives each lane from its first board to its last.

What takes time is on the boards: a thread here waits for lines. Memory and start-up are what bounds
how many go on at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchvise.errors import UsageError
from benchvise.flows.boards import NamedBoards
from benchvise.flows.sharing import Lane, in_turn, lanes_of
from benchvise.interruption import Interruption, heeding
from benchvise.state.interrupts import let_through

_T = TypeVar("_T")

_BOARD_BYTES = 32 << 20
"""What a board that is measured takes of this machine's memory: two clients of ssh, and a process
where it has a console."""

_LANES_A_CPU = 8


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """The lanes of boards, how many of them go on at the same time, and what decides that."""

    lanes: tuple[Lane, ...]
    at_once: int
    reason: str

    def sentences(self) -> Iterator[str]:
        """Which boards are measured at once and which in turn, and why."""
        alone = [lane.boards[0] for lane in self.lanes if len(lane.boards) == 1]
        if len(self.lanes) > 1:
            yield f"{len(self.lanes)} lanes, {self.at_once} at once ({self.reason})"
            if alone:
                yield f"share nothing: {', '.join(alone)}"
        for lane in self.lanes:
            if len(lane.boards) > 1:
                yield f"in turn: {', '.join(lane.boards)} ({', '.join(lane.shared)})"


def plan_fleet(named: NamedBoards, parallel: str) -> FleetPlan:
    """``parallel`` is ``auto``, ``none`` or how many lanes at once; UsageError for other words."""
    if parallel == "none" or len(named.names) == 1:
        check_parallel(parallel)
        return FleetPlan((in_turn(named),), 1, "--parallel none")
    lanes = tuple(lanes_of(named))
    wanted = check_parallel(parallel)
    if wanted is not None:
        return FleetPlan(lanes, min(wanted, len(lanes)), f"--parallel {wanted}")
    bounds = {
        "no board shares anything with another lane": len(lanes),
        f"{_LANES_A_CPU} for each CPU of this machine": _LANES_A_CPU * (os.cpu_count() or 1),
        "memory of this machine": max(1, _free_bytes() // 2 // _BOARD_BYTES),
    }
    reason = min(bounds, key=bounds.__getitem__)
    return FleetPlan(lanes, bounds[reason], reason)


def check_parallel(parallel: str) -> int | None:
    """The number that ``--parallel`` names; None for ``auto`` and ``none``. Else UsageError."""
    if parallel in ("auto", "none"):
        return None
    if parallel.isdecimal() and 1 <= int(parallel) <= 10_000:
        return int(parallel)
    raise UsageError(
        f"--parallel: '{parallel}' is no number of boards",
        "write auto, none, or how many boards that share nothing are measured at once",
    )


def each_lane(fleet: FleetPlan, work: Callable[[Lane], _T]) -> list[_T]:
    """Does the work for all lanes, each in a thread of its own; what it comes to, in their order.

    On Ctrl-C, and where the work raises, all others are interrupted, and have ended when this
    raises: KeyboardInterrupt, or the first error. Signals have to be deferred by the caller.
    """
    interruption = Interruption()

    def heeded(lane: Lane) -> _T:
        with heeding(interruption):
            return work(lane)

    pool = ThreadPoolExecutor(fleet.at_once, thread_name_prefix="lane")
    try:
        futures = [pool.submit(heeded, lane) for lane in fleet.lanes]
        with let_through():
            for future in as_completed(futures):
                future.result()
        return [future.result() for future in futures]
    except BaseException:
        interruption.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        interruption.close()


def _free_bytes() -> int:
    """Memory that can be had without swapping; none where the kernel does not say."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) << 10
    return 0
