"""Opening a trace: from the cache when that holds, else decoded, and kept for the next time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchvise.errors import TraceError
from benchvise.trace import cache
from benchvise.trace.decoder import decoder, open_native, translated
from benchvise.trace.signature import Stat, signature

_INDEX = "index"
_EVENT = "event:"
"""Stands before the names of event tables in the cache, so that an event may be named `index`."""

_NO_INDEX = pa.schema(
    [("time", pa.int64()), ("cpu", pa.uint16()), ("event", pa.uint16()), ("row", pa.uint32())]
).empty_table()


@dataclass(slots=True)
class Keeping:
    """Whether the cache was used, and what it takes."""

    wanted: bool
    reused: bool = False
    """Whether the events came from it."""
    size: int = 0
    """Bytes that it takes, of the parts that were touched."""
    directory: Path | None = None
    """Where they are."""
    refused: str = ""
    """Why it could not be written, when it could not."""
    later: list[Callable[[], bool]] | None = None
    """What is still to be written, for programs that answer first; else it is written at once."""

    def take(self, part: cache.Part) -> None:
        """Counts a part that is there."""
        self.size += part.size
        self.directory = part.directory.parent


@dataclass
class OpenTrace:
    """A trace with all its events. Times are nanoseconds of its clock."""

    path: Path
    description_text: str
    """What ``native.Trace.info`` said, JSON."""
    tables: Mapping[str, pa.Table]
    """By event name: ``time``, ``cpu``, fields. Also of events that never occurred."""
    counts: Mapping[str, int]
    """How often each event occurred, without those that never did."""
    index: pa.Table
    """All events in order of time: ``time``, ``cpu``, ``event`` (place in the description),
    ``row`` (of its table)."""
    losses: list[dict[str, Any]]
    damage: list[dict[str, Any]]
    notes: list[str]
    """What the decoder has to say: repaired faults of producers, guesses that were made."""
    events: int
    span: tuple[int, int] | None
    """Times of the first and the last event."""
    keeping: Keeping
    remarks: list[str] = field(default_factory=list)
    """What a reader must know of how it was opened."""
    _part: cache.Part | None = None
    """Where in the cache it came from."""

    @cached_property
    def description(self) -> dict[str, Any]:
        """Format, clock, environment, streams, event types with their fields."""
        said: dict[str, Any] = json.loads(self.description_text)
        return said

    @cached_property
    def analysis(self) -> Mapping[str, pa.Table]:
        """Actors, their instances, fragments and waits, system calls, ...: crates/traceanalysis."""
        return self.derived("analysis", self._analysed)

    @property
    def content(self) -> str:
        """A hash of what the trace holds; empty when nothing is kept of it."""
        return "" if self._part is None else self._part.content

    def derived(
        self, part: str, make: Callable[[], Mapping[str, pa.Table]]
    ) -> Mapping[str, pa.Table]:
        """Tables that follow from the events: what is kept of them, else made and kept."""
        if self._part is not None:
            kept = cache.load(self.path, part)
            if kept is not None and kept.content == self._part.content:
                self.keeping.take(kept)
                return kept.tables
        tables = make()
        if self._part is not None:
            later = self.keeping.later
            if later is None:
                self._keep(part, tables)
            else:
                later.append(lambda: self._keep(part, tables))
        return tables

    def keep(self) -> bool:
        """Keeps what was put off; whether there was something, and all of it is kept now."""
        later, self.keeping.later = self.keeping.later, None
        kept = [store() for store in later or ()]
        return bool(kept) and all(kept)

    def _keep(self, part: str, tables: Mapping[str, pa.Table]) -> bool:
        assert self._part is not None  # noqa: S101 - derived() has looked
        try:
            kept = cache.store(self.path, part, tables, {}, self._part.stats, self._part.content)
        except cache.NotCached as error:
            self.remarks.append(f"the {part} is not kept for the next time: {error}")
            return False
        self.keeping.take(kept)
        return True

    def _analysed(self) -> Mapping[str, pa.Table]:
        tables: dict[str, pa.Table] = decoder().analyse(
            self.description_text,
            {name: self.tables[name] for name in self.counts},
            self.index,
            self.losses,
            self.span,
            open_native(self.path),
        )
        return tables


def open_trace(path: Path, *, use_cache: bool = True, counting: bool = False) -> OpenTrace:
    """Opens a trace and decodes all its events, or maps what is kept of it.

    For ``counting`` alone, what is not kept is decoded without fields, has an empty index, and is
    not kept either.

    Raises:
        UsageError: there is no such trace, or no decoder.
        TraceError: it cannot be read.
    """
    path = path.resolve()  # the cache stands beside the file itself, not beside a link to it
    if use_cache and (kept := cache.load(path, "decoded")) is not None:
        return _from_part(path, kept)
    trace = open_native(path)
    stats = _signature(path)
    text = trace.info()
    names = [kind["name"] for kind in json.loads(text)["events"]] if counting else []
    with translated():
        decoded = trace.decode(dict.fromkeys(names, ()) if counting else None, not counting)
    opened = OpenTrace(
        path,
        text,
        decoded.tables,
        {name: table.num_rows for name, table in decoded.tables.items() if table.num_rows},
        _NO_INDEX if decoded.index is None else decoded.index,
        [dict(loss) for loss in decoded.losses],
        [dict(place) for place in decoded.damage],
        decoded.notes,
        decoded.events,
        decoded.span,
        Keeping(use_cache),
    )
    if _signature(path) != stats:
        opened.remarks.append("the trace is being written to: this is what it held when opened")
    elif use_cache and not counting:
        opened = _kept(opened, stats)
    return opened


def _kept(opened: OpenTrace, stats: list[Stat]) -> OpenTrace:
    """The same from the cache, which frees the heap; as it is when it cannot be kept."""
    tables = {_INDEX: opened.index}
    tables |= {_EVENT + name: table for name, table in opened.tables.items()}
    facts = {
        "description": opened.description_text,
        "counts": opened.counts,
        "losses": opened.losses,
        "damage": opened.damage,
        "notes": opened.notes,
        "events": opened.events,
        "span": opened.span,
    }
    try:
        part = cache.store(opened.path, "decoded", tables, facts, stats)
    except cache.NotCached as error:
        opened.keeping.refused = str(error)
        opened.remarks.append(f"nothing is kept for the next time: {error}")
        return opened
    again = _from_part(opened.path, part)
    again.keeping.reused = False
    return again


class _Events(Mapping[str, pa.Table]):
    """The event tables of a part by their own names."""

    def __init__(self, kept: Mapping[str, pa.Table]) -> None:
        self._kept = kept

    def __getitem__(self, name: str) -> pa.Table:
        return self._kept[_EVENT + name]

    def __iter__(self) -> Iterator[str]:
        return (n.removeprefix(_EVENT) for n in self._kept if n.startswith(_EVENT))

    def __len__(self) -> int:
        return len(self._kept) - 1


def _from_part(path: Path, part: cache.Part) -> OpenTrace:
    facts = part.facts
    keeping = Keeping(wanted=True, reused=True)
    keeping.take(part)
    span = facts["span"]
    return OpenTrace(
        path,
        facts["description"],
        _Events(part.tables),
        facts["counts"],
        part.tables[_INDEX],
        facts["losses"],
        facts["damage"],
        facts["notes"],
        facts["events"],
        (span[0], span[1]) if span else None,
        keeping,
        _part=part,
    )


def _signature(path: Path) -> list[Stat]:
    try:
        return signature(path)
    except OSError as error:
        raise TraceError(f"{error.filename}: {error.strerror}") from error
