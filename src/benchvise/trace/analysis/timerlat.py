"""Latency of timers: what the tracer timerlat measured, and what the worst of it is made of.

The tracer sets a timer on each CPU. An *activation* has a sample in the timer's interrupt (context
``irq``), one in the thread that this wakes (``thread``), and where a program of user space waits,
one when that has gone round (``user-ret``). Each latency counts from the moment when the timer was
due. With the events ``osnoise:*`` (``noise``) the trace tells what lay between: the worst
activations are taken apart, in parts that add up to their latency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from benchvise.trace.analysis.calls import Symbol, function_name
from benchvise.trace.analysis.distributions import TimeDistribution, distribution
from benchvise.trace.analysis.model import NONE, Analysis, Bools, Events, Ints, Rows
from benchvise.trace.analysis.noise import KINDS, Noises, first_table, noises
from benchvise.trace.tables import TRACER_TABLES, table_of, wholes

if TYPE_CHECKING:
    from benchvise.trace.native import Table

CONTEXTS = ("irq", "thread", "user-ret")
SAMPLE_EVENTS = ("timerlat", "timerlat_sample")
"""The tracer's entries, and the event that newer kernels have of the same values."""

_IRQ, _THREAD, _USER = range(len(CONTEXTS))
_ROUNDED = 1000
"""ns: a text's stamps are those of the kernel rounded to microseconds."""

_INTERRUPTS = ("nmi", "irq", "softirq")
_STACK_WITHIN = 1_000_000
_STACK_ENDS = (-1, 0xFFFF_FFFF, 0)
_MOST_FRAMES = 64


@dataclass(frozen=True, slots=True)
class ContextLatency:
    """The latencies of a context on a CPU; of all CPUs where ``cpu`` is None. Times in ns.

    ``worst_at`` is when the longest was sampled.
    """

    context: str
    cpu: int | None
    latency: TimeDistribution
    worst_at: int
    worst_cpu: int


@dataclass(frozen=True, slots=True)
class LatencyPart:
    """A part of a latency: ``time`` ns, in which ``count`` of ``who`` ran; 0 where nothing did.

    ``what`` is one of:

    - ``interrupt before``: a handler, an NMI or a softirq that ran when the timer was due
    - ``IRQ handler delay``: until the timer's handler began, ``who`` ran then; a CPU that was idle
      leaves its idle state in that time, else interrupts were off
    - ``timer interrupt``: its handler, or as far as the sample where there is no other
    - ``blocking thread``: who ran when the timer's interrupt came, until it was switched away from
    - ``leaving idle``: the same where that was the idle task
    - ``interference``: whatever else ran before the thread did
    - ``return to user space``
    - ``not told``: what is left: entry and exit of handlers, the switch of threads; without the
      events ``osnoise:*`` all that follows the interrupt's sample
    """

    what: str
    who: str
    count: int
    time: int
    share: float


@dataclass(frozen=True, slots=True)
class WorstActivation:
    """An activation and what its latency is made of. Times in ns.

    ``context`` is that of its last sample, whose latency this is; ``due`` is when the timer was,
    ``at`` when the sample was taken. ``running`` is who ran when the timer's interrupt came.
    ``stack`` are the functions that the kernel saved there, the innermost first. ``incomplete``:
    events are missing meanwhile.
    """

    cpu: int
    activation: int
    context: str
    latency: int
    due: int
    at: int
    running: str
    parts: tuple[LatencyPart, ...]
    stack: tuple[str, ...]
    incomplete: bool


@dataclass(frozen=True, slots=True)
class Timerlat:
    """Latencies by context and CPU, and the worst activations, the longest first.

    ``has_noises``: the trace tells what ran meanwhile.
    """

    latencies: tuple[ContextLatency, ...]
    worst: tuple[WorstActivation, ...]
    has_noises: bool


def timerlat(
    analysis: Analysis,
    symbol: Symbol,
    tasks: Mapping[int, str] | None = None,
    *,
    worst: int = 3,
) -> Timerlat:
    """The latencies of the analysis' span, and the ``worst`` activations of it taken apart.

    ``tasks`` are names of threads by their numbers, for those that no event names.
    """
    samples = timerlat_samples(analysis.events)
    if samples is None:
        return Timerlat((), (), False)
    inside = analysis.span.holds(samples.time)
    causes = noises(analysis.events)
    takes_apart = _Analyst(analysis, samples, causes, symbol, tasks or {})
    return Timerlat(
        tuple(_latencies(samples, inside)),
        tuple(takes_apart.activation(at) for at in _worst(samples, inside, worst)),
        len(causes) > 0,
    )


# -- samples ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Samples:
    """Every sample of the tracer, as columns of equal length, by CPU and in order of time.

    ``context`` is a place in ``CONTEXTS``; ``first`` is the place of the activation's interrupt, of
    a sample without one its own. ``thread`` is who ran.
    """

    cpu: Ints
    time: Ints
    context: Ints
    activation: Ints
    latency: Ints
    thread: Ints

    @cached_property
    def first(self) -> Ints:
        """The place of the sample that an activation begins with."""
        at = np.arange(self.time.size)
        begin: Ints = np.maximum.accumulate(np.where(self.context == _IRQ, at, -1))
        row = np.maximum(begin, 0)
        own = (begin >= 0) & (self.cpu[row] == self.cpu) & (self.activation[row] == self.activation)
        return np.where(own, begin, at)

    def table(self) -> Table:
        """The activations for SQL, a row each; latencies that are not known are nulls."""
        starts, place = np.unique(self.first, return_inverse=True)
        latencies: Ints = np.full((len(CONTEXTS), starts.size), NONE, dtype=np.int64)
        latencies[self.context, place] = self.latency
        columns = {
            name: wholes([None if value == NONE else value for value in latencies[at].tolist()])
            for at, name in enumerate(("irq_latency", "thread_latency", "user_latency"))
        }
        return table_of(
            {
                "cpu": self.cpu[starts].astype(np.int32),
                "activation": self.activation[starts],
                "due": self.time[starts] - self.latency[starts],
                "time": self.time[starts],
                **columns,
                "running_tid": self.thread[starts].astype(np.int32),
            }
        )


def timerlat_samples(events: Events) -> Samples | None:
    """The samples of a trace; None for one without."""
    table = first_table(events, SAMPLE_EVENTS)
    if table is None:
        return None
    rows = Rows(table)
    columns = ("cpu", "time", "context", "seqnum", "timer_latency", "common_pid")
    order = np.lexsort((rows["context"], rows["time"], rows["cpu"]))
    valid = (rows["context"][order] >= 0) & (rows["context"][order] < len(CONTEXTS))
    return Samples(*(rows[name][order[valid]] for name in columns))


def tracer_tables(events: Events) -> dict[str, Table]:
    """``TRACER_TABLES``, without those that would be empty."""
    causes, samples = noises(events), timerlat_samples(events)
    tables = (
        causes.table() if len(causes) else None,
        samples.table() if samples else None,
    )
    named = zip(TRACER_TABLES, tables, strict=True)
    return {name: table for name, table in named if table is not None}


def _latencies(samples: Samples, inside: Bools) -> Iterator[ContextLatency]:
    for context, name in enumerate(CONTEXTS):
        here = np.flatnonzero(inside & (samples.context == context))
        cpus = np.unique(samples.cpu[here]).tolist()
        for cpu in [None, *cpus] if len(cpus) > 1 else cpus:
            own = here if cpu is None else here[samples.cpu[here] == cpu]
            latency = distribution(np.sort(samples.latency[own]))
            worst = int(own[np.argmax(samples.latency[own])])
            if latency is not None:
                at, on = int(samples.time[worst]), int(samples.cpu[worst])
                yield ContextLatency(name, cpu, latency, at, on)


def _worst(samples: Samples, inside: Bools, most: int) -> list[int]:
    """The last samples of the activations that took longest."""
    kept = np.flatnonzero(inside)
    order = kept[np.lexsort((-samples.context[kept], -samples.latency[kept]))]
    _, earliest = np.unique(samples.first[order], return_index=True)
    return [int(at) for at in order[np.sort(earliest)][:most]]


# -- what a latency is made of ---------------------------------------------------------------------


class _Analyst:
    """Takes activations apart."""

    def __init__(
        self,
        analysis: Analysis,
        samples: Samples,
        causes: Noises,
        symbol: Symbol,
        tasks: Mapping[int, str],
    ) -> None:
        self._analysis = analysis
        self._samples = samples
        self._noises = causes
        self._symbol = symbol
        self._tasks = dict(tasks)
        threads = causes.kind == KINDS.index("task")
        for code in np.unique(causes.name[threads]).tolist():
            name, _, tid = causes.names[code].removeprefix("task:").rpartition("/")
            self._tasks[int(tid)] = name

    def activation(self, at: int) -> WorstActivation:
        """The activation whose last sample is at a place."""
        samples = self._samples
        first = int(samples.first[at])
        cpu, latency, time = (
            int(column[at]) for column in (samples.cpu, samples.latency, samples.time)
        )
        due = int(samples.time[first] - samples.latency[first])
        has_irq = samples.context[first] == _IRQ
        running = self._thread(int(samples.thread[first]), cpu) if has_irq else ""
        parts = self._parts(first, at, due, running) if has_irq else {}
        # By the name that the thread had then: a program that it executed later has another one.
        blocking = (who for what, who in parts if what == "blocking thread")
        if (named := next(blocking, running)) != running:
            parts = {
                (what, named if who == running else who): part
                for (what, who), part in parts.items()
            }
            running = named
        accounted = sum(spent for _, spent in parts.values())
        if latency > accounted:
            parts["not told", ""] = (0, latency - accounted)
        return WorstActivation(
            cpu=cpu,
            activation=int(samples.activation[at]),
            context=CONTEXTS[int(samples.context[at])],
            latency=latency,
            due=due,
            at=time,
            running=running,
            parts=tuple(
                LatencyPart(what, who, count, spent, spent / max(latency, 1))
                for (what, who), (count, spent) in parts.items()
            ),
            stack=self._stack(at),
            incomplete=not has_irq or self._misses_events(cpu, due, time),
        )

    def _parts(
        self, first: int, last: int, due: int, running: str
    ) -> dict[tuple[str, str], tuple[int, int]]:
        """How often and how long, by what and who, in order of time."""
        samples, causes = self._samples, self._noises
        parts: dict[tuple[str, str], tuple[int, int]] = {}

        def add(what: str, who: str, spent: int, count: int = 1) -> None:
            if spent > 0:
                before, total = parts.get((what, who), (0, 0))
                parts[what, who] = (before + count, total + spent)

        sampled = int(samples.time[first])
        # The thread's sample: what follows it is the way to user space.
        woken = next((at for at in range(first, last + 1) if samples.context[at] == _THREAD), last)
        near = self._near(int(samples.cpu[first]), due, int(samples.time[woken]))
        timer = self._timer(near, sampled)
        if timer is None:
            add("IRQ handler delay", running, int(samples.latency[first]), 0)
        else:
            begun = max(due, int(causes.begin[timer]))
            for noise in near[causes.end[near] <= begun].tolist():
                if KINDS[causes.kind[noise]] in _INTERRUPTS:
                    spent = min(int(causes.duration[noise]), int(causes.end[noise]) - due)
                    add("interrupt before", causes.names[causes.name[noise]], spent)
            ran = sum(spent for _, spent in parts.values())
            add("IRQ handler delay", running, begun - due - ran, 0)
            # It may have been under way, for another timer, when this one was due.
            # It may have been under way, for another timer, when this one was due.
            handler = sampled - begun
            if woken != first:
                handler = min(int(causes.duration[timer]), int(causes.end[timer]) - due)
            add("timer interrupt", causes.names[causes.name[timer]], handler)
            if woken != first:
                later = near[(causes.end[near] > begun) & (near != timer)]
                for what, who, spent in self._interference(later, timer, begun):
                    add(what, who, spent)
        if woken != last:
            add("return to user space", "", int(samples.latency[last] - samples.latency[woken]), 0)
        return parts

    def _interference(self, later: Ints, timer: int, begun: int) -> Iterator[tuple[str, str, int]]:
        """What ran from the timer's interrupt to its thread: what it is, who, and how long."""
        causes = self._noises
        interrupted = int(causes.thread[timer])
        blocked = False
        for noise in later.tolist():
            spent, end = int(causes.duration[noise]), int(causes.end[noise])
            kind = KINDS[causes.kind[noise]]
            if causes.begin[noise] < begun:
                # It was under way when the interrupt came: what follows delays the thread.
                within = later[(causes.begin[later] >= begun) & (causes.end[later] < end)]
                nested = causes.duration[within[causes.kind[within] <= KINDS.index("irq")]].sum()
                spent = min(spent, end - int(causes.end[timer]) - int(nested))
            what = "interference"
            if kind in ("task", "idle") and not blocked and causes.thread[noise] == interrupted:
                blocked = True
                what = "leaving idle" if kind == "idle" else "blocking thread"
            yield what, causes.names[causes.name[noise]], spent

    def _near(self, cpu: int, due: int, until: int) -> Ints:
        """The noises of a CPU that end from one moment to another, in order."""
        causes = self._noises
        own = causes.of_cpus.get(cpu)
        if own is None:
            return np.zeros(0, dtype=np.int64)
        low, high = np.searchsorted(causes.end[own], [due, until + _ROUNDED], side="right")
        near = own[low:high]
        return near[causes.begin[near] < until]

    def _timer(self, near: Ints, sampled: int) -> int | None:
        """The timer's interrupt: the handler that was under way at its sample."""
        causes = self._noises
        handlers = near[causes.kind[near] == KINDS.index("irq")]
        for tolerance in (0, _ROUNDED):
            around = (causes.begin[handlers] <= sampled + tolerance) & (
                causes.end[handlers] >= sampled - tolerance
            )
            if around.any():
                return int(handlers[around][0])
        return None

    def _thread(self, tid: int, cpu: int) -> str:
        if tid == 0:
            return f"idle:{cpu}"
        name = self._tasks.get(tid)
        return f"task:{tid}" if name is None else f"task:{name}/{tid}"

    def _misses_events(self, cpu: int, begin: int, end: int) -> bool:
        whole = self._analysis.whole
        return any(
            loss.cpu in (None, cpu)
            and begin <= (whole.end if loss.end is None else loss.end)
            and end >= (whole.begin if loss.begin is None else loss.begin)
            for loss in self._analysis.losses
        )

    def _stack(self, sample: int) -> tuple[str, ...]:
        """The stack that the tracer writes behind a sample."""
        table = self._analysis.events("kernel_stack")
        if table is None or "caller" not in table.column_names:
            return ()
        samples, rows = self._samples, Rows(table)
        cpu, time = samples.cpu[sample], samples.time[sample]
        until = time + _STACK_WITHIN
        if sample + 1 < samples.time.size and samples.cpu[sample + 1] == cpu:
            until = min(until, samples.time[sample + 1])
        behind = np.flatnonzero(
            (rows["cpu"] == cpu) & (rows["time"] >= time) & (rows["time"] < until)
        )
        if not behind.size:
            return ()
        sizes, flat = table.column("caller").lists()
        begin = int(sizes[: behind[0]].sum())
        frames = flat[begin : begin + min(int(sizes[behind[0]]), _MOST_FRAMES)].tolist()
        ends = [at for at, frame in enumerate(frames) if frame in _STACK_ENDS]
        return tuple(
            function_name(self._symbol, frame) for frame in frames[: ends[0] if ends else None]
        )
