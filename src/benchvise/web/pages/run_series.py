"""One series of a run: all its samples, what disturbed them, and what an iteration costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace

from starlette.requests import Request

from benchvise.measure.counters import counters_per_iteration, missing_counters
from benchvise.report.data import ReportData, RunData, SeriesData
from benchvise.report.evidence import Batch, batches, evidence_figure, missing_evidence
from benchvise.report.figures import Figures, sample_figure
from benchvise.report.latency_figures import latency_figures
from benchvise.web.context import Context
from benchvise.web.errors import NotFound
from benchvise.web.figures import drawn
from benchvise.web.links import address
from benchvise.web.views import View


def series(_request: Request, shared: Context, data: ReportData, key: str) -> View:
    """The series with this key. NotFound when the run has none such."""
    run = data.runs[0]
    shown = next((one for one in run.series if one.key == key), None)
    records = shared.store.series_of(run.id, key)
    if shown is None or not records:
        raise NotFound(f"the run {run.id} has no series {key!r}", "see its results")
    record = records[0]
    found = batches(record, shared.store.host_of(run.id))
    evidence = (evidence_figure(sample_figure(shown), found),) if shown.summary else ()
    latencies = latency_figures([replace(run, series=(shown,))])
    before, after = _around(run, shown)
    document = {
        "series": {**asdict(replace(shown, samples=())), "samples": [asdict(b) for b in found]},
        "counters": counters_per_iteration(record),
        "not_counted": {reason: list(names) for reason, names in missing_counters(record).items()},
        "not_read": missing_evidence(record),
    }
    figures = Figures(data.format, (), latencies, (), ())
    more = {
        "one": shown,
        "flags": _flags(found),
        **drawn(figures, evidence=[asdict(one) for one in evidence]),
        "evidence": evidence,
        "before": address(f"/runs/{run.id}", [("series", before)]) if before else "",
        "after": address(f"/runs/{run.id}", [("series", after)]) if after else "",
    }
    return View(document, more)


def _around(run: RunData, shown: SeriesData) -> tuple[str, str]:
    """The keys of the series before and after this one in the run."""
    keys = [one.key for one in run.series]
    at = keys.index(shown.key)
    return keys[at - 1] if at else "", keys[at + 1] if at + 1 < len(keys) else ""


def _flags(found: Sequence[Batch]) -> dict[str, int]:
    """How many batches have each flag, the most common first."""
    return dict(Counter(flag for batch in found for flag in set(batch.flags)).most_common())
