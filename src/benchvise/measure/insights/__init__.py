"""Insights: what the series of a run say together.

Each is found by a pure function of the run, in the module of its subject. An unstable series lends
no median to any of them, as no one number may stand for it (``caches`` has its own way).
"""

from __future__ import annotations

from collections.abc import Callable

from benchvise.measure.insights.caches import cache_sizes, line_sizes, switching_knees
from benchvise.measure.insights.clock import advertised_clocks, sustained_clocks
from benchvise.measure.insights.insight import Insight
from benchvise.measure.insights.pages import huge_pages, zero_pages
from benchvise.measure.insights.pipe import pipe_ladders
from benchvise.measure.model import RunRecord

__all__ = ["Insight", "insights"]

_FINDERS: tuple[Callable[[RunRecord], list[Insight]], ...] = (
    advertised_clocks,
    sustained_clocks,
    cache_sizes,
    switching_knees,
    line_sizes,
    huge_pages,
    zero_pages,
    pipe_ladders,
)


def insights(run: RunRecord) -> tuple[Insight, ...]:
    """All insights of a run, in the order in which they should be read."""
    return tuple(insight for find in _FINDERS for insight in find(run))
