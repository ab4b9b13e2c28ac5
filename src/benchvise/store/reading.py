"""Runs as they come out of the store: a cheap list, and one run with everything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import Connection, Row, func, select

from benchvise.measure.model import (
    Better,
    ProcessRecord,
    Remark,
    RunRecord,
    RunStatus,
    Sample,
    SeriesRecord,
    SeriesSpec,
    SeriesStatus,
)
from benchvise.store.models import ProcessRow, RunRow, SampleRow, SeriesRow
from benchvise.store.owner import Owner
from benchvise.store.watches import remarks_on


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run in a list: what it is and how much it holds, without its samples."""

    id: str
    label: str
    board: str
    suite: str
    status: RunStatus
    reason: str
    started: str
    finished: str | None
    simulated: bool
    series: int
    samples: int


_SERIES_COUNT = (
    select(func.count())
    .select_from(SeriesRow)
    .where(SeriesRow.run_number == RunRow.number)
    .correlate(RunRow)
    .scalar_subquery()
)
_SAMPLE_COUNT = (
    select(func.count())
    .select_from(SeriesRow)
    .join(ProcessRow, ProcessRow.series_id == SeriesRow.id)
    .join(SampleRow, SampleRow.process_id == ProcessRow.id)
    .where(SeriesRow.run_number == RunRow.number)
    .correlate(RunRow)
    .scalar_subquery()
)


def list_runs(
    connection: Connection, limit: int | None, board: str | None, label: str | None
) -> list[RunInfo]:
    """The newest runs first, at most ``limit``, of one board or label where given."""
    statement = select(
        RunRow.id,
        RunRow.label,
        RunRow.board,
        RunRow.suite,
        RunRow.status,
        RunRow.reason,
        RunRow.started,
        RunRow.finished,
        RunRow.simulated,
        _SERIES_COUNT.label("series"),
        _SAMPLE_COUNT.label("samples"),
    ).order_by(RunRow.number.desc())
    if board is not None:
        statement = statement.where(RunRow.board == board)
    if label is not None:
        statement = statement.where(RunRow.label == label)
    return [
        RunInfo(
            id=row.id,
            label=row.label,
            board=row.board,
            suite=row.suite,
            status=RunStatus(row.status),
            reason=row.reason,
            started=_iso(row.started),
            finished=_iso(row.finished) if row.finished else None,
            simulated=row.simulated,
            series=row.series,
            samples=row.samples,
        )
        for row in connection.execute(statement.limit(limit))
    ]


def load_run(connection: Connection, run_id: str) -> RunRecord:
    """Everything the store has of a run, which must exist."""
    run = connection.execute(select(RunRow.__table__).where(RunRow.id == run_id)).one()
    return RunRecord(
        id=run.id,
        label=run.label,
        board=run.board,
        suite=run.suite,
        status=RunStatus(run.status),
        reason=run.reason,
        started=_iso(run.started),
        finished=_iso(run.finished) if run.finished else None,
        seed=run.seed,
        host=run.host,
        tool_version=run.tool_version,
        simulated=run.simulated,
        series=_load_series(connection, run.number),
        plan=run.plan,
        remarks=(*_remarks(run.remarks), *_watched(connection, run)),
    )


def _remarks(stored: Mapping[str, Any]) -> list[Remark]:
    return [
        Remark(str(r["rule"]), str(r["sentence"]), tuple(r["families"]))
        for r in stored.get("remarks", ())
    ]


def _watched(connection: Connection, run: Row[Any]) -> list[Remark]:
    """What a watch of the board saw meanwhile, less what the run itself has noted.

    Looked up when the run is read, as the watch may have seen it only after the run's end.
    """
    ended = run.finished or datetime.now(UTC)
    noted = " ".join(remark.sentence for remark in _remarks(run.remarks))
    owner = Owner.from_json(run.owner)
    return remarks_on(connection, run.board, owner, run.started, ended, noted)


def _load_series(connection: Connection, run_number: int) -> tuple[SeriesRecord, ...]:
    processes = _load_processes(connection, run_number)
    rows = connection.execute(
        select(SeriesRow.__table__)
        .where(SeriesRow.run_number == run_number)
        .order_by(SeriesRow.position)
    )
    return tuple(
        SeriesRecord(
            spec=SeriesSpec(row.benchmark, tuple(row.params.items()), row.key),
            unit=row.unit,
            better=cast(Better, row.better),
            counted=_counted(row.counted, processes[row.id]),
            status=SeriesStatus(row.status),
            reason=row.reason,
            processes=tuple(processes[row.id]),
        )
        for row in rows
    )


def _counted(planned: str, processes: Sequence[ProcessRecord]) -> str:
    """What was counted: the probe, which looked at the parameters, knows better than the plan."""
    return next((str(p.begin["counted"]) for p in processes if p.begin.get("counted")), planned)


def _load_processes(
    connection: Connection, run_number: int
) -> defaultdict[int, list[ProcessRecord]]:
    """The processes of a run by the series they belong to."""
    samples = _load_samples(connection, run_number)
    rows = connection.execute(
        select(
            ProcessRow.id,
            ProcessRow.series_id,
            ProcessRow.index,
            ProcessRow.begin,
            ProcessRow.complete,
        )
        .join(SeriesRow, SeriesRow.id == ProcessRow.series_id)
        .where(SeriesRow.run_number == run_number)
        .order_by(ProcessRow.index)
    )
    loaded: defaultdict[int, list[ProcessRecord]] = defaultdict(list)
    for process_id, series_id, index, begin, complete in rows:
        record = ProcessRecord(index, begin, tuple(samples[process_id]), complete)
        loaded[series_id].append(record)
    return loaded


def _load_samples(connection: Connection, run_number: int) -> defaultdict[int, list[Sample]]:
    """The samples of a run by the process that took them, all in one query."""
    rows = connection.execute(
        select(SampleRow.process_id, SampleRow.index, SampleRow.value, SampleRow.evidence)
        .join(ProcessRow, ProcessRow.id == SampleRow.process_id)
        .join(SeriesRow, SeriesRow.id == ProcessRow.series_id)
        .where(SeriesRow.run_number == run_number)
        .order_by(SampleRow.index)
    )
    loaded: defaultdict[int, list[Sample]] = defaultdict(list)
    for process_id, index, value, evidence in rows:
        loaded[process_id].append(Sample(index, value, evidence))
    return loaded


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
