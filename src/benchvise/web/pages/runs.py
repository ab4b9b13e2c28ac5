"""The list of runs; one run with its results, charts, samples, state and console; one series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.flows.tracing import ATTACHMENT as TRACE
from benchvise.measure.metrics import counters_per_iteration, missing_counters
from benchvise.quantities import format_percent
from benchvise.report.curves import curve_figures, curved, grid_figures
from benchvise.report.data import ReportData, RunData, SeriesData
from benchvise.report.figures import (
    Batch,
    Figures,
    bar_figures,
    batches,
    evidence_figure,
    missing_evidence,
    sample_figure,
)
from benchvise.report.histograms import latency_figures
from benchvise.report.html import SPREAD_REACH, SPREAD_WIDTH, sample_groups
from benchvise.report.state_tables import diff_rows, snapshot_rows, value_text
from benchvise.state.catalogue import items_by_id
from benchvise.state.diff import diff_snapshots
from benchvise.state.model import Snapshot
from benchvise.store import RunFilter, Store
from benchvise.text import Untrusted, printable
from benchvise.web.answers import Crumb, PageTab, both, chart_context, page, wants_json
from benchvise.web.context import Context, context
from benchvise.web.http import NotFound, address, choice, link, number, posted_form

PER_PAGE = 50
MOST_COMPARED = 6
"""Runs in one comparison: more cannot be told apart in a chart."""

_FILTERS = ("board", "suite", "status", "tag")


def runs(request: Request) -> Response:
    """The runs that match, newest first."""
    store = context(request).store
    filters = {name: request.query_params.get(name) or None for name in (*_FILTERS, "text")}
    matching = RunFilter(**filters)
    skip = number(request, "skip", 0, 10**9)
    total = store.count(matching)
    listed = store.runs(PER_PAGE, matching, skip=skip)
    document = {
        "filter": filters,
        "total": total,
        "skip": skip,
        "runs": [asdict(info) for info in listed],
        "choices": asdict(store.choices()),
    }
    return page(
        request,
        "runs",
        document,
        title="Runs",
        filters=_FILTERS,
        filtered=matching != RunFilter(),
        most_compared=MOST_COMPARED,
        link=partial(link, request),
        newer=link(request, skip=max(0, skip - PER_PAGE)) if skip else "",
        older=link(request, skip=skip + PER_PAGE) if skip + len(listed) < total else "",
    )


# -- one run ---------------------------------------------------------------------------------------

RUNS = Crumb("Runs", "/runs")

SAMPLES_PER_PAGE = 60
"""Series whose samples are drawn in one page."""


MakeTab: TypeAlias = Callable[[Request, Context, ReportData], PageTab]


def run(request: Request) -> Response:
    """The run that an id, the beginning of one or a label means."""
    shared = context(request)
    run_id = find(shared.store, request.path_params["run"])
    if run_id != request.path_params["run"]:
        twin = ".json" if wants_json(request) else ""
        return RedirectResponse(
            address(f"/runs/{run_id}{twin}", request.query_params.multi_items())
        )
    data = shared.report_cache.run(run_id)
    summary = data.runs[0]
    name = choice(request, "view", _TABS)
    key = request.query_params.get("series")
    tab = _series_tab(request, shared, data, key) if key else _TABS[name](request, shared, data)
    attachments = shared.store.attachments(run_id)
    older, newer = shared.store.neighbours(run_id)
    document = {
        "run": head(summary),
        "view": "series" if key else name,
        "attachments": attachments,
        "older": older,
        "newer": newer,
        "trace": _trace_key(shared, run_id) if TRACE in attachments else None,
        **tab.document,
    }
    title = summary.label or summary.suite or summary.id
    return page(
        request,
        "run",
        document,
        title=key if key else title,
        crumbs=[RUNS, Crumb(title, f"/runs/{run_id}")] if key else [RUNS],
        data=data,
        tabs=_tabs(run_id, attachments),
        link=partial(link, request),
        **{**_COMMON, "run": summary, **tab.more},
    )


_COMMON = {"spread_width": SPREAD_WIDTH, "spread_reach": format_percent(SPREAD_REACH)}


def find(store: Store, reference: str) -> str:
    """The id of a run. NotFound where the reference means none, or several."""
    try:
        return store.resolve(reference)
    except UsageError as error:
        raise NotFound(error.message, error.remedy) from error


def head(run: RunData) -> dict[str, Any]:
    """What a run is, without its series."""
    fields = encode(replace(run, series=()))
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


def _results_tab(request: Request, _shared: Context, data: ReportData) -> PageTab:
    run = data.runs[0]
    families = list(dict.fromkeys(series.family for series in run.series))
    family = request.query_params.get("family") or None
    filtered = replace(run, series=tuple(s for s in run.series if family in (None, s.family)))
    listed = [{**encode(series), "samples": len(series.samples)} for series in filtered.series]
    return PageTab(
        {"family": family, "families": families, "series": listed},
        {"run": filtered, "series_url": _series_url(run)},
    )


def _charts_tab(_request: Request, _shared: Context, data: ReportData) -> PageTab:
    figures = Figures(
        format=data.format,
        curves=curve_figures(data.runs),
        latencies=latency_figures(data.runs),
        samples=(),
        changes=(),
        bars=bar_figures(data.runs, curved(data.runs)),
        grids=grid_figures(data.runs),
    )
    return PageTab({"figures": encode(figures)}, chart_context(figures))


def _samples_tab(request: Request, _shared: Context, data: ReportData) -> PageTab:
    run = data.runs[0]
    measured = [series for series in run.series if series.summary]
    family = request.query_params.get("family") or None
    families = dict.fromkeys(series.family for series in measured)
    wanted = [series for series in measured if family in (None, series.family)]
    skip = number(request, "skip", 0, len(wanted))
    part_shown = wanted[skip : skip + SAMPLES_PER_PAGE]
    figures = Figures(data.format, (), (), tuple(map(sample_figure, part_shown)), ())
    part = encode(figures)["samples"]
    return PageTab(
        {"samples": part, "skip": skip, "total": len(wanted), "families": list(families)},
        {
            **chart_context(figures),
            "groups": sample_groups([run], {series.id for series in part_shown}),
            "every": {figure.id: figure.every for figure in figures.samples},
            "family": family,
            "series_url": _series_url(run),
            "newer": link(request, skip=max(0, skip - SAMPLES_PER_PAGE)) if skip else "",
            "older": link(request, skip=skip + len(part_shown))
            if skip + len(part_shown) < len(wanted)
            else "",
        },
    )


def _tabs(run_id: str, attachments: Mapping[str, int]) -> list[tuple[str, str, str]]:
    names = {tab: tab.capitalize() for tab in _TABS}
    if "console" not in attachments:
        del names["console"]
    return [(tab, name, f"/runs/{run_id}?view={tab}") for tab, name in names.items()]


def _series_url(run: RunData) -> Callable[[str], str]:
    return lambda key: address(f"/runs/{run.id}", [("series", key)])


def _trace_key(shared: Context, run_id: str) -> str | None:
    """The trace that was recorded with the run, if its file is still there."""
    return next((file.key for file in shared.traces.files() if file.run == run_id), None)


# -- tags and the note ------------------------------------------------------------------------


async def annotate(request: Request) -> Response:
    """Takes a tag, a tag that goes, or a note from a form; leads back to the page."""
    return await run_in_threadpool(_annotate, request, await posted_form(request))


def _annotate(request: Request, form: Mapping[str, str]) -> Response:
    store = context(request).store
    run_id = find(store, request.path_params["run"])
    if "note" in form:
        store.annotate(run_id, form["note"])
    if form.get("tag", "").strip():
        store.tag(run_id, form["tag"].replace(",", " ").split())
    if form.get("untag"):
        store.untag(run_id, [form["untag"]])
    return RedirectResponse(f"/runs/{run_id}", 303)


# -- one series ------------------------------------------------------------------------------------


def _series_tab(_request: Request, shared: Context, data: ReportData, key: str) -> PageTab:
    """The series with this key. NotFound when the run has none such."""
    run = data.runs[0]
    series = next((item for item in run.series if item.key == key), None)
    records = shared.store.series_of(run.id, key)
    if series is None or not records:
        raise NotFound(f"the run {run.id} has no series {key!r}", "see its results")
    record = records[0]
    measured = batches(record, shared.store.host_of(run.id))
    evidence = (evidence_figure(sample_figure(series), measured),) if series.summary else ()
    latencies = latency_figures([replace(run, series=(series,))])
    before, after = _around(run, series)
    document = {
        "series": {**encode(replace(series, samples=())), "samples": [encode(b) for b in measured]},
        "counters": counters_per_iteration(record),
        "not_counted": {reason: list(names) for reason, names in missing_counters(record).items()},
        "not_read": missing_evidence(record),
    }
    figures = Figures(data.format, (), latencies, (), ())
    more = {
        "one": series,
        "flags": _flags(measured),
        **chart_context(figures, evidence=[encode(item) for item in evidence]),
        "evidence": evidence,
        "before": address(f"/runs/{run.id}", [("series", before)]) if before else "",
        "after": address(f"/runs/{run.id}", [("series", after)]) if after else "",
    }
    return PageTab(document, more)


def _around(run: RunData, series: SeriesData) -> tuple[str, str]:
    """The keys of the series before and after this one in the run."""
    keys = [item.key for item in run.series]
    at = keys.index(series.key)
    return keys[at - 1] if at else "", keys[at + 1] if at + 1 < len(keys) else ""


def _flags(measured: Sequence[Batch]) -> dict[str, int]:
    """How many batches have each flag, the most common first."""
    return dict(Counter(flag for batch in measured for flag in set(batch.flags)).most_common())


# -- the state of the board ------------------------------------------------------------------------


ROWS = 300
"""Entries in one page."""


def _state_tab(request: Request, shared: Context, data: ReportData) -> PageTab:
    """The snapshot before the run, searched by text, and how the one after it differs."""
    store, run_id = shared.store, data.runs[0].id
    before, after = store.snapshot(run_id, "before"), store.snapshot(run_id, "after")
    if before is None:
        return PageTab({"state": None})
    wanted = request.query_params.get("find", "").strip().lower()
    entries = [row for row in _state_rows(before) if row.holds(wanted)]
    skip = number(request, "skip", 0, max(0, len(entries) - 1))
    meanwhile = diff_snapshots(before, after) if after is not None else None
    document = {
        "taken": before.taken,
        "digest": before.digest,
        "privilege": before.privilege,
        "find": wanted,
        "total": len(entries),
        "skip": skip,
        "entries": entries[skip : skip + ROWS],
        "meanwhile": encode(meanwhile) if meanwhile is not None else None,
    }
    more = {
        "seen": snapshot_rows(before),
        "meanwhile": diff_rows(meanwhile, "before the run", "after it") if meanwhile else None,
        "newer": link(request, skip=max(0, skip - ROWS)) if skip else "",
        "older": link(request, skip=skip + ROWS) if skip + ROWS < len(entries) else "",
    }
    return PageTab({"state": document}, more)


@dataclass(frozen=True, slots=True)
class StateRow:
    """A setting or an observation as the page lists it; ``missing`` says why it has no value."""

    kind: str
    item: str
    key: str
    value: str | None
    missing: str | None
    reason: Untrusted
    path: str
    title: str

    def holds(self, text: str) -> bool:
        """Whether a text in lower case is anywhere in it."""
        fields = (self.item, self.key, self.value or "", self.path, self.title)
        return text in " ".join(fields).lower()


def _state_rows(snapshot: Snapshot) -> Iterator[StateRow]:
    for kind, entries in (("setting", snapshot.settings), ("observation", snapshot.observations)):
        for entry in entries:
            item = items_by_id().get(entry.item)
            yield StateRow(
                kind=kind,
                item=entry.item,
                key=entry.key,
                value=None if entry.missing else value_text(entry.value),
                missing=str(entry.missing) if entry.missing else None,
                reason=entry.reason,
                path=entry.path,
                title=item.title if item else "",
            )


# -- the console -----------------------------------------------------------------------------------


LINES_PER_PAGE = 1000
LINE_LIMIT = 1000
"""Lines in one page, and characters of a line."""


def _console_tab(request: Request, shared: Context, data: ReportData) -> PageTab:
    """A part of the lines, from the end where nothing else is asked for; None without a console."""
    content = shared.store.attachment(data.runs[0].id, "console")
    if content is None:
        return PageTab({"console": None})
    lines = content.decode("utf-8", "replace").splitlines()
    last = max(0, len(lines) - LINES_PER_PAGE)
    first = number(request, "from", last, max(0, len(lines) - 1))
    part = lines[first : first + LINES_PER_PAGE]
    document = {
        "first": first,
        "total": len(lines),
        "lines": [printable(line, LINE_LIMIT) for line in part],
    }
    earlier = link(request, **{"from": max(0, first - LINES_PER_PAGE)}) if first else ""
    end = first + len(part)
    later = link(request, **{"from": end}) if end < len(lines) else ""
    return PageTab({"console": document}, {"earlier": earlier, "later": later})


_TABS: dict[str, MakeTab] = {
    "results": _results_tab,
    "charts": _charts_tab,
    "samples": _samples_tab,
    "state": _state_tab,
    "console": _console_tab,
}

routes = [
    *both("/runs", runs),
    *both("/runs/{run}", run),
    Route("/runs/{run}/said", annotate, methods=["POST"]),
]
