"""Counters: a table of them, and what is drawn of one of them on the timeline."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace

import numpy as np

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.trace.analysis.counters import (
    RUN_QUEUE,
    USUAL,
    Counter,
    CounterSteps,
    counter_names,
    counter_steps,
    counters,
    is_heap,
)
from benchvise.trace.analysis.idle import EVENTS
from benchvise.trace.levels import shift_of
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part

_MOST_NAMES = 2000
_MOST_ASKED = 20
_KEPT = 16
"""Counters of one trace whose values are kept between requests."""

_WIDEST = 1 << 13


@dataclass(frozen=True, slots=True)
class TrackTable:
    """Counters over the span; ``names`` are all that the trace has. Times in ns since the first
    event."""

    part: AnsweredPart = field(metadata=in_json(inline=True))
    counters: tuple[Counter, ...]
    names: tuple[str, ...]


def counter_table(loaded: LoadedTrace, query: TraceQuery) -> TrackTable:
    """``counters``: those of ``counter`` (several with commas), the usual ones for none."""
    part = query.part(loaded)
    names = counter_names(part.analysis)
    usual = [RUN_QUEUE, *USUAL, *(f"{event}.state" for event in EVENTS)]
    chosen = (
        query.items("counter")[:_MOST_ASKED]
        or [name for name in names if name in usual or is_heap(name)][:_MOST_ASKED]
    )
    origin = part.analysis.whole.begin
    return TrackTable(
        answered_part(part),
        tuple(
            replace(
                counter,
                minimum_at=counter.minimum_at - origin,
                maximum_at=counter.maximum_at - origin,
            )
            for counter in (counters(part.analysis, chosen) if chosen else ())
        ),
        tuple(names[:_MOST_NAMES]),
    )


@dataclass(frozen=True, slots=True)
class CounterTrack:
    """What is drawn of a counter.

    From ``begin`` to ``end`` (ns since the first event) its value was between ``low`` and ``high``.
    Between two lines it is not known. ``minimum`` and ``maximum`` are those of the whole trace.
    """

    minimum: int | float
    maximum: int | float
    begin: list[int]
    end: list[int]
    low: list[int] | list[float]
    high: list[int] | list[float]


class KeptSteps:
    """The values of the counters that were asked for last."""

    def __init__(self) -> None:
        self._steps: OrderedDict[str, list[CounterSteps]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, loaded: LoadedTrace, name: str, cpu: int | None) -> CounterSteps:
        """The values of a counter, on a CPU where it has some for each. UsageError for none."""
        with self._lock:
            if name not in self._steps:
                self._steps[name] = counter_steps(loaded.analysis, name)
            self._steps.move_to_end(name)
            while len(self._steps) > _KEPT:
                self._steps.popitem(last=False)
            for steps in self._steps[name]:
                if steps.cpu == cpu:
                    return steps
        where = "" if cpu is None else f" of CPU {cpu}"
        raise UsageError(f"the trace has no value of {name[:80]}{where}", "")


def counter_track(loaded: LoadedTrace, query: TraceQuery, kept: KeptSteps) -> CounterTrack:
    """``track``: of one ``counter`` (and ``cpu``) from ``begin`` to ``end``, on ``width`` pixels.

    Where a pixel has several values, one line has the least and the greatest of them.
    """
    name = query.text("counter", limit=200)
    cpu = query.whole("cpu", None, 0, 1 << 16) if query.text("cpu") else None
    steps = kept.of(loaded, name, cpu)
    whole = loaded.analysis.whole
    begin, end = query.moment("begin", loaded), query.moment("end", loaded)
    first = whole.begin if begin is None else begin
    last = whole.end + 1 if end is None else max(end, first + 1)
    shift = shift_of(first, last, query.whole("width", 1000, 1, _WIDEST))
    columns = lines_at(steps, first, last, shift, whole.begin)
    return CounterTrack(steps.value.min().item(), steps.value.max().item(), *columns)


def lines_at(
    steps: CounterSteps, first: int, last: int, shift: int, origin: int
) -> tuple[list[int], list[int], list[int] | list[float], list[int] | list[float]]:
    """Lines of begin, end, low and high in order of time."""
    time, until, value = steps.time, steps.until, steps.value
    kept = np.flatnonzero((until > first) & (time < last) & (until > time))
    time, until, value = time[kept] - origin, until[kept] - origin, value[kept]
    # A value that holds over an edge of pixels is one line; the others of a pixel are one together.
    own = time >> shift == (until - 1) >> shift
    bucket = np.where(own, time >> shift, -1 - np.arange(time.size))
    change = np.flatnonzero(np.diff(bucket, prepend=bucket[:1] - 1))
    if time.size == 0:
        return [], [], [], []
    lasts = np.append(change[1:], time.size) - 1
    low, high = np.minimum.reduceat(value, change), np.maximum.reduceat(value, change)
    return (
        time[change].tolist(),
        np.maximum(until[lasts], time[change] + 1).tolist(),
        low.tolist(),
        high.tolist(),
    )
