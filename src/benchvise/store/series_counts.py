"""How many runs of each board have samples of a series: kept while runs are written.

One is added in the transaction of a series' first sample in a run, so that the counts are always
what counting all runs would give. A writer of one sample holds one row for as long as that takes;
one of many runs takes its rows in one order, so that two of them never wait for each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, select

from benchvise.store.packed_samples import HAS_SAMPLES
from benchvise.store.tables import (
    PROCESS,
    SERIES,
    SERIES_COUNT,
    has_key,
    hash_of,
    insert_or_update,
)
from benchvise.store.values import clean_text


class MeasuredSeries(NamedTuple):
    """A series in a run of a board, which has a sample of it or is about to."""

    run_number: int
    board: str
    key: str
    benchmark: str


def count_new(connection: Connection, series: MeasuredSeries) -> None:
    """Count a series before a sample of it is added, unless its run has one already."""
    measured = (
        select(SERIES.c.id)
        .join(PROCESS, PROCESS.c.series_id == SERIES.c.id)
        .where(has_key(SERIES, series.key), SERIES.c.run_number == series.run_number, HAS_SAMPLES)
        .limit(1)
    )
    if connection.execute(measured).first() is None:
        count(connection, [series])


def count(connection: Connection, measured: Iterable[MeasuredSeries]) -> None:
    """Count each of these series, none of which is counted yet."""
    totals = Counter(
        (clean_text(series.board), clean_text(series.key), series.benchmark) for series in measured
    )
    for (board, key, benchmark), runs in sorted(totals.items()):
        added = insert_or_update(connection, SERIES_COUNT).values(
            key_hash=hash_of(key), board=board, key=key, benchmark=benchmark, runs=runs
        )
        connection.execute(
            added.on_conflict_do_update(
                index_elements=[SERIES_COUNT.c.key_hash, SERIES_COUNT.c.board],
                set_={"runs": SERIES_COUNT.c.runs + runs},
            )
        )
