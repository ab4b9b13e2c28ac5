"""Opening a trace: from the cache when that holds, else decoded, and kept for the next time.

The analysis tables are made part by part when they are first read: a timeline needs no system
calls, which are most of the events of many traces.

Who asks one question and goes opens a trace ``open_on_demand``: of what is not kept, just those
events and fields are decoded that the question needs, and nothing is kept.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from benchvise.trace import cache
from benchvise.trace.decoder import (
    TraceDescription,
    TraceOutline,
    decoder,
    open_native,
    translated,
)
from benchvise.trace.manifest import Stat, signature_now
from benchvise.trace.summary import BEING_WRITTEN, DECODED, TraceSummary, count, events_by_cpu

if TYPE_CHECKING:
    from benchvise.trace import native
    from benchvise.trace.native import DamagedPlace, LostEvents, Table


AnalysisPart: TypeAlias = Literal["scheduling", "syscalls", "devices"]
"""Analysis tables that are made together."""

_INDEX = "index"
_DESCRIPTION = "description"
_EVENT = "event:"
"""Stands before the names of event tables in the cache, so that an event may be named `index`."""


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

    def take(self, part: cache.CachedPart) -> None:
        """Counts a part that is there."""
        self.size += part.size
        self.directory = part.directory.parent


@dataclass
class OpenTrace:
    """A trace with all its events. Times are nanoseconds of its clock."""

    path: Path
    outline: TraceOutline
    """The description without what is large in it: format, clock, environment, CPUs of streams,
    names of event types."""
    tables: Mapping[str, Table]
    """By event name: ``time``, ``cpu``, fields. Also of events that never occurred."""
    counts: Mapping[str, int]
    """How often each event occurred, without those that never did."""
    losses: list[LostEvents]
    damage: list[DamagedPlace]
    notes: list[str]
    """What the decoder has to say: repaired faults of producers, guesses that were made."""
    events: int
    span: tuple[int, int] | None
    """Times of the first and the last event."""
    keeping: Keeping
    remarks: list[str] = field(default_factory=list)
    """What a reader must know of how it was opened."""
    _part: cache.CachedPart | None = None
    """Where in the cache it came from."""
    _stats: list[Stat] = field(default_factory=list)
    """What the file system said of its files when it was decoded, if it was."""
    _source: native.Trace | None = None
    """It as the decoder has it open, when that has decoded it."""
    _decoded: native.Decoded | None = None
    """All its events, when they were decoded."""
    _for_scheduling: native.Decoded | None = None
    """Of a trace that is decoded on demand: what has been, for the analyses of scheduling."""
    _for_usage: native.Decoded | None = None
    """The same where only its sums are asked for."""

    @cached_property
    def index(self) -> Table:
        """All events in order of time: ``time``, ``cpu``, ``event`` (place in the description),
        ``row`` (of its table)."""
        if self._part is not None:
            return self._part.tables[_INDEX]
        if self._decoded is not None:
            return self._decoded.index
        with translated():
            return self.source.decode(dict.fromkeys(self.outline["events"], ())).index

    def occurred(self, name: str) -> Table | None:
        """The table of an event type; None for one that never occurred."""
        return self.tables[name] if name in self.counts else None

    @cached_property
    def source(self) -> native.Trace:
        """The trace as the decoder has it open."""
        return self._source or open_native(self.path)

    def decoded_for(self, part: AnalysisPart) -> native.Decoded:
        """Its events as the decoder has them, with what a part of the analyses reads of them."""
        if self._part is not None or self._decoded is not None:
            return self.decoded(decoder().ANALYSED_COLUMNS)
        if part == "scheduling" and self._for_scheduling is not None:
            decoded, self._for_scheduling = self._for_scheduling, None  # its memory goes with it
            return decoded
        with translated():
            return self.source.decode_for(part)

    def usage(self) -> Mapping[str, Table] | None:
        """``actors``, and what each had of each CPU, of events that were decoded for one question.

        None where they were not, or were taken for their tables; or the trace is one of those whose
        sums need these.
        """
        decoded, self._for_usage = self._for_usage or self._for_scheduling, None
        usage = None if decoded is None else decoded.usage()
        if usage is not None:
            self._for_scheduling = None  # its memory goes with it
        return usage

    def decoded(self, columns: Collection[str] | None = None) -> native.Decoded:
        """Its events as the decoder has them; at least those columns, where they are named."""
        if self._decoded is not None:
            return self._decoded
        if self._part is None:
            with translated():
                return self.source.decode()
        # Not those types that never occurred: there are thousands, and each would be mapped.
        tables = {name: self.tables[name] for name in self.counts}
        if columns is not None:
            for name, table in tables.items():
                tables[name] = table.select(
                    [column for column in table.column_names if column in columns]
                )
        decoded: native.Decoded = decoder().Decoded.kept(
            self.source, tables, self.index, self.losses, self.span
        )
        return decoded

    @cached_property
    def description(self) -> TraceDescription:
        """Format, clock, environment, streams, event types with their fields."""
        description: TraceDescription = json.loads(self._description_text)
        return description

    @property
    def _description_text(self) -> str:
        if self._part is not None:
            return str(self._part.tables[_DESCRIPTION]["text"][0])
        return self.source.info()

    @cached_property
    def analysis(self) -> AnalysisTables:
        """Actors, their instances, fragments and waits, system calls, ...: made part by part."""
        return AnalysisTables(self)

    @property
    def content(self) -> str:
        """A hash of what the trace holds; empty when nothing is kept of it."""
        return "" if self._part is None else self._part.content

    def derived(self, part: str, make: Callable[[], Mapping[str, Table]]) -> Mapping[str, Table]:
        """Tables that follow from the events: what is kept of them, else made and kept."""
        kept = self.kept(part)
        if kept is not None:
            return kept
        tables = make()
        self.put(part, lambda: tables)
        return tables

    def kept(self, part: str) -> Mapping[str, Table] | None:
        """What is kept of tables that follow from the events."""
        if self._part is None:
            return None
        kept = cache.load(self.path, part)
        if kept is None or kept.content != self._part.content:
            return None
        self.keeping.take(kept)
        return kept.tables

    def put(self, part: str, tables: Callable[[], Mapping[str, Table]]) -> None:
        """Keeps tables that follow from the events, now or later."""
        if self.keeping.later is not None:
            self.keeping.later.append(lambda: self._keep(part, tables()))
        elif self._part is not None and self.keeping.wanted:
            self._keep(part, tables())

    def keep(self) -> bool:
        """Keeps what was put off; whether there was something, and all of it is kept now."""
        later, self.keeping.later = self.keeping.later, None
        if later is None:
            return False
        if self._part is None and self._stats:
            self._keep_decoded()
        kept = [store() for store in later]
        return bool(kept) and all(kept)

    def _keep_decoded(self) -> None:
        tables = {
            _INDEX: self.index,
            _DESCRIPTION: decoder().Table({"text": [self._description_text]}),
        }
        tables |= {_EVENT + name: table for name, table in self.tables.items()}
        facts = self._facts() | {"outline": self.outline, "summary": asdict(self._count())}
        try:
            self._part = cache.store(self.path, DECODED, tables, facts, self._stats)
        except cache.NotCached as error:
            self.keeping.refused = str(error)
            self.remarks.append(f"nothing is kept for the next time: {error}")

    def summary(self) -> TraceSummary:
        """What it holds, counted, and what has to be said of how it was opened."""
        return replace(
            self._count(),
            path=str(self.path),
            notes=[*self.notes, *self.remarks],
            cached=self.keeping.size if self.keeping.reused else None,
        )

    def _count(self) -> TraceSummary:
        by_cpu = events_by_cpu(self.counts, self.tables)
        return count(self.description, by_cpu, self._facts())

    def _facts(self) -> dict[str, Any]:
        return {
            "counts": self.counts,
            "losses": self.losses,
            "damage": self.damage,
            "notes": self.notes,
            "events": self.events,
            "span": self.span,
        }

    def mapped(self) -> OpenTrace | None:
        """The same from what was kept of it, which frees the heap; None when nothing was."""
        if self._part is None:
            return None
        again = _from_part(self.path, self._part)
        again.keeping.reused, again._source = False, self._source
        return again

    def _keep(self, part: str, tables: Mapping[str, Table]) -> bool:
        if self._part is None:
            return False
        try:
            kept = cache.store(self.path, part, tables, {}, self._part.stats, self._part.content)
        except cache.NotCached as error:
            self.remarks.append(f"the {part} is not kept for the next time: {error}")
            return False
        self.keeping.take(kept)
        return True


def open_trace(
    path: Path, *, use_cache: bool = True, keep: bool = True, keep_later: bool = False
) -> OpenTrace:
    """Opens a trace and decodes all its events, or maps what is kept of it.

    Without ``keep`` nothing more is kept; with ``keep_later`` not until ``OpenTrace.keep`` is
    called.

    Raises:
        UsageError: there is no such trace, or no decoder.
        TraceError: it cannot be read.
    """
    path = path.resolve()  # the cache stands beside the file itself, not beside a link to it
    if use_cache and (kept := cache.load(path, DECODED)) is not None:
        opened = _from_part(path, kept)
        opened.keeping.later = [] if keep_later else None
        opened.keeping.wanted = keep
        return opened
    trace = open_native(path)
    stats = signature_now(path)
    with translated():
        decoded = trace.decode()
    opened = OpenTrace(
        path,
        json.loads(trace.outline()),
        _Fresh(decoded),
        {name: count for name, count in decoded.counts.items() if count},
        decoded.losses,
        decoded.damage,
        decoded.notes,
        decoded.events,
        decoded.span,
        Keeping(use_cache and keep),
        _source=trace,
        _decoded=decoded,
    )
    if not _remark_change(opened, stats) and opened.keeping.wanted:
        opened._stats, opened.keeping.later = stats, []
        if not keep_later:
            opened.keep()
            return opened.mapped() or opened
    return opened


def open_on_demand(
    path: Path, *, use_cache: bool = True, analysed: bool = True, summed: bool = False
) -> OpenTrace:
    """Opens a trace for one question: maps what is kept of it, else decodes what is asked for.

    ``analysed``: the tables of scheduling will be read, else the events are only counted at first.
    ``summed``: ``OpenTrace.usage`` will be asked and not these tables, which takes fewer events.
    Nothing is kept, and each event type that is read is decoded by itself.

    Raises:
        UsageError: there is no such trace, or no decoder.
        TraceError: it cannot be read.
    """
    path = path.resolve()
    if use_cache and (kept := cache.load(path, DECODED)) is not None:
        opened = _from_part(path, kept)
        opened.keeping.wanted = False
        return opened
    trace = open_native(path)
    stats = signature_now(path)
    with translated():
        part: Literal["usage", "scheduling"] = "usage" if summed else "scheduling"
        decoded = trace.decode_for(part) if analysed else None
        counted = decoded or trace.count()
    opened = OpenTrace(
        path,
        outline := json.loads(trace.outline()),
        _OnDemand(trace, outline["events"]),
        {name: count for name, count in counted.counts.items() if count},
        counted.losses,
        counted.damage,
        counted.notes,
        counted.events,
        counted.span,
        Keeping(wanted=False),
        _source=trace,
        _for_scheduling=None if summed else decoded,
        _for_usage=decoded if summed else None,
    )
    _remark_change(opened, stats)
    return opened


def _remark_change(opened: OpenTrace, stats: list[Stat]) -> bool:
    """Whether a trace changed while it was decoded, which is then told."""
    changed = signature_now(opened.path) != stats
    if changed:
        opened.remarks.append(BEING_WRITTEN)
    return changed


class _OnDemand(Mapping[str, "Table"]):
    """The event tables of a trace, each decoded when somebody asks for it."""

    def __init__(self, trace: native.Trace, names: list[str]) -> None:
        self._trace = trace
        self._names = dict.fromkeys(names)
        self._made: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            with translated():
                self._made[name] = self._trace.decode({name: None}, index=False).table(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _Fresh(Mapping[str, "Table"]):
    """The event tables that were decoded, each taken over when somebody asks for it."""

    def __init__(self, decoded: native.Decoded) -> None:
        self._decoded = decoded
        self._names = decoded.counts
        self._taken: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        if name not in self._taken:
            self._taken[name] = self._decoded.table(name)
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _Events(Mapping[str, "Table"]):
    """The event tables of a part by their own names."""

    def __init__(self, kept: Mapping[str, Table]) -> None:
        self._kept = kept

    def __getitem__(self, name: str) -> Table:
        return self._kept[_EVENT + name]

    def __iter__(self) -> Iterator[str]:
        return (n.removeprefix(_EVENT) for n in self._kept if n.startswith(_EVENT))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _from_part(path: Path, part: cache.CachedPart) -> OpenTrace:
    facts = part.facts
    keeping = Keeping(wanted=True, reused=True)
    keeping.take(part)
    span = facts["span"]
    return OpenTrace(
        path,
        facts["outline"],
        _Events(part.tables),
        facts["counts"],
        facts["losses"],
        facts["damage"],
        facts["notes"],
        facts["events"],
        (span[0], span[1]) if span else None,
        keeping,
        _part=part,
    )


# -- analysis tables -------------------------------------------------------------------------------
def analysis_table_names() -> list[str]:
    """The names of all analysis tables."""
    module = decoder()
    return [*module.SCHEDULING, *module.SYSCALLS, *module.DEVICES]


class AnalysisTables(Mapping[str, "Table"]):
    """Actors, their instances, fragments and waits, system calls, ...: by name.

    May be asked by many threads at once; while one makes a part, the others wait.
    """

    def __init__(self, trace: OpenTrace) -> None:
        module = decoder()
        parts: tuple[tuple[list[str], str, Callable[[], Mapping[str, Table]]], ...] = (
            (module.SCHEDULING, "scheduling", self._scheduling),
            (module.SYSCALLS, "syscalls", self._syscalls),
            (module.DEVICES, "devices", self._devices),
        )
        self._trace = trace
        self._parts = {name: (part, make) for names, part, make in parts for name in names}
        self._made: dict[str, Mapping[str, Table]] = {}
        self._lock = threading.RLock()

    def usage(self) -> Mapping[str, Table] | None:
        """``actors``, and ``usage``: what each had of each CPU; None where the tables are there.

        The tables are made all the same when they are asked for, from what is decoded once more.
        """
        with self._lock:
            if "usage" not in self._made and "scheduling" not in self._made:
                usage = self._trace.usage() or self._trace.kept("usage")
                if usage:
                    self._made["usage"] = usage
            return self._made.get("usage")

    def __getitem__(self, name: str) -> Table:
        if name == "actors" and "usage" in self._made:
            return self._made["usage"][name]
        part, make = self._parts[name]
        if part not in self._made:
            with self._lock:
                if part not in self._made:
                    self._made[part] = self._trace.derived(part, make)
        return self._made[part][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def _scheduling(self) -> Mapping[str, Table]:
        # Who is kept for many questions is asked for the sums, too, which are a few rows.
        self._trace.put("usage", self._sums)
        return self._trace.decoded_for("scheduling").scheduling()

    def _sums(self) -> Mapping[str, Table]:
        """Nothing where only the tables can tell."""
        return self._trace.decoded(decoder().ANALYSED_COLUMNS).usage() or {}

    def _syscalls(self) -> Mapping[str, Table]:
        ran = self["actors"], self["fragments"]
        return self._trace.decoded_for("syscalls").syscalls(*ran)

    def _devices(self) -> Mapping[str, Table]:
        return self._trace.decoded_for("devices").devices()
