"""A trace on a timeline: rows, what is drawn of them, one item, marks, losses, the mini-map.

Times are nanoseconds since the trace's first event. What is drawn stands for buckets of ``2**k``
ns, a pixel or a little less; crates/tracelevels says what stands for all of a bucket.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from starlette.requests import Request

from benchvise.documents import in_json
from benchvise.trace.analysis.actors import Instance, describe
from benchvise.trace.analysis.model import NONE, Analysis
from benchvise.trace.decoder import ClockDescription
from benchvise.trace.levels import TimelineItem, TimelineRow, shift_of, states
from benchvise.trace.recording_set import member_of
from benchvise.trace.tables import table_of
from benchvise.web.readers.open_files import open_files
from benchvise.web.timeline import TimelinePart, timeline_routes
from benchvise.web.workspace.calls import CallKind, call_kinds
from benchvise.web.workspace.events import LoggedEvent, logged_events
from benchvise.web.workspace.noise import has_noise
from benchvise.web.workspace.served import ServedTrace

if TYPE_CHECKING:
    from benchvise.trace.native import Table

_MOST_EVENTS = 200
"""Events that are listed: the log shows them all."""

_MOST_HERE = 20
"""Events of one time that are listed."""

_MOST_WOKEN = 20
"""Instances that one woke, which are listed."""

_NEAR = 4096
_RAN = frozenset({"running", "irq", "softirq", "idle"})
_IN_TURN = frozenset({"runnable", "preempted"})
"""States in which an instance is under way, though it does not run."""


@dataclass(frozen=True, slots=True)
class ShownActor:
    """The actor of an item."""

    id: int
    kind: str
    name: str
    label: str
    tid: int | None
    process: int | None
    priority: int | None


@dataclass(frozen=True, slots=True)
class ShownItem:
    """What a row shows; ``cpu`` is the one on which it ran, or the row's."""

    begin: int
    end: int
    state: str
    cpu: int | None
    actor: ShownActor


@dataclass(frozen=True, slots=True)
class ShownWaker:
    """What woke an instance: an ``actor`` in its ``instance`` on ``cpu``, at ``time`` where that is
    known."""

    actor: int
    cpu: int
    name: str
    label: str
    instance: int
    time: int | None


@dataclass(frozen=True, slots=True)
class ShownWoken:
    """An instance that another woke or raised.

    It is of ``actor`` on ``cpu``, woken at ``time`` where that is known, on a CPU from ``begin``.
    """

    actor: int
    cpu: int
    name: str
    label: str
    instance: int
    time: int | None
    begin: int


@dataclass(frozen=True, slots=True)
class ShownInstance:
    """The instance that an item is a part of: what woke it, and the first of the ``woke_count``
    instances that it woke or raised itself."""

    instance: Instance = field(metadata=in_json(inline=True))
    waker: ShownWaker | None
    woke: tuple[ShownWoken, ...]
    woke_count: int


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event; ``index`` is its place in the time index."""

    time: int
    event: str
    index: int


@dataclass(frozen=True, slots=True)
class ShownEvents:
    """The events of an item's CPU from its begin to its end, the first of them listed."""

    count: int
    listed: tuple[ShownEvent, ...]


def _is_nothing(details: ItemDetails) -> bool:
    return details.item is None


@dataclass(frozen=True, slots=True)
class ItemDetails:
    """What a row shows at a time; ``item`` is None for nothing, ``here`` are the events on its CPU
    at just that time. Times in ns since the first event."""

    row: int
    time: int = field(metadata=in_json(name="t"))
    item: ShownItem | None
    here: tuple[LoggedEvent, ...]
    instance: ShownInstance | None = field(default=None, metadata=in_json(omit_if=_is_nothing))
    events: ShownEvents | None = field(default=None, metadata=in_json(omit_if=_is_nothing))


def item_details(trace: ServedTrace, row: TimelineRow, time: int) -> ItemDetails:
    """What a row shows at a time, in ns since the first event."""
    analysis = trace.loaded.analysis
    item = trace.levels.at(row.id, time)
    if item is None:
        return ItemDetails(row.id, time, None, _events_at(trace, row.cpu, time + trace.origin))
    actor = analysis.actors[item.actor]
    fragment = _fragment(analysis, row, item, time + trace.origin)
    cpu = row.cpu if fragment is None else int(analysis.fragments["cpu"][fragment])
    instance = _instance(analysis, item, fragment, time + trace.origin)
    shown_actor = ShownActor(
        actor.id, actor.kind, actor.name, actor.label, actor.tid, actor.process, actor.priority
    )
    return ItemDetails(
        row.id,
        time,
        ShownItem(item.begin, item.end, item.state, cpu, shown_actor),
        _events_at(trace, cpu, time + trace.origin),
        None if instance is None else _shown_instance(trace, instance),
        _events(trace, item, cpu) if item.state in _RAN else None,
    )


def _events_at(trace: ServedTrace, cpu: int | None, time: int) -> tuple[LoggedEvent, ...]:
    """The first events at a time of the trace's clock, on a CPU or, for None, on any."""
    index = trace.trace.index
    times = index["time"].values()
    first = int(np.searchsorted(times, time, side="left"))
    last = int(np.searchsorted(times, time, side="right"))
    rows = np.arange(first, last)
    if cpu is not None:
        rows = rows[index["cpu"].values()[first:last] == cpu]
    return logged_events(trace.loaded, rows[:_MOST_HERE])


def _fragment(analysis: Analysis, row: TimelineRow, item: TimelineItem, time: int) -> int | None:
    """The span on a CPU that an item is, or is a part of."""
    if item.state not in _RAN:
        return None
    rows = analysis.fragments
    ends = rows["end"]
    first = int(np.searchsorted(ends, time, side="left"))
    for last in (first + _NEAR, ends.size):
        part = slice(first, last)
        fits = (rows["actor"][part] == item.actor) & (rows["begin"][part] <= time)
        if row.cpu is not None:
            fits &= rows["cpu"][part] == row.cpu
        matching = np.flatnonzero(fits)
        if matching.size:
            # Of one that ends just then and one that begins, the latter is item.
            latest = matching[np.argmax(rows["begin"][part][matching])]
            return first + int(latest)
    return None


def _instance(
    analysis: Analysis, item: TimelineItem, fragment: int | None, time: int
) -> int | None:
    rows = analysis.instances
    if fragment is not None:
        instance = int(analysis.fragments["instance"][fragment])
        return instance if instance < len(rows) else None
    if item.state not in _IN_TURN:
        return None
    since = np.where(rows["ready"] == NONE, rows["begin"], rows["ready"])
    fits = (rows["actor"] == item.actor) & (since <= time) & (time <= rows["end"])
    last = np.flatnonzero(fits)
    return int(last[-1]) if last.size else None


def _shown_instance(trace: ServedTrace, number: int) -> ShownInstance:
    analysis, origin = trace.loaded.analysis, trace.origin
    instance = describe(analysis, np.array([number]))[0]
    shifted = replace(
        instance,
        begin=instance.begin - origin,
        end=instance.end - origin,
        ready=None if instance.ready is None else instance.ready - origin,
    )
    woken = np.flatnonzero(analysis.instances["cause"] == number)
    woke = tuple(_shown_woken(trace, int(instance)) for instance in woken[:_MOST_WOKEN])
    cause = int(analysis.instances["cause"][number])
    if cause == NONE:
        return ShownInstance(shifted, None, woke, int(woken.size))
    waker = analysis.actors[int(analysis.instances["actor"][cause])]
    at = int(analysis.instances["cause_time"][number])
    time = None if at == NONE else at - origin
    cpu = int(analysis.instances["cpu"][cause])
    by = ShownWaker(waker.id, cpu, waker.name, waker.label, cause, time)
    return ShownInstance(shifted, by, woke, int(woken.size))


def _shown_woken(trace: ServedTrace, number: int) -> ShownWoken:
    rows = trace.loaded.analysis.instances
    actor = trace.loaded.analysis.actors[int(rows["actor"][number])]
    at = int(rows["cause_time"][number])
    return ShownWoken(
        actor.id,
        int(rows["cpu"][number]),
        actor.name,
        actor.label,
        number,
        None if at == NONE else at - trace.origin,
        int(rows["begin"][number]) - trace.origin,
    )


def _events(trace: ServedTrace, item: TimelineItem, cpu: int | None) -> ShownEvents:
    index, types = trace.trace.index, trace.trace.outline["events"]
    times = index["time"].values()
    first = int(np.searchsorted(times, item.begin + trace.origin, side="left"))
    last = int(np.searchsorted(times, item.end + trace.origin, side="right"))
    here = np.flatnonzero(index["cpu"].values()[first:last] == cpu)
    kinds = index["event"].values()[first:last]
    listed = (
        ShownEvent(int(times[first + at]) - trace.origin, types[int(kinds[at])], first + int(at))
        for at in here[:_MOST_EVENTS]
    )
    return ShownEvents(int(here.size), tuple(listed))


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """What a trace is, and what must be known of it. ``origin`` is the clock at the first event, a
    text as JavaScript would round it; ``duration`` in ns. ``idle_actors`` have no row: names by
    number. ``board`` is the one that it was recorded on with others at once; its times may be wrong
    by ``clock_uncertainty`` ns."""

    name: str
    format: str
    clock: ClockDescription
    board: str
    clock_uncertainty: int | None
    environment: Mapping[str, str]
    origin: str
    duration: int
    events: int
    cpus: Sequence[int]
    actors: int
    losses: int
    damage: Sequence[str]
    remarks: Sequence[str]
    cautions: Sequence[str]
    states: Sequence[str]
    event_types: Sequence[str]
    call_kinds: Sequence[CallKind]
    has_noise: bool
    idle_actors: Mapping[str, str]
    tag: str


@dataclass(frozen=True, slots=True)
class TimelineLoss:
    """Where events are missing, ns since the first event."""

    begin: int
    end: int
    cpu: int | None
    count: int | None
    kind: str


_UNKNOWN_CPU = 65535


@dataclass(frozen=True, slots=True)
class TraceTimeline:
    """The ``TimelineSource`` of a trace."""

    served: ServedTrace

    @property
    def tag(self) -> str:
        """Changes with the trace's content, and with the decoder."""
        return self.served.tag

    @property
    def row_count(self) -> int:
        """CPUs, threads and handlers."""
        return self.served.levels.row_count

    @property
    def info_headers(self) -> Mapping[str, str]:
        """How long ago the trace was decoded: what came since is the timeline's."""
        ago = (time.monotonic() - self.served.since) * 1e3
        return {"Server-Timing": f"since-decoded;dur={ago:.0f}"}

    def info(self) -> TraceInfo:
        """What the trace is, and what must be known of it."""
        trace = self.served
        loaded, outline = trace.loaded, trace.trace.outline
        member = member_of(trace.path)
        lined_up = None if member is None else member.clock
        return TraceInfo(
            name=trace.path.name,
            format=outline["format"],
            clock=outline["clock"],
            board="" if member is None else member.board,
            clock_uncertainty=None if lined_up is None else lined_up.uncertainty_ns,
            environment=outline["environment"],
            origin=str(trace.origin),
            duration=trace.whole.end - trace.origin,
            events=trace.trace.events,
            cpus=loaded.analysis.cpus,
            actors=len(loaded.analysis.actors),
            losses=len(trace.trace.losses),
            damage=[place["what"] for place in trace.trace.damage],
            remarks=[*trace.trace.notes, *trace.trace.remarks],
            cautions=loaded.cautions,
            states=states(),
            event_types=outline["events"],
            call_kinds=call_kinds(loaded),
            has_noise=has_noise(loaded),
            idle_actors={
                str(actor.id): actor.name
                for actor in loaded.analysis.actors
                if actor.kind == "idle"
            },
            tag=trace.tag,
        )

    def rows(self) -> Sequence[TimelineRow]:
        """The rows in the order in which they are shown."""
        return self.served.rows

    def losses(self) -> list[TimelineLoss]:
        """Where events are missing, as far as it lies within the trace."""
        trace = self.served
        duration = trace.whole.end - trace.origin
        return [
            TimelineLoss(
                0 if loss.begin is None else _within(loss.begin - trace.origin, duration),
                duration if loss.end is None else _within(loss.end - trace.origin, duration),
                loss.cpu,
                loss.count,
                loss.what,
            )
            for loss in trace.loaded.analysis.losses
        ]

    def levels(self, part: TimelinePart) -> Table:
        """What is drawn of rows: ``row, begin, end, actor, state, count, ran``."""
        trace = self.served
        begin, end = part.nanoseconds
        shift = shift_of(begin, end, part.width)
        return trace.levels.items(part.rows, begin, end, shift)

    def events(self, part: TimelinePart) -> Table:
        """Marks of events: ``row, time, event, count, index``.

        The metadata's ``shown`` is ``rare`` when there are too many events to tell others than
        those of rare types.
        """
        trace = self.served
        begin, end = part.nanoseconds
        shift = shift_of(begin, end, part.width)
        marks, only_rare = trace.levels.marks(part.rows, begin, end, shift)
        return marks.with_metadata({"shown": "rare" if only_rare else "all"})

    def overview(self, width: int) -> Table:
        """The mini-map: ``begin``, ``events`` of all CPUs, and the shares ``cpu0``, ``cpu1``, ….

        Shares of time are in order of the CPUs' numbers, which the metadata's ``cpus`` tells.
        """
        trace = self.served
        table = trace.levels.overview(width)
        cpus = table["cpu"].values()
        numbers = np.unique(cpus)
        buckets = table.num_rows // max(1, numbers.size)
        busy = table["busy"].values().reshape(numbers.size, buckets).astype(np.float32)
        seen = table["events"].values().reshape(numbers.size, buckets)
        ran = [int(cpu) for cpu in numbers if cpu != _UNKNOWN_CPU]
        columns = {
            "begin": table["begin"].values()[:buckets],
            "events": seen.sum(axis=0, dtype=np.float64),
            **{f"cpu{at}": busy[at] for at in range(len(ran))},
        }
        metadata = {"cpus": ",".join(map(str, ran))}
        return table_of(columns, metadata)

    def item(self, row: int, at: float) -> ItemDetails:
        """Everything about what a row shows at ``t``."""
        trace = self.served
        return item_details(trace, trace.rows[row], math.floor(at))


def _within(time: int, duration: int) -> int:
    return min(max(time, 0), duration)


def _find(request: Request) -> TraceTimeline:
    """The trace that an address names. Raises NotFound, TraceError, Busy."""
    return TraceTimeline(open_files(request).trace(request.path_params["key"]))


routes = timeline_routes("/api/traces/{key}", _find)
