"""Insights of a run, with every text made safe to show."""

from __future__ import annotations

from benchvise.measure.insights import Insight, insights
from benchvise.measure.model import RunRecord


def run_insights(run: RunRecord) -> tuple[Insight, ...]:
    """What the series of a run say together."""
    return tuple(
        Insight(
            title=insight.title,
            sentence=insight.sentence,
            columns=tuple(column for column in insight.columns),
            rows=tuple(tuple(cell for cell in row) for row in insight.rows),
        )
        for insight in insights(run)
    )
