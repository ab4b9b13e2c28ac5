"""How the boards of the runs were set: the base against each other run."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from benchvise.documents import encode
from benchvise.report.data import ReportData
from benchvise.report.state_tables import diff_rows, unseen_rows
from benchvise.state.diff import diff_snapshots
from benchvise.web.context import Context
from benchvise.web.views import View


def state(_request: Request, shared: Context, data: ReportData) -> View:
    """The settings that differ; null for a run whose state was not recorded."""
    base = shared.store.snapshot(data.runs[0].id)
    tables: list[dict[str, Any]] = []
    document: list[dict[str, Any] | None] = []
    for run in data.runs[1:]:
        other = shared.store.snapshot(run.id)
        if base is None or other is None:
            missing = run.name if base is not None else data.runs[0].name
            tables.append({"run": run, "missing": missing})
            document.append(None)
            continue
        found = diff_snapshots(base, other)
        tables.append(
            {
                "run": run,
                "differ": diff_rows(found, data.runs[0].name, run.name, everything=True),
                "unseen": unseen_rows(found),
                "same": found.same,
            }
        )
        document.append(encode(found))
    return View({"state": document}, {"states": tables})
