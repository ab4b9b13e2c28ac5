"""Runs that were never measured, put into a store as if they had been."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from benchvise.measure.model import RunRecord, SeriesRecord
from benchvise.store import Store


def keep(store: Store, run: RunRecord) -> str:
    """Keeps a run with all its samples under an id of its own, which is returned."""
    planned = [(one.spec, one.unit, one.better, one.counted) for one in run.series]
    run_id = store.begin_run(
        run.label, run.board, run.suite, run.seed, run.plan, run.host, run.simulated, planned
    )
    for position, series in enumerate(run.series):
        for process in series.processes:
            handle = store.begin_process(run_id, position, process.index, process.begin)
            store.add_samples(handle, process.samples)
            store.end_process(handle, process.complete)
        store.end_series(run_id, position, series.status, series.reason)
    store.set_remarks(run_id, run.remarks)
    store.end_run(run_id, run.status, run.reason)
    if run.tags:
        store.tag(run_id, run.tags)
    if run.note:
        store.annotate(run_id, run.note)
    return run_id


def scaled(run: RunRecord, factor: Callable[[str], float], **changes: object) -> RunRecord:
    """The run as it were if the values of each series were another, by a factor of its key."""
    series = tuple(_scaled(one, factor(one.spec.key)) for one in run.series)
    return replace(run, series=series, **changes)  # type: ignore[arg-type]


def _scaled(series: SeriesRecord, factor: float) -> SeriesRecord:
    return replace(
        series,
        processes=tuple(
            replace(
                process,
                samples=tuple(
                    replace(sample, value=sample.value * factor) for sample in process.samples
                ),
            )
            for process in series.processes
        ),
    )
