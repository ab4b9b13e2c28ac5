"""Insights of a run, with every text made safe to show."""

from __future__ import annotations

from benchvise.measure.insights import Insight, insights
from benchvise.measure.model import RunRecord
from benchvise.report.text import SENTENCE_LIMIT, clean


def run_insights(run: RunRecord) -> tuple[Insight, ...]:
    """What the series of a run say together."""
    return tuple(
        Insight(
            title=clean(insight.title),
            sentence=clean(insight.sentence, SENTENCE_LIMIT),
            columns=tuple(clean(column) for column in insight.columns),
            rows=tuple(tuple(clean(cell) for cell in row) for row in insight.rows),
        )
        for insight in insights(run)
    )
