"""A small lab whose nightly runs became slower with a new kernel, for the pictures of its pages."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import create_engine, update

from benchvise.measure.model import RunStatus, Sample, SeriesSpec, SeriesStatus
from benchvise.store import PlannedSeries, Store
from benchvise.store.location import locate
from benchvise.store.tables import RUN

BOARDS = ("rig:imx8-1", "rig:imx8-2", "rig:rpi5-1")
NIGHTS, SLOW_FROM = 24, 16
_BEGAN = timedelta(hours=6)  # before now: the last night is one of the last day
_SERIES: list[PlannedSeries] = [
    (SeriesSpec(key, (), key), "ns", "lower", "operations")
    for key in ("os.context_switch", "os.syscall", "pipe.roundtrip", "memory.latency")
]
_SLOWER = {"os.context_switch": 1.12, "pipe.roundtrip": 1.08}


def keep_lab_nights(path: Path) -> None:
    """Puts the nights into a store: two series of the two imx8 boards change at one of them."""
    chance = random.Random(5)
    now = datetime.now(UTC)
    began = {}
    with Store.open(str(path)) as store:
        for night in range(NIGHTS):
            for board in BOARDS:
                kernel = "6.12.10" if night >= SLOW_FROM and "imx8" in board else "6.12.9"
                run = store.begin_run(
                    f"night {night + 1}", board, "quick", 1, {}, {"kernel": kernel}, False, _SERIES
                )
                began[run] = now - _BEGAN - timedelta(days=NIGHTS - 1 - night)
                for position, (spec, *_) in enumerate(_SERIES):
                    process = store.begin_process(run, position, 0, {"benchmark": spec.benchmark})
                    level = 1000.0 * (position + 1)
                    if kernel == "6.12.10":
                        level *= _SLOWER.get(spec.key, 1.0)
                    values = [level * (1.0 + 0.006 * chance.gauss(0.0, 1.0)) for _ in range(10)]
                    store.add_samples(process, [Sample(n, v) for n, v in enumerate(values)])
                    store.end_process(process, True)
                    store.end_series(run, position, SeriesStatus.MEASURED)
                store.tag(run, ["nightly"])
                store.end_run(run, RunStatus.COMPLETE)
    engine = create_engine(locate(str(path)).url)
    with engine.begin() as connection:
        for run, started in began.items():
            times = {"started": started, "finished": started + timedelta(minutes=12)}
            connection.execute(update(RUN).where(RUN.c.id == run).values(**times))
    engine.dispose()
