"""What a warm query takes through the workbench, in two checkouts: ``python -m
benchmarks.web_queries BEFORE AFTER TRACE``.

Each checkout serves a copy of the trace; requests go to one and the other in turn, whole: from the
connection to the last byte received. The cost is the Hodges-Lehmann shift of the pairs, with its
interval.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from benchmarks.served import Served, milliseconds
from benchmarks.sheets import VERDICTS, Sheet
from benchvise.statistics.quantiles import median_interval
from benchvise.statistics.ranks import hodges_lehmann_paired
from benchvise.web.file_index import key_of

GOAL_SECONDS = 0.005
QUERIES = {
    "a row": "SELECT 42",
    "a group": "SELECT cpu, count(*) FROM sched_switch GROUP BY cpu",
    "the longest": "SELECT * FROM instances ORDER BY execution DESC LIMIT 100",
}


def main() -> None:
    """Prints the sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    headings = ("query", "before", "after", "more", "goal", "holds")
    sheet = Sheet(f"Warm queries, {arguments.rounds} rounds, medians", headings)
    with ExitStack() as stack:
        served = []
        for checkout in (arguments.before, arguments.after):
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            shutil.copy(arguments.trace, place / "t.dat")
            path = f"/api/traces/{key_of(place / 't.dat')}/query"
            one = Served(checkout, place, str(place / "store.db"))
            stack.callback(one.close)
            served.append((one, path))
        for name, sql in QUERIES.items():
            body = {"sql": sql}
            for workbench, path in served:
                for _ in range(10):
                    workbench.seconds(path, body)
            took = [
                [workbench.seconds(path, body) for workbench, path in served]
                for _ in range(arguments.rounds)
            ]
            sheet.rows.append(_row(name, took))
    Console().print(sheet.table())


def _row(name: str, took: list[list[float]]) -> tuple[str, ...]:
    sides = [[pair[side] for pair in took] for side in (0, 1)]
    cost = hodges_lehmann_paired([after - before for before, after in took])
    return (
        name,
        *(milliseconds(statistics.median(side), median_interval(side)) for side in sides),
        milliseconds(cost.value, cost.interval),
        f"≤ {GOAL_SECONDS * 1e3:g} ms",
        VERDICTS[cost.value <= GOAL_SECONDS],
    )


if __name__ == "__main__":
    main()
