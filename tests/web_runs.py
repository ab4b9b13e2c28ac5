"""A store of runs as the pages about runs need them, and the workbench over it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

from latency_runs import wakeups
from report_runs import demonstration_run, other_run, series, spec
from web_client import Answer, Client
from web_store import keep_run, scaled

from benchvise.measure.model import RunRecord
from benchvise.state.model import Snapshot, StateEntry
from benchvise.store import Store
from benchvise.text import Untrusted

HOSTILE = '<img src=x onerror="document.body.remove()">\x1b[31m\u202e'
KEY = "memory.copy:size=64M"


class Kept:
    """A store with the vendor's image, one's own, one with hostile names, and some nights."""

    def __init__(self, directory: Path) -> None:
        self.store = str(directory / "runs.db")
        self.vendor = keep_run(self.store, with_more(demonstration_run()))
        self.own = keep_run(self.store, with_more(other_run()))
        hostile = demonstration_run(
            label=HOSTILE,
            suite=HOSTILE,
            reason=Untrusted(HOSTILE),
            host={"kernel": HOSTILE, "caches": HOSTILE},
        )
        first = hostile.series[0]
        named = replace(first, spec=spec("memory.copy", size=HOSTILE), reason=HOSTILE)
        self.hostile = keep_run(
            self.store, replace(hostile, series=(named, *hostile.series[1:4])), board=HOSTILE
        )
        chance = random.Random(1)
        self.nights = []
        for night in range(12):
            level = (1.0 if night < 6 else 0.8) * chance.gauss(1, 0.004)
            run = demonstration_run(suite="nightly", series=(demonstration_run().series[3],))
            run = scaled(run, level)
            self.nights.append(keep_run(self.store, run, label=f"night-{night}"))
        with Store.open(self.store) as opened:
            opened.attach(self.vendor, "console", b"U-Boot 2024.01\r\n<script>\x1b[2Jhi\n")
            opened.annotate(self.hostile, HOSTILE)
            for run_id, value in ((self.vendor, "madvise"), (self.own, "always")):
                opened.add_snapshot(run_id, "before", snapshot(value))
            opened.add_snapshot(self.vendor, "after", snapshot("never"))
            for run_id in self.nights:
                opened.tag(run_id, ["nightly"])
        self.client = Client.of(store=self.store)

    def get(self, path: str, *pairs: tuple[str, str]) -> Answer:
        return self.client.get(f"{path}?{urlencode(pairs)}" if pairs else path)

    def compare(self, *more: tuple[str, str], twin: bool = True) -> Answer:
        pairs = (("run", self.vendor), ("run", self.own), *more)
        return self.get(f"/compare{'.json' if twin else ''}", *pairs)


def with_more(run: RunRecord) -> RunRecord:
    """With a grid of context switches, bars and a histogram."""
    grid = [
        series(
            spec("os.context_switch_grid", processes=str(count), size=size, order="sequential"),
            2000.0 + 9000.0 * (count * kib > 32),
        )
        for count in (2, 4, 8, 16, 32)
        for size, kib in (("0", 0), ("4K", 4), ("16K", 16))
    ]
    return replace(run, series=(*run.series, *grid, wakeups(policy="fifo")))


def snapshot(value: str) -> Snapshot:
    return Snapshot(
        board="ssh://root@bench-07",
        taken="2026-03-14T09:26:50.000+00:00",
        boot_id="b",
        privilege="root",
        settings=(StateEntry("memory.thp", "mode", value, path="/sys/kernel/mm/<x>"),),
        observations=(StateEntry("system.load", "processes", 3),),
        board_time_ns=1,
        host_time_ns=2,
    )
