"""What a trace holds, counted: what ``benchvise trace info`` shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from benchvise.trace.description import (
    ClockDescription,
    DamagedPlace,
    LostEvents,
    StreamDescription,
)
from benchvise.trace.opening import OpenTrace, open_trace


@dataclass(frozen=True, slots=True)
class EventCount:
    """An event type, and how often it occurred."""

    name: str
    system: str
    count: int
    fields: int
    """Columns beside time and CPU."""


@dataclass(frozen=True, slots=True)
class StreamCount:
    """A stream of events. Times are nanoseconds of the trace's clock."""

    name: str
    cpu: int | None
    files: list[str]
    bytes: int
    events: int | None
    """None when its events cannot be told from those of other streams."""


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """What a trace holds. Times are nanoseconds of its clock."""

    path: str
    format: str
    byte_order: str
    clock: ClockDescription
    environment: dict[str, str]
    events: int
    first: int | None
    last: int | None
    streams: list[StreamCount]
    types: list[EventCount]
    """Those that occurred, most frequent first."""
    silent: int
    """Event types that are described and never occurred."""
    losses: list[LostEvents]
    damage: list[DamagedPlace]
    notes: list[str]
    """What the decoder, or how it was opened, has to say."""
    cached: int | None
    """Bytes that the cache takes; None when nothing is kept of this trace."""


def summarise(path: Path, *, use_cache: bool = True) -> TraceSummary:
    """Counts what a trace holds: from the cache when there is one, else decoding times only.

    Raises:
        UsageError: there is no such trace, or no decoder.
        TraceError: it cannot be read.
    """
    opened = open_trace(path, use_cache=use_cache, counting=True)
    description = opened.description
    counts = opened.counts
    types = [
        EventCount(kind["name"], kind["system"], counts[kind["name"]], len(kind["fields"]))
        for kind in description["events"]
        if kind["name"] in counts
    ]
    return TraceSummary(
        str(path),
        description["format"],
        description["byte_order"],
        description["clock"],
        description["environment"],
        opened.events,
        opened.span[0] if opened.span else None,
        opened.span[1] if opened.span else None,
        _streams(description["streams"], opened),
        sorted(types, key=lambda kind: (-kind.count, kind.name)),
        len(description["events"]) - len(types),
        opened.losses,
        opened.damage,
        [*opened.notes, *opened.remarks],
        opened.keeping.size if opened.keeping.reused else None,
    )


def _streams(described: list[StreamDescription], opened: OpenTrace) -> list[StreamCount]:
    by_cpu: Counter[int | None] = Counter()
    for name in opened.counts:
        for entry in pc.value_counts(opened.tables[name]["cpu"]).to_pylist():
            by_cpu[entry["values"]] += entry["counts"]
    streams_of = Counter(stream["cpu"] for stream in described)
    return [
        StreamCount(
            stream["name"],
            stream["cpu"],
            stream["files"],
            stream["bytes"],
            by_cpu[stream["cpu"]] if streams_of[stream["cpu"]] == 1 else None,
        )
        for stream in described
    ]
