"""What is kept between requests: reports of runs, and how boards were when they were last read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from benchvise.flows.health import health
from benchvise.flows.history import HistoryRequest, find_events
from benchvise.health.judging import Judgement
from benchvise.measure.model import RunRecord
from benchvise.report.data import (
    ComparisonData,
    ReportData,
    RunData,
    assembled,
    one_change,
    one_run,
    summary_or_reason,
)
from benchvise.report.history import SummaryOrReason
from benchvise.report.history_events import HistoryEvents
from benchvise.store import Past, RunInfo, Store
from benchvise.web.http import Busy

_REPORTS = 48
_SUMMARIES = 10_000
_READINGS = 200
_READ_AT_ONCE = 2

ValueT = TypeVar("ValueT")


@dataclass
class _Place(Generic[ValueT]):
    """Where a value is, or will be; its lock is held while it is made."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    value: ValueT | None = None


class RecentValues(Generic[ValueT]):
    """The ``most`` values that were used last, each made once however many ask for it at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: OrderedDict[Hashable, _Place[ValueT]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], ValueT]) -> ValueT:
        """The value of the key, made where it is not there; raises what making it raises."""
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            while len(self._places) > self._most:
                self._places.popitem(last=False)
        with place.lock:
            if place.value is None:
                place.value = make()
            return place.value


# -- reports of runs -------------------------------------------------------------------------------


_State: TypeAlias = tuple[Hashable, ...]


class ReportCache:
    """What is to be shown of runs and pairs of runs; may be used by any thread.

    A run of the whole suite has tens of thousands of samples, each with its evidence. What pages
    show of it takes seconds to make and is small, so it is kept for as long as the run stays as it
    is. What a watch of the board learns about the time of a run only later is shown when it is made
    anew.
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._runs: RecentValues[RunData] = RecentValues(_REPORTS)
        self._changes: RecentValues[ComparisonData] = RecentValues(_REPORTS)

    def run(self, run_id: str) -> ReportData:
        """One run. StoreError when there is none with this id."""
        return self.runs([run_id])

    def runs(self, run_ids: Sequence[str]) -> ReportData:
        """Several runs, and how each but the first compares with the first."""
        load = _LoadedRuns(self._store())
        states = {run_id: _state(self._store().info(run_id)) for run_id in run_ids}
        runs = [self._run(states[run_id], run_id, load) for run_id in run_ids]
        base, *others = run_ids
        changes = [
            self._change((states[base], states[other]), base, other, load) for other in others
        ]
        return assembled(runs, changes)

    def _run(self, state: _State, run_id: str, load: _LoadedRuns) -> RunData:
        return self._runs.get(state, lambda: one_run(load(run_id)))

    def _change(self, state: _State, base: str, other: str, load: _LoadedRuns) -> ComparisonData:
        return self._changes.get(state, lambda: one_change(load(base), load(other)))


def _state(info: RunInfo) -> _State:
    """What changes whenever what is shown of a run does."""
    annotations = (info.label, info.tags, info.note)
    return (info.id, info.status, info.finished, info.samples, info.reason, *annotations)


class _LoadedRuns:
    """Runs with all their samples, each loaded once and only when it is needed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: dict[str, RunRecord] = {}

    def __call__(self, run_id: str) -> RunRecord:
        if run_id not in self._records:
            self._records[run_id] = self._store.load(run_id)
        return self._records[run_id]


class SummaryCache:
    """What can be said of a series in a run, for histories; may be used by any thread.

    A history has a hundred runs, and a week later ninety of them are the same.
    """

    def __init__(self) -> None:
        self._summaries: RecentValues[SummaryOrReason] = RecentValues(_SUMMARIES)

    def __call__(self, past: Past) -> SummaryOrReason:
        """The summary, or why there is none."""
        series = past.series
        key = (past.run.id, series.spec.key, series.status, series.reason, series.values)
        return self._summaries.get(key, lambda: summary_or_reason(series))


class EventCache:
    """Events of histories, which take seconds to find, for as long as there is no newer run."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._events: RecentValues[HistoryEvents] = RecentValues(_REPORTS)

    def __call__(self, request: HistoryRequest) -> HistoryEvents:
        """What ``flows.history.find_events`` finds. UsageError where nothing was measured."""
        newest = tuple(_state(info) for info in self._store().runs(1))
        return self._events.get((request, newest), lambda: find_events(self._store(), request))


# -- readings of boards ----------------------------------------------------------------------------


@dataclass
class HealthReadings:
    """The newest judgement of each board that was read since the server began."""

    _judgements: dict[str, Judgement] = field(default_factory=dict, init=False)
    _being_read: set[str] = field(default_factory=set, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def newest(self, board: str) -> Judgement | None:
        """The last judgement; None when the board has not been read."""
        with self._lock:
            return self._judgements.get(board)

    def read(self, board: str, rig: str | None) -> Judgement:
        """Reads the board now. Raises what ``benchvise health`` raises, and Busy."""
        with self._lock:
            if board in self._being_read or len(self._being_read) >= _READ_AT_ONCE:
                raise Busy(f"{board} or others are being looked at", "try again in a moment")
            self._being_read.add(board)
        try:
            judgement = health(board, rig=rig)
        finally:
            with self._lock:
                self._being_read.discard(board)
        with self._lock:
            self._judgements.pop(board, None)
            self._judgements[board] = judgement
            while len(self._judgements) > _READINGS:
                del self._judgements[next(iter(self._judgements))]
        return judgement
