"""What a trace holds, counted: what ``benchvise trace info`` shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchvise.trace.decoder import open_native, translated
from benchvise.trace.manifest import kept_facts, signature_now

if TYPE_CHECKING:
    from benchvise.trace.decoder import (
        ClockDescription,
        StreamDescription,
        TraceDescription,
    )
    from benchvise.trace.native import DamagedPlace, LostEvents, Table

DECODED = "decoded"
"""The part of the cache that holds a trace's events, and their summary."""

BEING_WRITTEN = "the trace is being written to: this is what it held when opened"


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


def count(
    described: TraceDescription, by_cpu: Mapping[int | None, int], facts: Mapping[str, Any]
) -> TraceSummary:
    """The summary of a trace: its description, its events by CPU, and what the decoder says."""
    counts: Mapping[str, int] = facts["counts"]
    types = [
        EventCount(kind["name"], kind["system"], counts[kind["name"]], len(kind["fields"]))
        for kind in described["events"]
        if kind["name"] in counts
    ]
    first, last = facts["span"] or (None, None)
    return TraceSummary(
        "",
        described["format"],
        described["byte_order"],
        described["clock"],
        described["environment"],
        facts["events"],
        first,
        last,
        _streams(described["streams"], by_cpu),
        sorted(types, key=lambda kind: (-kind.count, kind.name)),
        len(described["events"]) - len(types),
        facts["losses"],
        facts["damage"],
        facts["notes"],
        None,
    )


def _streams(
    described: list[StreamDescription], by_cpu: Mapping[int | None, int]
) -> list[StreamCount]:
    streams_of = Counter(stream["cpu"] for stream in described)
    return [
        StreamCount(
            stream["name"],
            stream["cpu"],
            stream["files"],
            stream["bytes"],
            by_cpu.get(stream["cpu"], 0) if streams_of[stream["cpu"]] == 1 else None,
        )
        for stream in described
    ]


def events_by_cpu(counts: Mapping[str, int], tables: Mapping[str, Table]) -> dict[int | None, int]:
    """How many events of the types that occurred are of each CPU; None: it is not known."""
    by_cpu: Counter[int | None] = Counter()
    for name in counts:
        by_cpu.update(tables[name]["cpu"].counts())
    return by_cpu


def counted_summary(path: Path) -> TraceSummary:
    """Counts what a trace holds, in memory that does not grow with it; nothing is kept.

    Raises:
        UsageError: there is no such trace, or no decoder.
        TraceError: it cannot be read.
    """
    trace = open_native(path)
    stats = signature_now(path)
    with translated():
        counted = trace.count()
    facts = {
        name: getattr(counted, name)
        for name in ("counts", "losses", "damage", "notes", "events", "span")
    }
    summary = count(json.loads(trace.info()), counted.cpus, facts)
    if signature_now(path) == stats:
        return summary
    return replace(summary, notes=[*summary.notes, BEING_WRITTEN])


def kept_summary(trace: Path) -> TraceSummary | None:
    """The summary that is kept with a decoded trace; None where nothing is kept that holds."""
    kept = kept_facts(trace, DECODED)
    if kept is None:
        return None
    fields = dict(kept.facts["summary"])
    fields["streams"] = [StreamCount(**stream) for stream in fields["streams"]]
    fields["types"] = [EventCount(**kind) for kind in fields["types"]]
    return TraceSummary(**{**fields, "cached": kept.size})
