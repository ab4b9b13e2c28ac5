"""The events of a trace in order of time, with their fields as texts: ``benchvise trace events``.

Fields are written as the kernel's print format says where the trace has one that is understood,
else by their names, with the labels that the trace gives to numbers; ``trace_printk`` by its format
strings, addresses of functions by the kernel's symbols; those in the stacks of perf's samples as
``trace flame`` names them. ``crates/tracetext`` makes the texts: it
decodes only what is asked for, a slice of time at a time, and uses no cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.decoder import TraceOutline, decoder, open_native, translated
from benchvise.trace.moments import parse_span

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class EventListing:
    """The first events of a trace that a filter lets through; ``complete`` says whether all.

    ``cautions`` say what is missing in the part of the trace that was read for them.
    """

    file: str
    cautions: tuple[str, ...]
    events: tuple[ListedEvent, ...]
    complete: bool


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
        self._begin, self._end = parse_span(*span, since, until)
        self._listing: native.Listing | None = None

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

    def lines(self, wanted: EventFilter, most: int | None = None) -> Iterator[bytes]:
        """The same as lines of UTF-8, many at a time: thread, CPU, seconds of the trace's clock,
        event, fields.

        Raises:
            UsageError: the trace has no such event or thread.
        """
        listing, left = self._listed(wanted, most), most
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

    def _listed(self, wanted: EventFilter, most: int | None) -> native.Listing:
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
                events=events,
                threads=numbers if wanted.processes else None,
                named=named if patterns else None,
                cpus=set(wanted.cpus) or None,
                text=wanted.text or None,
                few=most is not None and most < _FEW,
                stack_names=self._stack_names(),
            )
        return self._listing


def _chosen_types(names: list[str], wanted: tuple[str, ...]) -> set[str]:
    chosen: set[str] = set()
    for pattern in wanted:
        fitting = {name for name in names if name == pattern or fnmatchcase(name, pattern)}
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
            raise UsageError(
                f"the trace has no thread {printable(pattern, 80)}",
                "name one, a pattern such as 'kworker*', or a number",
            )
        numbers |= fitting
    return numbers


def _harmless(lines: bytes, doubtful: list[tuple[int, int]]) -> bytes:
    """Lines as a terminal may show them: what strangers wrote cannot steer it."""
    pieces, at = [], 0
    for begin, end in doubtful:
        text = lines[begin:end].decode(errors="replace")
        pieces += [lines[at:begin], printable(text, _LONGEST).encode()]
        at = end
    return b"".join([*pieces, lines[at:]])
