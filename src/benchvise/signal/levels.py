"""What of a line is seen at a zoom: at most one item a bucket of time, whatever the capture's size.

A timeline shows some hundred million edges on some thousand pixels. Where a bucket has one edge,
the level that begins there is told exactly; where it has several, the line *changes* there, and
buckets that follow each other so are one item. A question costs a binary search a bucket.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from benchvise.signal.capture import SignalLine, Ticks

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


class LineState(IntEnum):
    """What an item says of a line."""

    LOW = 0
    HIGH = 1
    CHANGES = 2
    """It changes more than once in each bucket."""


@dataclass(frozen=True, slots=True)
class Items:
    """Items in order of time, as columns. ``begin`` and ``end`` are in ticks, and may lie beyond
    what was asked for. ``count`` is of how many levels an item stands; 1 is exactly this one."""

    begin: Floats
    end: Floats
    state: npt.NDArray[np.uint8]
    count: Counts


def items(line: SignalLine, ticks: int, begin: float, end: float, buckets: int) -> Items:
    """The items of a line of a capture of ``ticks`` between two ticks, cut into ``buckets``.

    ValueError for a span without length, or without buckets.
    """
    if not end > begin or buckets < 1:
        raise ValueError("no span, or no buckets")
    edges = line.edges
    bounds, places = _bounds(edges, begin, end, buckets)
    edge_counts = np.diff(places)
    changing = _changing(edge_counts)
    single = np.flatnonzero((edge_counts > 0) & ~changing)
    opens = np.flatnonzero(changing & ~np.append(False, changing[:-1]))
    closes = np.flatnonzero(changing & ~np.append(changing[1:], False)) + 1
    before = np.concatenate(([0], np.cumsum(edge_counts)))
    after = closes[closes < buckets]  # at the end of the span nothing begins
    starts = [edges[places[single]].astype(np.float64), bounds[opens], bounds[after]]
    states = [
        _level(line, places[single] + 1),
        np.full(opens.size, LineState.CHANGES, dtype=np.uint8),
        _level(line, places[after]),
    ]
    counts = [
        np.ones(single.size, dtype=np.int64),
        before[closes] - before[opens],
        np.ones(after.size, dtype=np.int64),
    ]
    if not (changing[0] or (single.size and edges[places[single[0]]] <= begin)) and end > 0:
        # What reaches into the span, from where it began.
        first = float(edges[places[0] - 1]) if places[0] else 0.0
        starts.append(np.array([first]))
        states.append(_level(line, places[:1]))
        counts.append(np.ones(1, dtype=np.int64))
    start = np.concatenate(starts)
    order = np.argsort(start, kind="stable")
    start, state = start[order], np.concatenate(states)[order]
    beyond = float(edges[places[-1]]) if places[-1] < edges.size else float(ticks)
    last = min(bounds[-1], float(ticks)) if changing[-1] else beyond
    stop = np.append(start[1:], last)
    inside = (stop > start) & (stop > begin) & (start < ticks)
    return Items(
        np.maximum(start, 0.0)[inside],
        stop[inside],
        state[inside],
        np.concatenate(counts)[order][inside],
    )


def _bounds(sorted_ticks: Ticks, begin: float, end: float, buckets: int) -> tuple[Floats, Counts]:
    """The bounds of the buckets, and how many of the ticks lie before each."""
    bounds: Floats = begin + (end - begin) / buckets * np.arange(buckets + 1, dtype=np.float64)
    # As whole ticks: numpy would make floats of all edges otherwise.
    return bounds, np.searchsorted(sorted_ticks, np.ceil(bounds).astype(np.int64))


def _changing(edge_counts: Counts) -> npt.NDArray[np.bool_]:
    """The buckets with several edges, and those with any that follow on one without a break: there
    no level is seen before the next empty bucket."""
    some, several = edge_counts > 0, edge_counts > 1
    begins = some & ~np.append(False, some[:-1])
    seen = np.cumsum(several)
    # How many had been seen where the run of a bucket began; it only grows from run to run.
    before = np.maximum.accumulate(np.where(begins, seen - several, 0))
    return np.asarray(some & (seen > before), dtype=np.bool_)


def _level(line: SignalLine, edges_before: Counts) -> npt.NDArray[np.uint8]:
    """The level after so many edges."""
    high = (edges_before % 2 == 1) ^ line.starts_high
    return np.where(high, LineState.HIGH, LineState.LOW).astype(np.uint8)


def density(sorted_ticks: Ticks, ticks: int, buckets: int) -> Counts:
    """How many of the ticks lie in each of so many equal parts of a capture."""
    _, places = _bounds(sorted_ticks, 0.0, float(ticks), buckets)
    return np.diff(places)


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans in order of time that do not overlap, as columns in ticks; ``text`` is the number of
    what is known of each."""

    begin: Ticks
    end: Ticks
    text: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class SpanItems:
    """As ``Items``, of spans; ``text`` is -1 where an item stands for several."""

    begin: Floats
    end: Floats
    text: npt.NDArray[np.int32]
    count: Counts


def span_items(spans: Spans, begin: float, end: float, buckets: int) -> SpanItems:
    """Of the spans that begin in one bucket all as one, and what reaches into the time asked for.

    ValueError for a time without length, or without buckets.
    """
    if not end > begin or buckets < 1:
        raise ValueError("no span, or no buckets")
    _, places = _bounds(spans.begin, begin, end, buckets)
    filled = np.flatnonzero(np.diff(places))
    first, behind = places[filled], places[filled + 1]
    reaching = places[0] - 1
    if reaching >= 0 and spans.end[reaching] > begin:
        first, behind = np.append(reaching, first), np.append(reaching + 1, behind)
    count = behind - first
    return SpanItems(
        spans.begin[first].astype(np.float64),
        spans.end[behind - 1].astype(np.float64),
        np.where(count == 1, spans.text[first], -1).astype(np.int32),
        count.astype(np.int64),
    )
