"""The extension module, its errors as this program's, and the types of what it tells of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypedDict

from benchvise.errors import TraceError, UsageError

if TYPE_CHECKING:
    from benchvise.trace import native


_REMEDIES = {
    "NotATrace": "it takes a trace.dat, a perf.data, a directory with CTF metadata, ftrace's text, "
    "Chrome's JSON, Perfetto",
    "Unreadable": "check the path and its permissions",
    "Unsupported": "the recording tool may be able to write it in another way",
    "Damaged": "its head or metadata is beyond use; copy it again from where it was recorded",
    "TooMuch": "",
}


def decoder() -> ModuleType:
    """The extension module.

    Raises:
        UsageError: it is not built, or for another Python.
    """
    try:
        from benchvise.trace import native
    except ImportError as error:
        built = any(Path(__file__).parent.glob("native.*.so"))
        raise UsageError(
            f"the trace decoder cannot be loaded ({error})"
            if built
            else "the trace decoder is not built",
            "make install builds it; it needs Rust",
        ) from error
    return native


def open_native(path: Path) -> native.Trace:
    """Opens a trace; see ``native.open``.

    Raises:
        UsageError: there is no decoder, or no such trace.
        TraceError: the trace cannot be read.
    """
    module = decoder()
    with translated():
        trace: native.Trace = module.open(str(path))
        return trace


@contextmanager
def translated() -> Iterator[None]:
    """Turns the decoder's exceptions into this program's."""
    module = decoder()
    try:
        yield
    except module.TraceError as error:
        kind = type(error).__name__
        raised = UsageError if kind in ("NotATrace", "Unreadable", "UnknownName") else TraceError
        raise raised(str(error), _REMEDIES.get(kind, "")) from error


# -- the JSON that crates/tracefile/src/describe.rs writes -----------------------------------------
class ClockDescription(TypedDict):
    """A trace's clock; ``epoch_offset_ns`` is None where nobody knows when it began."""

    name: str | None
    frequency_hz: int
    epoch_offset_ns: int | None
    uuid: str | None


class StreamDescription(TypedDict):
    """A stream of events, and the files that hold it."""

    name: str
    cpu: int | None
    files: list[str]
    bytes: int


class FieldDescription(TypedDict):
    """A field of an event type."""

    name: str
    type: str


class EventDescription(TypedDict):
    """An event type."""

    name: str
    system: str
    fields: list[FieldDescription]


class TraceDescription(TypedDict):
    """All that is known of a trace without decoding its events."""

    format: str
    byte_order: str
    environment: dict[str, str]
    clock: ClockDescription
    streams: list[StreamDescription]
    events: list[EventDescription]
    tasks: list[tuple[int, str]]


class TraceOutline(TypedDict):
    """The same without what is large in it: CPUs of the streams, names of the event types."""

    format: str
    environment: dict[str, str]
    clock: ClockDescription
    streams: list[int | None]
    events: list[str]


class LostEvents(TypedDict):
    """Events that are missing from a stream in a span of time; None where it is not known."""

    stream: int
    kind: Literal["events", "packets"]
    begin: int | None
    end: int | None
    count: int | None


class DamagedPlace(TypedDict):
    """A place of a file that could not be decoded."""

    file: str
    offset: int
    stream: int | None
    what: str
