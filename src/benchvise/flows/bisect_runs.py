"""Runs of the store that measured the good or the bad version before a bisection.

A regression is bisected because runs have shown it. What those measured of both ends tells the
levels and the scatter, which a search has to learn otherwise, at half of its samples.
"""

from __future__ import annotations

import statistics

from benchvise.bisect.journal import JournalEntry
from benchvise.errors import UsageError
from benchvise.store import Store

LEAST_PROCESSES = 3
"""Of a run: with fewer nobody knows how much they scatter."""


def samples_of(
    store_url: str | None, reference: str, board: str, key: str, version: str
) -> list[JournalEntry]:
    """One sample for each complete process of a series in a run, as samples of ``version``.

    Raises UsageError where the run is of another board, or has too little of the series.
    """
    with Store.open(store_url) as store:
        run = store.info(store.resolve(reference))
        measured = store.series_of(run.id, key)
    if run.board != board:
        raise UsageError(
            f"run {run.id} is of {run.board}, and the bisection is on {board}",
            "name a run of the same board",
        )
    values = [
        statistics.median(sample.value for sample in process.samples)
        for series in measured
        for process in series.processes
        if process.complete and process.samples
    ]
    if len(values) < LEAST_PROCESSES or min(values) <= 0.0:
        raise UsageError(
            f"run {run.id} has {len(values)} processes of {key}, and {LEAST_PROCESSES} are needed",
            f"see what it measured: benchvise show {run.id}",
        )
    return [JournalEntry(version, 0.0, 0.0, value, run=run.id) for value in values]
