"""What a trace holds, counted: the figures of ``benchvise trace info``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

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
class Summary:
    """What a trace holds. Times are nanoseconds of its clock."""

    path: str
    format: str
    byte_order: str
    clock: dict[str, Any]
    environment: dict[str, str]
    events: int
    first: int | None
    last: int | None
    streams: list[StreamCount]
    types: list[EventCount]
    """Those that occurred, most frequent first."""
    silent: int
    """Event types that are described and never occurred."""
    losses: list[dict[str, Any]]
    damage: list[dict[str, Any]]
    notes: list[str]
    """What the decoder, or how it was opened, has to say."""
    cached: int | None
    """Bytes that the cache takes; None when nothing is kept of this trace."""


def summarise(path: Path, *, use_cache: bool = True) -> Summary:
    """Counts what a trace holds: from the cache when there is one, else decoding times only.

    Raises:
        UsageError: there is no such trace, or no decoder.
        TraceError: it cannot be read.
    """
    opened = open_trace(path, use_cache=use_cache, counting=True)
    said = opened.description
    counts = opened.counts
    types = [
        EventCount(kind["name"], kind["system"], counts[kind["name"]], len(kind["fields"]))
        for kind in said["events"]
        if kind["name"] in counts
    ]
    return Summary(
        str(path),
        said["format"],
        said["byte_order"],
        said["clock"],
        said["environment"],
        opened.events,
        opened.span[0] if opened.span else None,
        opened.span[1] if opened.span else None,
        _streams(said["streams"], opened),
        sorted(types, key=lambda kind: (-kind.count, kind.name)),
        len(said["events"]) - len(types),
        opened.losses,
        opened.damage,
        [*opened.notes, *opened.remarks],
        opened.keeping.size if opened.keeping.reused else None,
    )


def _streams(described: list[dict[str, Any]], opened: OpenTrace) -> list[StreamCount]:
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
