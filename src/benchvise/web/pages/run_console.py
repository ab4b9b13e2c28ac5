"""What the console of a run's board said."""

from __future__ import annotations

from starlette.requests import Request

from benchvise.report.data import ReportData
from benchvise.text import printable
from benchvise.web.context import Context
from benchvise.web.links import link, number
from benchvise.web.views import View

LINES_PER_PAGE = 1000
LINE_LIMIT = 1000
"""Lines in one page, and characters of a line."""


def console(request: Request, shared: Context, data: ReportData) -> View:
    """A part of the lines, from the end where nothing else is asked for; None without a console."""
    kept = shared.store.attachment(data.runs[0].id, "console")
    if kept is None:
        return View({"console": None})
    lines = kept.decode("utf-8", "replace").splitlines()
    last = max(0, len(lines) - LINES_PER_PAGE)
    first = number(request, "from", last, max(0, len(lines) - 1))
    shown = lines[first : first + LINES_PER_PAGE]
    document = {
        "first": first,
        "total": len(lines),
        "lines": [printable(line, LINE_LIMIT) for line in shown],
    }
    earlier = link(request, **{"from": max(0, first - LINES_PER_PAGE)}) if first else ""
    end = first + len(shown)
    later = link(request, **{"from": end}) if end < len(lines) else ""
    return View({"console": document}, {"earlier": earlier, "later": later})
