"""Who had a CPU at each moment: a thread, its idle task, a softirq or an interrupt handler."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchvise.trace.analysis.model import Analysis, Ints

_LAYERS = (("task", "idle"), ("softirq",), ("irq",))
"""What may run within what: the innermost last."""

UNKNOWN = -1
"""Stands for a fragment where the trace does not say who had the CPU."""


@dataclass(frozen=True, slots=True)
class Occupants:
    """The spans of one CPU in order of time, without gaps between them, in ns.

    ``fragment`` is the row of ``analysis.fragments`` that had the CPU, the innermost where several
    are nested, or ``UNKNOWN``. A fragment that is interrupted has several spans.
    """

    begin: Ints
    end: Ints
    fragment: Ints

    def between(self, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
        """The first of the spans that touch each interval, and how many there are."""
        first = np.searchsorted(self.end, begin, side="right")
        count = np.searchsorted(self.begin, end, side="left") - first
        return first, np.where(end > begin, np.maximum(count, 0), 0)


def occupants(analysis: Analysis, cpu: int) -> Occupants:
    """Who had a CPU, from its first fragment to its last."""
    rows = analysis.fragments
    lasted = (rows["cpu"] == cpu) & (rows["end"] > rows["begin"])
    edges = np.unique(np.concatenate([rows["begin"][lasted], rows["end"][lasted]]))
    begin, end = edges[:-1], edges[1:]
    owner = np.full(begin.size, UNKNOWN, dtype=np.int64)
    for kinds in _LAYERS:
        layer = np.flatnonzero(lasted & analysis.of_kind(*kinds)[rows["actor"]])
        if layer.size == 0:
            continue
        layer = layer[np.argsort(rows["begin"][layer], kind="stable")]
        latest = layer[
            np.maximum(np.searchsorted(rows["begin"][layer], begin, side="right") - 1, 0)
        ]
        holds = (rows["begin"][latest] <= begin) & (begin < rows["end"][latest])
        owner[holds] = latest[holds]
    return Occupants(begin, end, owner)
