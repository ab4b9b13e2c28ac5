"""Old runs thinned by a policy: what is removed is computed and said before it goes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from benchvise.documents import decode, encode
from benchvise.measure.model import RunRecord, SeriesRecord
from benchvise.measure.validity import quantity, summarise
from benchvise.report.sinks import json_text
from benchvise.store import Store
from benchvise.store.retention import (
    KEPT_EVIDENCE,
    THINNED,
    DueRun,
    RetentionPolicy,
    ThinningStep,
)


@dataclass(frozen=True, slots=True)
class ThinnedSeries:
    """What is known of a series from all its samples with their evidence.

    ``median`` to ``maximum`` are in ``unit``; ``low`` and ``high`` bound the median with
    probability ``coverage``. ``position`` is its place in the run's plan. ``reason`` is what the
    run itself said of it.
    """

    position: int
    key: str
    unit: str
    better: str
    samples: int
    processes: int
    median: float
    low: float
    high: float
    coverage: float
    minimum: float
    maximum: float
    stable: bool
    causes: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class ThinnedRun:
    """The file ``thinned.json`` of a run: what was removed when, and what was known before.

    ``thinned`` is ISO 8601. ``kept_evidence`` names what samples kept after the first step.
    """

    thinned: str
    step: ThinningStep
    kept_evidence: tuple[str, ...]
    series: tuple[ThinnedSeries, ...]


@dataclass(frozen=True, slots=True)
class Thinning:
    """What a policy removes, or has removed when it was ``applied``.

    ``kept`` counts runs that are old enough and stay whole, by the reason. ``samples`` are those
    removed, or whose evidence was; 0 where it was not applied.
    """

    applied: bool
    runs: tuple[DueRun, ...]
    kept: Mapping[str, int]
    samples: int


def thin(
    store: Store,
    policy: RetentionPolicy,
    *,
    apply: bool,
    now: datetime | None = None,
    observe: Callable[[DueRun], None] | None = None,
) -> Thinning:
    """Thins what a policy says, a run in each transaction; without ``apply``, only says what."""
    when = now or datetime.now(UTC)
    due = store.due_for_thinning(policy, when)
    samples = 0
    for run in due.runs if apply else ():
        record = _record(store, run, when)
        sentences = {series.position: _sentence(series, record) for series in record.series}
        content = json_text(encode(record)).encode()
        samples += store.thin(run.id, run.step, sentences, content)
        if observe is not None:
            observe(run)
    return Thinning(apply, due.runs, due.kept, samples)


def _record(store: Store, due: DueRun, when: datetime) -> ThinnedRun:
    """What is known of the run: what an earlier step has kept, as that saw the evidence."""
    earlier = store.attachment(due.id, THINNED)
    series = _finite_series(store.load(due.id)) if earlier is None else _earlier(earlier)
    kept = KEPT_EVIDENCE if due.step is ThinningStep.EVIDENCE else ()
    return ThinnedRun(when.isoformat(timespec="seconds"), due.step, kept, series)


def _earlier(content: bytes) -> tuple[ThinnedSeries, ...]:
    return decode(ThinnedRun, json.loads(content)).series


def _finite_series(run: RunRecord) -> tuple[ThinnedSeries, ...]:
    return tuple(
        _series(position, series)
        for position, series in enumerate(run.series)
        if series.values and all(math.isfinite(v) for values in series.values for v in values)
    )


def _series(position: int, series: SeriesRecord) -> ThinnedSeries:
    summary = summarise(series)
    return ThinnedSeries(
        position,
        series.spec.key,
        series.unit,
        series.better,
        summary.n,
        summary.processes,
        summary.median,
        summary.low,
        summary.high,
        summary.coverage,
        summary.minimum,
        summary.maximum,
        summary.stable,
        summary.causes,
        series.reason,
    )


def _sentence(series: ThinnedSeries, record: ThinnedRun) -> str:
    """What every view of the run shows of the series from now on."""
    judged = "stable" if series.stable else f"unstable: {'; '.join(series.causes)}"
    on = record.thinned[:10]
    if record.step is ThinningStep.EVIDENCE:
        remark = f"thinned on {on}: without the evidence of its samples; before, it was {judged}"
    else:
        values = [quantity(v, series.unit) for v in (series.median, series.low, series.high)]
        remark = (
            f"median {values[0]}, {series.coverage:.0%} interval {values[1]} to {values[2]}, of "
            f"{series.samples} samples, {judged}; the samples were removed on {on}"
        )
    return f"{series.reason}; {remark}" if series.reason else remark
