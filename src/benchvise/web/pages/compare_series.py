"""One series in all runs: its figures, what an iteration costs, its samples and latencies."""

from __future__ import annotations

from dataclasses import asdict, replace

from starlette.requests import Request

from benchvise.report.data import ReportData
from benchvise.report.figures import Figures, sample_figure
from benchvise.report.html import sample_groups
from benchvise.report.latency_figures import latency_figures
from benchvise.web.context import Context
from benchvise.web.errors import NotFound
from benchvise.web.figures import drawn
from benchvise.web.pages.compare_changes import rows_of
from benchvise.web.pages.compare_counters import costs
from benchvise.web.views import View


def series(_request: Request, shared: Context, data: ReportData, key: str) -> View:
    """The series with this key. NotFound when none of the runs has it."""
    row = next((row for row in rows_of(data) if row.key == key), None)
    if row is None:
        raise NotFound(f"none of the runs has a series {key!r}", "see what changed")
    runs = [
        replace(run, series=tuple(one for one in run.series if one.key == key)) for run in data.runs
    ]
    members = [one for run in runs for one in run.series]
    measured = [one for one in members if one.summary]
    table = costs(shared.store, data, row)
    figures = Figures(
        data.format, (), latency_figures(runs), tuple(map(sample_figure, measured)), ()
    )
    document = {
        "series": asdict(row),
        "members": [{**asdict(one), "samples": len(one.samples)} for one in members],
        **{name: value for name, value in table.as_json().items() if name != "key"},
    }
    more = {
        "row": row,
        "table": table,
        "groups": sample_groups(runs),
        "every": {figure.id: figure.every for figure in figures.samples},
        **drawn(figures),
    }
    return View(document, more)
