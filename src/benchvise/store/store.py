"""The store of results: what flows write while a board is measured, and read afterwards."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, get_args

from sqlalchemy import Connection, Table, Update, delete, insert, select, update

import benchvise
from benchvise.documents import encode
from benchvise.errors import StoreError, UsageError
from benchvise.measure.model import (
    Better,
    MetricKind,
    RunRecord,
    RunRemark,
    RunStatus,
    Sample,
    SeriesRecord,
    SeriesSpec,
    SeriesStatus,
)
from benchvise.state.model import Snapshot
from benchvise.store import (
    boots,
    diagnoses,
    history,
    notes,
    packed_samples,
    progress,
    reading,
    references,
    series_counts,
    snapshots,
)
from benchvise.store.boots import StoredBoot
from benchvise.store.database import Database, prepare
from benchvise.store.diagnoses import DiagnosisInfo
from benchvise.store.faults import reported
from benchvise.store.heartbeat import (
    FELL_SILENT,
    Heartbeat,
    is_silent,
    leave_sign,
    store_clock,
)
from benchvise.store.history import BoardInfo, Past, RunActivity, SeriesList
from benchvise.store.location import default_file, locate
from benchvise.store.owner import Owner
from benchvise.store.progress import StoredProgress
from benchvise.store.reading import ALL_RUNS, RunChoices, RunFilter, RunInfo
from benchvise.store.series_counts import MeasuredSeries
from benchvise.store.snapshots import Moment
from benchvise.store.tables import ATTACHMENT, BOOT, PROCESS, RUN, SERIES
from benchvise.store.values import stored
from benchvise.text import Untrusted

if TYPE_CHECKING:
    from benchvise.store.copying import CopiedTable
    from benchvise.store.job_lock import JobLock
    from benchvise.store.results_file import TravellingRun
    from benchvise.store.retention import DueRuns, RetentionPolicy, ThinningStep
    from benchvise.store.trace_notes import TraceNotes
    from benchvise.store.watches import Watches

PlannedSeries: TypeAlias = tuple[SeriesSpec, str, Better, str]
"""A series before it is measured: its spec, unit, better and counted."""

ABANDONED = "the measuring process ended without finishing (killed or power lost)"
WAITING_SECONDS = 10.0

_Run = TypeVar("_Run", RunInfo, RunRecord, StoredProgress)
_Read = TypeVar("_Read")


@dataclass(slots=True, eq=False)
class ProcessHandle:
    """A process of a run in the store that samples can be added to.

    ``begun`` is its series until the first sample is added, which may have to be counted.
    """

    id: int
    run: str
    begun: MeasuredSeries | None


class Store:
    """An open store. A context manager; every method raises ``StoreError`` when it fails.

    Each writing method is one transaction that is on disk when the method returns.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._heartbeat = Heartbeat(database)

    @classmethod
    def open(cls, url: str | None = None, *, timeout: float = WAITING_SECONDS) -> Self:
        """Open the store, made or upgraded as needed; without ``url``, the user's own.

        ``url`` is the path of an SQLite file or a PostgreSQL URL; ``timeout`` is for how many
        seconds to wait for other processes that hold a lock, and for a server to answer.
        Raises ``UsageError`` for a URL that cannot be read, and ``StoreError`` for a store that
        cannot be opened, is not ours or was made by a newer Benchvise.
        """
        location = locate(url)
        if location.file is not None and location.file == default_file():
            with reported(location):
                location.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        database = Database(location, timeout)
        try:
            prepare(database)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._heartbeat.close()
        self._database.close()

    @property
    def name(self) -> str:
        """Where the store is, to be shown: never with a password."""
        return self._database.location.name

    # Writing, in the order of a run

    def begin_run(
        self,
        label: str,
        board: str,
        suite: str,
        seed: int,
        plan: Mapping[str, Any],
        host: Mapping[str, Any],
        simulated: bool,
        series: Sequence[PlannedSeries],
    ) -> str:
        """Begin a run that this process measures; returns its id.

        A series' position is its index in ``series``. Raises ``UsageError`` for a label that is
        a reserved word (``latest``, ``@…``) or a seed of more than 63 bits.
        """
        references.refuse_reserved(label)
        references.refuse_long(label)
        if not 0 <= seed < 2**63:
            raise UsageError(f"the seed {seed} is out of range", "give one from 0 to 2^63 - 1")
        run_id = secrets.token_hex(6)
        with self._database.writing() as connection:
            run_number = _insert(
                connection,
                RUN,
                {
                    "id": run_id,
                    "label": label,
                    "board": board,
                    "suite": suite,
                    "status": RunStatus.RUNNING,
                    "reason": "",
                    "started": datetime.now(UTC),
                    "finished": None,
                    "seed": seed,
                    "plan": plan,
                    "host": host,
                    "tool_version": benchvise.__version__,
                    "simulated": simulated,
                    "owner": encode(Owner.here()),
                    "remarks": {},
                    "heard": connection.scalar(select(store_clock(connection))),
                },
            )
            rows = [
                {
                    "run_number": run_number,
                    "position": position,
                    "benchmark": spec.benchmark,
                    "params": dict(spec.params),
                    "key": spec.key,
                    "unit": unit,
                    "better": better,
                    "counted": counted,
                    "status": SeriesStatus.PLANNED,
                    "reason": "",
                }
                for position, (spec, unit, better, counted) in enumerate(series)
            ]
            if rows:
                connection.execute(insert(SERIES), rows)
        self._heartbeat.begin(RUN, run_id)
        return run_id

    def describe_series(self, run_id: str, position: int, kind: MetricKind) -> None:
        """Say what the values of the series at ``position`` are, now that it is known."""
        self._change_series(
            run_id, position, unit=kind.unit, better=kind.better, counted=kind.counted
        )

    def begin_process(
        self, run_id: str, position: int, index: int, begin: Mapping[str, Any]
    ) -> ProcessHandle:
        """Begin process ``index`` of the series at ``position``; ``begin`` is the probe's line."""
        with self._database.writing() as connection:
            series = connection.execute(
                select(
                    SERIES.c.id, SERIES.c.run_number, SERIES.c.key, SERIES.c.benchmark, RUN.c.board
                )
                .join(RUN, RUN.c.number == SERIES.c.run_number)
                .where(RUN.c.id == run_id, SERIES.c.position == position)
            ).first()
            if series is None:
                raise self._missing(f"series {position} of run {run_id}")
            row = {"series_id": series.id, "index": index, "begin": begin, "complete": False}
            process_id = _insert(connection, PROCESS, row)
        begun = MeasuredSeries(series.run_number, series.board, series.key, series.benchmark)
        return ProcessHandle(process_id, run_id, begun)

    def add_sample(self, process: ProcessHandle, sample: Sample) -> None:
        """Add a sample, committed when this returns: the next batch may begin."""
        self._add(process, [sample], packed_samples.insert_rows)

    def add_samples(self, process: ProcessHandle, samples: Sequence[Sample]) -> None:
        """Add samples that are all known already, in one go."""
        if samples:
            self._add(process, samples, packed_samples.insert_packed)

    def _add(
        self,
        process: ProcessHandle,
        samples: Sequence[Sample],
        insert_them: Callable[[Connection, int, Sequence[Sample]], None],
    ) -> None:
        first = samples[0].index

        def add(connection: Connection, again: bool) -> None:
            if process.begun is not None:
                series_counts.count_new(connection, process.begun)
            # All of them are there, or none.
            if not (again and packed_samples.has_sample(connection, process.id, first)):
                insert_them(connection, process.id, samples)
            if is_due:
                leave_sign(connection, RUN, process.run)

        with self._heartbeat.beside(process.run) as is_due:
            self._database.write(add)
        process.begun = None

    def end_process(self, process: ProcessHandle, complete: bool) -> None:
        """End a process, and pack its samples; ``complete`` when it measured all batches."""
        ended = update(PROCESS).where(PROCESS.c.id == process.id).values(complete=complete)

        def end(connection: Connection, _again: bool) -> None:
            if not connection.execute(ended).rowcount:
                raise self._missing(f"process {process.id}")
            packed_samples.pack_process(connection, process.id)

        self._database.write(end)

    def end_series(
        self, run_id: str, position: int, status: SeriesStatus, reason: str = ""
    ) -> None:
        """Say how the series at ``position`` ended, and why if not as planned."""
        self._change_series(run_id, position, status=status, reason=reason)

    def update_host(self, run_id: str, host: Mapping[str, Any]) -> None:
        """Replace what is known of the board's system."""
        statement = update(RUN).where(RUN.c.id == run_id)
        self._change(statement.values(host=host), f"run {run_id}")

    def add_snapshot(self, run_id: str, moment: Moment, snapshot: Snapshot) -> None:
        """Add the board's state ``before`` or ``after`` the run; once each."""
        with self._database.writing() as connection:
            number = connection.execute(select(RUN.c.number).where(RUN.c.id == run_id)).scalar()
            if number is None:
                raise self._missing(f"run {run_id}")
            snapshots.add_snapshot(connection, number, moment, snapshot)

    def attach(self, run_id: str, name: str, content: bytes) -> None:
        """Keep a file with the run, in the place of one that had the name before."""
        with self._database.writing() as connection:
            number = connection.execute(select(RUN.c.number).where(RUN.c.id == run_id)).scalar()
            if number is None:
                raise self._missing(f"run {run_id}")
            mine = (ATTACHMENT.c.run_number == number, ATTACHMENT.c.name == name)
            connection.execute(delete(ATTACHMENT).where(*mine))
            row = {"run_number": number, "name": name, "content": content}
            connection.execute(insert(ATTACHMENT), row)

    def trace_file(self, run_id: str) -> Path:
        """Where the trace of a run is kept: beside the store, as it may have gigabytes.

        Its directory is made. With PostgreSQL it lies under the user's own data directory.
        """
        location = self._database.location
        file = location.file or default_file()
        directory = file.with_name(f"{file.name}.traces")
        with reported(location):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory / f"{run_id}.dat"

    def set_remarks(self, run_id: str, remarks: Sequence[RunRemark]) -> None:
        """Say what must be known with the run's results."""
        statement = update(RUN).where(RUN.c.id == run_id)
        content = {"remarks": [dataclasses.asdict(remark) for remark in remarks]}
        self._change(statement.values(remarks=content), f"run {run_id}")

    def end_run(self, run_id: str, status: RunStatus, reason: str = "") -> None:
        """End a run now, and say why if it is not complete."""
        statement = update(RUN).where(RUN.c.id == run_id)
        self._change(
            statement.values(status=status, reason=reason, finished=datetime.now(UTC)),
            f"run {run_id}",
        )
        self._heartbeat.end(RUN, run_id)

    def begin_boot(self, board: str, what: str, user: str) -> int:
        """Say to all hosts that this process boots a board; returns the number of the boot."""
        with self._database.writing() as connection:
            number = boots.begin_boot(connection, board, what, user)
        self._heartbeat.begin(BOOT, number)
        return number

    def note_phase(self, boot: int, phase: str, seconds: float) -> None:
        """Say which phase a boot has reached, in seconds since power on."""
        with self._database.writing() as connection:
            boots.note_phase(connection, boot, phase, seconds)

    def end_boot(self, boot: int) -> None:
        """Say that a boot has ended, one way or the other."""
        self._heartbeat.end(BOOT, boot)
        with self._database.writing() as connection:
            boots.end_boot(connection, boot)

    def keep_diagnosis(self, document: Mapping[str, Any]) -> str:
        """Keep a diagnosis, as ``Diagnosis.as_json`` gives it; returns its id."""
        with self._database.writing() as connection:
            return diagnoses.add_diagnosis(connection, document)

    def tag(self, run_id: str, names: Sequence[str]) -> None:
        """Give a run tags, beside those it has. ``UsageError`` for what cannot be a tag."""
        checked = notes.checked_tags(names)
        with self._database.writing() as connection:
            notes.add_tags(connection, run_id, checked)

    def untag(self, run_id: str, names: Sequence[str]) -> None:
        """Take tags off a run. ``UsageError`` for one that it does not have."""
        with self._database.writing() as connection:
            notes.remove_tags(connection, run_id, tuple(dict.fromkeys(names)))

    def annotate(self, run_id: str, note: str) -> None:
        """Replace the note of a run; an empty one takes it away. ``UsageError`` if too long."""
        text = notes.checked_note(note)
        with self._database.writing() as connection:
            notes.set_note(connection, run_id, text)

    def travelling(self, reference: str, *, attachments: bool = False) -> TravellingRun:
        """The run that ``reference`` names with what belongs to it, to be written to a file.

        UsageError for a run that is still measured. With ``attachments``, with its files.
        """
        from benchvise.store.results_file import TravellingRun

        run = self.load(reference)
        if run.status is RunStatus.RUNNING:
            raise UsageError(f"the run {run.id} is still measured", "wait for its end")
        taken = {moment: self.snapshot(run.id, moment) for moment in get_args(Moment)}
        names = self.attachments(run.id) if attachments else ()
        files = {name: self.attachment(run.id, name) for name in names}
        return TravellingRun(
            run,
            {moment: snapshot for moment, snapshot in taken.items() if snapshot is not None},
            {name: content for name, content in files.items() if content is not None},
        )

    def take_in(self, runs: Sequence[TravellingRun]) -> list[str]:
        """Adds runs that were measured elsewhere, all or none; returns the ids of the new ones.

        Runs that the store has stay as they are. UsageError for one that no store could hold.
        """
        from benchvise.store import incoming  # nobody else needs it

        with self._database.writing() as connection:
            new = [record for record in runs if not incoming.has_run(connection, record.run.id)]
            measured = [incoming.add_run(connection, record) for record in new]
            series_counts.count(connection, itertools.chain.from_iterable(measured))
        return [record.run.id for record in new]

    def copy_to(
        self, target: Store, observe: Callable[[CopiedTable], None] | None = None
    ) -> tuple[CopiedTable, ...]:
        """Copy everything into an empty store of either kind, as it is at this moment.

        Traces of runs, which lie in a directory, are not copied. UsageError where the target has
        rows already.
        """
        from benchvise.store.copying import copy_tables  # nobody else needs it

        return copy_tables(self._database, target._database, observe)

    def due_for_thinning(self, policy: RetentionPolicy, now: datetime) -> DueRuns:
        """The runs that a policy thins, and those that it keeps whole although they are old."""
        from benchvise.store.retention import due_runs

        return self._read_settled(lambda connection: due_runs(connection, policy, now))[0]

    def thin(
        self, run_id: str, step: ThinningStep, sentences: Mapping[int, str], record: bytes
    ) -> int:
        """Remove samples of a run, or their evidence, and say so; of how many samples."""
        from benchvise.store.retention import thin_run

        with self._database.writing() as connection:
            return thin_run(connection, run_id, step, sentences, record)

    def protect_baseline(self, run_id: str) -> None:
        """Tag a run that others are compared with, so that it is never thinned.

        In a store that this user cannot write it stays as it is.
        """
        from benchvise.store.retention import BASELINE

        with contextlib.suppress(StoreError, UsageError):
            self.tag(run_id, [BASELINE])

    def job_lock(self, name: str) -> JobLock:
        """The lock of a job, which all hosts see that share this store; a context manager."""
        from benchvise.store.job_lock import JobLock

        return JobLock(self._database, name)

    @property
    def watches(self) -> Watches:
        """What is kept of boards that are watched."""
        from benchvise.store.watches import Watches

        return Watches(self._database)

    @property
    def trace_notes(self) -> TraceNotes:
        """What users say of moments and spans of traces."""
        from benchvise.store.trace_notes import TraceNotes

        return TraceNotes(self._database)

    # Reading

    def runs(
        self, limit: int | None = 20, matching: RunFilter = ALL_RUNS, *, skip: int = 0
    ) -> list[RunInfo]:
        """The newest runs first, without their samples; all of them when ``limit`` is None.

        ``skip`` leaves out so many of the newest.
        """
        listed, ended = self._read_settled(
            lambda connection: reading.list_runs(connection, limit, matching, skip)
        )
        return [_as_seen(run, ended) for run in listed]

    def info(self, run_id: str) -> RunInfo:
        """The run with this id, as it is listed. ``StoreError`` when there is none."""
        runs = self.runs(1, RunFilter(id=run_id))
        if not runs:
            raise self._missing(f"run {run_id}")
        return runs[0]

    def count(self, matching: RunFilter = ALL_RUNS) -> int:
        """How many runs match."""
        with self._database.reading() as connection:
            return reading.count_runs(connection, matching)

    def choices(self) -> RunChoices:
        """What the runs can be told apart by: boards, suites, how they ended, tags."""
        with self._database.reading() as connection:
            return reading.run_choices(connection)

    def tags(self) -> dict[str, int]:
        """Every tag with how many runs have it, in alphabetical order."""
        with self._database.reading() as connection:
            return notes.known_tags(connection)

    def series(self, matching: RunFilter = ALL_RUNS) -> SeriesList:
        """The series that were measured, those first that most runs have.

        Where ``matching`` has more than a board, in the newest runs that match.
        """
        with self._database.reading() as connection:
            return history.list_series(connection, matching)

    def boards_of(self, key: str) -> dict[str, int]:
        """The boards on which the series with this key was measured, with the number of runs."""
        with self._database.reading() as connection:
            return history.boards_of(connection, key)

    def history(
        self, key: str, matching: RunFilter = ALL_RUNS, *, limit: int = 100
    ) -> tuple[list[Past], int]:
        """A series in the newest runs that planned it, the oldest first, and how many there are.

        What is more than ``MOST_COUNTED`` is not counted: then it is one more than that.
        """
        return self._read_settled(
            lambda connection: history.load_history(connection, key, matching, limit)
        )[0]

    def past(self, matching: RunFilter, *, limit: int) -> list[Past]:
        """All series of the newest ``limit`` runs that match, the oldest run first.

        Their samples have no evidence.
        """
        return self._read_settled(
            lambda connection: history.load_past(connection, matching, limit)
        )[0]

    def boards(self, limit: int | None = None) -> list[BoardInfo]:
        """The boards that were measured, the one that was last the first."""
        with self._database.reading() as connection:
            return history.list_boards(connection, limit)

    def activity(self, since: datetime, limit: int = 5000) -> list[RunActivity]:
        """What of the newest ``limit`` runs began since then, the newest first."""
        listed, ended = self._read_settled(
            lambda connection: history.list_activity(connection, since, limit)
        )
        return [
            dataclasses.replace(run, status=RunStatus.INTERRUPTED)
            if run.status is RunStatus.RUNNING and run.id in ended
            else run
            for run in listed
        ]

    def progress(self, since: datetime, limit: int = 300) -> list[StoredProgress]:
        """How far the newest runs are that are measured now, or ended since then."""
        listed, ended = self._read_settled(
            lambda connection: progress.list_progress(connection, since, limit)
        )
        return [_as_seen(run, ended) for run in listed]

    def boots(self, limit: int = 300) -> list[StoredBoot]:
        """The boards that boot now to be measured, on any host."""
        with self._database.reading() as connection:
            return boots.list_boots(connection, limit)

    def resolve(self, reference: str) -> str:
        """The id of the run that a user names by id, prefix, label, ``latest`` or ``@N``.

        Raises ``UsageError`` that names the candidates when there is no such run or several.
        """
        with self._database.reading() as connection:
            return references.resolve(connection, reference, self.name)

    def diagnoses(self, limit: int | None = 20) -> list[DiagnosisInfo]:
        """The newest diagnoses first; all of them when ``limit`` is None."""
        with self._database.reading() as connection:
            return diagnoses.list_diagnoses(connection, limit)

    def diagnosis(self, reference: str) -> dict[str, Any] | None:
        """The document of the diagnosis with this id, or the only one whose id begins so.

        None where no diagnosis is meant: there is none, or a run has that id, label or beginning.
        Raises ``UsageError`` for a beginning of several.
        """
        with self._database.reading() as connection:
            identity = references.find_diagnosis(connection, reference, self.name)
            return None if identity is None else diagnoses.load_diagnosis(connection, identity)

    def load(self, reference: str) -> RunRecord:
        """Everything measured in the run that ``reference`` names (see ``resolve``)."""

        def load(connection: Connection) -> RunRecord:
            return reading.load_run(
                connection, references.resolve(connection, reference, self.name)
            )

        return _as_seen(*self._read_settled(load))

    def series_of(self, run_id: str, key: str) -> list[SeriesRecord]:
        """What was measured of the series with this key in a run: one, or one a repetition."""
        with self._database.reading() as connection:
            return reading.series_of(connection, run_id, key)

    def host_of(self, run_id: str) -> Mapping[str, Any]:
        """What is known of the system of a run's board. ``StoreError`` when there is no run."""
        with self._database.reading() as connection:
            host: Mapping[str, Any] | None = connection.execute(
                select(RUN.c.host).where(RUN.c.id == run_id)
            ).scalar()
        if host is None:
            raise self._missing(f"run {run_id}")
        return host

    def neighbours(self, run_id: str) -> tuple[str | None, str | None]:
        """The ids of the runs before and after this one on its board with its suite."""
        with self._database.reading() as connection:
            return reading.neighbours(connection, run_id)

    def attachments(self, run_id: str) -> dict[str, int]:
        """The files that are kept with a run, with the bytes that they take in the store."""
        with self._database.reading() as connection:
            return reading.attachments(connection, run_id)

    def snapshot(self, reference: str, moment: Moment = "before") -> Snapshot | None:
        """The board's state around the run that ``reference`` names; None when none was taken."""
        with self._database.reading() as connection:
            run_id = references.resolve(connection, reference, self.name)
            return snapshots.load_snapshot(connection, run_id, moment)

    def attachment(self, reference: str, name: str) -> bytes | None:
        """A file that is kept with the run that ``reference`` names; None when it has none such."""
        with self._database.reading() as connection:
            run_id = references.resolve(connection, reference, self.name)
            content: bytes | None = connection.execute(
                select(ATTACHMENT.c.content)
                .join(RUN, RUN.c.number == ATTACHMENT.c.run_number)
                .where(RUN.c.id == run_id, ATTACHMENT.c.name == name)
            ).scalar()
            return content

    # Internals

    def _read_settled(self, read: Callable[[Connection], _Read]) -> tuple[_Read, dict[str, str]]:
        """What ``read`` returns once running runs whose process has ended are interrupted; and why
        each of those is, by its id.

        In a store that cannot be written now they stay as they are until the next reader, so
        the caller must not rely on the mark. Mostly there are none: then it is one transaction.
        """
        with self._database.reading() as connection:
            ended, changes = _ended_runs(connection)
            if not changes:
                return read(connection), ended
        with contextlib.suppress(StoreError), self._database.writing() as connection:
            for change in changes:
                connection.execute(change.values(status=RunStatus.INTERRUPTED))
        with self._database.reading() as connection:
            return read(connection), ended

    def _change_series(self, run_id: str, position: int, **values: str) -> None:
        run_number = select(RUN.c.number).where(RUN.c.id == run_id).scalar_subquery()
        statement = update(SERIES).where(
            SERIES.c.run_number == run_number, SERIES.c.position == position
        )
        self._change(statement.values(**values), f"series {position} of run {run_id}")

    def _change(self, statement: Update, what: str) -> None:
        def change(connection: Connection, _again: bool) -> None:
            if not connection.execute(statement).rowcount:
                raise self._missing(what)

        self._database.write(change)

    def _missing(self, what: str) -> StoreError:
        return StoreError(
            f"the store {self.name} has no {what}", "was the run deleted while it was measured?"
        )


def _insert(connection: Connection, table: Table, row: Mapping[str, Any]) -> int:
    """Insert one row; returns the key that the database gave it."""
    keys: Sequence[int] = connection.execute(insert(table), row).inserted_primary_key or ()
    return keys[0]


def _ended_runs(connection: Connection) -> tuple[dict[str, str], list[Update]]:
    """Why each running run is over whose process has ended, by its id, and what notes that."""
    here = Owner.here()
    running = RUN.c.status == RunStatus.RUNNING
    columns = (RUN.c.id, RUN.c.owner, RUN.c.heard, RUN.c.started)
    rows = connection.execute(
        select(*columns, store_clock(connection).label("now")).where(running)
    ).all()
    ended, changes = {}, []
    for run in rows:
        owner = stored(Owner, run.owner)
        # "Still running, and not heard of", because that may have changed since it was read.
        seen = (RUN.c.id == run.id, running)
        if owner.is_gone(here):
            ended[run.id] = ABANDONED
            changes.append(update(RUN).where(*seen).values(reason=ABANDONED))
        elif is_silent(owner, here, run.heard, run.started, run.now):
            ended[run.id] = FELL_SILENT
            unheard = RUN.c.heard.is_not_distinct_from(run.heard)
            change = update(RUN).where(*seen, unheard)
            changes.append(change.values(reason=FELL_SILENT, finished=run.heard))
    return ended, changes


def _as_seen(run: _Run, ended: Mapping[str, str]) -> _Run:
    """The run as it is, even where the store could not be told that it was abandoned."""
    if run.status is RunStatus.RUNNING and run.id in ended:
        reason = Untrusted(ended[run.id])
        return dataclasses.replace(run, status=RunStatus.INTERRUPTED, reason=reason)
    return run
