"""What of a line is seen at a zoom: two items a bucket of time, whatever the capture's size.

A timeline shows some hundred million edges on some thousand pixels. Where a bucket has one edge,
the level that begins there is told exactly; where it has several, the line *changes* from the first
to the last of them. A pixel is at least as long as a bucket, so at most one border of two pixels
lies between these two edges: both pixels have an edge, and none shows what did not happen in it. A
question costs a binary search a bucket.
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
    """It changes more than once in the bucket: from its first edge to its last one."""


@dataclass(frozen=True, slots=True)
class Items:
    """Items in order of time, as columns. ``begin`` and ``end`` are in ticks, and may lie beyond
    what was asked for. ``count`` is how many edges an item stands for; 1 is exactly this level."""

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
    places = _places(edges, begin, end, buckets)
    filled = np.flatnonzero(np.diff(places))
    first, behind = places[filled], places[filled + 1]
    several = behind - first > 1
    opens = first[several]
    reaching = places[:1]
    # What reaches into the span from where it began, what changes, and the level behind it.
    starts = np.concatenate(
        ([edges[reaching[0] - 1] if reaching[0] else 0], edges[opens], edges[behind - 1])
    ).astype(np.float64)
    changes = np.full(opens.size, LineState.CHANGES, dtype=np.uint8)
    states = np.concatenate((_level(line, reaching), changes, _level(line, behind)))
    counts = np.ones(starts.size, dtype=np.int64)
    counts[1 : 1 + opens.size] = (behind - first)[several]
    order = np.argsort(starts, kind="stable")
    start, state, count = starts[order], states[order], counts[order]
    beyond = float(edges[places[-1]]) if places[-1] < edges.size else float(ticks)
    stop = np.append(start[1:], beyond)
    inside = (stop > start) & (stop > begin) & (start < min(end, ticks)) & (end > 0)
    return Items(start[inside], stop[inside], state[inside], count[inside])


def _places(sorted_ticks: Ticks, begin: float, end: float, buckets: int) -> Counts:
    """How many of the ticks lie before each bound of the buckets."""
    bounds: Floats = begin + (end - begin) / buckets * np.arange(buckets + 1, dtype=np.float64)
    # As whole ticks: numpy would make floats of all edges otherwise.
    return np.searchsorted(sorted_ticks, np.ceil(bounds).astype(np.int64))


def _level(line: SignalLine, edges_before: Counts) -> npt.NDArray[np.uint8]:
    """The level after so many edges."""
    high = (edges_before % 2 == 1) ^ line.starts_high
    return np.where(high, LineState.HIGH, LineState.LOW).astype(np.uint8)


def density(sorted_ticks: Ticks, ticks: int, buckets: int) -> Counts:
    """How many of the ticks lie in each of so many equal parts of a capture."""
    return np.diff(_places(sorted_ticks, 0.0, float(ticks), buckets))


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
    """Of the spans that begin in one bucket all as one, but for a last one that ends behind it; and
    what reaches into the time asked for.

    ValueError for a time without length, or without buckets.
    """
    if not end > begin or buckets < 1:
        raise ValueError("no span, or no buckets")
    places = _places(spans.begin, begin, end, buckets)
    filled = np.flatnonzero(np.diff(places))
    first, behind = places[filled], places[filled + 1]
    bucket_ends = begin + (end - begin) / buckets * (filled + 1)
    # It may be long: it keeps its own begin and text.
    apart = (behind - first > 1) & (spans.end[behind - 1] > bucket_ends)
    first, behind = (
        np.sort(np.concatenate((first, behind[apart] - 1))),
        np.sort(np.concatenate((behind, behind[apart] - 1))),
    )
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
