"""Runs that were measured elsewhere: put into a store as they are, with their own ids and times."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Table, insert, select

from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.measure.model import RunRecord
from benchvise.store import notes, packed_samples, snapshots
from benchvise.store.owner import Owner
from benchvise.store.references import refuse_reserved
from benchvise.store.results_file import TravellingRun
from benchvise.store.series_counts import MeasuredSeries
from benchvise.store.tables import ATTACHMENT, PROCESS, RUN, SERIES


def has_run(connection: Connection, run_id: str) -> bool:
    """Whether the store has a run with this id."""
    return connection.execute(select(RUN.c.number).where(RUN.c.id == run_id)).first() is not None


def add_run(connection: Connection, one: TravellingRun) -> set[MeasuredSeries]:
    """Adds a run with its snapshots, attachments, tags and note; returns what it measured.

    UsageError for what no store of ours could hold: a reserved label, times that are none.
    """
    run = one.run
    refuse_reserved(run.label)
    number = _insert(
        connection,
        RUN,
        {
            "id": run.id,
            "label": run.label,
            "board": run.board,
            "suite": run.suite,
            "status": run.status,
            "reason": run.reason.raw,
            "started": _moment(run, run.started),
            "finished": _moment(run, run.finished) if run.finished else None,
            "seed": run.seed,
            "plan": run.plan,
            "host": run.host,
            "tool_version": run.tool_version,
            "simulated": run.simulated,
            "owner": encode(Owner()),  # no process of any machine that is known here
            "remarks": {"remarks": [dataclasses.asdict(remark) for remark in run.remarks]},
            "note": notes.checked_note(run.note.raw),
        },
    )
    for position, series in enumerate(run.series):
        series_id = _insert(
            connection,
            SERIES,
            {
                "run_number": number,
                "position": position,
                "benchmark": series.spec.benchmark,
                "params": dict(series.spec.params),
                "key": series.spec.key,
                "unit": series.unit,
                "better": series.better,
                "counted": series.counted,
                "status": series.status,
                "reason": series.reason,
            },
        )
        for process in series.processes:
            row = {"series_id": series_id, "index": process.index, "begin": process.begin}
            process_id = _insert(connection, PROCESS, {**row, "complete": process.complete})
            packed_samples.insert_packed(connection, process_id, process.samples)
    for moment, snapshot in one.snapshots.items():
        snapshots.add_snapshot(connection, number, moment, snapshot)
    for name, content in one.attachments.items():
        row = {"run_number": number, "name": name, "content": content}
        connection.execute(insert(ATTACHMENT), row)
    notes.add_tags(connection, run.id, notes.checked_tags(run.tags))
    return {
        MeasuredSeries(number, run.board, series.spec.key, series.spec.benchmark)
        for series in run.series
        if any(process.samples for process in series.processes)
    }


def _moment(run: RunRecord, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"the run {run.id} has a time that is none: {text[:40]!r}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _insert(connection: Connection, table: Table, row: Mapping[str, Any]) -> int:
    keys: Sequence[int] = connection.execute(insert(table), row).inserted_primary_key or ()
    return keys[0]
