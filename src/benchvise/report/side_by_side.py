"""Several runs in one table: a row for each series, a column for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchvise.measure.model import RunRecord
from benchvise.measure.validity import Summary
from benchvise.quantities import ABSENT, format_value
from benchvise.report.tables import Cell, Column, Table


def side_by_side(runs: Sequence[tuple[RunRecord, Sequence[Summary]]]) -> Table:
    """The medians of the series that any of the runs has, and how each stands to the first run.

    ``runs`` are records with the summaries of their series that have samples, in order. A median
    is shown for stable series only; the ratio is left out where one of the two is not.
    """
    by_run = [_by_key(run, summaries) for run, summaries in runs]
    keys = dict.fromkeys(series.spec.key for run, _ in runs for series in run.series)
    units = {series.spec.key: series.unit for run, _ in runs for series in run.series}
    rows = []
    for key in keys:
        base = by_run[0].get(key)
        cells = [_cell(summaries.get(key), base, units[key]) for summaries in by_run]
        rows.append((Cell(key), *cells))
    columns = [Column(_name(run), right=True) for run, _ in runs]
    simulated = any(run.simulated for run, _ in runs)
    return Table("Side by side", (Column("Series"), *columns), tuple(rows), (), simulated)


def _by_key(run: RunRecord, summaries: Sequence[Summary]) -> Mapping[str, Summary]:
    measured = [series for series in run.series if series.values]
    return {series.spec.key: s for series, s in zip(measured, summaries, strict=True)}


def _name(run: RunRecord) -> str:
    return run.board.removeprefix("rig:")


def _cell(summary: Summary | None, base: Summary | None, unit: str) -> Cell:
    if summary is None:
        return Cell(ABSENT, "muted")
    if not summary.stable:
        return Cell("unstable", "doubt")
    text = format_value(summary.median, unit)
    if base is None or base is summary or not base.stable or not base.median:
        return Cell(text, "strong" if base is summary else "plain")
    return Cell(f"{text}  x{summary.median / base.median:.3g}")
