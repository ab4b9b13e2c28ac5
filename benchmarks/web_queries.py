"""What a warm query takes through the workbench, in two checkouts: ``python -m
benchmarks.web_queries BEFORE AFTER TRACE``.

Each checkout serves a copy of the trace; requests go to one and the other in turn, whole: from the
connection to the last byte received. The cost is the Hodges-Lehmann shift of the pairs, with its
interval.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console

from benchmarks.sheets import VERDICTS, Sheet
from benchvise.statistics import Interval, hodges_lehmann_paired, median_interval
from benchvise.web.file_index import key_of

GOAL_SECONDS = 0.005
QUERIES = {
    "a row": "SELECT 42",
    "a group": "SELECT cpu, count(*) FROM sched_switch GROUP BY cpu",
    "the longest": "SELECT * FROM instances ORDER BY execution DESC LIMIT 100",
}


class Workbench:
    """The ``serve`` of a checkout, with a copy of the trace."""

    def __init__(self, checkout: Path, trace: Path, place: Path) -> None:
        shutil.copy(trace, place / "t.dat")
        self._process = subprocess.Popen(
            [
                *(str(checkout / ".venv/bin/benchvise"), "serve", "--port", "0", "--json"),
                *("--no-token", "--traces", str(place), "--store", str(place / "store.db")),
            ],
            stdout=subprocess.PIPE,
            env={**os.environ, **{f"XDG_{kind}_HOME": str(place) for kind in ("CACHE", "STATE")}},
        )
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        self._address = urlsplit(said["data"]["address"]).netloc
        self._path = f"/api/traces/{key_of(place / 't.dat')}/query"

    def seconds(self, sql: str) -> float:
        """What the request of one query takes."""
        body = json.dumps({"sql": sql})
        begun = time.perf_counter()
        with closing(http.client.HTTPConnection(self._address)) as connection:
            connection.request("POST", self._path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
        took = time.perf_counter() - begun
        if answer.status != 200:
            raise RuntimeError(content.decode())
        return took

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait()


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
            served.append(Workbench(checkout, arguments.trace, place))
            stack.callback(served[-1].close)
        for name, sql in QUERIES.items():
            for workbench in served:
                for _ in range(10):
                    workbench.seconds(sql)
            took = [[each.seconds(sql) for each in served] for _ in range(arguments.rounds)]
            sheet.rows.append(_row(name, took))
    Console().print(sheet.table())


def _row(name: str, took: list[list[float]]) -> tuple[str, ...]:
    def shown(value: float, interval: Interval) -> str:
        return f"{value * 1e3:.2f} ms ({interval.low * 1e3:.2f} to {interval.high * 1e3:.2f})"

    sides = [[pair[side] for pair in took] for side in (0, 1)]
    cost = hodges_lehmann_paired([after - before for before, after in took])
    return (
        name,
        *(shown(statistics.median(side), median_interval(side)) for side in sides),
        shown(cost.value, cost.interval),
        f"≤ {GOAL_SECONDS * 1e3:g} ms",
        VERDICTS[cost.value <= GOAL_SECONDS],
    )


if __name__ == "__main__":
    main()
