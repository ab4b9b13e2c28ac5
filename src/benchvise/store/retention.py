"""Which runs are old enough to be thinned, and the thinning itself.

There are two steps. The first removes what the probe noted around each sample, but for that which
values, flags and percentiles are made of: medians, intervals and verdicts stay what they were. The
second removes the samples; each series keeps its median and interval as a sentence. A run, its
plan, its state, tags, notes and files are never removed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from benchvise.documents import JsonObject
from benchvise.errors import UsageError
from benchvise.measure.model import RunStatus
from benchvise.store.notes import GOOD
from benchvise.store.packed_samples import SAMPLE_COUNT, pack_evidence, unpack_evidence
from benchvise.store.tables import (
    ATTACHMENT,
    DIAGNOSIS,
    EVIDENCE,
    PROCESS,
    RUN,
    RUN_TAG,
    SAMPLE,
    SERIES,
    SERIES_COUNT,
    has_key,
)

THINNED = "thinned.json"
"""The name of the file that says of a thinned run what was removed, and its medians."""

BASELINE = "baseline"
"""The tag of a run that a gate or a nightly job was told to compare with."""

KEPT_EVIDENCE = ("flags", "detail", "counters", "iterations")
"""What samples keep in the first step: the rest only says why values scatter."""

_OF_JOBS = "nightly-"
"""Tags that begin so are given by jobs to every night, and are no user's wish to keep a run."""
_RUN_ID = re.compile(r"[0-9a-f]{12}")


class ThinningStep(StrEnum):
    """How much is removed."""

    EVIDENCE = "evidence"
    SAMPLES = "samples"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Ages after which runs are thinned; None: never.

    The newest ``keep`` runs of each board and suite stay whole, whatever their age.
    """

    evidence_after: timedelta | None
    samples_after: timedelta | None
    keep: int = 20

    def __post_init__(self) -> None:
        """UsageError for a policy that thins nothing, or whose second step is the earlier one."""
        if self.evidence_after is None and self.samples_after is None:
            raise UsageError("no age is given", "--evidence-after 90d, --samples-after 365d")
        if (
            self.evidence_after is not None
            and self.samples_after is not None
            and self.samples_after < self.evidence_after
        ):
            raise UsageError(
                "samples would be removed before their evidence", "give --samples-after a later age"
            )

    def step_at(self, age: timedelta) -> ThinningStep | None:
        """What a run of that age is due for."""
        if self.samples_after is not None and age >= self.samples_after:
            return ThinningStep.SAMPLES
        if self.evidence_after is not None and age >= self.evidence_after:
            return ThinningStep.EVIDENCE
        return None


@dataclass(frozen=True, slots=True)
class DueRun:
    """A run that a policy thins. ``started`` is ISO 8601."""

    id: str
    label: str
    board: str
    suite: str
    started: str
    step: ThinningStep


@dataclass(frozen=True, slots=True)
class DueRuns:
    """The runs that a policy thins, the oldest first, and how many it keeps whole, by reason."""

    runs: tuple[DueRun, ...]
    kept: Mapping[str, int]


def due_runs(connection: Connection, policy: RetentionPolicy, now: datetime) -> DueRuns:
    """The runs that are old enough and that nothing protects."""
    tags: dict[int, set[str]] = {}
    for number, name in connection.execute(select(RUN_TAG.c.run_number, RUN_TAG.c.name)):
        tags.setdefault(number, set()).add(name)
    named = _named_by_diagnoses(connection)
    done = _thinned(connection)
    newest: Counter[tuple[str, str]] = Counter()
    good: set[tuple[str, str, str]] = set()
    due, kept = [], Counter[str]()
    columns = (RUN.c.number, RUN.c.id, RUN.c.label, RUN.c.board, RUN.c.suite, RUN.c.status)
    statement = select(*columns, RUN.c.started).order_by(RUN.c.number.desc())
    for run in connection.execute(statement):
        of_run = tags.get(run.number, set())
        newest[run.board, run.suite] += 1
        job = (run.label.rpartition(" ")[0], run.board, run.suite)
        is_base = GOOD in of_run and job not in good
        if GOOD in of_run:
            good.add(job)
        step = policy.step_at(now - run.started.replace(tzinfo=run.started.tzinfo or UTC))
        if step is None or done.get(run.number) in (step, ThinningStep.SAMPLES):
            continue
        if run.status == RunStatus.RUNNING:
            kept["still measured"] += 1
        elif newest[run.board, run.suite] <= policy.keep:
            kept[f"among the newest {policy.keep} of its board and suite"] += 1
        elif any(not tag.startswith(_OF_JOBS) for tag in of_run):
            kept["tagged"] += 1
        elif is_base:
            kept["the newest good night, with which the next one is compared"] += 1
        elif run.id in named or (run.label and run.label in named):
            kept["named by a diagnosis"] += 1
        else:
            started = run.started.isoformat(timespec="milliseconds")
            due.append(DueRun(run.id, run.label, run.board, run.suite, started, step))
    return DueRuns(tuple(reversed(due)), dict(kept))


def _named_by_diagnoses(connection: Connection) -> set[str]:
    """What diagnoses are about by name, and all in them that may be the id of a run."""
    named: set[str] = set()
    columns = (DIAGNOSIS.c.good, DIAGNOSIS.c.bad, DIAGNOSIS.c.document)
    for good, bad, document in connection.execute(select(*columns)):
        named |= {good, bad, *_RUN_ID.findall(json.dumps(document))}
    return named


def _thinned(connection: Connection) -> dict[int, ThinningStep]:
    """The runs that were thinned before, and how far."""
    rows = connection.execute(
        select(ATTACHMENT.c.run_number, ATTACHMENT.c.content).where(ATTACHMENT.c.name == THINNED)
    )
    return {number: ThinningStep(json.loads(content)["step"]) for number, content in rows}


def thin_run(
    connection: Connection,
    run_id: str,
    step: ThinningStep,
    sentences: Mapping[int, str],
    record: bytes,
) -> int:
    """Removes what ``step`` says; returns of how many samples.

    ``sentences`` say by position of a series what stays known of it, and ``record`` says it to
    programs: it becomes the run's file ``THINNED``. UsageError for a run that is still measured or
    not there.
    """
    run = connection.execute(
        select(RUN.c.number, RUN.c.status, RUN.c.board).where(RUN.c.id == run_id)
    ).first()
    if run is None or run.status == RunStatus.RUNNING:
        raise UsageError(f"the run {run_id} is not there, or still measured", "see benchvise runs")
    if step is ThinningStep.SAMPLES:
        samples = _remove_samples(connection, run.number, run.board)
    else:
        samples = _remove_evidence(connection, run.number)
    for position, sentence in sentences.items():
        of_series = (SERIES.c.run_number == run.number, SERIES.c.position == position)
        connection.execute(update(SERIES).where(*of_series).values(reason=sentence))
    mine = (ATTACHMENT.c.run_number == run.number, ATTACHMENT.c.name == THINNED)
    connection.execute(delete(ATTACHMENT).where(*mine))
    row = {"run_number": run.number, "name": THINNED, "content": record}
    connection.execute(insert(ATTACHMENT), row)
    return samples


def _remove_evidence(connection: Connection, number: int) -> int:
    of_run = (
        select(PROCESS.c.id)
        .join(SERIES, SERIES.c.id == PROCESS.c.series_id)
        .where(SERIES.c.run_number == number)
    )
    return sum(
        _thin_rows(connection, process) + _thin_packed(connection, process)
        for process in connection.execute(of_run).scalars().all()
    )


def _thin_rows(connection: Connection, process: int) -> int:
    mine = SAMPLE.c.process_id == process
    rows = connection.execute(select(SAMPLE.c.index, SAMPLE.c.evidence).where(mine)).all()
    changed = [
        {"at": index, "evidence": _kept(evidence)}
        for index, evidence in rows
        if _kept(evidence) != evidence
    ]
    if changed:
        connection.execute(update(SAMPLE).where(mine, SAMPLE.c.index == bindparam("at")), changed)
    return len(changed)


def _thin_packed(connection: Connection, process: int) -> int:
    mine = EVIDENCE.c.process_id == process
    row = connection.execute(
        select(PROCESS.c.packed_samples, EVIDENCE.c.packed).join(EVIDENCE).where(mine)
    ).first()
    if row is None:
        return 0
    evidence = unpack_evidence(*row)
    kept = [_kept(item) for item in evidence]
    if kept != evidence:
        connection.execute(update(EVIDENCE).where(mine).values(packed=pack_evidence(kept)))
    return sum(after != before for after, before in zip(kept, evidence, strict=True))


def _kept(evidence: JsonObject) -> JsonObject:
    return {name: evidence[name] for name in KEPT_EVIDENCE if name in evidence}


def _remove_samples(connection: Connection, number: int, board: str) -> int:
    """All processes with their samples; their series are not counted any more."""
    measured = (
        select(SERIES.c.key, func.sum(SAMPLE_COUNT))
        .join(PROCESS, PROCESS.c.series_id == SERIES.c.id)
        .where(SERIES.c.run_number == number)
        .group_by(SERIES.c.key)
    )
    samples = {key: int(count) for key, count in connection.execute(measured) if count}
    for key in sorted(samples):
        counted = (has_key(SERIES_COUNT, key), SERIES_COUNT.c.board == board)
        fewer = update(SERIES_COUNT).where(*counted)
        connection.execute(fewer.values(runs=SERIES_COUNT.c.runs - 1))
        connection.execute(delete(SERIES_COUNT).where(*counted, SERIES_COUNT.c.runs <= 0))
    of_run = select(SERIES.c.id).where(SERIES.c.run_number == number)
    connection.execute(delete(PROCESS).where(PROCESS.c.series_id.in_(of_run)))
    return sum(samples.values())
