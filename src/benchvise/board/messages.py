"""What the probe says, typed: its lines are decoded and bounded here and nowhere else.

``docs/probe-protocol.md`` describes the lines. ``read_message`` takes the bytes of one and returns
its message, or raises ValueError for what is not of the protocol; ``parse`` is the half of it that
knows JSON only. Keys of newer probes pass: of ``host``, ``begin`` and ``sample`` they are kept with
the rest, of the others they are ignored, and a line of a type not known here is an
``UnknownMessage``.

What a board tells of itself, of a process and of a batch has no fixed set of keys, as each
benchmark adds its own: that is a ``JsonObject``, read by ``benchvise.documents.number_at`` & co.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

from benchvise.documents import JsonObject, decode, text_at
from benchvise.text import Untrusted

T = TypeVar("T")

Line: TypeAlias = JsonObject

_ERROR_NAME = re.compile(r"[A-Z0-9]{1,20}|errno \d{1,10}")


@dataclass(frozen=True, slots=True)
class FileValue:
    """What a file of the board holds: text, or bytes where it is not UTF-8."""

    value: str | bytes
    truncated: bool = False

    @property
    def text(self) -> str:
        """The text; empty where it is none."""
        return self.value if isinstance(self.value, str) else ""


@dataclass(frozen=True, slots=True)
class FileError:
    """Why a file of the board could not be read: ``errno`` and its name (``ENOENT``)."""

    errno: int
    name: str


def content_text(content: FileValue | FileError | None) -> str:
    """The text of a file of the board; empty where it is none or could not be read."""
    return content.text if isinstance(content, FileValue) else ""


@dataclass(frozen=True, slots=True)
class FileWritten:
    """What became of a value written to a file of the board.

    ``now`` is what the file holds since, without the white space at its end; None when it cannot
    be read. ``error`` is the name of the errno with which the kernel refused the value, or empty.
    """

    now: str | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class ReadyMessage:
    """``serve`` takes requests."""

    protocol: int
    probe: str
    arch: str


@dataclass(frozen=True, slots=True)
class ListMessage:
    """The benchmarks of the probe and the parameters common to all, as it describes them."""

    benchmarks: tuple[JsonObject, ...]
    common: tuple[JsonObject, ...]
    cpus_allowed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class HostMessage:
    """The board, as the probe describes it."""

    host: JsonObject


@dataclass(frozen=True, slots=True)
class BeginMessage:
    """A process has calibrated: ``begin`` says with what it measures ``benchmark``."""

    benchmark: str
    begin: JsonObject


@dataclass(frozen=True, slots=True)
class SampleMessage:
    """A batch: its value, None where there is no number, and the evidence taken around it."""

    index: int
    value: float | None
    evidence: JsonObject


@dataclass(frozen=True, slots=True)
class EndMessage:
    """A process has measured all its batches."""

    batches: int


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """A request failed with an exit code; the text names the thing and the remedy."""

    exit: int
    message: Untrusted


@dataclass(frozen=True, slots=True)
class ValueMessage:
    """A file, or why it could not be read."""

    path: str
    content: FileValue | FileError


@dataclass(frozen=True, slots=True)
class LinkMessage:
    """A symbolic link and where it leads, or why it could not be read."""

    path: str
    target: str | FileError


@dataclass(frozen=True, slots=True)
class WriteMessage:
    """What became of a file that was to be written."""

    path: str
    written: FileWritten


@dataclass(frozen=True, slots=True)
class FactMessage:
    """What no file tells. ``subject`` tells facts of one name apart; the value is any JSON."""

    name: str
    subject: str
    value: object

    @property
    def reason(self) -> Untrusted:
        """Why there is no value; empty where there is one."""
        return Untrusted(text_at(self.value, "na") if isinstance(self.value, Mapping) else "")


@dataclass(frozen=True, slots=True)
class DoneMessage:
    """A request came to its end: with an exit code, or by a signal that killed its process."""

    request: int
    exit: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class ListeningMessage:
    """``sink`` listens on a port."""

    port: int


@dataclass(frozen=True, slots=True)
class EchoingMessage:
    """``echo`` sends back what comes."""


@dataclass(frozen=True, slots=True)
class CallMessage:
    """The system calls of one name about one ``target`` that a followed command made.

    ``ns`` are from entry to return, of all of them; ``longest_ns`` of the longest. ``errno`` is the
    error of most that failed, by its number on that board.
    """

    name: Untrusted
    target: Untrusted
    count: int
    errors: int
    ns: int
    longest_ns: int
    errno: int = 0


@dataclass(frozen=True, slots=True)
class ConfinementMessage:
    """What processes of a followed command may not do, once for all that are alike.

    ``values`` are of ``/proc/PID/status`` by their names there, and ``profile`` of a security
    module; ``program`` is the first that had these.
    """

    program: Untrusted
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProcessMessage:
    """What a process of a followed command was given, just before it ended.

    Of a variable that is not known to change programs ``environment`` says ``True``. ``limits`` are
    ``soft:hard``. ``mounts`` are those of its namespace, None where an earlier process of the same
    command has them.
    """

    program: Untrusted
    environment: JsonObject
    limits: Mapping[str, str]
    scheduling: JsonObject
    cgroups: tuple[str, ...]
    namespaces: Mapping[str, str]
    mapped: tuple[str, ...]
    mounts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class FollowedMessage:
    """A followed command came to its end: ``exit``, or ``time`` where it was ended.

    ``lost`` of its ``calls`` are in no sum. The rest is the kernel's account of the command.
    """

    ended: str
    status: int
    wall_ns: int
    calls: int
    lost: int
    tasks: int
    faults_minor: int
    faults_major: int
    blocks_read: int
    blocks_written: int


@dataclass(frozen=True, slots=True)
class UnknownMessage:
    """A line of a type that is not known here."""

    type: str


Message = (
    ReadyMessage
    | ListMessage
    | HostMessage
    | BeginMessage
    | SampleMessage
    | EndMessage
    | ErrorMessage
    | ValueMessage
    | LinkMessage
    | WriteMessage
    | FactMessage
    | DoneMessage
    | ListeningMessage
    | EchoingMessage
    | CallMessage
    | ProcessMessage
    | ConfinementMessage
    | FollowedMessage
    | UnknownMessage
)

SeriesMessage = HostMessage | BeginMessage | SampleMessage | EndMessage
"""What one process of a benchmark says."""


def read_message(raw: bytes) -> Message:
    """The message of a line; ValueError for what is not of the protocol."""
    return message_of(parse(raw))


def message_of(line: Line) -> Message:
    """The message of a line that is parsed already; ValueError when keys are missing or wrong."""
    kind = text_at(line, "type")
    reader = _READERS.get(kind)
    return UnknownMessage(kind) if reader is None else reader(line)


def first_of(kind: type[T], messages: Iterable[Message]) -> T | None:
    """The first message of a kind; None when there is none."""
    return next((message for message in messages if isinstance(message, kind)), None)


# -- the lines that are not read by their types alone ----------------------------------------------


@dataclass(frozen=True, slots=True)
class _BeginKeys:
    benchmark: str
    params: JsonObject
    caveats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _NotAvailableKeys:
    na: str


@dataclass(frozen=True, slots=True)
class _SampleKeys:
    index: int
    value: float | _NotAvailableKeys
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _FileKeys:
    path: str
    errno: int | None = None
    error: str = ""
    value: str | None = None
    hex: str | None = None
    truncated: bool = False
    target: str | None = None
    now: object = None


@dataclass(frozen=True, slots=True)
class _FactKeys:
    name: str
    subject: object = ""
    value: object = None


def _host(line: Line) -> HostMessage:
    return HostMessage(_without(line, "type"))


def _begin(line: Line) -> BeginMessage:
    keys = decode(_BeginKeys, line)
    return BeginMessage(keys.benchmark, _without(line, "type", "benchmark"))


def _sample(line: Line) -> SampleMessage:
    keys = decode(_SampleKeys, line)
    value = None if isinstance(keys.value, _NotAvailableKeys) else keys.value
    return SampleMessage(keys.index, value, _without(line, "type", "index", "value"))


def _value(line: Line) -> ValueMessage:
    keys = decode(_FileKeys, line)
    if keys.errno is not None:
        return ValueMessage(keys.path, FileError(keys.errno, _error_name(keys.error)))
    try:
        value = keys.value if keys.hex is None else bytes.fromhex(keys.hex)
    except ValueError:
        value = None
    if value is None:
        raise ValueError(f"an answer without a value for '{keys.path}'")
    return ValueMessage(keys.path, FileValue(value, keys.truncated))


def _link(line: Line) -> LinkMessage:
    keys = decode(_FileKeys, line)
    if keys.errno is not None:
        return LinkMessage(keys.path, FileError(keys.errno, _error_name(keys.error)))
    if keys.target is None:
        raise ValueError(f"an answer without a target for '{keys.path}'")
    return LinkMessage(keys.path, keys.target)


def _write(line: Line) -> WriteMessage:
    keys = decode(_FileKeys, line)
    now = keys.now if isinstance(keys.now, str) else None
    return WriteMessage(keys.path, FileWritten(now, _error_name(keys.error)))


def _fact(line: Line) -> FactMessage:
    keys = decode(_FactKeys, line)
    return FactMessage(keys.name, keys.subject if isinstance(keys.subject, str) else "", keys.value)


def _typed(kind: type[T]) -> Callable[[Line], T]:
    return partial(decode, kind)


_READERS: Mapping[str, Callable[[Line], Message]] = {
    "ready": _typed(ReadyMessage),
    "list": _typed(ListMessage),
    "host": _host,
    "begin": _begin,
    "sample": _sample,
    "end": _typed(EndMessage),
    "error": _typed(ErrorMessage),
    "value": _value,
    "link": _link,
    "write": _write,
    "fact": _fact,
    "done": _typed(DoneMessage),
    "listening": _typed(ListeningMessage),
    "echoing": _typed(EchoingMessage),
    "call": _typed(CallMessage),
    "process": _typed(ProcessMessage),
    "confinement": _typed(ConfinementMessage),
    "followed": _typed(FollowedMessage),
}


def _without(line: Line, *keys: str) -> JsonObject:
    return {key: value for key, value in line.items() if key not in keys}


def _error_name(text: str) -> str:
    """The name of an errno, which code compares and people read; else a question mark."""
    return text if not text or _ERROR_NAME.fullmatch(text) else "?"


# -- lines as objects, requests as lines -----------------------------------------------------------

LINE_LIMIT = 1 << 20
"""Bytes of a line; the longest that the probe writes is under half of that."""

REQUEST_LIMIT = 65535
"""Bytes of a request that the probe takes."""

_DIGITS = 20  # of the largest 64-bit integer: more are no number of the probe's


def parse(raw: bytes) -> Line:
    """The line as an object with a ``type``.

    Raises ValueError for everything else: no JSON, no UTF-8, numbers that are not finite or not
    in 64 bits, text that cannot be stored or printed, no type.
    """
    text = raw.decode("utf-8")
    try:
        line = _DECODER.decode(text)
        if "\\ud" in text.lower():
            json.dumps(line, ensure_ascii=False).encode()  # lone surrogates fail here
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(line, dict):
        raise ValueError("not an object")
    if not isinstance(line.get("type"), str):
        raise ValueError("no type")
    return line


def request(number: int, args: Sequence[str], inputs: Sequence[str]) -> bytes:
    """A request as a line. ValueError when the probe could not take it.

    Bytes of a path that are no UTF-8 go as they are (as ``os.fsdecode`` has them).
    """
    content: dict[str, object] = {"request": number, "args": list(args)}
    if inputs:
        content["input"] = list(inputs)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    line = text.encode("utf-8", "surrogateescape")
    if len(line) > REQUEST_LIMIT:
        raise ValueError(f"a request of {len(line)} bytes is too long")
    return line + b"\n"


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError("a number is too large")
    return int(digits)


# One for all lines: a snapshot has thousands.
_DECODER = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, parse_int=_integer
)
