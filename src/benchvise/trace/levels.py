"""The timeline of a trace at every zoom: rows, and what is drawn of them in a span of time.

Made once from the analysis by ``crates/tracelevels``, which says how, and kept beside the trace.
Times are nanoseconds since the trace's first event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from benchvise.trace.analysis.model import Actor
from benchvise.trace.decoder import decoder
from benchvise.trace.opening import OpenTrace

if TYPE_CHECKING:
    from benchvise.trace.native import Table

_LARGEST_SHIFT = 62
_UNKNOWN_CPU = 65535


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A row of the timeline; ``id`` is its place.

    ``kind``: ``cpu``, ``irq``, ``softirq`` or ``thread``. A handler has a row for each CPU that it
    ran on. ``process`` and ``container`` (or cgroup) are those of a thread, where the trace tells
    them. ``actor`` is None for a CPU, on whose row each item has its own. ``busy``: ns on a CPU.
    ``instances``: of its actor, of a handler those on that CPU, of a CPU all that began there.
    """

    id: int
    kind: str
    name: str
    cpu: int | None
    tid: int | None
    process: int | None
    container: str | None
    actor: int | None
    busy: int
    instances: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """What a row shows at a time."""

    begin: int
    end: int
    actor: int
    state: str


class Levels:
    """The timeline of an open trace; may be asked by many threads at once."""

    def __init__(self, trace: OpenTrace) -> None:
        self._trace = trace
        self._origin = trace.span[0] if trace.span else 0
        kept = trace.kept("levels")
        if kept is not None:
            self._native = decoder().Levels(dict(kept))
            return
        tables, span = trace.analysis, trace.span or (0, 0)
        self._native = decoder().Levels.build(
            tables["actors"],
            tables["instances"],
            tables["fragments"],
            tables["waits"],
            trace.index,
            span,
        )
        trace.put("levels", self._native.tables)

    def rows(self, actors: Sequence[Actor], containers: Mapping[int, str]) -> list[TimelineRow]:
        """All rows in the order in which they are shown; ``containers`` are those of threads, by
        actor."""
        rows = self._native.rows().to_pylist()
        return [_row(number, row, actors, containers) for number, row in enumerate(rows)]

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        count: int = self._native.rows().num_rows
        return count

    def prepare(self, rows: int) -> None:
        """Makes what the first rows are drawn of, which else is made when they are asked for."""
        self.items(list(range(min(rows, self.row_count))), 0, 1, _LARGEST_SHIFT)

    def items(self, rows: list[int], begin: int, end: int, shift: int) -> Table:
        """What is drawn of rows in buckets of ``2**shift`` ns, at most five items a bucket.

        On pixels of a bucket or more, none is blank in which anything happened, and none shows
        what did not happen there.

        Columns: ``row``, ``begin``, ``end``, ``actor``, ``state`` (see ``states``), ``count``
        (items for which it stands), ``ran`` (ns for which these used a CPU).
        """
        items: Table = self._native.items(rows, begin, end, shift)
        return items

    def marks(self, rows: list[int], begin: int, end: int, shift: int) -> tuple[Table, bool]:
        """Events of rows in the same buckets, and whether only rare ones are among them.

        Columns: ``row``, ``time``, ``event`` (type), ``count``, ``index`` (place in the index). Of
        a bucket's events the one of the rarest type stands for all.
        """
        table, only_rare = self._events.marks(self._native, rows, begin, end, shift)
        return table, bool(only_rare)

    def overview(self, width: int) -> Table:
        """The whole trace in at most ``width`` buckets a CPU.

        Columns: ``cpu`` (65535: not known), ``begin``, ``end``, ``busy`` (share), ``events``.
        """
        overview: Table = self._native.overview(width)
        return overview

    def at(self, row: int, time: int) -> TimelineItem | None:
        """What a row shows at a time; None for nothing."""
        item = self._native.at(row, time)
        if item is None:
            return None
        begin, end, actor, state = item
        return TimelineItem(begin, end, actor, states()[state])

    @cached_property
    def _events(self) -> Any:
        return decoder().LevelEvents(self._trace.index, self._origin)


def states() -> list[str]:
    """The names of the numbers in the column ``state``."""
    names: list[str] = decoder().LEVEL_STATES
    return names


def shift_of(begin: int, end: int, width: int) -> int:
    """The buckets for a span of time on so many pixels: a pixel, rounded down to ``2**shift`` ns.

    So all zooms between two powers of two ask for the same buckets.
    """
    pixel = max(1, (end - begin) // max(1, width))
    return min(_LARGEST_SHIFT, pixel.bit_length() - 1)


def _row(
    number: int, row: dict[str, Any], actors: Sequence[Actor], containers: Mapping[int, str]
) -> TimelineRow:
    actor, cpu = row["actor"], row["cpu"]
    if actor is None:
        name = "CPU not known" if cpu == _UNKNOWN_CPU else f"CPU {cpu}"
        tid, process = None, None
    else:
        of_row = actors[actor]
        name, tid, process = of_row.name, of_row.tid, of_row.process
    return TimelineRow(
        id=number,
        kind=row["kind"],
        name=name,
        cpu=cpu,
        tid=tid,
        process=process,
        container=containers.get(actor) if actor is not None else None,
        actor=actor,
        busy=row["ran"],
        instances=row["instances"],
        first=row["first"],
        last=row["last"],
    )
