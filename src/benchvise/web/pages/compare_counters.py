"""What an iteration costs in each run, counter by counter: why a series changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from benchvise.measure.compare import SeriesVerdict
from benchvise.measure.counters import counters_per_iteration, missing_counters
from benchvise.report.data import ReportData
from benchvise.report.text import clean
from benchvise.store import Store
from benchvise.web.context import Context
from benchvise.web.pages.compare_changes import Row, rows_of, series_url
from benchvise.web.views import View

SERIES = 12
"""Whose counters are shown: those that changed most."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The counters of one series: by name, for one iteration in each run (None: not counted), and
    why counters are missing, with the run that lacks them."""

    key: str
    row: Row
    counters: dict[str, tuple[float | None, ...]]
    missing: dict[str, tuple[str, ...]]

    def as_json(self) -> dict[str, Any]:
        """As part of a document."""
        return {"key": self.key, "counters": self.counters, "missing": self.missing}


def counters(request: Request, shared: Context, data: ReportData) -> View:
    """The counters of the series that changed most."""
    rows = rows_of(data)
    changed = [row for row in rows if row.verdicts & {SeriesVerdict.FASTER, SeriesVerdict.SLOWER}]
    tables = [costs(shared.store, data, row) for row in changed[:SERIES]]
    document = {"changed": len(changed), "counters": [table.as_json() for table in tables]}
    return View(document, {"tables": tables, "series_url": series_url(request)})


def costs(store: Store, data: ReportData, row: Row) -> Costs:
    """The counters of one series in all runs."""
    found: list[dict[str, float]] = []
    missing: dict[str, tuple[str, ...]] = {}
    for run in data.runs:
        records = store.series_of(run.id, row.key)
        found.append(counters_per_iteration(records[0]) if records else {})
        if records:
            for reason, names in missing_counters(records[0]).items():
                missing[clean(reason)] = tuple(
                    dict.fromkeys((*missing.get(clean(reason), ()), *map(clean, names)))
                )
    return Costs(row.key, row, _side_by_side(found), missing)


def _side_by_side(found: Sequence[dict[str, float]]) -> dict[str, tuple[float | None, ...]]:
    """By counter what each run has of it; those that are zero everywhere are left out."""
    names = dict.fromkeys(name for counted in found for name in counted)
    table = {clean(name): tuple(counted.get(name) for counted in found) for name in names}
    return {name: values for name, values in table.items() if any(values)}
