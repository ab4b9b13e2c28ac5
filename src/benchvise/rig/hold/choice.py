"""Boards that are free, chosen by their features: one of them, or a number of them together.

Who waits has a ticket with one number at each board that fits, so that of two that wait the first
is before the other at every one of them; boards are taken when enough are free, and none before.
So nobody waits with a board in hand. At a coordinator the places that fit are reserved while it
waits, which puts it in one queue with the users of labgrid-client.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TypeAlias

from benchvise import interruption
from benchvise.errors import BenchviseError
from benchvise.rig import locks, turns
from benchvise.rig.environment import BoardRequest, Rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold.client import HeldBoard
from benchvise.rig.hold.connection import EventObserver
from benchvise.rig.hold.messages import BoardAwaited
from benchvise.rig.hold.network import NetworkHold, PlaceKeeper, keepers, lock_key, service_of
from benchvise.rig.hold.places import lock_key as place_key
from benchvise.rig.hold.together import all_at_once

Hold: TypeAlias = HeldBoard | NetworkHold

_LOOK_SECONDS = 0.25
_PLACE_SECONDS = 1.0  # where a coordinator is asked
_PARTIAL_SECONDS = 30.0
"""After which places that are too few are given up: somebody may wait with the others reserved."""


def choose(
    rig: Rig, request: BoardRequest, purpose: str, observe: EventObserver | None = None
) -> list[Hold]:
    """Holds so many boards with these features, in the file's order of those that are free.

    Waits for them as long as the rig says (``Rig.wait_s``). Raises RigError (board-busy) when too
    few are free by then, UsageError when there never are so many. What is returned is held.
    """
    candidates = rig.matching(request)
    with ExitStack() as stack:
        queue = _Queue(rig, candidates, purpose, stack)
        deadline, is_told = time.monotonic() + rig.wait_s, False
        while True:
            holds = queue.take(request.count, observe)
            if len(holds) == request.count:
                return holds
            if time.monotonic() >= deadline:
                raise _too_few(request, candidates, len(queue.free))
            queue.join()
            if not is_told and observe is not None:
                waits_for = f"{request.count} of {', '.join(candidates)}"
                observe(request.text, BoardAwaited(waits_for, time.time()))
            is_told = True
            interruption.sleep(_PLACE_SECONDS if queue.keeper is not None else _LOOK_SECONDS)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A board that fits: the key of its lock, and its place if it has one."""

    name: str
    key: str
    place: str | None


class _Queue:
    """This command in the queues of all boards that fit, until the stack is closed."""

    def __init__(self, rig: Rig, names: Sequence[str], purpose: str, stack: ExitStack) -> None:
        self.free: list[str] = []
        self.keeper: PlaceKeeper | None = None
        self._rig, self._purpose, self._stack = rig, purpose, stack
        self._number = turns.new_number()
        self._is_in = False
        self._partial_since: float | None = None
        self._reserved: set[str] = set()
        if any(name in rig.places for name in names):
            self.keeper = stack.enter_context(keepers.use(rig.path, purpose))
        keys = _keys(rig, names)
        self._candidates = [
            _Candidate(name, keys[name], rig.places.get(name)) for name in names if name in keys
        ]

    def join(self) -> None:
        """Waits at each of them from now on, and reserves their places."""
        if not self._is_in:
            self._is_in = True
            for candidate in self._candidates:
                self._stack.enter_context(locks.queued(candidate.key, self._purpose, self._number))
            if self.keeper is not None:
                self._stack.callback(self.keeper.reserve, ())
        if self.keeper is None:
            return
        # Too few for long: somebody else may have the others, and wait for these.
        partial = bool(self._reserved)
        since = self._partial_since = (self._partial_since or time.monotonic()) if partial else None
        if since is not None and time.monotonic() - since > _PARTIAL_SECONDS:
            self.keeper.reserve(())
            self._partial_since = None
        self._reserved = self.keeper.reserve([c.place for c in self._candidates if c.place])

    def take(self, count: int, observe: EventObserver | None) -> list[Hold]:
        """Holds so many boards, or none."""
        states = {} if self.keeper is None else self.keeper.states()
        free = []
        for candidate in self._candidates:
            state = None if candidate.place is None else states.get(candidate.place)
            is_ours = state is None or state.ours or not (state.owner or state.is_reserved)
            if is_ours and locks.is_next(candidate.key, self._number):
                free.append(candidate)
        self.free = [candidate.name for candidate in free]
        if len(free) < count:
            return []
        holds: list[Hold] = []
        for candidate in free:
            if len(holds) == count:
                return holds
            try:
                kind = HeldBoard if self._rig.targets[candidate.name].is_switched else NetworkHold
                own = self._rig.without_waiting()
                holds.append(kind(own, candidate.name, self._purpose, observe, self._number))
            except RigError as error:
                if error.fault is not Fault.BUSY:
                    release(holds)
                    raise
            except BaseException:
                release(holds)
                raise
        if len(holds) < count:
            release(holds)
            return []
        return holds


def release(holds: Sequence[Hold]) -> None:
    """Gives boards back that nothing was done with."""
    for hold in holds:
        with suppress(BenchviseError):
            hold.close(off=False)


def _keys(rig: Rig, names: Sequence[str]) -> dict[str, str]:
    """The keys of their locks; those of boards with a power switch are asked for, as labgrid alone
    knows the switch. A board whose switch cannot be reached is no candidate.
    """
    keys = {name: place_key(rig.path, rig.places[name]) for name in names if name in rig.places}
    here = [name for name in names if name not in keys]
    for name in here:
        if not rig.targets[name].is_switched:
            keys[name] = lock_key(service_of(rig, name))

    def of_status(name: str) -> str:
        with HeldBoard(rig, name, "") as held:
            return held.status().lock

    asked_for = [name for name in here if name not in keys]
    keys |= {name: key for name, key, error in all_at_once(asked_for, of_status) if error is None}
    return keys


def _too_few(request: BoardRequest, candidates: Sequence[str], free: int) -> RigError:
    wanted = "one is needed" if request.count == 1 else f"{request.count} are needed"
    return RigError(
        Fault.BUSY,
        f"rig:{request.text}: {free} of {len(candidates)} boards that fit are free, {wanted} "
        f"({', '.join(candidates)})",
        "see who has them: benchvise rig status; wait for them: --wait 30m",
    )
