"""Runs as pages show them, kept for the next page.

A run of the whole suite has tens of thousands of samples, each with its evidence. What pages show
of it takes seconds to make and is small, so it is kept for as long as the run stays as it is.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias, TypeVar

from benchvise.measure.model import RunRecord
from benchvise.report.data import (
    ComparisonData,
    ReportData,
    RunData,
    assembled,
    one_change,
    one_run,
)
from benchvise.store import RunInfo, Store

_KEPT = 48
_T = TypeVar("_T")
_State: TypeAlias = tuple[Hashable, ...]


class Measured:
    """What is to be shown of runs and pairs of runs; may be used by any thread."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._runs: OrderedDict[_State, RunData] = OrderedDict()
        self._changes: OrderedDict[_State, ComparisonData] = OrderedDict()
        # One at a time: two requests for the same run would do the same work twice.
        self._lock = threading.Lock()

    def run(self, run_id: str) -> ReportData:
        """One run. StoreError when there is none with this id."""
        return self.runs([run_id])

    def runs(self, run_ids: Sequence[str]) -> ReportData:
        """Several runs, and how each but the first compares with the first."""
        with self._lock:
            load = _Loaded(self._store())
            states = {run_id: _state(self._store().info(run_id)) for run_id in run_ids}
            runs = [self._run(states[run_id], run_id, load) for run_id in run_ids]
            base, *others = run_ids
            changes = [
                self._change((states[base], states[other]), base, other, load) for other in others
            ]
        return assembled(runs, changes)

    def _run(self, state: _State, run_id: str, load: _Loaded) -> RunData:
        return _kept(self._runs, state, lambda: one_run(load(run_id)))

    def _change(self, state: _State, base: str, other: str, load: _Loaded) -> ComparisonData:
        return _kept(self._changes, state, lambda: one_change(load(base), load(other)))


class _Loaded:
    """Runs with all their samples, each loaded once and only when it is needed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: dict[str, RunRecord] = {}

    def __call__(self, run_id: str) -> RunRecord:
        if run_id not in self._records:
            self._records[run_id] = self._store.load(run_id)
        return self._records[run_id]


def _state(info: RunInfo) -> _State:
    """What changes whenever what is shown of a run does."""
    said = (info.label, info.tags, info.note)
    return (info.id, info.status, info.finished, info.samples, info.reason, *said)


def _kept(kept: OrderedDict[_State, _T], state: _State, make: Callable[[], _T]) -> _T:
    if state not in kept:
        kept[state] = make()
        while len(kept) > _KEPT:
            kept.popitem(last=False)
    kept.move_to_end(state)
    return kept[state]
