"""What the commands on stored results do."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchvise.documents import JsonObject, text_at
from benchvise.errors import TraceError, UsageError
from benchvise.output_files import check_output_directory, check_output_file, open_output
from benchvise.store import DiagnosisInfo, RunFilter, RunInfo, Store

if TYPE_CHECKING:
    from benchvise.measure.compare import RunComparison
    from benchvise.measure.equal_runs import EqualRuns
    from benchvise.measure.metrics import CounterTable
    from benchvise.measure.model import RunRecord
    from benchvise.measure.validity import Summary
    from benchvise.state.diff import StateDiff
    from benchvise.state.model import Snapshot


def list_runs(store_url: str | None, limit: int, matching: RunFilter) -> list[RunInfo]:
    """The newest runs that match, newest first."""
    with Store.open(store_url) as store:
        return store.runs(limit, matching)


def tag_run(
    store_url: str | None, reference: str, names: Sequence[str], *, remove: bool
) -> RunInfo:
    """Gives a run tags or takes them off; returns it as it is then."""
    with Store.open(store_url) as store:
        run_id = store.resolve(reference)
        (store.untag if remove else store.tag)(run_id, names)
        return store.info(run_id)


def note_run(store_url: str | None, reference: str, note: str) -> RunInfo:
    """Replaces the note of a run, or takes it away; returns the run as it is then."""
    with Store.open(store_url) as store:
        run_id = store.resolve(reference)
        store.annotate(run_id, note)
        return store.info(run_id)


def list_diagnoses(store_url: str | None, limit: int | None) -> list[DiagnosisInfo]:
    """The newest diagnoses, newest first; all of them where ``limit`` is None."""
    with Store.open(store_url) as store:
        return store.diagnoses(limit)


def load_diagnosis(store_url: str | None, reference: str) -> dict[str, Any] | None:
    """The document of the diagnosis that an id or a prefix means; None where it means no such."""
    with Store.open(store_url) as store:
        return store.diagnosis(reference)


def load_run(store_url: str | None, reference: str) -> RunRecord:
    """The run that an id, a prefix, a label or ``@`` means."""
    with Store.open(store_url) as store:
        return store.load(reference)


def console_of(store_url: str | None, reference: str) -> str:
    """What the console of a rig's board said from power on to the end of the run.

    UsageError when the run has none. What is no UTF-8 is replaced.
    """
    with Store.open(store_url) as store:
        text = store.attachment(reference, "console")
    if text is None:
        raise UsageError(
            f"the run {reference} has no console", "boards of a rig have one: rig:NAME"
        )
    return text.decode("utf-8", "replace")


def trace_of(store_url: str | None, reference: str, output: Path | None) -> JsonObject:
    """What is known of the trace of a run; with ``output``, its file is copied there.

    UsageError when the run has none, TraceError when its file is gone, OutputError when it cannot
    be copied.
    """
    from benchvise.flows.tracing import ATTACHMENT, recorded_trace

    if output is not None:
        check_output_file(output, "the trace")
    with Store.open(store_url) as store:
        kept = store.attachment(reference, ATTACHMENT)
    if kept is None:
        raise UsageError(f"the run {reference} has no trace", "measure again with --trace")
    recorded = recorded_trace(kept)
    file = Path(text_at(recorded, "file"))
    if not file.is_file():
        raise TraceError(
            f"the trace of run {reference} is not at {file}",
            "it is kept beside the store: was it moved?",
        )
    if output is not None:
        with open_output(output, "the trace") as copy, file.open("rb") as trace:
            shutil.copyfileobj(trace, copy, 1 << 20)
    return recorded


def summaries(record: RunRecord) -> list[Summary]:
    """What can be said of each series of a run that has samples, in their order."""
    from benchvise.measure.validity import summarise

    return [summarise(series) for series in record.series if series.values]


@dataclass(frozen=True, slots=True)
class Compared:
    """Two stored runs and how they compare.

    ``counters`` are those of the series that changed, ``state`` is how the boards' settings differ;
    None when the state of one was not recorded. ``equal_runs`` says of the series that changed most
    how far stored runs of the same state differ; None when the two were measured in turn.
    """

    base: RunRecord
    other: RunRecord
    result: RunComparison
    counters: Mapping[str, CounterTable]
    state: StateDiff | None
    equal_runs: tuple[EqualRuns, ...] | None

    @property
    def simulated(self) -> bool:
        """Whether one of the two was measured on an emulated board."""
        return self.base.simulated or self.other.simulated


def compare(
    store_url: str | None, base: str, other: str, *, figures: bool = False, every: bool = False
) -> Compared:
    """Compares two stored runs; with ``every``, with the counters of unchanged series too."""
    from benchvise.measure.compare import compare_runs
    from benchvise.measure.metrics import compare_counters
    from benchvise.state.diff import diff_snapshots

    with Store.open(store_url) as store:
        a, b = store.load(base), store.load(other)
        states = store.snapshot(a.id), store.snapshot(b.id)
        result = compare_runs(a, b, figures=figures)
        state = diff_snapshots(states[0], states[1]) if states[0] and states[1] else None
        by_chance = _by_chance(store, (a, b), states, state, result)
    listed = {c.spec.canonical for c in result.comparisons if every or c.changed}
    of_b = {series.spec.canonical: series for series in b.series}
    counters = {
        series.spec.key: compare_counters(series, of_b[series.spec.canonical])
        for series in a.series
        if series.spec.canonical in listed and series.spec.canonical in of_b
    }
    return Compared(a, b, result, counters, state, by_chance)


_EQUAL_RUNS = 12
"""So many of the newest runs of a board are looked at: each has a state to be compared."""
_MOST_CHANGED = 8


def _by_chance(
    store: Store,
    sides: tuple[RunRecord, RunRecord],
    states: tuple[Snapshot | None, Snapshot | None],
    differ: StateDiff | None,
    result: RunComparison,
) -> tuple[EqualRuns, ...] | None:
    """What stored runs of the state of either side say of the series that changed most."""
    from benchvise.measure.equal_runs import equal_runs

    if sides[0].interleaved_with(sides[1]):
        return None
    changed = [c for c in result.changed if c.ratio is not None][:_MOST_CHANGED]
    if not changed:
        return ()
    alike = differ is not None and not differ.differences
    groups = [
        [run for run in _equal_to(store, side, state) if run != other.id]
        for side, other, state in zip(sides, reversed(sides), states, strict=True)
        if state is not None and not (alike and side is sides[1])
    ]
    return tuple(
        equal_runs(
            comparison,
            [{run: store.series_of(run, comparison.spec.key) for run in group} for group in groups],
        )
        for comparison in changed
    )


def _equal_to(store: Store, run: RunRecord, state: Snapshot) -> list[str]:
    """The ids of a run and of others of its board and suite in the same state, the oldest first."""
    from benchvise.measure.model import RunStatus
    from benchvise.state.diff import diff_snapshots

    matching = RunFilter(board=run.board, suite=run.suite, status=RunStatus.COMPLETE)
    equal = [(run.started, run.id)]
    for other in store.runs(_EQUAL_RUNS, matching):
        seen = None if other.id == run.id else store.snapshot(other.id)
        if seen is not None and not diff_snapshots(state, seen).differences:
            equal.append((other.started, other.id))
    return [run_id for _, run_id in sorted(equal)]


def report(store_url: str | None, references: Sequence[str], directory: Path) -> Path:
    """Writes the page of stored runs, or of one diagnosis; returns its path.

    UsageError for a diagnosis among others, OutputError where the directory cannot be written.
    """
    check_output_directory(directory, "the report")
    # Late: what makes pages would make every other command start later.
    from benchvise.report.html import write_report
    from benchvise.report.why.page import write_page

    with Store.open(store_url) as store:
        diagnosis = next(filter(None, map(store.diagnosis, references)), None)
        if diagnosis is not None and len(references) > 1:
            raise UsageError("a diagnosis has a page of its own", "name it alone")
        if diagnosis is not None:
            return write_page(diagnosis, directory)
        records = [store.load(reference) for reference in references]
    return write_report(records, directory)
