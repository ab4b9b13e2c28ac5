"""``benchvise run``: measure boards and keep what was measured.

names ─→ sharing   lanes: boards that share something, in turn; all lanes at once
           │
           └ fleet     a thread a lane, bounded
               └ block     up to eight boards that are open together: process by process in
                           turn, so that their values are neighbours in time, and pair up
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from benchvise.errors import BenchviseError, Interrupted, UsageError
from benchvise.flows import settings
from benchvise.flows.block import BoardBlock, open_sessions
from benchvise.flows.boards import NamedBoards, all_failed, command_line
from benchvise.flows.boots import reported_boots
from benchvise.flows.request import RunRequest, RunResult
from benchvise.flows.session import Observer
from benchvise.flows.settings import Combination
from benchvise.interruption import Interruption, heeding
from benchvise.measure.plan import Plan
from benchvise.rig.lanes import FleetPlan, Lane, plan_fleet
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.knobs import SettingRequest, parse_setting_requests
from benchvise.state.snapshot import load_rules

if TYPE_CHECKING:
    from benchvise.rig.hold.connection import EventObserver
    from benchvise.store import Store

_LISTED = 5
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """What would be measured on a board with these settings, in which lane of the fleet."""

    board: str
    plan: Plan
    combination: Combination
    lane: Lane


def plan_only(request: RunRequest) -> tuple[FleetPlan, list[PlannedRun]]:
    """What ``run`` would do on each board, with each setting, without measuring or setting."""
    requests = parse_setting_requests(request.settings)
    with ExitStack() as stack:
        named = NamedBoards.of(request.boards, request.rig, stack, measures=False)
        return _planned(request, requests, named)


def _planned(
    request: RunRequest, requests: Sequence[SettingRequest], named: NamedBoards
) -> tuple[FleetPlan, list[PlannedRun]]:
    fleet = plan_fleet(named.names, named.rig, request.parallel)

    def planned(lane: Lane) -> list[PlannedRun]:
        runs = []
        for names in lane.blocks:
            with ExitStack() as stack:
                opened, _ = open_sessions(request, named.some(names), stack, None)
                reached = [session.reached for session in opened]
                runs += [
                    PlannedRun(session.name, session.plan, combination, lane)
                    for combination in settings.combinations(requests, reached)
                    for session in opened
                ]
        return runs

    if len(fleet.lanes) == 1:
        return fleet, planned(fleet.lanes[0])
    with deferred():
        return fleet, [run for runs in each_lane(fleet, planned) for run in runs]


def run(
    request: RunRequest,
    store: Store,
    observe: Observer,
    observe_rig: EventObserver | None = None,
    observe_end: Callable[[RunResult], None] | None = None,
) -> list[RunResult]:
    """Measures every board of the request; returns the runs in the boards' order.

    Boards that share nothing are measured at once, the others in turn. Boards of a rig are brought
    to their shells first. Of several boards, one that fails fails alone. Observers may be called
    by several threads; ``observe_end`` is told of each run that has ended, or did not come to be.

    With settings, there is a run for each combination of them. Each sample is stored before its
    board goes on. On any error, Ctrl-C or SIGTERM what was set is put back, the runs are marked
    with what happened and everything measured is kept.
    """
    requests = parse_setting_requests(request.settings)
    request.entries()  # what is wrong with it is said before a board is reached
    with deferred(), ExitStack() as stack:
        stack.enter_context(reported_boots(store, command_line()))
        try:
            with let_through():
                named = NamedBoards.of(request.boards, request.rig, stack, observe_rig)
                fleet = plan_fleet(named.names, named.rig, request.parallel)
        except KeyboardInterrupt:
            raise _interrupted((), put_back=False) from None
        observers = (observe, observe_rig, observe_end)
        return _measure_fleet(request, requests, named, fleet, store, *observers)


def _measure_fleet(
    request: RunRequest,
    requests: Sequence[SettingRequest],
    named: NamedBoards,
    fleet: FleetPlan,
    store: Store,
    observe: Observer,
    observe_rig: EventObserver | None,
    observe_end: Callable[[RunResult], None] | None,
) -> list[RunResult]:
    """The lanes of boards, in threads if there are several; signals are deferred by the caller."""
    blocks: list[BoardBlock] = []
    is_alone = len(named.names) == 1 or len(fleet.lanes) == len(fleet.lanes[0].blocks) == 1

    def measured(lane: Lane) -> None:
        for names in lane.blocks:
            block = BoardBlock(request, requests, named.some(names), store, observe)
            blocks.append(block)
            try:
                block.measure(observe_rig)
            except UsageError as error:
                if is_alone or not any(other.is_begun for other in blocks):
                    raise  # it is the request that is wrong, and not the board
                block.fail(error)
            except BenchviseError as error:
                if is_alone:
                    raise
                block.fail(error)
            finally:
                if observe_end is not None:
                    for result in block.ended:
                        observe_end(result)

    try:
        if len(fleet.lanes) == 1:
            measured(fleet.lanes[0])
        else:
            if request.snapshots:  # once, and not by each lane of those that begin together
                load_rules()
            each_lane(fleet, measured)
    except KeyboardInterrupt:
        raise _interrupted(blocks, put_back=bool(requests)) from None
    ended = [result for block in blocks for result in block.ended]
    failed = [(r.board, r.error) for r in ended if not r.run_id and r.error is not None]
    if len(failed) == len(ended):
        raise all_failed(failed)
    order = {name: number for number, name in enumerate(named.names)}
    return sorted(ended, key=lambda result: (not result.run_id, order[result.board]))


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


def _interrupted(blocks: Sequence[BoardBlock], *, put_back: bool) -> Interrupted:
    runs = list(dict.fromkeys(run_id for block in blocks for run_id in block.run_ids))
    restored = "; the settings are as they were before" if put_back else ""
    if not runs:
        return Interrupted(f"interrupted before anything was measured{restored}")
    listed = ", ".join(runs[:_LISTED])
    if len(runs) > _LISTED:
        listed += f" and {len(runs) - _LISTED} more"
    return Interrupted(
        f"interrupted; what was measured is kept in run {listed}{restored}",
        f"benchvise show {runs[-1]}",
    )
