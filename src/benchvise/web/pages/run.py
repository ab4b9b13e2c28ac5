"""One run: its results, charts, samples, the board's state and console; one of its series."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from benchvise.errors import UsageError
from benchvise.flows.tracing import ATTACHMENT as TRACE
from benchvise.quantities import format_percent
from benchvise.report.bars import bar_figures
from benchvise.report.data import ReportData, RunData
from benchvise.report.figures import Figures, curve_figures, curved, sample_figure
from benchvise.report.grids import grid_figures
from benchvise.report.html import sample_groups
from benchvise.report.latency_figures import latency_figures
from benchvise.report.spread import REACH, WIDTH
from benchvise.store import Store
from benchvise.web.answers import Crumb, both, page, wants_json
from benchvise.web.context import Context, context
from benchvise.web.errors import NotFound
from benchvise.web.figures import drawn
from benchvise.web.links import address, chosen, link, number
from benchvise.web.pages.run_console import console
from benchvise.web.pages.run_series import series
from benchvise.web.pages.run_state import state
from benchvise.web.views import View

RUNS = Crumb("Runs", "/runs")

SAMPLES_PER_PAGE = 60
"""Series whose samples are drawn in one page."""


MakeView: TypeAlias = Callable[[Request, Context, ReportData], View]


def run(request: Request) -> Response:
    """The run that an id, the beginning of one or a label means."""
    shared = context(request)
    run_id = find(shared.store, request.path_params["run"])
    if run_id != request.path_params["run"]:
        twin = ".json" if wants_json(request) else ""
        return RedirectResponse(
            address(f"/runs/{run_id}{twin}", request.query_params.multi_items())
        )
    data = shared.measured.run(run_id)
    shown = data.runs[0]
    word = chosen(request, "view", _VIEWS)
    key = request.query_params.get("series")
    view = series(request, shared, data, key) if key else _VIEWS[word](request, shared, data)
    kept = shared.store.attachments(run_id)
    older, newer = shared.store.neighbours(run_id)
    document = {
        "run": head(shown),
        "view": "series" if key else word,
        "attachments": kept,
        "older": older,
        "newer": newer,
        "trace": _trace_key(shared, run_id) if TRACE in kept else None,
        **view.document,
    }
    title = shown.label or shown.suite or shown.id
    return page(
        request,
        "run",
        document,
        title=key if key else title,
        crumbs=[RUNS, Crumb(title, f"/runs/{run_id}")] if key else [RUNS],
        data=data,
        tabs=_tabs(run_id, kept),
        link=partial(link, request),
        **{**_COMMON, "run": shown, **view.more},
    )


_COMMON = {"spread_width": WIDTH, "spread_reach": format_percent(REACH)}


def find(store: Store, reference: str) -> str:
    """The id of a run. NotFound where the reference means none, or several."""
    try:
        return store.resolve(reference)
    except UsageError as error:
        raise NotFound(error.message, error.remedy) from error


def head(run: RunData) -> dict[str, Any]:
    """What a run is, without its series."""
    fields = asdict(replace(run, series=()))
    del fields["series"]
    return {**fields, "counts": counts(run)}


def counts(run: RunData) -> dict[str, int]:
    """How many series were measured, and of how many one number may be told."""
    measured = [series.summary for series in run.series if series.summary]
    stable = sum(summary.stable for summary in measured)
    return {
        "series": len(run.series),
        "measured": len(measured),
        "stable": stable,
        "unstable": len(measured) - stable,
    }


# -- the tabs --------------------------------------------------------------------------------------


def _results(request: Request, _shared: Context, data: ReportData) -> View:
    run = data.runs[0]
    families = list(dict.fromkeys(series.family for series in run.series))
    family = request.query_params.get("family") or None
    shown = replace(run, series=tuple(s for s in run.series if family in (None, s.family)))
    listed = [{**asdict(series), "samples": len(series.samples)} for series in shown.series]
    return View(
        {"family": family, "families": families, "series": listed},
        {"run": shown, "series_url": _series_url(run)},
    )


def _charts(_request: Request, _shared: Context, data: ReportData) -> View:
    figures = Figures(
        format=data.format,
        curves=curve_figures(data.runs),
        latencies=latency_figures(data.runs),
        samples=(),
        changes=(),
        bars=bar_figures(data.runs, curved(data.runs)),
        grids=grid_figures(data.runs),
    )
    return View({"figures": asdict(figures)}, drawn(figures))


def _samples(request: Request, _shared: Context, data: ReportData) -> View:
    run = data.runs[0]
    measured = [series for series in run.series if series.summary]
    family = request.query_params.get("family") or None
    families = dict.fromkeys(series.family for series in measured)
    wanted = [series for series in measured if family in (None, series.family)]
    skip = number(request, "skip", 0, len(wanted))
    shown = wanted[skip : skip + SAMPLES_PER_PAGE]
    figures = Figures(data.format, (), (), tuple(map(sample_figure, shown)), ())
    part = asdict(figures)["samples"]
    return View(
        {"samples": part, "skip": skip, "total": len(wanted), "families": list(families)},
        {
            **drawn(figures),
            "groups": sample_groups([run], {series.id for series in shown}),
            "every": {figure.id: figure.every for figure in figures.samples},
            "family": family,
            "series_url": _series_url(run),
            "newer": link(request, skip=max(0, skip - SAMPLES_PER_PAGE)) if skip else "",
            "older": link(request, skip=skip + len(shown))
            if skip + len(shown) < len(wanted)
            else "",
        },
    )


_VIEWS: dict[str, MakeView] = {
    "results": _results,
    "charts": _charts,
    "samples": _samples,
    "state": state,
    "console": console,
}


def _tabs(run_id: str, kept: Mapping[str, int]) -> list[tuple[str, str, str]]:
    names = {word: word.capitalize() for word in _VIEWS}
    if "console" not in kept:
        del names["console"]
    return [(word, name, f"/runs/{run_id}?view={word}") for word, name in names.items()]


def _series_url(run: RunData) -> Callable[[str], str]:
    return lambda key: address(f"/runs/{run.id}", [("series", key)])


def _trace_key(shared: Context, run_id: str) -> str | None:
    """The trace that was recorded with the run, if its file is still there."""
    return next((file.key for file in shared.traces.files() if file.run == run_id), None)


# -- what a user says of it ------------------------------------------------------------------------


async def said(request: Request) -> Response:
    """Takes a tag, a tag that goes, or a note from a form; leads back to the page."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    given = {name: values[0] for name, values in fields.items()}
    return await run_in_threadpool(_say, request, given)


def _say(request: Request, given: Mapping[str, str]) -> Response:
    store = context(request).store
    run_id = find(store, request.path_params["run"])
    if "note" in given:
        store.annotate(run_id, given["note"])
    if given.get("tag", "").strip():
        store.tag(run_id, given["tag"].replace(",", " ").split())
    if given.get("untag"):
        store.untag(run_id, [given["untag"]])
    return RedirectResponse(f"/runs/{run_id}", 303)


routes = [*both("/runs/{run}", run), Route("/runs/{run}/said", said, methods=["POST"])]
