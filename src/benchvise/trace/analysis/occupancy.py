"""Time: how much of it intervals cover, and whose each nanosecond of a CPU is.

A fragment of a task reaches from one switch to the next and holds the interrupts that came
meanwhile. Here their time is the interrupts': each nanosecond of a CPU belongs to the innermost
that ran.
"""

from __future__ import annotations

import numpy as np

from benchvise.trace.analysis.model import Analysis, Bools, Floats, Ints, TraceSpan

_NONE_YET: Ints = np.zeros(0, dtype=np.int64)
_NOTHING = (_NONE_YET, _NONE_YET, _NONE_YET)


def own_time(analysis: Analysis) -> Ints:
    """The nanoseconds of every fragment that lie in the span and are its own.

    Of a task or idle task: without interrupts and softirqs; of a softirq: without interrupts.
    """
    rows = analysis.fragments
    begin, end = clipped(rows["begin"], rows["end"], analysis.span)
    whole = (begin == rows["begin"]) & (end == rows["end"])
    own: Ints = np.where(whole, rows["execution"], end - begin)
    # Those that the ends of the span cut are few: what is nested in them is looked up.
    actor, first, last = nested(analysis, ~whole & (end > begin))
    for part in range(actor.size):
        at = actor[part]
        inside = min(last[part], end[at]) - max(first[part], begin[at])
        own[at] -= max(0, inside)
    return own


def nested(analysis: Analysis, rows: Bools) -> tuple[Ints, Ints, Ints]:
    """The spans of handlers within the fragments ``rows``: (the fragment, begin, end) each.

    Within a softirq those of interrupts, within a task those of both, where a softirq holds the
    interrupts nested in itself.
    """
    fragments = analysis.fragments
    softirq = analysis.of_kind("softirq")[fragments["actor"]]
    handler = analysis.of_kind("irq")[fragments["actor"]] | softirq
    spans: list[tuple[Ints, Ints, Ints]] = []
    for cpu in analysis.cpus:
        here = fragments["cpu"] == cpu
        irqs = merged(analysis, here & handler & ~softirq)
        both = merged(analysis, here & handler)
        spans.append(_placed(analysis, here & rows & softirq, irqs))
        spans.append(_placed(analysis, here & rows & ~handler, both))
    if not spans:
        return _NOTHING
    owners, begins, ends = zip(*spans, strict=True)
    return np.concatenate(owners), np.concatenate(begins), np.concatenate(ends)


def _placed(analysis: Analysis, rows: Bools, inner: Cover) -> tuple[Ints, Ints, Ints]:
    """Which of the fragments ``rows`` of one CPU holds each of the inner intervals."""
    fragments = analysis.fragments
    outer = np.flatnonzero(rows)
    if outer.size == 0 or inner.begin.size == 0:
        return _NOTHING
    outer = outer[np.argsort(fragments["begin"][outer], kind="stable")]
    at = np.searchsorted(fragments["begin"][outer], inner.begin, side="right") - 1
    owner = outer[np.maximum(at, 0)]
    inside = (at >= 0) & (inner.begin < fragments["end"][owner])
    owner = owner[inside]
    return owner, inner.begin[inside], np.minimum(inner.end[inside], fragments["end"][owner])


def merged(analysis: Analysis, rows: Bools) -> Cover:
    """The time that any of the fragments covers, as disjoint intervals."""
    fragments = analysis.fragments
    begin, end = fragments["begin"][rows], fragments["end"][rows]
    if begin.size == 0:
        return Cover(begin, end)
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    first = np.ones(begin.size, dtype=np.bool_)
    first[1:] = begin[1:] > end[:-1]
    return Cover(begin[first], end[np.roll(first, -1)])


# -- time that intervals cover: up to a time, and in bins ------------------------------------------


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
