"""Time that intervals cover: up to a time, and in bins."""

from __future__ import annotations

import numpy as np

from benchvise.trace.analysis.model import Floats, Ints, TraceSpan


class Cover:
    """Disjoint intervals in ascending order, asked how much time they cover."""

    def __init__(self, begin: Ints, end: Ints) -> None:
        self.begin = begin
        self.end = end
        self._before: Ints = np.concatenate([[0], np.cumsum(end - begin)])

    def until(self, times: Ints) -> Ints:
        """The covered nanoseconds before each time."""
        if self.begin.size == 0:
            return np.zeros(times.size, dtype=np.int64)
        at = np.searchsorted(self.begin, times, side="right") - 1
        inside = np.minimum(times, self.end[at]) - self.begin[at]
        covered: Ints = np.where(at < 0, 0, self._before[at] + inside)
        return covered


def clipped(begin: Ints, end: Ints, span: TraceSpan) -> tuple[Ints, Ints]:
    """The parts of intervals that lie in the span; those outside it become empty."""
    first = np.clip(begin, span.begin, span.end)
    return first, np.maximum(first, np.clip(end, span.begin, span.end))


def binned(groups: Ints, begin: Ints, end: Ints, edges: Ints, count: int) -> Floats:
    """The nanoseconds of each group in each bin, ``count`` rows by ``len(edges) - 1`` columns.

    ``edges`` are ascending. Intervals of a group may overlap: their times add up.
    """
    bins = edges.size - 1
    begin, end = clipped(begin, end, TraceSpan(int(edges[0]), int(edges[-1])))
    kept = end > begin
    groups, begin, end = groups[kept], begin[kept], end[kept]
    first = np.searchsorted(edges, begin, side="right") - 1
    last = np.searchsorted(edges, end, side="left") - 1
    # One part for each bin that an interval touches; most touch one.
    parts = last - first + 1
    whose = np.repeat(np.arange(groups.size), parts)
    offset = np.arange(whose.size) - np.repeat(np.cumsum(parts) - parts, parts)
    at = first[whose] + offset
    time = np.minimum(end[whose], edges[at + 1]) - np.maximum(begin[whose], edges[at])
    total = np.bincount(groups[whose] * bins + at, weights=time, minlength=count * bins)
    shaped: Floats = total.reshape(count, bins).astype(np.float64, copy=False)
    return shaped


def counted(groups: Ints, times: Ints, edges: Ints, count: int) -> Floats:
    """How many times of each group fall into each bin."""
    bins = edges.size - 1
    kept = (times >= edges[0]) & (times < edges[-1])
    at = np.searchsorted(edges, times[kept], side="right") - 1
    counts = np.bincount(groups[kept] * bins + at, minlength=count * bins)
    return counts.reshape(count, bins).astype(np.float64)


def bin_edges(span: TraceSpan, bins: int) -> Ints:
    """The edges of at most ``bins`` bins over the span: of equal width, but for the last."""
    width = max(1, -(-span.duration // bins))
    edges: Ints = np.append(np.arange(span.begin, span.end, width, dtype=np.int64), span.end)
    return edges
