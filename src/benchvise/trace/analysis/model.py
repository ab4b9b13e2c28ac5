"""The analysis tables of a trace, as columns of numbers.

The tables and what their columns mean are those of the native ``analyse``. A null of an integer
column is ``NONE`` here: arithmetic on whole nanoseconds must not pass through floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntFlag
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from benchvise.trace.native import Table

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_NAME_LIMIT = 200
"""Characters of an actor's name."""

NONE = int(np.iinfo(np.int64).min)
"""Stands for a null in a column of integers."""


class Flag(IntFlag):
    """Why an instance or a wait is incomplete."""

    CUT_BEGIN = 1
    CUT_END = 2
    LOSS = 4


class Ended:
    """Why a fragment ended: values of the column ``why``."""

    BLOCKED = 0
    PREEMPTED = 1
    YIELDED = 2
    CUT = 3


class Waited:
    """What an actor waited for: values of the column ``state`` of waits."""

    WOKEN = 0
    PREEMPTED = 1
    INTERRUPTIBLE = 2
    UNINTERRUPTIBLE = 3
    OTHER = 4


class Rows:
    """A table whose columns are had as arrays, each converted once."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._arrays: dict[str, Ints] = {}

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, name: str) -> Ints:
        """A column of integers as int64; nulls are ``NONE``."""
        if name not in self._arrays:
            self._arrays[name] = self.table.column(name).integers()
        return self._arrays[name]

    def texts(self, name: str) -> tuple[Ints, list[str]]:
        """A column of texts as codes, and the text of each code; a null is ``""``."""
        return self.table.column(name).texts()


class _Taken(Rows):
    """Some rows of others, in their order; columns are taken when they are asked for."""

    def __init__(self, rows: Rows, kept: Ints) -> None:
        super().__init__(rows.table)
        self._rows = rows
        self._kept = kept

    def __len__(self) -> int:
        return int(self._kept.size)

    def __getitem__(self, name: str) -> Ints:
        if name not in self._arrays:
            self._arrays[name] = self._rows[name][self._kept]
        return self._arrays[name]

    def texts(self, name: str) -> tuple[Ints, list[str]]:
        codes, texts = self._rows.texts(name)
        return codes[self._kept], texts


@dataclass(frozen=True, slots=True)
class Actor:
    """A thread, an idle task or a handler. ``number`` is that of an interrupt or softirq."""

    id: int
    kind: str
    name: str
    tid: int | None = None
    process: int | None = None
    number: int | None = None
    cpu: int | None = None
    priority: int | None = None

    @property
    def label(self) -> str:
        """The name by which it can be asked for: ``task:iperf3/412``, ``irq:eth0/24``."""
        if self.kind == "idle":
            return f"idle:{self.name if self.cpu is None else self.cpu}"
        suffix = {"task": self.tid, "irq": self.number}.get(self.kind)
        return self.group + ("" if suffix is None else f"/{suffix}")

    @property
    def group(self) -> str:
        """The name that it shares with its like: ``task:iperf3``, ``irq:eth0``."""
        if self.kind == "idle":
            return "idle"
        name = self.name or (str(self.number) if self.number is not None else "?")
        return f"{self.kind}:{name}"


def _bounded(name: str) -> str:
    """The kernel's names have 15 characters; a trace that was made up may have any."""
    return name if len(name) <= _NAME_LIMIT else f"{name[: _NAME_LIMIT - 1]}…"


@dataclass(frozen=True, slots=True)
class Loss:
    """Events that are missing on a CPU (None: not known which) between two times."""

    cpu: int | None
    begin: int | None
    end: int | None
    count: int | None
    what: str = "events"


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """A half-open span of time in nanoseconds of the trace's clock."""

    begin: int
    end: int

    @property
    def duration(self) -> int:
        """Nanoseconds; at least 1, so that shares of it exist."""
        return max(1, self.end - self.begin)

    def holds(self, times: Ints) -> Bools:
        """Which of the times lie in it."""
        inside: Bools = (times >= self.begin) & (times < self.end)
        return inside


Events: TypeAlias = "Callable[[str], Table | None]"

_SHARED = ("actors", "instances", "fragments", "waits", "kinds", "cpus", "complete", "begun")
"""What an analysis makes of its tables, whatever part of the trace it is asked about."""


def _no_events(_name: str) -> Table | None:
    return None


def _no_usage() -> Mapping[str, Table] | None:
    return None


@dataclass(frozen=True)
class Analysis:
    """The analysis tables of one trace.

    ``whole`` is from its first event to its last, ``span`` the part that is asked about.
    ``events`` gives the table of an event type, or None when the trace has none of it. ``usage``
    gives ``actors`` and ``usage``, what these had of each CPU of the whole trace, where the tables
    of every span need not be made for that; else None.
    """

    tables: Mapping[str, Table]
    whole: TraceSpan
    losses: Sequence[Loss] = ()
    events: Events = field(default=_no_events)
    event_names: Sequence[str] = ()
    within: TraceSpan | None = None
    usage: Callable[[], Mapping[str, Table] | None] = field(default=_no_usage)

    @property
    def span(self) -> TraceSpan:
        """The part of the trace that is asked about."""
        return self.within or self.whole

    @property
    def is_whole(self) -> bool:
        """Whether that is all of it, with the moment of its last event."""
        return self.span == TraceSpan(self.whole.begin, self.whole.end + 1)

    @property
    def lossy_instances(self) -> int:
        """How many instances of the trace cross a loss."""
        usage = self.usage()
        if usage is not None:
            return int(Rows(usage["usage"])["lossy"].sum())
        flags = self.tables["instances"].column("flags").values()
        return int(np.count_nonzero(flags & Flag.LOSS))

    def asked_about(self, span: TraceSpan) -> Analysis:
        """The same trace asked about another part; what was made of its tables is shared."""
        other = replace(self, within=span)
        other.__dict__.update({name: getattr(self, name) for name in _SHARED})
        return other

    def sliced(self) -> Analysis:
        """The same with those fragments only that touch the span: for what adds up times in it.

        Fragments are nearly in order of their ends, so that a short span costs little in a long
        trace; those that a loss cut come later than they ended.
        """
        first = int(np.searchsorted(self._latest_ends, self.span.begin, side="left"))
        kept = first + np.flatnonzero(self.fragments["begin"][first:] < self.span.end)
        other = self.asked_about(self.span)
        other.__dict__["fragments"] = _Taken(self.fragments, kept)
        return other

    @cached_property
    def actors(self) -> tuple[Actor, ...]:
        """Every actor; its position is its id."""
        rows = self.tables["actors"].to_pylist()
        return tuple(
            Actor(
                id=int(row["actor"]),
                kind=str(row["kind"]),
                name=_bounded(str(row["name"] or "")),
                **{key: row.get(key) for key in ("tid", "process", "number", "cpu", "priority")},
            )
            for row in sorted(rows, key=lambda row: int(row["actor"]))
        )

    @cached_property
    def instances(self) -> Rows:
        """All instances of the trace; the position is the instance."""
        return Rows(self.tables["instances"])

    @cached_property
    def fragments(self) -> Rows:
        """The spans on a CPU."""
        return Rows(self.tables["fragments"])

    @cached_property
    def _latest_ends(self) -> npt.NDArray[np.int64]:
        """For each fragment the latest end of it and those before."""
        latest: npt.NDArray[np.int64] = np.maximum.accumulate(self.fragments["end"])
        return latest

    @cached_property
    def waits(self) -> Rows:
        """The spans of tasks off a CPU."""
        return Rows(self.tables["waits"])

    @cached_property
    def kinds(self) -> npt.NDArray[np.str_]:
        """The kind of each actor."""
        return np.array([actor.kind for actor in self.actors], dtype=np.str_)

    def of_kind(self, *kinds: str) -> Bools:
        """Which actors are of these kinds."""
        chosen: Bools = np.isin(self.kinds, kinds)
        return chosen

    @cached_property
    def cpus(self) -> list[int]:
        """The CPUs on which anything ran."""
        seen = np.zeros(1 << 16, dtype=np.bool_)
        seen[self.tables["fragments"].column("cpu").values()] = True
        cpus: list[int] = np.flatnonzero(seen).tolist()
        return cpus

    @cached_property
    def complete(self) -> Bools:
        """Which instances are whole: seen from begin to end, on CPUs that lost nothing then."""
        whole: Bools = self.instances["flags"] == 0
        return whole

    @cached_property
    def begun(self) -> Bools:
        """Whose begin is known: those that are whole, or cut by the end of the trace alone."""
        known: Bools = (self.instances["flags"] & ~int(Flag.CUT_END)) == 0
        return known
