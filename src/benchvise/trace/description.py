"""What the decoder says of a trace: the JSON that ``crates/tracefile/src/describe.rs`` writes."""

from __future__ import annotations

from typing import Literal, TypedDict


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
