"""Boards that are reached over their network as they are: no console, no power, nothing to boot.

Such a board is held by its lock, or by its place at a coordinator, which one process keeps for all
boards of this one (``keeper``).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import NoneType

from benchvise import interruption
from benchvise.errors import UsageError
from benchvise.rig import locks, turns
from benchvise.rig.environment import NetworkService, Rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold import messages
from benchvise.rig.hold.connection import EventObserver, WorkerConnection
from benchvise.rig.hold.messages import (
    BoardAwaited,
    BoardHolder,
    BoardStatus,
    NotReadable,
    PlaceList,
    PlaceState,
    WorkerOrder,
)
from benchvise.rig.hold.places import lock_key as place_key
from benchvise.rig.hold.reach import ANSWERS, SILENT, ssh_answers

_PLACE_SECONDS = 2.0  # between two questions for a place that another user has
_AWAY_SECONDS = 120.0
"""How long a coordinator that is started anew is waited for, and its exporters."""
_STATUS_SECONDS = 10.0
"""How long a coordinator may take to say who has its places: one that hangs would take 40 s."""
_NOT_SWITCHED = NotReadable("the rig file gives it no power switch")
_NOT_OURS = NotReadable("seen by those who have its place")


class PlaceKeeper(WorkerConnection):
    """Asks the process that keeps places of a rig's coordinator."""

    def __init__(self, rig: Path, purpose: str) -> None:
        super().__init__(WorkerOrder(str(rig.resolve()), "", purpose), "the coordinator's places")

    def take(self, place: str, number: str = "") -> NetworkService:
        """Takes a place; where its board answers. RigError (board-busy) where others have it."""
        return self._ask(messages.TakePlace(place, number), NetworkService)

    def reserve(self, wanted: Sequence[str]) -> set[str]:
        """Reserves these places, and cancels other reservations; those that are ours to take."""
        listed = self._ask(messages.ReservePlaces(tuple(wanted)), PlaceList)
        return {state.place for state in listed.places}

    def give(self, place: str) -> None:
        """Gives it back."""
        self._ask(messages.GivePlace(place), NoneType)

    def states(self, within_s: float | None = None) -> dict[str, PlaceState]:
        """All places of the coordinator by name; TimeoutError where that takes longer."""
        listed = self._ask(messages.ListPlaces(), PlaceList, within_s).places
        return {state.place: state for state in listed}


class _Keepers:
    """One keeper for each rig file, as long as a board of this process needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Path, tuple[PlaceKeeper, int]] = {}

    @contextmanager
    def use(self, rig: Path, purpose: str) -> Iterator[PlaceKeeper]:
        with self._lock:
            keeper, users = self._running.get(rig, (None, 0))
            if keeper is None:
                keeper = PlaceKeeper(rig, purpose)
            self._running[rig] = (keeper, users + 1)
        try:
            yield keeper
        finally:
            with self._lock:
                keeper, users = self._running.pop(rig)
                if users > 1:
                    self._running[rig] = (keeper, users - 1)
                else:
                    keeper.__exit__(None, None, None)


keepers = _Keepers()


class NetworkHold:
    """One board that is reached over its network alone, held until ``close``.

    Raises RigError (board-busy) when somebody else has it longer than the rig waits
    (``Rig.wait_s``), rig-broken where its place or address is not there.
    """

    def __init__(
        self,
        rig: Rig,
        name: str,
        purpose: str,
        observe: EventObserver | None = None,
        number: str = "",
    ) -> None:
        self.rig = rig
        self._number = number
        self.name = name
        self.features = rig.features.get(name, frozenset())
        self._observe = observe or (lambda _name, _event: None)
        with ExitStack() as stack:
            self.service = self._hold(stack, purpose)
            self._stack = stack.pop_all()

    def close(self, *, off: bool) -> None:  # noqa: ARG002 - as that of boards that are switched
        """Releases the board as it is. May be called more than once."""
        self._stack.close()

    def _hold(self, stack: ExitStack, purpose: str) -> NetworkService:
        place = self.rig.places.get(self.name)
        if place is not None:
            keeper = stack.enter_context(keepers.use(self.rig.path, purpose))
            service = self._take(keeper, place, purpose)
            stack.callback(keeper.give, place)
            return service
        own = service_of(self.rig, self.name)
        stack.enter_context(
            locks.held(
                lock_key(own),
                purpose,
                name=f"the board {self.name}",
                wait_s=self.rig.wait_s,
                observe=lambda who: self._observe(self.name, BoardAwaited(who.what, who.since)),
                number=self._number,
            )
        )
        return own

    def _take(self, keeper: PlaceKeeper, place: str, purpose: str) -> NetworkService:
        """A place is asked for again while it is waited for: where somebody else has it, as long
        as its user waits, in the queue of its lock; where the coordinator is started anew, until
        it is back.
        """
        with ExitStack() as queue:
            return self._take_in_turn(keeper, place, purpose, queue)

    def _take_in_turn(
        self, keeper: PlaceKeeper, place: str, purpose: str, queue: ExitStack
    ) -> NetworkService:
        number = self._number
        patience = {Fault.BUSY: self.rig.wait_s, Fault.COORDINATOR_AWAY: _AWAY_SECONDS}
        since: dict[Fault, float] = {}
        while True:
            try:
                return keeper.take(place, number)
            except RigError as error:
                is_new = error.fault not in since
                begun = since.setdefault(error.fault, time.monotonic())
                if time.monotonic() >= begun + patience.get(error.fault, 0.0):
                    raise
                if is_new and error.fault is Fault.BUSY and not number:
                    number = turns.new_number()
                    key = place_key(self.rig.path, place)
                    queue.enter_context(locks.queued(key, purpose, number))
                if is_new:
                    self._observe(self.name, BoardAwaited(error.message, time.time()))
            interruption.sleep(_PLACE_SECONDS)


def service_of(rig: Rig, name: str) -> NetworkService:
    """Where the rig file says that the board answers; UsageError where it does not."""
    service = rig.targets[name].service
    if service is None:
        raise UsageError(
            f"{rig.path}: {name}: its NetworkService has no address", "write `address: HOST`"
        )
    return service


def lock_key(service: NetworkService) -> str:
    """Names the board, so that two rig files that describe one board exclude each other."""
    return f"board at {service.address} port {service.port}"


def place_states(rig: Rig, within_s: float | None = None) -> dict[str, PlaceState]:
    """All places of the rig's coordinator by name; nothing is taken.

    RigError where it does not answer, or not within so many seconds.
    """
    try:
        with keepers.use(rig.path, "benchvise") as keeper:
            return keeper.states(within_s)
    except TimeoutError as error:
        raise RigError(
            Fault.RIG_BROKEN,
            f"the coordinator accepts connections, and does not answer within {within_s:g} s",
            "see on its host whether it hangs: systemctl status labgrid-coordinator",
        ) from error


def statuses_of_places(
    rig: Rig, names: Sequence[str], *, reach: bool = False
) -> dict[str, BoardStatus]:
    """Boards behind a coordinator by name, all from one answer of it; no board is held.

    Boards whose place is this user's, and that have drivers, are left out: their processes know
    more; so are those whose place is not known. With ``reach``, those that nobody has and that are
    reached over their network alone are asked whether they answer.
    """
    states = place_states(rig, _STATUS_SECONDS)
    placed = {name: states.get(rig.places[name]) for name in names}
    statuses = {}
    for name, state in placed.items():
        if not rig.targets[name].is_switched:
            statuses[name] = _of_place(rig, name, state)
        elif state is not None and not state.ours:
            unseen = _missing(state) or _NOT_OURS
            statuses[name] = BoardStatus(name, _owner(state), unseen, unseen)
    if reach:
        services = {name: state.service for name, state in placed.items() if state is not None}
        _reach(rig, statuses, services)
    return statuses


def statuses_of_addresses(
    rig: Rig, names: Sequence[str], *, reach: bool = False
) -> dict[str, BoardStatus]:
    """Boards by name whose addresses are in the rig file; ``reach`` as above."""
    services = {name: service_of(rig, name) for name in names}
    statuses = {name: _of_lock(name, lock_key(service)) for name, service in services.items()}
    if reach:
        _reach(rig, statuses, services)
    return statuses


def _reach(
    rig: Rig, statuses: dict[str, BoardStatus], services: Mapping[str, NetworkService | None]
) -> None:
    """Notes whether boards answer. One that is in use is not asked: it may be measured now."""
    unused = {
        name: service
        for name, service in services.items()
        if service is not None
        and name in statuses
        and not rig.targets[name].is_switched
        and statuses[name].holder is None
        and statuses[name].network is None
    }
    for name, answer in ssh_answers(unused).items():
        network = answer if answer in (ANSWERS, SILENT) else NotReadable(answer)
        statuses[name] = replace(statuses[name], network=network)


def _of_place(rig: Rig, name: str, state: PlaceState | None) -> BoardStatus:
    """The coordinator knows the user who has a place, its lock our command and those that wait."""
    place = rig.places[name]
    if state is None:
        missing = NotReadable(f"the coordinator has no place '{place}'")
        return BoardStatus(name, None, missing, None)
    locked = _of_lock(name, place_key(rig.path, place))
    is_others = bool(state.owner) and not state.ours
    holder = _owner(state) if is_others or locked.holder is None else locked.holder
    return replace(
        locked, holder=holder, lock="" if is_others else locked.lock, network=_missing(state)
    )


def _owner(state: PlaceState) -> BoardHolder | None:
    return BoardHolder(0, f"place of {state.owner}", state.since) if state.owner else None


def _missing(state: PlaceState) -> NotReadable | None:
    return NotReadable(f"no exporter offers {state.missing}") if state.missing else None


def _of_lock(name: str, key: str) -> BoardStatus:
    process = locks.holder(key)
    holder = None if process is None else BoardHolder(process.pid, process.what, process.since)
    waiting = tuple(BoardHolder(who.pid, who.what, who.since) for who in locks.waiters(key))
    return BoardStatus(name, holder, _NOT_SWITCHED, None, key, waiting)
