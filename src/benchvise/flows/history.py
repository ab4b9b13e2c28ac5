"""Changes over many runs: series of the store, their change points, and snapshots beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchvise.errors import UsageError
from benchvise.report.history_events import (
    BoardChange,
    HistoryEvents,
    StateBetween,
    StateChange,
    board_changes,
    group_events,
    state_changes,
)
from benchvise.state.diff import diff_snapshots
from benchvise.store import Past, PastRun, RunFilter, Store
from benchvise.store.references import no_runs_yet

RUNS = 100
"""Runs of each board that are looked at, the newest."""

MOST_BOARDS = 20
"""Boards that are looked at where none is named, those that were measured last."""


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """What the user asks for: boards by name, and words that all stand in a series' name."""

    boards: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    tag: str | None = None
    runs: int = RUNS
    most_boards: int = MOST_BOARDS


def find_events(store: Store, request: HistoryRequest) -> HistoryEvents:
    """The events on the boards that are asked for. UsageError where nothing was measured."""
    boards = request.boards or tuple(board.name for board in store.boards())
    chosen = boards if request.boards else boards[: request.most_boards]
    if not boards:
        raise no_runs_yet(store.name)
    changes: list[BoardChange] = []
    keys: set[str] = set()
    state_between = _state_between(store)
    for board in chosen:
        past = past_of(store, board, request)
        keys.update(entry.series.spec.key for entry in past)
        changes += board_changes(past, state_between)
    if not keys:
        raise UsageError(
            f"no run in {store.name} has such a series",
            "list what was measured: benchvise runs",
        )
    return HistoryEvents(
        runs=request.runs,
        boards=chosen,
        left_out=boards[len(chosen) :],
        series=len(keys),
        events=tuple(group_events(changes)),
    )


def past_of(store: Store, board: str, request: HistoryRequest) -> list[Past]:
    """The series of a board that are asked for in its newest runs, the oldest run first."""
    past = store.past(RunFilter(board=board, tag=request.tag), limit=request.runs)
    names = {entry.run.board for entry in past}
    if board in names and len(names) > 1:  # another one is shown like it
        past = [entry for entry in past if entry.run.board == board]
    return [entry for entry in past if _is_asked_for(entry, request.words)]


def _is_asked_for(entry: Past, words: Sequence[str]) -> bool:
    return all(word.lower() in entry.series.spec.key.lower() for word in words)


def _state_between(store: Store) -> StateBetween:
    def between(before: PastRun, after: PastRun) -> tuple[tuple[StateChange, ...] | None, str]:
        sides = store.snapshot(before.id), store.snapshot(after.id)
        diff = diff_snapshots(sides[0], sides[1]) if sides[0] and sides[1] else None
        changes = tuple(state_changes(before, after, diff))
        if diff is None and not changes:
            return None, "the state of a run was not recorded"
        return changes, ""

    return between
