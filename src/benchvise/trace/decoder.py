"""The extension module, its errors as this program's, and the types of what it tells of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypedDict

from benchvise.errors import TraceError, UsageError
from benchvise.quantities import size_or_none, spell_size
from benchvise.text import printable
from benchvise.user_directories import user_directory

if TYPE_CHECKING:
    from benchvise.trace import native


_LEAST_MEMORY = 256 << 20
"""Programs and libraries alone take a third of it."""

_REMEDIES = {
    "NotATrace": "a trace is a trace.dat, a perf.data, a directory with CTF metadata, ftrace's "
    "text, Chrome's JSON or Perfetto's protobuf",
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
    if path.is_dir() and (path / "clocks.json").exists():
        from benchvise.trace.recording_set import refuse_set

        refuse_set(path)
    with translated():
        trace: native.Trace = module.open(str(path))
        return trace


def bound_memory(text: str) -> None:
    """Keeps the memory of this process below about a size from now on: ``2G``, say.

    What the decoder allocates in large pieces lies in a file without a name, and leaves memory with
    the trace itself when there is too much of both.

    Raises:
        UsageError: it is no size, or too small, or there is no disk for the file.
    """
    size = size_or_none(text)
    if size is None or size < _LEAST_MEMORY:
        raise UsageError(
            f"--memory {printable(text, 40)} is no size from {spell_size(_LEAST_MEMORY)} on",
            "say 2G, say 512M",
        )
    place = user_directory("cache") / "traces"
    try:
        place.mkdir(parents=True, exist_ok=True)
        decoder().bound_memory(str(place), size)
    except OSError as error:
        raise UsageError(
            f"--memory needs a file in {place}: {error.strerror or error}",
            "set XDG_CACHE_HOME to a directory on a disk",
        ) from error


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
