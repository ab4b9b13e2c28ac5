"""A recording with losses never contradicts the complete one of the same load."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import made_traces
import numpy as np
import pytest
import skips
from lossy_traces import beginning, without_some
from made_traces import Recording
from trace_data import trace

from benchvise.trace.analysis.model import NONE, Rows
from benchvise.trace.loaded import LoadedTrace, load_trace

skips.need_decoder()

Metrics = set[tuple[object, ...]]

TABLES = ("instances", "starts", "periods", "fragments", "waits", "block", "timers")


@pytest.fixture(scope="module")
def complete() -> Recording:
    recording = made_traces.read(trace("f100k-v6"))
    return beginning(replace(recording, kallsyms=b""), pages=40, most=600)


@pytest.fixture(scope="module")
def known(complete: Recording, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Metrics]:
    path = complete.save(tmp_path_factory.mktemp("complete") / "complete.dat")
    loaded = load_trace(path, cache=False)
    assert loaded.trace.events > 5000
    return {table: metrics(loaded, table, incomplete=True) for table in TABLES}


def test_what_is_not_incomplete_is_what_the_complete_recording_has(
    complete: Recording, known: dict[str, Metrics], tmp_path: Path
) -> None:
    failures = []
    kept = dict.fromkeys(known, 0)
    for seed in range(50):
        chance = random.Random(seed)
        share = chance.choice((0.01, 0.05, 0.2))
        path = without_some(complete, chance, share).save(tmp_path / f"{seed}.dat")
        loaded = load_trace(path, cache=False)
        assert loaded.trace.losses
        for table, truth in known.items():
            told = metrics(loaded, table, incomplete=False)
            kept[table] += len(told)
            if wrong := told - truth:
                failures.append((seed, share, table, len(wrong), sorted(wrong, key=str)[:5]))
        path.unlink()
    assert not failures, (len(failures), failures[:3])
    assert all(count > 50 * len(known[table]) // 4 for table, count in kept.items()), kept


def metrics(loaded: LoadedTrace, table: str, *, incomplete: bool) -> Metrics:
    """What a table says of each actor, in numbers that do not depend on other rows."""
    analysis = loaded.analysis
    actors = [(actor.kind, actor.tid, actor.number, actor.cpu) for actor in analysis.actors]
    rows = Rows(analysis.tables["instances" if table in ("starts", "periods") else table])
    if table in ("block", "timers"):
        return of_devices(rows, table)
    size = len(rows)
    kept = np.ones(size, dtype=np.bool_)
    if table == "instances":
        columns = ["begin", "end", "execution", "fragments"]
        kept = rows["flags"] == 0
    elif table == "starts":
        # What raised or woke it may be lost: then that is not known.
        columns = ["begin", "ready"]
        kept = (rows["flags"] == 0) & (rows["ready"] != NONE)
    elif table == "periods":
        # Between it and the one before no other can have begun.
        columns = ["begin", "period"]
        kept = (rows["flags"] == 0) & (rows["period"] != NONE)
    elif table == "fragments":
        columns = ["begin", "end", "execution"]
        instance = rows["instance"]
        whole = analysis.instances["flags"] == 0
        kept = (instance != NONE) & whole[np.maximum(instance, 0)]
    else:
        columns = ["begin", "end", "state"]
        kept = rows["flags"] == 0
    chosen = np.arange(size) if incomplete else np.flatnonzero(kept)
    values = [rows[name][chosen].tolist() for name in columns if name in rows.table.column_names]
    owners = [actors[actor] for actor in rows["actor"][chosen].tolist()]
    return set(zip(owners, *values, strict=True))


def of_devices(rows: Rows, table: str) -> Metrics:
    """Requests and timers of which all is known. A request that was given back by the driver and is
    issued again can be told from a new one only where it was seen to be queued."""
    names = {
        "block": ("device", "sector", "bytes", "queued", "issued", "completed"),
        "timers": ("address", "cpu", "ran", "ended", "lateness"),
    }[table]
    columns = [rows[name] for name in names]
    known = np.logical_and.reduce([column != NONE for column in columns])
    return set(zip(*(column[known].tolist() for column in columns), strict=True))
