"""Noise of the operating system: what the tracer osnoise measured, and what interfered by name.

The tracer's own entries tell of each period how long its thread looked for noise, and how much it
found. The events ``osnoise:*`` tell what interfered, also while timerlat traces: a handler of an
interrupt, an NMI, a softirq, a thread. Their durations are net: without what interrupted them in
turn. They are written where a noise ends, and ``start`` is on the kernel's own clock; of a trace
with another one, a noise is taken to begin its duration before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from benchvise.trace.analysis.distributions import Groups, TimeDistribution, distribution
from benchvise.trace.analysis.model import NONE, Analysis, Bools, Events, Ints, Rows
from benchvise.trace.tables import table_of

if TYPE_CHECKING:
    from benchvise.trace.native import Table

KINDS = ("nmi", "irq", "softirq", "task", "idle")
"""What may interfere, by the codes of ``Noises.kind``. An idle task is there when nothing is."""

NOISE_EVENTS = ("nmi_noise", "irq_noise", "softirq_noise", "thread_noise")
SAMPLE_EVENTS = ("osnoise", "osnoise_sample")
"""The tracer's entries, and the events that newer kernels have of the same values."""

SINGLE_EVENT = "sample_threshold"
"""Each noise that was longer than the tracer's threshold."""

_NMI, _IRQ, _SOFTIRQ, _TASK, _IDLE = range(len(KINDS))
_SOFTIRQS = (
    *("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK"),
    *("IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"),
)
_US = 1000
_ANOTHER_CLOCK = 1_000_000
"""A handler does not end a millisecond before its event: ``start`` is on another clock then."""


@dataclass(frozen=True)
class Noises:
    """Every noise that an event tells of, as columns of equal length in order of ``end``.

    ``kind`` is a place in ``KINDS``, ``name`` one in ``names``. ``duration`` is net; times in ns.
    ``thread`` is who was interrupted, or ran.
    """

    kind: Ints
    name: Ints
    cpu: Ints
    begin: Ints
    end: Ints
    duration: Ints
    thread: Ints
    names: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.end.size)

    @cached_property
    def of_cpus(self) -> dict[int, Ints]:
        """The noises of each CPU, by their places."""
        cpus, place = np.unique(self.cpu, return_inverse=True)
        groups = Groups(place.astype(np.int64), cpus.size)
        return {int(cpu): groups.rows(at) for at, cpu in enumerate(cpus)}

    def table(self) -> Table:
        """The same for SQL."""
        return table_of(
            {
                "cpu": self.cpu.astype(np.int32),
                "kind": [KINDS[kind] for kind in self.kind.tolist()],
                "name": [self.names[name] for name in self.name.tolist()],
                "begin": self.begin,
                "end": self.end,
                "duration": self.duration,
                "tid": self.thread.astype(np.int32),
            }
        )


@dataclass(frozen=True, slots=True)
class CpuNoise:
    """What osnoise measured on a CPU, all periods of the span together. Times in ns.

    ``runtime`` is for how long its thread looked, ``noise`` what it found, ``available`` the rest's
    share of the runtime; None where the trace does not tell the runtime. ``most`` is the noise of
    the worst period and ``most_at`` when that ended; ``longest`` is the longest single noise.
    ``hardware`` counts noises without any interference of the operating system: the firmware's, or
    of the host of a virtual machine. ``single`` are the noises above the tracer's threshold, where
    the trace has the event ``sample_threshold``.
    """

    cpu: int
    periods: int
    runtime: int | None
    noise: int
    available: float | None
    most: int
    most_at: int
    longest: int
    longest_at: int
    hardware: int
    nmi: int
    irq: int
    softirq: int
    thread: int
    single: TimeDistribution | None


@dataclass(frozen=True, slots=True)
class NoiseSource:
    """A thread or handler that interfered. Times in ns, without what interrupted it in turn.

    ``share`` is its part of the span, of all CPUs together. ``kind`` is one of ``KINDS``.
    """

    kind: str
    name: str
    cpus: tuple[int, ...]
    duration: TimeDistribution
    share: float
    worst_at: int
    worst_cpu: int


@dataclass(frozen=True, slots=True)
class OsNoise:
    """What was measured by CPU, and who interfered, most time first.

    ``idle`` is how often idle tasks are told of, which are no source: they are there when nothing
    else is.
    """

    cpus: tuple[CpuNoise, ...]
    sources: tuple[NoiseSource, ...]
    idle: int


def osnoise(analysis: Analysis) -> OsNoise:
    """The noise of the analysis' span."""
    disturbances = noises(analysis.events)
    inside = analysis.span.holds(disturbances.end)
    idle = int(np.count_nonzero(inside & (disturbances.kind == _IDLE)))
    return OsNoise(tuple(_cpus(analysis)), tuple(_sources(analysis, disturbances, inside)), idle)


# -- what the tracer measured ----------------------------------------------------------------------


def _cpus(analysis: Analysis) -> list[CpuNoise]:
    table = first_table(analysis.events, SAMPLE_EVENTS)
    if table is None:
        return []
    rows = Rows(table)
    inside = analysis.span.holds(rows["time"])
    described = []
    for cpu in np.unique(rows["cpu"][inside]):
        here = np.flatnonzero(inside & (rows["cpu"] == cpu))
        noise, longest = rows["noise"][here] * _US, rows["max_sample"][here] * _US
        runtime = _runtime(rows, here)
        worst, peak = int(here[np.argmax(noise)]), int(here[np.argmax(longest)])
        single, single_at = _single(analysis, int(cpu))
        described.append(
            CpuNoise(
                cpu=int(cpu),
                periods=int(here.size),
                runtime=runtime,
                noise=int(noise.sum()),
                available=1 - int(noise.sum()) / runtime if runtime else None,
                most=int(noise.max()),
                most_at=int(rows["time"][worst]),
                longest=int(longest.max()),
                longest_at=int(rows["time"][peak]) if single_at is None else single_at,
                hardware=int(rows["hw_count"][here].sum()),
                nmi=int(rows["nmi_count"][here].sum()),
                irq=int(rows["irq_count"][here].sum()),
                softirq=int(rows["softirq_count"][here].sum()),
                thread=int(rows["thread_count"][here].sum()),
                single=single,
            )
        )
    return described


def _runtime(rows: Rows, here: Ints) -> int | None:
    """Texts of ``trace-cmd report`` do not tell it."""
    if "runtime" not in rows.table.column_names:
        return None
    runtime = rows["runtime"][here]
    return None if (runtime == NONE).any() else int(runtime.sum()) * _US


def _single(analysis: Analysis, cpu: int) -> tuple[TimeDistribution | None, int | None]:
    """The single noises of a CPU, and when the longest began."""
    table = analysis.events(SINGLE_EVENT)
    if table is None:
        return None, None
    rows = Rows(table)
    here = np.flatnonzero((rows["cpu"] == cpu) & analysis.span.holds(rows["time"]))
    if not here.size:
        return None, None
    duration = rows["duration"][here]
    longest = int(np.argmax(duration))
    begin = int(rows["time"][here[longest]]) - int(duration[longest])
    return distribution(np.sort(duration)), begin


# -- who interfered --------------------------------------------------------------------------------


def noises(events: Events) -> Noises:
    """Every noise that the trace tells of."""
    parts: list[tuple[Ints, ...]] = []
    names = _Names()
    for event in NOISE_EVENTS:
        table = events(event)
        if table is not None and {"start", "duration"} <= set(table.column_names):
            parts.append(_part(event, table, names))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [_NOTHING] * 7
    order = np.lexsort((columns[4],))
    kind, name, cpu, begin, end, duration, thread = (column[order] for column in columns)
    return Noises(kind, name, cpu, begin, end, duration, thread, tuple(names.names))


_NOTHING: Ints = np.zeros(0, dtype=np.int64)


class _Names:
    """Names by the codes that they get."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        if name not in self._codes:
            self._codes[name] = len(self.names)
            self.names.append(name)
        return self._codes[name]

    def of_pairs(self, texts: Sequence[str], codes: Ints, numbers: Ints, label: str) -> Ints:
        """The codes of ``label`` with a text and a number in it, for each pair of these."""
        pairs, place = np.unique(np.stack([codes, numbers]), axis=1, return_inverse=True)
        named = [
            self.code(label.format(texts[text] or "?", number)) for text, number in pairs.T.tolist()
        ]
        return np.array(named, dtype=np.int64)[place.reshape(-1)]


def _part(event: str, table: Table, names: _Names) -> tuple[Ints, ...]:
    """Kind, name, CPU, begin, end, duration and thread of the noises of an event."""
    rows = Rows(table)
    end, duration, thread = rows["time"], rows["duration"], rows["common_pid"]
    kind: Ints = np.full(end.size, NOISE_EVENTS.index(event), dtype=np.int64)
    if event == "nmi_noise":
        name: Ints = np.full(end.size, names.code("nmi"), dtype=np.int64)
    elif event == "irq_noise":
        codes, texts = rows.texts("desc")
        name = names.of_pairs(texts, codes, rows["vector"], "irq:{}/{}")
    elif event == "softirq_noise":
        vectors, place = np.unique(rows["vector"], return_inverse=True)
        own = [names.code(f"softirq:{_softirq(vector)}") for vector in vectors.tolist()]
        name = np.array(own, dtype=np.int64)[place]
    else:
        thread = rows["pid"]
        codes, texts = rows.texts("comm")
        name = names.of_pairs(texts, codes, thread, "task:{}/{}")
        idle = thread == 0
        name[idle] = names.of_pairs([""], np.zeros_like(thread), rows["cpu"], "idle:{1}")[idle]
        kind[idle] = _IDLE
    late = end - (rows["start"] + duration)
    elsewhere = late.size and abs(int(np.median(late))) > _ANOTHER_CLOCK
    begin = end - duration if elsewhere else rows["start"]
    return kind, name, rows["cpu"], begin, end, duration, thread


def _softirq(vector: int) -> str:
    return _SOFTIRQS[vector] if 0 <= vector < len(_SOFTIRQS) else str(vector)


def _sources(analysis: Analysis, disturbances: Noises, inside: Bools) -> list[NoiseSource]:
    kept = np.flatnonzero(inside & (disturbances.kind != _IDLE))
    if not kept.size:
        return []
    groups = Groups(disturbances.name[kept], len(disturbances.names))
    ordered = groups.sorted(disturbances.duration[kept])
    described = []
    for code in np.flatnonzero(groups.sizes).tolist():
        mine = kept[groups.rows(code)]
        worst = int(mine[np.argmax(disturbances.duration[mine])])
        duration = distribution(ordered[code])
        assert duration is not None  # noqa: S101 - a group has a member
        described.append(
            NoiseSource(
                kind=KINDS[int(disturbances.kind[worst])],
                name=disturbances.names[code],
                cpus=tuple(np.unique(disturbances.cpu[mine]).tolist()),
                duration=duration,
                share=duration.total / analysis.span.duration,
                worst_at=int(disturbances.begin[worst]),
                worst_cpu=int(disturbances.cpu[worst]),
            )
        )
    return sorted(described, key=lambda source: (-source.duration.total, source.name))


def first_table(events: Events, names: Sequence[str]) -> Table | None:
    """The first of these events that the trace has: of the same values there may be two."""
    tables = (events(name) for name in names)
    return next((table for table in tables if table is not None and table.num_rows), None)
