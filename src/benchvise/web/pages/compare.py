"""Two to six runs side by side; the first is the base."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from benchvise.documents import encode, in_json
from benchvise.errors import UsageError
from benchvise.measure.compare import SeriesVerdict
from benchvise.measure.metrics import counters_per_iteration, missing_counters
from benchvise.measure.validity import Summary
from benchvise.report.curves import curve_figures, curved, grid_figures
from benchvise.report.data import ChangeData, ReportData
from benchvise.report.figures import Figures, bar_figures, change_figures, sample_figure
from benchvise.report.histograms import latency_figures
from benchvise.report.html import facts, sample_groups, tails
from benchvise.report.state_tables import diff_rows, unseen_rows
from benchvise.state.diff import diff_snapshots
from benchvise.store import Store
from benchvise.web.answers import Crumb, PageTab, both, chart_context, page
from benchvise.web.context import Context, context
from benchvise.web.http import NotFound, choice, link
from benchvise.web.pages.runs import MOST_COMPARED, RUNS, find, head

COUNTED_SERIES = 12
"""Series whose counters are shown: those that changed most."""

_OFFERED = 100

MakeTab: TypeAlias = Callable[[Request, Context, ReportData], PageTab]


def compare(request: Request) -> Response:
    """The runs that the parameters ``run`` name, in their order."""
    shared = context(request)
    named = request.query_params.getlist("run")
    ids = (find(shared.store, name) for name in named[: MOST_COMPARED + 1] if name)
    run_ids = list(dict.fromkeys(ids))
    if len(run_ids) > MOST_COMPARED:
        raise UsageError(
            f"{len(named)} runs cannot be compared at once", f"name two to {MOST_COMPARED} of them"
        )
    if len(run_ids) < 2:
        return _choose(request, shared, run_ids)
    data = shared.report_cache.runs(run_ids)
    key = request.query_params.get("series")
    name = choice(request, "view", _TABS)
    tab = _series_tab(request, shared, data, key) if key else _TABS[name](request, shared, data)
    document = {
        "runs": [head(run) for run in data.runs],
        "view": "series" if key else name,
        **tab.document,
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
        **tab.more,
    )


def _several(data: ReportData) -> str:
    return f"{len(data.runs) - 1} runs against {data.runs[0].name}"


def _choose(request: Request, shared: Context, run_ids: Sequence[str]) -> Response:
    """What is shown where fewer than two runs are named."""
    offered = [encode(info) for info in shared.store.runs(_OFFERED)]
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


def _charts(
    data: ReportData, kind: str, make: Callable[[ReportData], Mapping[str, Any]]
) -> PageTab:
    empty: dict[str, Any] = {"curves": (), "latencies": (), "samples": (), "changes": ()}
    figures = Figures(format=data.format, **{**empty, **make(data)})
    return PageTab({kind: encode(figures)[kind]}, chart_context(figures))


def _bars_tab(_request: Request, _shared: Context, data: ReportData) -> PageTab:
    return _charts(data, "bars", lambda d: {"bars": bar_figures(d.runs, curved(d.runs))})


def _curves_tab(_request: Request, _shared: Context, data: ReportData) -> PageTab:
    return _charts(data, "curves", lambda d: {"curves": curve_figures(d.runs)})


def _grids_tab(_request: Request, _shared: Context, data: ReportData) -> PageTab:
    return _charts(data, "grids", lambda d: {"grids": grid_figures(d.runs)})


def _latencies_tab(_request: Request, _shared: Context, data: ReportData) -> PageTab:
    return _charts(data, "latencies", lambda d: {"latencies": latency_figures(d.runs)})


def _tabs(request: Request) -> list[tuple[str, str, str]]:
    names = {tab: _NAMES.get(tab, tab.capitalize()) for tab in _TABS}
    gone: dict[str, object] = {"family": None, "verdict": None, "series": None, "of": None}
    return [(tab, name, link(request, view=tab, **gone)) for tab, name in names.items()]


# -- what changed ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ComparedSeries:
    """A series: its values in the base, and how each other run compares, in their order."""

    key: str
    family: str
    unit: str
    better: str
    base: Summary | None
    changes: tuple[ChangeData | None, ...]

    @property
    def verdicts(self) -> frozenset[str]:
        """What the others show."""
        return frozenset(change.verdict for change in self.changes if change is not None)


def _changes_tab(request: Request, _shared: Context, data: ReportData) -> PageTab:
    """The rows that the parameters ``family`` and ``verdict`` leave, the largest change first."""
    rows = compared_series(data)
    family = request.query_params.get("family") or None
    verdict = request.query_params.get("verdict") or None
    filtered = [
        row
        for row in rows
        if family in (None, row.family) and (verdict is None or verdict in row.verdicts)
    ]
    keys = {row.key for row in filtered}
    parts = tuple(
        replace(figure, rows=tuple(row for row in figure.rows if row.name in keys))
        for figure in change_figures(data)
    )
    document = {
        "filter": {"family": family, "verdict": verdict},
        "comparisons": [{"other": c.other, "counts": c.counts} for c in data.comparisons],
        "series": [encode(row) for row in filtered],
        "total": len(rows),
    }
    more = {
        "rows": filtered,
        "families": list(dict.fromkeys(row.family for row in rows)),
        "verdict_words": [str(word) for word in SeriesVerdict],
        "series_url": series_url(request),
        "tails": tails(_only(data, keys)),
        **chart_context(Figures(data.format, (), (), (), parts)),
    }
    return PageTab(document, more)


def _only(data: ReportData, keys: Collection[str]) -> ReportData:
    """The document with comparisons of these series alone."""
    comparisons = (
        replace(c, changes=tuple(change for change in c.changes if change.key in keys))
        for c in data.comparisons
    )
    return replace(data, comparisons=tuple(comparisons))


def compared_series(data: ReportData) -> list[ComparedSeries]:
    """All series of all comparisons, in the order of the first in which they stand."""
    columns = len(data.comparisons)
    by_key: dict[str, list[ChangeData | None]] = {}
    for column, comparison in enumerate(data.comparisons):
        for change in comparison.changes:
            by_key.setdefault(change.key, [None] * columns)[column] = change
    return sorted((_row(data, key, changes) for key, changes in by_key.items()), key=_rank)


def _row(data: ReportData, key: str, changes: Sequence[ChangeData | None]) -> ComparedSeries:
    first = next(change for change in changes if change is not None)
    base = next((series for series in data.runs[0].series if series.key == key), None)
    return ComparedSeries(
        key=key,
        family=key.partition(".")[0],
        unit=first.unit,
        better=first.better,
        base=base.summary if base else None,
        changes=tuple(changes),
    )


def _rank(row: ComparedSeries) -> tuple[int, float]:
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

    def url(key: str) -> str:
        gone: dict[str, Any] = {"view": None, "family": None, "verdict": None}
        return link(request, series=key, **gone)

    return url


# -- counters --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SeriesCounters:
    """The counters of one series: by name, for one iteration in each run (None: not counted), and
    why counters are missing, with the run that lacks them."""

    key: str
    row: ComparedSeries = field(metadata=in_json(hidden=True))
    counters: dict[str, tuple[float | None, ...]]
    missing: dict[str, tuple[str, ...]]


def _counters_tab(request: Request, shared: Context, data: ReportData) -> PageTab:
    """The counters of the series that changed most."""
    rows = compared_series(data)
    changed = [row for row in rows if row.verdicts & {SeriesVerdict.FASTER, SeriesVerdict.SLOWER}]
    tables = [_counters_of(shared.store, data, row) for row in changed[:COUNTED_SERIES]]
    document = {"changed": len(changed), "counters": encode(tables)}
    return PageTab(document, {"tables": tables, "series_url": series_url(request)})


def _counters_of(store: Store, data: ReportData, row: ComparedSeries) -> SeriesCounters:
    """The counters of one series in all runs."""
    by_run: list[dict[str, float]] = []
    missing: dict[str, tuple[str, ...]] = {}
    for run in data.runs:
        records = store.series_of(run.id, row.key)
        by_run.append(counters_per_iteration(records[0]) if records else {})
        if records:
            for reason, names in missing_counters(records[0]).items():
                missing[reason] = tuple(dict.fromkeys((*missing.get(reason, ()), *names)))
    return SeriesCounters(row.key, row, _side_by_side(by_run), missing)


def _side_by_side(by_run: Sequence[dict[str, float]]) -> dict[str, tuple[float | None, ...]]:
    """By counter what each run has of it; those that are zero everywhere are left out."""
    names = dict.fromkeys(name for counted in by_run for name in counted)
    table = {name: tuple(counted.get(name) for counted in by_run) for name in names}
    return {name: values for name, values in table.items() if any(values)}


# -- one series ------------------------------------------------------------------------------------


def _series_tab(_request: Request, shared: Context, data: ReportData, key: str) -> PageTab:
    """The series with this key. NotFound when none of the runs has it."""
    row = next((row for row in compared_series(data) if row.key == key), None)
    if row is None:
        raise NotFound(f"none of the runs has a series {key!r}", "see what changed")
    runs = [replace(run, series=tuple(s for s in run.series if s.key == key)) for run in data.runs]
    members = [series for run in runs for series in run.series]
    measured = [series for series in members if series.summary]
    table = _counters_of(shared.store, data, row)
    figures = Figures(
        data.format, (), latency_figures(runs), tuple(map(sample_figure, measured)), ()
    )
    document = {
        "series": encode(row),
        "members": [{**encode(member), "samples": len(member.samples)} for member in members],
        "counters": table.counters,
        "missing": table.missing,
    }
    more = {
        "row": row,
        "table": table,
        "groups": sample_groups(runs),
        "tails": tails(_only(data, {key})),
        "every": {figure.id: figure.every for figure in figures.samples},
        **chart_context(figures),
    }
    return PageTab(document, more)


# -- the states of the boards ----------------------------------------------------------------------


def _state_tab(_request: Request, shared: Context, data: ReportData) -> PageTab:
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
        difference = diff_snapshots(base, other)
        tables.append(
            {
                "run": run,
                "differ": diff_rows(difference, data.runs[0].name, run.name, everything=True),
                "unseen": unseen_rows(difference),
                "same": difference.same,
            }
        )
        document.append(encode(difference))
    return PageTab({"state": document}, {"states": tables})


_TABS: dict[str, MakeTab] = {
    "changes": _changes_tab,
    "counters": _counters_tab,
    "bars": _bars_tab,
    "curves": _curves_tab,
    "grids": _grids_tab,
    "latencies": _latencies_tab,
    "state": _state_tab,
}
_NAMES = {"grids": "Context switches"}

routes = both("/compare", compare)
