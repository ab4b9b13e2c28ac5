"""The events of a trace in order of time, with their fields as texts: ``benchvise trace events``.

Fields are written as the kernel's print format says where the trace has one that is understood,
else by their names, with the labels that the trace gives to numbers; ``trace_printk`` by its format
strings, addresses of functions by the kernel's symbols; those in the stacks of perf's samples as
``trace flame`` names them. ``crates/tracetext`` makes the texts: it
decodes only what is asked for, a slice of time at a time, and uses no cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.quantities import format_clock
from benchvise.text import aligned, printable
from benchvise.trace.decoder import TraceOutline, decoder, open_native, translated
from benchvise.trace.moments import parse_span

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from benchvise.trace import native
    from benchvise.trace.analysis.flame.frame_names import StackTexts

_LONGEST = 10_000
_FEW = 100_000
"""A listing that is shorter begins with small slices."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are listed; an empty tuple is all.

    ``events``: names or patterns. ``processes``: names, patterns or numbers of threads in whose
    context events happened. ``cpus``: numbers. ``text``: what their text has in it.
    """

    events: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    text: str = ""


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
    board: str | None = field(default=None, metadata=in_json(omit_default=True))
    """Of several traces, which it is of: the board, or the file."""


@dataclass(frozen=True, slots=True)
class EventListing:
    """The first events of a trace that a filter lets through; ``complete`` says whether all.

    ``cautions`` say what is missing in the part of the trace that was read for them.
    """

    file: str
    cautions: tuple[str, ...]
    events: tuple[ListedEvent, ...]
    complete: bool
    uncertainty_ns: int | None = field(default=None, metadata=in_json(omit_default=True))
    """Of several boards: how wrong the times of two may be against each other."""


class EventReader:
    """The events of an open trace, from ``since`` to before ``until``.

    Raises:
        UsageError: there is no such trace, it holds no event, or none in that span.
        TraceError: it cannot be read.
    """

    def __init__(self, path: Path, since: str | None = None, until: str | None = None) -> None:
        self.path = path
        self._trace = open_native(path)
        self._outline: TraceOutline = json.loads(self._trace.outline())
        with translated():
            span = self._trace.span()
        if span is None:
            raise UsageError(f"{path} holds no event", "")
        self.span = span
        self._begin, self._end = parse_span(*span, since, until)
        self._listing: native.Listing | None = None

    def within(self, begin: int, end: int) -> None:
        """Only the events of these times, of which it may have none."""
        self._begin, self._end = begin, end

    @property
    def clock(self) -> str | None:
        """What identifies its clock, where the trace says."""
        return self._outline["clock"]["uuid"]

    @property
    def event_names(self) -> list[str]:
        """The event types that are described."""
        return self._outline["events"]

    def events(self, wanted: EventFilter, most: int | None = None) -> Iterator[ListedEvent]:
        """The events that a filter lets through, at most so many.

        Raises:
            UsageError: the trace has no such event or thread.
        """
        listing, left = self._listed(wanted, most), most
        while left is None or left > 0:
            with translated():
                rows = listing.events(left)
            if rows is None:
                break
            left = None if left is None else left - len(rows)
            for time, cpu, tid, task, event, text in rows:
                yield ListedEvent(time, cpu, task, tid, event, text)

    def lines(self, wanted: EventFilter, most: int | None = None) -> Iterator[ReadableBuffer]:
        """The same as lines of UTF-8, many at a time: thread, CPU, seconds of the trace's clock,
        event, fields.

        Raises:
            UsageError: the trace has no such event or thread.
        """
        listing, left = self._listed(wanted, most, lines=True), most
        while left is None or left > 0:
            with translated():
                part = listing.lines(left)
            if part is None:
                break
            parts, count = part
            left = None if left is None else left - count
            for lines, doubtful in parts:
                yield _harmless(lines, doubtful) if doubtful else lines

    @property
    def cautions(self) -> tuple[str, ...]:
        """What is missing in the part that was listed so far."""
        if self._listing is None:
            return ()
        cautions = []
        if losses := self._listing.losses:
            counts = [loss["count"] for loss in losses]
            more = " and more that were not counted" if None in counts else ""
            kinds = "/".join(sorted({loss["kind"] for loss in losses}))
            counted = sum(count or 0 for count in counts)
            cautions.append(
                f"LOST: {counted} {kinds}{more} in {len(losses)} places of what was read"
            )
        if damage := self._listing.damage:
            cautions.append(
                f"DAMAGED: {len(damage)} places could not be read; trace info lists them"
            )
        return tuple(cautions)

    def _stack_names(self) -> StackTexts | None:
        """What names the functions in stacks, of a recording of perf."""
        if self._outline["format"] != "perf.data":
            return None
        from benchvise.trace.analysis.flame.frame_names import StackTexts
        from benchvise.trace.loaded import load_trace

        return StackTexts(load_trace(self.path))

    def _listed(
        self, wanted: EventFilter, most: int | None, *, lines: bool = False
    ) -> native.Listing:
        numbers = {int(name) for name in wanted.processes if name.isdecimal()}
        patterns = [name for name in wanted.processes if not name.isdecimal()]

        def named(names: dict[int, str]) -> set[int]:
            return _fitting(names, patterns)

        events = _chosen_types(self._outline["events"], wanted.events) if wanted.events else None
        with translated():
            self._listing = decoder().Listing(
                self._trace,
                self._begin,
                self._end,
                lines=lines,
                events=events,
                threads=numbers if wanted.processes else None,
                named=named if patterns else None,
                cpus=set(wanted.cpus) or None,
                text=wanted.text or None,
                few=most is not None and most < _FEW,
                stack_names=self._stack_names(),
            )
        return self._listing


class MergedReader:
    """The events of several traces in one order of time, each with the name of its trace.

    Raises what ``EventReader`` raises; of a trace without events, nothing is listed.
    """

    def __init__(
        self,
        named: Sequence[tuple[str, Path]],
        since: str | None = None,
        until: str | None = None,
    ) -> None:
        self._readers: list[tuple[str, EventReader]] = []
        for name, path in named:
            with suppress(UsageError) if len(named) > 1 and path.is_file() else nullcontext():
                self._readers.append((name, EventReader(path)))
        readers = [reader for _, reader in self._readers]
        if not readers:
            raise UsageError("none of these traces holds an event", "")
        first = min(reader.span[0] for reader in readers)
        last = max(reader.span[1] for reader in readers)
        begin, end = parse_span(first, last, since, until)
        for reader in readers:
            reader.within(begin, end)
        clocks = {reader.clock for reader in readers}
        self._share_clock = len(readers) < 2 or (len(clocks) == 1 and None not in clocks)
        self._wide = max(len(name) for name, _ in self._readers)
        self._without_thread = 0

    def events(self, wanted: EventFilter, most: int | None = None) -> Iterator[ListedEvent]:
        """The events that a filter lets through, at most so many.

        Raises:
            UsageError: none of the traces has such an event or thread.
        """
        for pattern in wanted.events:
            _chosen_types(
                [n for _, reader in self._readers for n in reader.event_names], (pattern,)
            )
        listed = [self._named(name, reader, wanted) for name, reader in self._readers]
        yield from islice(merge(*listed, key=_time_of), most)
        if self._without_thread == len(listed):
            raise UsageError(
                f"none of the traces has a thread {printable(', '.join(wanted.processes), 80)}",
                "name one, a pattern such as 'kworker*', or a number",
            )

    def lines(self, wanted: EventFilter, most: int | None = None) -> Iterator[bytes]:
        """The same as lines of UTF-8, each begun with the name of its trace.

        Raises:
            UsageError: none of the traces has such an event or thread.
        """
        for event in self.events(wanted, most):
            thread = "?" if event.tid is None else f"{event.task or '<...>'}-{event.tid}"
            cpu = " ? " if event.cpu is None else f"{event.cpu:03d}"
            line = (
                f"{event.board:>{self._wide}} {thread:>22} [{cpu}] {format_clock(event.time)}: "
                f"{event.event}: {event.text}"
            )
            if not (line.isascii() and line.isprintable()) or len(line) > _LONGEST:
                line = aligned(line, _LONGEST)
            yield line.encode() + b"\n"

    @property
    def cautions(self) -> tuple[str, ...]:
        """What is missing in the parts that were listed so far, and whether times compare."""
        cautions = [
            f"{name}: {caution}" for name, reader in self._readers for caution in reader.cautions
        ]
        if not self._share_clock:
            cautions.insert(
                0,
                "these traces do not say that they share a clock: each is in its place by its own",
            )
        return tuple(cautions)

    def _named(self, name: str, reader: EventReader, wanted: EventFilter) -> Iterator[ListedEvent]:
        known = tuple(p for p in wanted.events if any(_fits(n, p) for n in reader.event_names))
        if wanted.events and not known:
            return
        try:
            for event in reader.events(replace(wanted, events=known)):
                yield replace(event, board=name)
        except NoSuchThread:
            self._without_thread += 1


def _time_of(event: ListedEvent) -> int:
    return event.time


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


class NoSuchThread(UsageError):  # noqa: N818
    """A trace has no thread of a name."""


def _chosen_types(names: list[str], wanted: tuple[str, ...]) -> set[str]:
    chosen: set[str] = set()
    for pattern in wanted:
        fitting = {name for name in names if _fits(name, pattern)}
        if not fitting:
            raise UsageError(
                f"the trace has no event {printable(pattern, 80)}", "trace info --all lists them"
            )
        chosen |= fitting
    return chosen


def _fitting(names: dict[int, str], patterns: list[str]) -> set[int]:
    numbers: set[int] = set()
    for pattern in patterns:
        fitting = {tid for tid, name in names.items() if fnmatchcase(name, pattern)}
        if not fitting:
            raise NoSuchThread(
                f"the trace has no thread {printable(pattern, 80)}",
                "name one, a pattern such as 'kworker*', or a number",
            )
        numbers |= fitting
    return numbers


def _harmless(text: native.Text, doubtful: list[tuple[int, int]]) -> bytes:
    """Lines as a terminal may show them: what strangers wrote cannot steer it."""
    lines, at = bytes(text), 0
    pieces: list[bytes] = []
    for begin, end in doubtful:
        line = lines[begin:end].decode(errors="replace")
        pieces += [lines[at:begin], printable(line, _LONGEST).encode()]
        at = end
    return b"".join([*pieces, lines[at:]])
