"""What changed: a row for each series, a column for each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from starlette.requests import Request

from benchvise.measure.compare import SeriesVerdict
from benchvise.report.data import ChangeData, ReportData, SummaryData
from benchvise.report.figures import ChangeFigure, Figures
from benchvise.web.context import Context
from benchvise.web.figures import drawn
from benchvise.web.links import link
from benchvise.web.views import View


@dataclass(frozen=True, slots=True)
class Row:
    """A series: its figures in the base, and how each other run compares, in their order."""

    key: str
    family: str
    unit: str
    better: str
    base: SummaryData | None
    changes: tuple[ChangeData | None, ...]

    @property
    def verdicts(self) -> frozenset[str]:
        """What the others show."""
        return frozenset(change.verdict for change in self.changes if change is not None)


def changes(
    request: Request, _shared: Context, data: ReportData, figures: Sequence[ChangeFigure]
) -> View:
    """The rows that the parameters ``family`` and ``verdict`` leave, the largest change first."""
    rows = rows_of(data)
    family = request.query_params.get("family") or None
    verdict = request.query_params.get("verdict") or None
    shown = [
        row
        for row in rows
        if family in (None, row.family) and (verdict is None or verdict in row.verdicts)
    ]
    keys = {row.key for row in shown}
    parts = tuple(
        replace(figure, rows=tuple(row for row in figure.rows if row.name in keys))
        for figure in figures
    )
    document = {
        "filter": {"family": family, "verdict": verdict},
        "comparisons": [{"other": c.other, "counts": c.counts} for c in data.comparisons],
        "series": [asdict(row) for row in shown],
        "total": len(rows),
    }
    more = {
        "rows": shown,
        "families": list(dict.fromkeys(row.family for row in rows)),
        "verdict_words": [str(word) for word in SeriesVerdict],
        "series_url": series_url(request),
        **drawn(Figures(data.format, (), (), (), parts)),
    }
    return View(document, more)


def rows_of(data: ReportData) -> list[Row]:
    """All series of all comparisons, in the order of the first in which they stand."""
    columns = len(data.comparisons)
    found: dict[str, list[ChangeData | None]] = {}
    for column, comparison in enumerate(data.comparisons):
        for change in comparison.changes:
            found.setdefault(change.key, [None] * columns)[column] = change
    return sorted((_row(data, key, changes) for key, changes in found.items()), key=_rank)


def _row(data: ReportData, key: str, changes: Sequence[ChangeData | None]) -> Row:
    known = [change for change in changes if change is not None]
    base = next((one for one in data.runs[0].series if one.key == key), None)
    return Row(
        key=key,
        family=key.partition(".")[0],
        unit=known[0].unit,
        better=known[0].better,
        base=base.summary if base else None,
        changes=tuple(changes),
    )


def _rank(row: Row) -> tuple[int, float]:
    """What changed goes first, the largest change on top; then as comparisons are sorted."""
    order = [SeriesVerdict.UNSTABLE, SeriesVerdict.NO_DIFFERENCE, SeriesVerdict.NOT_COMPARABLE]
    ratios = [
        max(change.ratio, 1 / change.ratio)
        for change in row.changes
        if change
        and change.ratio
        and change.verdict in (SeriesVerdict.FASTER, SeriesVerdict.SLOWER)
    ]
    if ratios:
        return 0, -max(ratios)
    return 1 + min(order.index(SeriesVerdict(word)) for word in row.verdicts), 0.0


def series_url(request: Request) -> Callable[[str], str]:
    """The address of a series in this comparison, by its key."""

    def of(key: str) -> str:
        gone: dict[str, Any] = {"view": None, "family": None, "verdict": None}
        return link(request, series=key, **gone)

    return of
