"""The newest numbers of boards, for programs that collect them: polls, alerts, medians.

What a run measured does not change once it has ended: its medians are computed once.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path

from benchvise.measure.model import RunStatus
from benchvise.output_files import write_output
from benchvise.report.data import summary_or_reason
from benchvise.report.openmetrics import ExpositionFormat, LatestMedian, exposition
from benchvise.store import Store

_RUNS = 500


class LatestMetrics:
    """The metrics of a store, of all boards or of these; may be asked by several threads."""

    def __init__(self, boards: Collection[str] | None = None) -> None:
        self._boards = boards
        self._medians: dict[str, tuple[LatestMedian, ...]] = {}
        self._lock = threading.Lock()

    def text(self, store: Store, form: ExpositionFormat = "openmetrics") -> str:
        """All metrics as text. StoreError when the store cannot be read."""
        with self._lock:
            polls = [
                poll
                for board in store.watches.boards()
                if self._means(board) and (poll := store.watches.latest(board)) is not None
            ]
            return exposition(polls, list(self._newest(store)), form)

    def write(self, store: Store, file: Path) -> None:
        """Writes them for the textfile collector of node_exporter, whole or not at all.

        OutputError where the file cannot be written.
        """
        write_output(file, self.text(store, "textfile"), "the metrics")

    def _means(self, board: str) -> bool:
        return self._boards is None or board in self._boards

    def _newest(self, store: Store) -> Iterator[LatestMedian]:
        kept = {}
        for board in store.boards(_RUNS):
            if not self._means(board.name):
                continue
            remembered = self._medians.get(board.run)
            medians, ended = (
                (remembered, True) if remembered is not None else _medians(store, board.run)
            )
            if ended:
                kept[board.run] = medians
            yield from medians
        self._medians = kept


def _medians(store: Store, run_id: str) -> tuple[tuple[LatestMedian, ...], bool]:
    """The medians of a run, and whether it has ended."""
    run = store.load(run_id)
    started = datetime.fromisoformat(run.started).timestamp()
    summaries = [(series, summary_or_reason(series)[0]) for series in run.series]
    medians = tuple(
        LatestMedian(
            run.board, series.spec.key, series.unit, series.better, run.id, started, summary
        )
        for series, summary in summaries
        if summary is not None
    )
    return medians, run.status is not RunStatus.RUNNING
