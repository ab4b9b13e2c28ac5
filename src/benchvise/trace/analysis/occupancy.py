"""What ran on each CPU: time of tasks, idle tasks and handlers, nothing counted twice.

A fragment of a task reaches from one switch to the next and holds the interrupts that came
meanwhile. Here their time is the interrupts': each nanosecond of a CPU belongs to the innermost
that ran.
"""

from __future__ import annotations

import numpy as np

from benchvise.trace.analysis.intervals import Cover, clipped
from benchvise.trace.analysis.model import Analysis, Bools, Ints

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
