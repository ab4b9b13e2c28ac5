"""Two to six runs side by side; the first is the base."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from benchvise.errors import UsageError
from benchvise.report.bars import bar_figures
from benchvise.report.data import ReportData
from benchvise.report.figures import Figures, change_figures, curve_figures, curved
from benchvise.report.grids import grid_figures
from benchvise.report.html import facts
from benchvise.report.latency_figures import latency_figures
from benchvise.web.answers import Crumb, both, page
from benchvise.web.context import Context, context
from benchvise.web.figures import drawn
from benchvise.web.links import chosen, link
from benchvise.web.pages.compare_changes import changes
from benchvise.web.pages.compare_counters import counters
from benchvise.web.pages.compare_series import series
from benchvise.web.pages.compare_state import state
from benchvise.web.pages.run import RUNS, find, head
from benchvise.web.views import View

MOST = 6
"""Runs in one comparison: more cannot be told apart in a chart."""

_OFFERED = 100

MakeView: TypeAlias = Callable[[Request, Context, ReportData], View]


def compare(request: Request) -> Response:
    """The runs that the parameters ``run`` name, in their order."""
    shared = context(request)
    named = request.query_params.getlist("run")
    run_ids = list(dict.fromkeys(find(shared.store, name) for name in named[: MOST + 1] if name))
    if len(run_ids) > MOST:
        raise UsageError(
            f"{len(named)} runs cannot be compared at once", f"name two to {MOST} of them"
        )
    if len(run_ids) < 2:
        return _choose(request, shared, run_ids)
    data = shared.measured.runs(run_ids)
    key = request.query_params.get("series")
    word = chosen(request, "view", _VIEWS)
    view = series(request, shared, data, key) if key else _VIEWS[word](request, shared, data)
    document = {
        "runs": [head(run) for run in data.runs],
        "view": "series" if key else word,
        **view.document,
    }
    title = " and ".join(run.name for run in data.runs) if len(run_ids) == 2 else _several(data)
    return page(
        request,
        "compare",
        document,
        title=key if key else title,
        crumbs=[RUNS, Crumb("Comparison", link(request, series=None))] if key else [RUNS],
        data=data,
        tabs=_tabs(request),
        link=partial(link, request),
        orders=_orders(request, run_ids),
        facts=facts(data.runs),
        **view.more,
    )


def _several(data: ReportData) -> str:
    return f"{len(data.runs) - 1} runs against {data.runs[0].name}"


def _choose(request: Request, shared: Context, run_ids: Sequence[str]) -> Response:
    """What is shown where fewer than two runs are named."""
    offered = [asdict(info) for info in shared.store.runs(_OFFERED)]
    document = {"chosen": list(run_ids), "runs": offered}
    return page(request, "compare_choose", document, title="Compare runs", crumbs=[RUNS])


def _orders(request: Request, run_ids: Sequence[str]) -> list[dict[str, str]]:
    """For each run the addresses at which it is the base, and at which it is not there."""
    return [
        {
            "base": link(request, run=[run_id, *(other for other in run_ids if other != run_id)]),
            "without": link(request, run=[other for other in run_ids if other != run_id]),
        }
        for run_id in run_ids
    ]


# -- the tabs that are charts ----------------------------------------------------------------------


def _charts(data: ReportData, word: str, make: Callable[[ReportData], Mapping[str, Any]]) -> View:
    empty: dict[str, Any] = {"curves": (), "latencies": (), "samples": (), "changes": ()}
    figures = Figures(format=data.format, **{**empty, **make(data)})
    return View({word: asdict(figures)[word]}, drawn(figures))


def _bars(_request: Request, _shared: Context, data: ReportData) -> View:
    return _charts(data, "bars", lambda d: {"bars": bar_figures(d.runs, curved(d.runs))})


def _curves(_request: Request, _shared: Context, data: ReportData) -> View:
    return _charts(data, "curves", lambda d: {"curves": curve_figures(d.runs)})


def _grids(_request: Request, _shared: Context, data: ReportData) -> View:
    return _charts(data, "grids", lambda d: {"grids": grid_figures(d.runs)})


def _latencies(_request: Request, _shared: Context, data: ReportData) -> View:
    return _charts(data, "latencies", lambda d: {"latencies": latency_figures(d.runs)})


def _changes(request: Request, shared: Context, data: ReportData) -> View:
    return changes(request, shared, data, change_figures(data))


_VIEWS: dict[str, MakeView] = {
    "changes": _changes,
    "counters": counters,
    "bars": _bars,
    "curves": _curves,
    "grids": _grids,
    "latencies": _latencies,
    "state": state,
}
_NAMES = {"grids": "Context switches"}


def _tabs(request: Request) -> list[tuple[str, str, str]]:
    names = {word: _NAMES.get(word, word.capitalize()) for word in _VIEWS}
    gone: dict[str, object] = {"family": None, "verdict": None, "series": None, "of": None}
    return [(word, name, link(request, view=word, **gone)) for word, name in names.items()]


routes = both("/compare", compare)
