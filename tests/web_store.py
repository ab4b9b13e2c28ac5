"""Runs for pages to show: put into a store as a flow would."""

from __future__ import annotations

from dataclasses import replace

from benchvise.measure.model import ProcessRecord, RunRecord, SeriesRecord
from benchvise.store import Store


def keep_run(store: str, record: RunRecord, *, board: str = "", label: str = "") -> str:
    """Keeps a run with all its samples, as of this board and with this label; returns its id."""
    with Store.open(store) as opened:
        run = opened.begin_run(
            label or record.label,
            board or record.board,
            record.suite,
            record.seed,
            record.plan,
            record.host,
            record.simulated,
            [(one.spec, one.unit, one.better, one.counted) for one in record.series],
        )
        for position, one in enumerate(record.series):
            for process in one.processes:
                handle = opened.begin_process(run, position, process.index, process.begin)
                opened.add_samples(handle, process.samples)
                opened.end_process(handle, process.complete)
            opened.end_series(run, position, one.status, one.reason)
        opened.set_remarks(run, record.remarks)
        opened.end_run(run, record.status, record.reason.raw)
    return run


def scaled(run: RunRecord, factor: float) -> RunRecord:
    """The run as if all its values were so many times as large."""
    return replace(run, series=tuple(_scaled(one, factor) for one in run.series))


def _scaled(series: SeriesRecord, factor: float) -> SeriesRecord:
    def of(process: ProcessRecord) -> ProcessRecord:
        samples = (replace(sample, value=sample.value * factor) for sample in process.samples)
        return replace(process, samples=tuple(samples))

    return replace(series, processes=tuple(map(of, series.processes)))
