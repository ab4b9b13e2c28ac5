"""The events of a trace in order of time, with their fields as texts: ``benchvise trace events``.

Fields are written as the kernel's print format says where the trace has one that can be evaluated
(``trace.print_format``), else by their names, with the labels that the trace gives to numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa

from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.analysis.latency.ends import running
from benchvise.trace.analysis.model import Bools, Ints, TraceSpan
from benchvise.trace.loaded import LoadedTrace
from benchvise.trace.print_format import PrintFormat, UnknownFormat, parse_print_format

_AT_ONCE = 1 << 16
"""Events whose texts are made together."""

_LONGEST = 2000
_NS = 1_000_000_000
_UNKNOWN_CPU = 65535
_COMMON = frozenset({"time", "cpu", "common_flags", "common_preempt_count", "common_pid"})


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are listed; an empty tuple is all.

    ``events``: names or patterns. ``processes``: names, patterns or numbers of threads in whose
    context events happened. ``cpus``: numbers.
    """

    events: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedEvent:
    """An event: ``time`` in ns of the trace's clock, ``text`` its fields.

    ``task`` and ``tid`` are the thread in whose context it happened, None where that is not known.
    """

    time: int
    cpu: int | None
    task: str | None
    tid: int | None
    event: str
    text: str


@dataclass(frozen=True, slots=True)
class EventListing:
    """The first events of a trace that a filter lets through; ``complete`` says whether all."""

    file: str
    cautions: tuple[str, ...]
    events: tuple[ListedEvent, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some events as columns of equal length; ``tid`` is -1 where it is not known."""

    time: list[int]
    cpu: list[int]
    tid: list[int]
    event: list[str]
    text: list[str]


def listed_events(loaded: LoadedTrace, wanted: EventFilter) -> Iterator[ListedEvent]:
    """The events of the trace's span, in order of time.

    Raises:
        UsageError: the trace has no such event or thread.
    """
    threads = _Threads(loaded, wanted.processes)
    for chunk in _chunks(loaded, wanted, threads):
        rows = zip(chunk.time, chunk.cpu, chunk.tid, chunk.event, chunk.text, strict=True)
        for time, cpu, tid, event, text in rows:
            yield ListedEvent(
                time=time,
                cpu=None if cpu == _UNKNOWN_CPU else cpu,
                task=threads.name(tid),
                tid=None if tid < 0 else tid,
                event=event,
                text=text,
            )


def listed_lines(loaded: LoadedTrace, wanted: EventFilter) -> Iterator[list[str]]:
    """The same as lines, some thousand at a time: thread, CPU, seconds of the trace's clock, event,
    fields.

    Raises:
        UsageError: the trace has no such event or thread.
    """
    threads = _Threads(loaded, wanted.processes)
    for chunk in _chunks(loaded, wanted, threads):
        labels = {tid: threads.label(tid) for tid in set(chunk.tid)}
        cpus = {cpu: "[ ? ]" if cpu == _UNKNOWN_CPU else f"[{cpu:03}]" for cpu in set(chunk.cpu)}
        rows = zip(chunk.time, chunk.cpu, chunk.tid, chunk.event, chunk.text, strict=True)
        yield [
            f"{labels[tid]} {cpus[cpu]} {time // _NS}.{time % _NS:09}: {event}: {text}"
            for time, cpu, tid, event, text in rows
        ]


def _chunks(loaded: LoadedTrace, wanted: EventFilter, threads: _Threads) -> Iterator[_Chunk]:
    names: list[str] = loaded.trace.outline["events"]
    chosen = _chosen_types(names, loaded.trace.counts, wanted.events)
    texts = _EventTexts(loaded)
    index, span = loaded.trace.index, loaded.analysis.span
    times = index["time"].to_numpy()
    first, last = (int(at) for at in np.searchsorted(times, [span.begin, span.end]))
    for begin in range(first, last, _AT_ONCE):
        part = index.slice(begin, min(_AT_ONCE, last - begin))
        time, cpu, event, row = (
            part[name].to_numpy().astype(np.int64) for name in ("time", "cpu", "event", "row")
        )
        keep = np.ones(time.size, dtype=np.bool_) if chosen is None else chosen[event]
        if wanted.cpus:
            keep &= np.isin(cpu, wanted.cpus)
        if not keep.all():
            time, cpu, event, row = time[keep], cpu[keep], event[keep], row[keep]
        if time.size:
            yield _chunk(names, threads, texts, time, cpu, event, row)


def _chunk(
    names: Sequence[str],
    threads: _Threads,
    texts: _EventTexts,
    time: Ints,
    cpu: Ints,
    event: Ints,
    row: Ints,
) -> _Chunk:
    """Some events; those of one type are made into texts together."""
    made = np.full(time.size, "", dtype=object)
    tids: Ints = threads.running_at(cpu, time)
    for number in np.unique(event):
        places = np.flatnonzero(event == number)
        own_tids = texts.threads(names[number], row[places])
        if own_tids is not None:
            tids[places] = own_tids
        kept = places[threads.meant(tids[places])]
        if kept.size:
            made[kept] = texts.of(names[number], row[kept])
    keep = np.flatnonzero(threads.meant(tids))
    return _Chunk(
        time[keep].tolist(),
        cpu[keep].tolist(),
        tids[keep].tolist(),
        [names[number] for number in event[keep].tolist()],
        made[keep].tolist(),
    )


def _chosen_types(
    names: Sequence[str], counts: Mapping[str, int], wanted: Sequence[str]
) -> Bools | None:
    """Which event types are meant, by their numbers; None for all."""
    if not wanted:
        return None
    chosen = np.zeros(len(names), dtype=np.bool_)
    for pattern in wanted:
        fits = [name == pattern or fnmatchcase(name, pattern) for name in names]
        if not any(fits):
            raise UsageError(
                f"the trace has no event {printable(pattern, 80)}",
                f"it has {', '.join(sorted(counts)[:8])}, …; trace info --all lists them",
            )
        chosen |= np.array(fits)
    return chosen


class _Threads:
    """Who was running: by the field that the kernel puts into each event, else by the switches."""

    def __init__(self, loaded: LoadedTrace, wanted: Sequence[str]) -> None:
        self._loaded = loaded
        self._names: dict[int, str] = {0: "<idle>"}
        for tid, name in loaded.trace.description["tasks"]:
            self._names[int(tid)] = str(name)
        self._has_field = any(
            member["name"] == "common_pid"
            for kind in loaded.trace.description["events"]
            for member in kind["fields"]
        )
        self._names |= {} if self._has_field else self._of_actors()
        self._wanted = self._numbers(wanted) if wanted else None

    def _of_actors(self) -> dict[int, str]:
        actors = self._loaded.analysis.actors
        return {actor.tid: actor.name for actor in actors if actor.tid is not None and actor.tid}

    def _numbers(self, wanted: Sequence[str]) -> Ints:
        names = self._names | self._of_actors()
        numbers: set[int] = set()
        for text in wanted:
            if text.isdecimal():
                numbers.add(int(text))
                continue
            fitting = {tid for tid, name in names.items() if fnmatchcase(name, text)}
            if not fitting:
                raise UsageError(
                    f"the trace has no thread {printable(text, 80)}",
                    "name one, a pattern such as 'kworker*', or a number",
                )
            numbers |= fitting
        self._names = names
        return np.array(sorted(numbers), dtype=np.int64)

    def running_at(self, cpu: Ints, time: Ints) -> Ints:
        """The numbers of the threads on CPUs at times; -1 where that is not known here."""
        unknown: Ints = np.full(time.size, -1, dtype=np.int64)
        if self._has_field or self._loaded.analysis.events("sched_switch") is None:
            return unknown
        analysis = self._loaded.analysis
        around = analysis.asked_about(TraceSpan(int(time.min()), int(time.max()) + 1)).sliced()
        context = running(around, cpu, time)
        tids = np.array(
            [-1 if actor.tid is None else actor.tid for actor in analysis.actors], dtype=np.int64
        )
        inside = context >= 0
        unknown[inside] = tids[analysis.instances["actor"][context[inside]]]
        return unknown

    def meant(self, tids: Ints) -> Bools:
        """Which of them are asked for."""
        if self._wanted is None:
            return np.ones(tids.size, dtype=np.bool_)
        return np.asarray(np.isin(tids, self._wanted), dtype=np.bool_)

    def label(self, tid: int) -> str:
        """The thread as a column of lines has it."""
        if tid < 0:
            return "?".rjust(22)
        return printable(f"{self.name(tid) or '<...>'}-{tid}", 40).rjust(22)

    def name(self, tid: int) -> str | None:
        """What the thread is called; None where that is not known."""
        return self._names.get(tid)


class _EventTexts:
    """The fields of events as texts, type by type."""

    def __init__(self, loaded: LoadedTrace) -> None:
        self._tables = loaded.trace.tables
        self._kinds = {kind["name"]: kind for kind in loaded.trace.description["events"]}
        self._formats: dict[str, PrintFormat | None] = {}
        self._whole: dict[str, pa.Table] = {}

    def threads(self, name: str, rows: Ints) -> Ints | None:
        """The threads of some rows of a type's table, where it has them."""
        table = self._table(name)
        if "common_pid" not in table.column_names:
            return None
        tids: Ints = table["common_pid"].to_numpy()[rows].astype(np.int64)
        return tids

    def of(self, name: str, rows: Ints) -> list[str]:
        """The texts of some rows of a type's table."""
        table = self._table(name).take(pa.array(rows))
        known = self._formats[name]
        if known is not None:
            try:
                columns = [table[field].to_pylist() for field in known.fields]
                made = known.render(columns) if columns else [known.template % ()] * rows.size
                return [_clean(text) for text in made]
            except (TypeError, ValueError, OverflowError):
                self._formats[name] = None  # a field is of another type than its format takes
        return self._by_name(name, table)

    def _table(self, name: str) -> pa.Table:
        if name not in self._whole:
            self._whole[name] = self._tables[name].combine_chunks()
            self._formats[name] = self._format(name)
        return self._whole[name]

    def _format(self, name: str) -> PrintFormat | None:
        fields = [field for field in self._whole[name].column_names if field not in _COMMON]
        try:
            return parse_print_format(str(self._kinds[name].get("print_format", "")), fields)
        except UnknownFormat:
            return None

    def _by_name(self, name: str, table: pa.Table) -> list[str]:
        members = [
            member for member in self._kinds[name]["fields"]
            if member["name"] in table.column_names and member["name"] not in _COMMON
        ]  # fmt: skip
        columns = [_values(member, table[member["name"]].to_pylist()) for member in members]
        if not columns:
            return [""] * table.num_rows
        template = ", ".join(f"{member['name'].replace('%', '%%')}=%s" for member in members)
        return [_clean(template % row) for row in zip(*columns, strict=True)]


def _values(member: Mapping[str, Any], values: list[Any]) -> list[Any]:
    """The values of a field as texts: labels, hexadecimal where the trace says so."""
    labels = {low: text for low, high, text in member["labels"] if low == high}
    if labels:
        return [labels.get(value, value) for value in values]
    if member["base"] == 16 and member["type"] in ("u8", "u16", "u32", "u64"):
        return [value if value is None else f"0x{value:x}" for value in values]
    if member["type"] == "text":
        return [f'"{value}"' for value in values]
    return [value.hex() if isinstance(value, bytes) else value for value in values]


def _clean(text: str) -> str:
    """A line as a terminal may show it: what strangers wrote cannot steer it."""
    if len(text) <= _LONGEST and text.isprintable():
        return text
    return printable(text.rstrip("\n"), _LONGEST)
