"""What a client and the process that holds its board say to each other: typed lines of JSON.

    → {"id": 1, "request": "WriteCard", "arguments": {"image": "build/image.wic.bz2"}}
    ← {"id": 1, "flash": {"phase": "write", "done": 4194304, …}}
    ← {"id": 1, "ended": true, "result": {…}}   or   {"id": 1, "ended": true, "error": {…}}

One request at a time; events come before its end. The first line of a process has the id 0: it
holds the board, or says why it does not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self, TypeAlias

from benchvise.documents import decode, encode, in_json
from benchvise.errors import BenchviseError, UsageError
from benchvise.rig.boot.address import SshService
from benchvise.rig.boot.verdict import BootError, BootReport
from benchvise.rig.card.flash import FlashProgress, FlashResult
from benchvise.rig.card.image import ImageOrigin
from benchvise.rig.card.mux import MuxSide
from benchvise.rig.environment import NetworkService
from benchvise.rig.faults import Fault, FlashError, RigError


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """What a process is started for: a board of a rig file, held for a purpose that others see.

    Without a ``purpose`` it only reads the board's state, and takes no lock. A board that is in use
    is waited for, ``wait_s`` seconds at most; with ``number``, that of a ticket which the client
    has, it comes when that one does. With no ``name`` it keeps places of the rig's coordinator, for
    boards that need no process of their own.
    """

    rig: str
    name: str
    purpose: str
    wait_s: float = 0.0
    number: str = ""


# Requests, and what each is answered with


class PowerChange(StrEnum):
    """What is done to a board's power."""

    ON = "on"
    OFF = "off"
    CYCLE = "cycle"


@dataclass(frozen=True, slots=True)
class ReadStatus:
    """Power, card and holder; answered with BoardStatus. Changes nothing."""


@dataclass(frozen=True, slots=True)
class SwitchPower:
    """Switches on or off, or off and on again; answered with PowerState."""

    to: PowerChange


@dataclass(frozen=True, slots=True)
class TurnMux:
    """Turns the card to a side; answered with CardSide."""

    to: MuxSide


@dataclass(frozen=True, slots=True)
class WriteCard:
    """Writes the card, with the board off; answered with FlashedCard."""

    image: str


@dataclass(frozen=True, slots=True)
class BootBoard:
    """From off to a shell, with the console recorded in a directory; answered with BootedBoard."""

    directory: str


@dataclass(frozen=True, slots=True)
class OpenConsole:
    """Opens the console as it is, recorded in a file."""

    path: str


@dataclass(frozen=True, slots=True)
class WriteConsole:
    """Sends bytes (base64) to the console as they are."""

    data: str


@dataclass(frozen=True, slots=True)
class ReadConsole:
    """Answered with bytes (base64) as soon as there are any, with none after some seconds."""

    timeout: float


@dataclass(frozen=True, slots=True)
class FindAnalyser:
    """How the board's logic analyser is reached; answered with AnalyserCommand."""


@dataclass(frozen=True, slots=True)
class FindDebugger:
    """Where a GDB stub for the board's cores answers, as the rig file says, if it does."""


@dataclass(frozen=True, slots=True)
class SwitchOffAtEnd:
    """Whether the board is switched off when the client is gone."""

    off: bool


@dataclass(frozen=True, slots=True)
class Release:
    """Releases the board, switched off or as it is: the last request."""

    off: bool


@dataclass(frozen=True, slots=True)
class TakePlace:
    """Takes a place of the coordinator; answered with NetworkService. ``number`` as in an order."""

    place: str
    number: str = ""


@dataclass(frozen=True, slots=True)
class GivePlace:
    """Gives a place back that was taken."""

    place: str


@dataclass(frozen=True, slots=True)
class ListPlaces:
    """Answered with PlaceList; changes nothing."""


@dataclass(frozen=True, slots=True)
class ReservePlaces:
    """Reserves each of these places at the coordinator, or waits for it in the coordinator's queue;
    cancels the reservations of others. Answered with PlaceList: those that may be taken now."""

    places: tuple[str, ...]


Request: TypeAlias = (
    ReadStatus
    | SwitchPower
    | TurnMux
    | WriteCard
    | BootBoard
    | OpenConsole
    | WriteConsole
    | ReadConsole
    | FindAnalyser
    | FindDebugger
    | SwitchOffAtEnd
    | Release
    | TakePlace
    | GivePlace
    | ListPlaces
    | ReservePlaces
)
_REQUESTS: Mapping[str, type[Request]] = {kind.__name__: kind for kind in Request.__args__}


def request_line(number: int, request: Request) -> str:
    """A request as a line, with its newline."""
    message = {"id": number, "request": type(request).__name__, "arguments": encode(request)}
    return json.dumps(message) + "\n"


def parse_request(line: str) -> tuple[int, Request]:
    """The number and the request of a line. ValueError when it is none."""
    envelope = decode(_Envelope, json.loads(line))
    try:
        kind = _REQUESTS[envelope.request]
    except KeyError:
        raise ValueError(f"there is no request {envelope.request}") from None
    return envelope.id, decode(kind, envelope.arguments)


@dataclass(frozen=True, slots=True)
class _Envelope:
    id: int
    request: str
    arguments: Any


# Answers


@dataclass(frozen=True, slots=True)
class NotReadable:
    """In the place of a state that cannot be read: why not."""

    na: str


@dataclass(frozen=True, slots=True)
class BoardHolder:
    """Who holds a board, or waits for it: a process of this machine, or ``pid`` 0 for who has its
    place; ``since`` in seconds since 1970, where that is known. Of a place it is when that was
    changed last: it was taken then or before."""

    pid: int
    what: str
    since: float | None = field(default=None, metadata=in_json(omit_default=True))


@dataclass(frozen=True, slots=True)
class BoardStatus:
    """Power (on, off, unknown), the side that has the card (None without a mux), the holder.

    ``lock`` is the key of the board's lock; empty where its place is another user's. ``waiting``
    have their turn in that order. ``network`` is whether it answers to SSH (``answers``;
    ``accepts connections`` where no greeting came in time), where that was asked: of a board that
    nobody uses and that is reached over its network alone.
    """

    board: str
    holder: BoardHolder | None
    power: str | NotReadable
    mux: str | NotReadable | None
    lock: str = field(default="", metadata=in_json(omit_default=True))
    waiting: tuple[BoardHolder, ...] = ()
    network: str | NotReadable | None = field(default=None, metadata=in_json(omit_default=True))


@dataclass(frozen=True, slots=True)
class PowerState:
    """Whether the board has power: on, off, or unknown."""

    power: str


@dataclass(frozen=True, slots=True)
class CardSide:
    """The side that has the card: host, dut, off or unknown; None without a mux."""

    mux: str | None


@dataclass(frozen=True, slots=True)
class FlashedCard(FlashResult):
    """A card that was written, and from which image."""

    image: ImageOrigin


@dataclass(frozen=True, slots=True)
class BootedBoard:
    """A board that has come to its shell; ``address`` is None where it does not answer to SSH.

    ``host_keys`` are those that were read over the console, as ``TYPE BASE64``.
    """

    report: BootReport
    address: str | None = None
    port: int | None = field(default=None, metadata=in_json(omit_default=True))
    user: str | None = field(default=None, metadata=in_json(omit_default=True))
    host_keys: tuple[str, ...] | None = field(default=None, metadata=in_json(omit_default=True))

    @classmethod
    def of(cls, report: BootReport, service: SshService | None) -> Self:
        """From the report and the SSH server that answers, if one does."""
        if service is None:
            return cls(report)
        return cls(report, service.address, service.port, service.user, service.host_keys)


@dataclass(frozen=True, slots=True)
class AnalyserCommand:
    """What runs a program where the analyser is plugged in, and sigrok-cli with its device."""

    prefix: tuple[str, ...]
    sigrok_cli: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaceState:
    """A place of the coordinator: who has it (HOST/USER, empty where nobody), and where its board
    answers. ``ours``: this user may use it. ``is_reserved``: the coordinator keeps it for a
    reservation that is not this process's. ``missing`` is what belongs to the place and no exporter
    offers, as EXPORTER/GROUP/CLASS; empty where all of it is there. ``since``: it was taken then
    (seconds since 1970) or before; None where it is free."""

    place: str
    owner: str
    ours: bool
    service: NetworkService | None
    is_reserved: bool = False
    missing: str = ""
    since: float | None = None


@dataclass(frozen=True, slots=True)
class PlaceList:
    """Places that the coordinator has."""

    places: tuple[PlaceState, ...]


@dataclass(frozen=True, slots=True)
class PhaseReached:
    """A phase of the boot, in seconds since power on."""

    phase: str
    seconds: float


@dataclass(frozen=True, slots=True)
class BoardAwaited:
    """The board is in use, and waited for: by what, since when (seconds since 1970)."""

    what: str
    since: float


BoardEvent: TypeAlias = FlashProgress | PhaseReached | BoardAwaited
"""What comes before the answer to a request that takes long."""


@dataclass(frozen=True, slots=True)
class WorkerError:
    """An error of the process, to be raised in its client."""

    kind: str
    message: str
    remedy: str = ""
    fault: str = ""
    report: BootReport | None = None

    @classmethod
    def of(cls, error: BenchviseError) -> Self:
        """From the exception."""
        return cls(
            type(error).__name__,
            error.message,
            error.remedy,
            str(getattr(error, "fault", "")),
            error.report if isinstance(error, BootError) else None,
        )

    def exception(self) -> BenchviseError:
        """As an exception again."""
        fault = Fault(self.fault) if self.fault in list(Fault) else Fault.RIG_BROKEN
        match self.kind:
            case "UsageError":
                return UsageError(self.message, self.remedy)
            case "FlashError":
                return FlashError(fault, self.message, self.remedy)
            case "BootError":
                return BootError(fault, self.message, self.remedy, self.report)
            case "RigError":
                return RigError(fault, self.message, self.remedy)
        return BenchviseError(self.message, self.remedy)


@dataclass(frozen=True, slots=True)
class WorkerMessage:
    """One line of the process that holds a board: an event of a request, or its end."""

    id: int
    ended: bool = field(default=False, metadata=in_json(omit_default=True))
    result: Any = field(default=None, metadata=in_json(omit_default=True))
    error: WorkerError | None = field(default=None, metadata=in_json(omit_default=True))
    flash: FlashProgress | None = field(default=None, metadata=in_json(omit_default=True))
    phase: PhaseReached | None = field(default=None, metadata=in_json(omit_default=True))
    awaited: BoardAwaited | None = field(default=None, metadata=in_json(omit_default=True))

    @property
    def event(self) -> BoardEvent | None:
        """What has happened, where it is no end."""
        return self.flash or self.phase or self.awaited


@dataclass(frozen=True, slots=True)
class BoardActivity:
    """What takes a holder long, and how far it is: noted beside its lock for others to see.

    ``since`` is in seconds since 1970, ``phases`` are in seconds since power on. ``log`` is the key
    of the console's log (``console.recorder.logs_directory``) of a boot, empty of anything else.
    """

    op: str
    since: float
    board: str = ""
    log: str = field(default="", metadata=in_json(omit_default=True))
    flash: FlashProgress | None = field(default=None, metadata=in_json(omit_default=True))
    phases: Mapping[str, float] = field(default_factory=dict, metadata=in_json(omit_default=True))
