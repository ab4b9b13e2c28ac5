"""Stored runs and comparisons, as ``show --json`` and ``compare --json`` have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from benchvise.api.records import Records
from benchvise.configuration import default_store
from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.flows import results as flow
from benchvise.measure.model import RunRecord
from benchvise.quantities import format_value
from benchvise.report.comparison_formats import COMPARISON_FORMATS, changes_chart, changes_table
from benchvise.report.data import (
    ChangeData,
    ComparisonDocument,
    RunData,
    comparison_data,
    run_data,
)
from benchvise.report.interval_chart import IntervalMark, interval_chart
from benchvise.report.rendering import table_markdown
from benchvise.report.table_pages import html_table
from benchvise.report.tables import run_rows
from benchvise.state.model import Snapshot
from benchvise.store import RunFilter, RunInfo, Store

SPREAD_REACH = 0.10
"""The axis of a run's chart goes from this share below the median to as much above it."""

_CHARTED = 30
"""Series of a chart."""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One batch: the value is in ``unit``; ``index`` counts within the process."""

    series: str
    process: int
    index: int
    value: float
    unit: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """A series with its median and the 95 % interval, in ``unit``; None where nothing was measured,
    for that ``reason``."""

    key: str
    unit: str
    better: str
    status: str
    reason: str
    median: float | None
    low: float | None
    high: float | None
    n: int
    stable: bool | None


class StoredRun:
    """One run of a store."""

    def __init__(self, record: RunRecord, store_url: str | None) -> None:
        self.record = record
        self.store_url = store_url

    def __repr__(self) -> str:
        return f"<run {self.id} {self.record.label!r} on {self.record.board!r}>"

    @property
    def id(self) -> str:
        """Its twelve digits."""
        return self.record.id

    @cached_property
    def data(self) -> RunData:
        """The run as ``show`` has it."""
        return run_data(self.record)

    @property
    def document(self) -> dict[str, Any]:
        """The data of ``show --json``."""
        document: dict[str, Any] = encode(self.data)
        return document

    @property
    def series(self) -> Records[SeriesRow]:
        """The series in their order."""
        return Records(
            [
                SeriesRow(
                    series.key,
                    series.unit,
                    series.better,
                    series.status,
                    series.reason,
                    series.summary.median if series.summary else None,
                    series.summary.low if series.summary else None,
                    series.summary.high if series.summary else None,
                    series.summary.n if series.summary else 0,
                    series.summary.stable if series.summary else None,
                )
                for series in self.data.series
            ]
        )

    @property
    def samples(self) -> Records[SampleRow]:
        """Every sample: series by series, process by process."""
        return Records(list(self._samples()))

    def _samples(self) -> Iterator[SampleRow]:
        for series in self.record.series:
            for process in series.processes:
                for sample in process.samples:
                    yield SampleRow(
                        series.spec.key,
                        process.index,
                        sample.index,
                        sample.value,
                        series.unit,
                        sample.flags,
                    )

    def snapshot(self) -> Snapshot | None:
        """The board's state before the run; None where it was not recorded."""
        with Store.open(self.store_url) as store:
            return store.snapshot(self.id)

    def to_markdown(self) -> str:
        """Its table, as ``show`` prints it."""
        return table_markdown(run_rows(self.record, flow.summaries(self.record)))

    def _repr_html_(self) -> str:
        """How narrow each median is, as a chart, and the table of ``show``, for Jupyter."""
        marks = [
            IntervalMark(
                row.key,
                0.0,
                row.low / row.median - 1,
                row.high / row.median - 1,
                format_value(row.median, row.unit),
                "plain" if row.stable else "doubt",
            )
            for row in self.series
            if row.median and row.low is not None and row.high is not None
        ]
        title = f"{self.record.label or self.id}: 95 % intervals, axis ± {SPREAD_REACH:.0%}"
        chart = interval_chart(title, marks[:_CHARTED], middle=0.0, reach=SPREAD_REACH)
        table = run_rows(self.record, flow.summaries(self.record), notes=False)
        return chart + html_table(table, in_notebook=True)


class ResultStore:
    """A store of results; each method opens it and closes it again. A context manager too."""

    def __init__(self, url: str | None = None) -> None:
        self.url = url or default_store()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Nothing is open between calls."""

    def runs(
        self,
        limit: int | None = None,
        *,
        board: str | None = None,
        suite: str | None = None,
        tag: str | None = None,
        text: str | None = None,
    ) -> Records[RunInfo]:
        """The runs that match, the newest first: what ``runs --json`` lists."""
        matching = RunFilter(board=board, suite=suite, tag=tag, text=text)
        with Store.open(self.url) as store:
            return Records(store.runs(limit, matching))

    def run(self, reference: str = "@") -> StoredRun:
        """The run that an id, a prefix, a label or ``@`` names. UsageError for none."""
        return StoredRun(flow.load_run(self.url, reference), self.url)

    def compare(self, base: str, other: str, *, percentiles: bool = False) -> ComparedRuns:
        """Two runs side by side: what ``compare --json`` has."""
        compared = flow.compare(self.url, base, other, figures=percentiles)
        document = comparison_data(
            compared.result, compared.counters, compared.state, compared.equal_runs
        )
        return ComparedRuns(document)


class ComparedRuns:
    """How two runs compare."""

    def __init__(self, data: ComparisonDocument) -> None:
        self.data = data

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.data.counts.items() if count)
        return f"<{self.data.other} against {self.data.base}: {counts or 'no series'}>"

    @property
    def document(self) -> dict[str, Any]:
        """The data of ``compare --json``."""
        document: dict[str, Any] = encode(self.data)
        return document

    @property
    def changes(self) -> Records[ChangeData]:
        """The series, changed ones first."""
        return Records(self.data.changes)

    def to(self, format: str, threshold: float | None = None) -> str:  # noqa: A002 - as the option
        """The text of ``compare --format``; ``threshold`` is in percent.

        UsageError for a format that there is not.
        """
        if format not in COMPARISON_FORMATS:
            raise UsageError(
                f"there is no format {format!r}", f"say {', '.join(COMPARISON_FORMATS)}"
            )
        return COMPARISON_FORMATS[format].write(self.data, threshold)

    def _repr_html_(self) -> str:
        """The changes as a chart and as a table, for Jupyter."""
        return changes_chart(self.data) + html_table(changes_table(self.data), in_notebook=True)


def open_store(url: str | None = None) -> ResultStore:
    """The store at a path or a PostgreSQL URL; without one, that of the commands."""
    return ResultStore(url)


def compare(
    base: str | StoredRun, other: str | StoredRun, *, store: str | None = None
) -> ComparedRuns:
    """Two runs of one store side by side; the first is the base."""
    url = store
    for run in (base, other):
        if isinstance(run, StoredRun) and url is None:
            url = run.store_url
    names = [run.id if isinstance(run, StoredRun) else run for run in (base, other)]
    return ResultStore(url).compare(*names)
