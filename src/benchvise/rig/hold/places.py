"""Places of a labgrid coordinator: taken before a board is used, given back afterwards.

A place that is taken stays so when its taker dies; labgrid wants it so. Therefore a note is left on
this machine of what we have taken, and the next command of ours gives back what a killed one left.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchvise.rig import locks
from benchvise.rig.environment import NetworkService, network_service, read_config
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold.messages import PlaceState

_DEFAULT_ADDRESS = "127.0.0.1:20408"
_RESTART_SECONDS = 20.0

_met: set[str] = set()
"""Coordinators that have answered this process: one that does not any more is started anew."""
_whole: set[tuple[str, str]] = set()
"""Places, by coordinator and name, that have had all that belongs to them."""
_away_since: dict[str, float] = {}
"""When a coordinator did not answer for the first time since it did."""
_held: dict[str, dict[str, Path]] = {}
"""What this process has taken: notes by coordinator and place."""


@dataclass(frozen=True, slots=True)
class PlaceOwner:
    """Who has a place, as HOST/USER; ``ours`` if labgrid lets this user on this host use it.

    ``since``: when the place changed last, in seconds since 1970, as the coordinator's clock has
    it. It was taken then or, where its user has changed it since, before.
    """

    name: str
    ours: bool
    since: float | None = field(default=None, compare=False)


def taker(rig: Path, place: str) -> PlaceOwner | None:
    """Who has the place; None when it is free. RigError when the coordinator does not know it."""
    session = _session(_address(rig))
    return _taker(session, _place(session, place))


def lock_key(rig: Path, place: str) -> str:
    """Names the place's lock, among the commands of this machine."""
    return f"place {place} at {_address(rig)}"


class Reservations:
    """Reservations at a rig's coordinator, each for one place, until they are cancelled.

    The coordinator gives a place that is free to the oldest reservation that it fits, also one of
    ``labgrid-client reserve``, and forgets those that nobody asks for within a minute.
    """

    def __init__(self, rig: Path) -> None:
        self._rig = rig
        self._tokens: dict[str, str] = {}

    @property
    def tokens(self) -> frozenset[str]:
        """What the coordinator calls them."""
        return frozenset(self._tokens.values())

    def want(self, places: Sequence[str]) -> list[str]:
        """Keeps reservations for these places alone; which of them may be taken now."""
        from labgrid.remote.generated import labgrid_coordinator_pb2 as pb2

        session = _session(_address(self._rig))
        for place in [place for place in self._tokens if place not in places]:
            with contextlib.suppress(RigError):
                token = self._tokens.pop(place)
                _run(session, session.stub.CancelReservation(
                    pb2.CancelReservationRequest(token=token)))  # fmt: skip
        allocated = []
        for place in places:
            if place in self._tokens:
                request = pb2.PollReservationRequest(token=self._tokens[place])
                try:
                    reservation = _run(session, session.stub.PollReservation(request)).reservation
                except RigError:  # it is forgotten: the coordinator was started anew
                    del self._tokens[place]
            if place not in self._tokens:
                request = pb2.CreateReservationRequest(prio=0.0)
                request.filters["main"].filter["name"] = _place(session, place).name
                reservation = _run(session, session.stub.CreateReservation(request)).reservation
                self._tokens[place] = reservation.token
            if reservation.allocations:
                allocated.append(place)
        return allocated


def states(rig: Path, reservations: frozenset[str] = frozenset()) -> list[PlaceState]:
    """All places of the coordinator, read at once; nothing is taken. ``reservations`` are those of
    this process.
    """
    session = _session(_address(rig))
    listed = []
    offers = _Offers(session)
    for name, entry in session.places.items():
        owner = _taker(session, entry)
        listed.append(
            PlaceState(
                name,
                "" if owner is None else owner.name,
                owner is not None and owner.ours,
                offers.service(entry),
                bool(entry.reservation) and entry.reservation not in reservations,
                offers.missing(entry),
                None if owner is None else owner.since,
            )
        )
    return listed


def service_at(rig: Path, place: str) -> NetworkService:
    """Where the board of a place answers; RigError where none of its resources says so."""
    session = _session(_address(rig))
    service = _Offers(session).service(_place(session, place))
    if service is None:
        raise RigError(
            Fault.RIG_BROKEN,
            f"the place {place} has no NetworkService",
            "export one with the board's address, or give the board a console and a strategy",
        )
    return service


class _Offers:
    """What exporters offer, by exporter and group, as most places name theirs: so each of many
    places is held against its own, and not against those of all.

    Of what an exporter that has gone did offer, labgrid's session keeps an entry without data.
    """

    def __init__(self, session: Any) -> None:
        self._groups = {
            (exporter, group): [
                ((exporter, group, resource.cls, name), resource)
                for name, resource in resources.items()
                if "cls" in resource.data
            ]
            for exporter, groups in session.resources.items()
            for group, resources in groups.items()
        }

    def service(self, entry: Any) -> NetworkService | None:
        """Where the board of a place answers, by the first that says it."""
        return next(
            (
                network_service(resource.args)
                for match in entry.matches
                for path, resource in self._near(match)
                if resource.cls == "NetworkService" and match.ismatch(path)
            ),
            None,
        )

    def missing(self, entry: Any) -> str:
        """What belongs to a place and is not offered; empty where all is."""
        return next(
            (
                repr(match)
                for match in entry.matches
                if not any(match.ismatch(path) for path, _ in self._near(match))
            ),
            "",
        )

    def _near(self, match: Any) -> Iterator[tuple[tuple[str, str, str, str], Any]]:
        """What can belong to a match, which may be a pattern."""
        if any(sign in match.exporter + match.group for sign in "*?["):
            return (offer for group in self._groups.values() for offer in group)
        return iter(self._groups.get((match.exporter, match.group), ()))


@contextmanager
def acquired(rig: Path, place: str, what: str, number: str = "") -> Iterator[None]:
    """The place is ours within this context; one that its user had taken before stays his.

    ``what`` is shown to other commands that want it meanwhile; ``number`` as in ``locks.held``.
    RigError (board-busy) when somebody else has it, rig-broken when the coordinator, the place or
    its exporter is not there.
    """
    address = _address(rig)
    # Also among our own commands: labgrid lets all of one user share a place.
    key = lock_key(rig, place)
    with locks.held(key, what, name=f"the place {place}", number=number):
        note = _note(address, place)
        ours = _take(address, place, note)
        try:
            yield
        finally:
            if ours:
                _give_back(address, place, note)


def take_again(rig: Path) -> None:
    """Takes what this process has taken, and a coordinator that was started anew has forgotten.

    It keeps its places over a restart, but not who has them. RigError where it does not answer, or
    where somebody else was faster.
    """
    address = _address(rig)
    held = _held.get(address)
    if not held:
        return
    session = _session(address)
    if getattr(session, "benchvise_kept", False):
        return
    for place, note in held.items():
        entry = _place(session, place)
        if not entry.acquired:
            _acquire(address, session, entry)
            _write(note, entry.changed)
    session.benchvise_kept = True


def _take(address: str, place: str, note: Path) -> bool:
    """Takes the place; False when its user had taken it by hand before, and gives it back."""
    session = _session(address)
    _note_whole(address, session)
    entry = _place(session, place)
    has = _taker(session, entry)
    if has is not None:
        if not has.ours:
            raise _busy(entry.name, has.name)
        return _left_behind(note, entry.changed)
    _write(note, None)
    try:
        _acquire(address, session, entry)
    except RigError:
        note.unlink(missing_ok=True)
        raise
    _write(note, entry.changed)
    _held.setdefault(address, {})[place] = note
    return True


def _give_back(address: str, place: str, note: Path) -> None:
    """Gives the place back, also to a coordinator that is just started anew; where that fails,
    `labgrid-client who` shows that it is still taken.

    The wait is for the coordinator: of many places that are given back, the first has it.
    """
    _held.get(address, {}).pop(place, None)
    while True:
        try:
            session = _session(address)
            _release(session, _place(session, place))
        except RigError as error:
            since = _away_since.get(address)
            is_gone = since is None or time.monotonic() > since + _RESTART_SECONDS
            if error.fault is not Fault.COORDINATOR_AWAY or is_gone:
                return
            time.sleep(1.0)
        else:
            note.unlink(missing_ok=True)
            return


def _release(session: Any, entry: Any) -> None:
    from labgrid.remote.generated.labgrid_coordinator_pb2 import ReleasePlaceRequest

    request = ReleasePlaceRequest(placename=entry.name, fromuser=_me(session))
    _run(session, session.stub.ReleasePlace(request))


def _note_whole(address: str, session: Any) -> None:
    """Notes which places have all that belongs to them, once for each session."""
    if getattr(session, "benchvise_noted", False):
        return
    session.benchvise_noted = True
    offers = _Offers(session)
    _whole.update(
        (address, entry.name) for entry in session.places.values() if not offers.missing(entry)
    )


def _acquire(address: str, session: Any, entry: Any) -> None:
    from labgrid.remote.generated.labgrid_coordinator_pb2 import AcquirePlaceRequest

    # Not the session's own check_matches, which stumbles over what an exporter has taken away.
    missing = _Offers(session).missing(entry)
    if missing:
        raise RigError(
            Fault.COORDINATOR_AWAY if (address, entry.name) in _whole else Fault.RIG_BROKEN,
            f"the place {entry.name} lacks what belongs to it (no exporter offers {missing})",
            "see whether its exporter runs: labgrid-client resources",
        )
    _run(session, session.stub.AcquirePlace(AcquirePlaceRequest(placename=entry.name)), entry.name)
    _run(session, session.sync_with_coordinator())


def _session(address: str) -> Any:
    """Connected with the coordinator, and synchronised with the state of its places.

    It is the session that RemotePlace uses: the coordinator knows its clients by their connection,
    which gRPC shares within a process, and refuses a second session on it.
    """
    import asyncio

    import labgrid.remote.client as labgrid_client
    from labgrid.resource.remote import RemotePlaceManager

    manager = RemotePlaceManager.get()
    if manager.session is not None and manager.url == address and _synchronised(manager.session):
        return manager.session
    manager.session, manager.url, manager.env = None, address, None
    # gRPC takes the thread's event loop, which any asyncio.run of this program has taken away
    asyncio.set_event_loop(labgrid_client.ensure_event_loop())
    try:
        manager._start()
    except (labgrid_client.Error, OSError) as error:
        _away_since.setdefault(address, time.monotonic())
        raise RigError(
            Fault.COORDINATOR_AWAY if address in _met else Fault.RIG_BROKEN,
            f"the coordinator at {address} does not answer",
            "start labgrid-coordinator there, or correct coordinator_address in the rig file",
        ) from error
    _met.add(address)
    _away_since.pop(address, None)
    return manager.session


def _synchronised(session: Any) -> bool:
    return not session.stopping.is_set() and bool(_run(session, session.sync_with_coordinator()))


def _run(session: Any, coroutine: Any, place: str = "") -> Any:
    """Lets the session do it; what the coordinator refuses becomes a RigError."""
    from grpc import RpcError, StatusCode

    async def awaited() -> Any:
        return await coroutine

    try:
        return session.loop.run_until_complete(awaited())
    except RpcError as error:
        reason = str(error.details() or error.code())
        if error.code() is StatusCode.PERMISSION_DENIED or "already" in reason:
            raise _busy(place, reason) from error
        is_away = error.code() in (StatusCode.UNAVAILABLE, StatusCode.CANCELLED)
        raise RigError(
            Fault.COORDINATOR_AWAY if is_away else Fault.RIG_BROKEN,
            f"the coordinator refuses ({reason})",
            "see `labgrid-client places` and whether the exporter runs",
        ) from error


def _place(session: Any, place: str) -> Any:
    """The place of that name, as labgrid's own RemotePlace would find it."""
    from labgrid.remote.client import Error

    try:
        return session.get_place(place)
    except Error as error:
        there = ", ".join(sorted(session.places)) or "none"
        raise RigError(
            Fault.RIG_BROKEN,
            f"the coordinator has no place '{place}'",
            f"its places: {there}; make it: labgrid-client -p {place} create",
        ) from error


def _taker(session: Any, entry: Any) -> PlaceOwner | None:
    if not entry.acquired:
        return None
    me = _me(session)
    ours = entry.acquired == me or me in entry.allowed
    return PlaceOwner(str(entry.acquired), ours, float(entry.changed))


def _me(session: Any) -> str:
    return f"{session.gethostname()}/{session.getuser()}"


def _busy(place: str, who: str) -> RigError:
    return RigError(
        Fault.BUSY,
        f"the place {place} is in use ({who})",
        "wait, or ask its user: labgrid-client who",
    )


def _address(rig: Path) -> str:
    """As labgrid's own RemotePlace chooses it."""
    return _address_in(rig, rig.stat().st_mtime_ns, os.environ.get("LG_COORDINATOR", ""))


@lru_cache
def _address_in(rig: Path, _changed: int, otherwise: str) -> str:
    """Read once: that of a large lab takes its time."""
    return str(read_config(rig).get_option("coordinator_address", otherwise or _DEFAULT_ADDRESS))


def _note(address: str, place: str) -> Path:
    key = hashlib.sha256(f"{address} {place}".encode()).hexdigest()[:12]
    return locks.directory() / f"place-{os.getuid()}-{key}.json"


def _write(note: Path, changed: float | None) -> None:
    """Notes that we take the place; ``changed`` is when the coordinator says that we did."""
    note.write_text(json.dumps({"changed": changed}))


def _left_behind(note: Path, changed: float) -> bool:
    """Whether a command of ours that was killed has taken it, and not the user by hand since.

    One that was killed between asking and being answered has noted no time.
    """
    try:
        noted = json.loads(note.read_text())["changed"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return noted is None or noted == changed
