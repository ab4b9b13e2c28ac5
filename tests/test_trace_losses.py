"""A recording with losses never contradicts the complete one of the same load."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import made_traces
import numpy as np
import pytest
import skips
from lossy_traces import beginning, without_some
from made_traces import Recording
from trace_data import trace

from benchvise.errors import UsageError
from benchvise.trace.analysis.counters import CounterSteps, counter_steps
from benchvise.trace.analysis.critical_path import CriticalPath, critical_path, select_activation
from benchvise.trace.analysis.model import NONE, Rows
from benchvise.trace.loaded import LoadedTrace, load_trace

skips.need_decoder()

Metrics = set[tuple[object, ...]]

TABLES = ("instances", "starts", "periods", "fragments", "waits", "block", "timers")
CALLS = ("calls", "begun")
COUNTERS = ("run-queue", "sched_switch.next_prio", "sched_stat_runtime.runtime")


@pytest.fixture(scope="module")
def complete() -> Recording:
    recording = made_traces.read(trace("f100k-v6"))
    return beginning(replace(recording, kallsyms=b""), pages=40, most=600)


@pytest.fixture(scope="module")
def whole(complete: Recording, tmp_path_factory: pytest.TempPathFactory) -> LoadedTrace:
    path = complete.save(tmp_path_factory.mktemp("complete") / "complete.dat")
    loaded = load_trace(path, cache=False)
    assert loaded.trace.events > 5000
    return loaded


@pytest.fixture(scope="module")
def known(whole: LoadedTrace) -> dict[str, Metrics]:
    return {table: metrics(whole, table, incomplete=True) for table in TABLES}


def lossy_ones(complete: Recording, place: Path) -> Iterator[tuple[int, float, LoadedTrace]]:
    """Fifty times the same recording without some of its events: seed, share lost, and the trace,
    whose file lies in ``place`` until the next one."""
    for seed in range(50):
        chance = random.Random(seed)
        share = chance.choice((0.01, 0.05, 0.2))
        path = without_some(complete, chance, share).save(place / f"{seed}.dat")
        loaded = load_trace(path, cache=False)
        assert loaded.trace.losses
        yield seed, share, loaded
        path.unlink()


def not_in(
    known: Mapping[str, Metrics], loaded: LoadedTrace, kept: dict[str, int]
) -> Iterator[tuple[object, ...]]:
    """Of each table the rows that a lossy trace has and the complete one (``known``) has not;
    ``kept`` counts how many it has at all."""
    for table, truth in known.items():
        told = metrics(loaded, table, incomplete=False)
        kept[table] += len(told)
        if wrong := told - truth:
            yield table, len(wrong), sorted(wrong, key=str)[:5]


def test_what_is_not_incomplete_is_what_the_complete_recording_has(
    complete: Recording, whole: LoadedTrace, known: dict[str, Metrics], tmp_path: Path
) -> None:
    failures: list[tuple[object, ...]] = []
    kept = dict.fromkeys(known, 0)
    steps = {name: counter_steps(whole.analysis, name) for name in COUNTERS}
    values = dict.fromkeys(COUNTERS, 0)
    paths = 0
    for seed, share, loaded in lossy_ones(complete, tmp_path):
        failures += [(seed, share, *wrong) for wrong in not_in(known, loaded, kept)]
        for name, truths in steps.items():
            for told_steps in counter_steps(loaded.analysis, name):
                [truth_steps] = [steps for steps in truths if steps.cpu == told_steps.cpu]
                said, contradicted = compared(told_steps, truth_steps, loaded)
                values[name] += said
                if contradicted.size:
                    failures.append((seed, share, name, told_steps.cpu, contradicted[:3]))
        for told_path in longest_paths(loaded):
            paths += 1
            failures += [(seed, share, segment) for segment in not_on(told_path, loaded, whole)]
    assert not failures, (len(failures), failures[:3])
    assert min(values.values()) > 1000 and paths > 50, (values, paths)
    assert all(count > 50 * len(known[table]) // 4 for table, count in kept.items()), kept


@skips.needs("trace-cmd")
def test_a_system_call_that_is_told_is_one_of_the_complete_recording(tmp_path: Path) -> None:
    """Of another recording: the one above has no event of system calls."""
    complete = beginning(replace(with_system_calls(tmp_path), kallsyms=b""), pages=40, most=600)
    whole = load_trace(complete.save(tmp_path / "complete.dat"), cache=False)
    known = {table: metrics(whole, table, incomplete=True) for table in CALLS}
    assert min(map(len, known.values())) > 1000
    failures: list[tuple[object, ...]] = []
    kept = dict.fromkeys(CALLS, 0)
    for seed, share, loaded in lossy_ones(complete, tmp_path):
        failures += [(seed, share, *wrong) for wrong in not_in(known, loaded, kept)]
    assert not failures, (len(failures), failures[:3])
    assert all(count > 50 * len(known[table]) // 2 for table, count in kept.items()), kept


def with_system_calls(directory: Path) -> Recording:
    """f1m as a recording of version 6."""
    path = directory / "v6.dat"
    command = ["trace-cmd", "convert", "--file-version", "6", "--compression", "none"]
    command += ["-i", str(trace("f1m")), "-o", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return made_traces.read(path)


def metrics(loaded: LoadedTrace, table: str, *, incomplete: bool) -> Metrics:
    """What a table says of each actor, in numbers that do not depend on other rows."""
    analysis = loaded.analysis
    actors = [(actor.kind, actor.tid, actor.number, actor.cpu) for actor in analysis.actors]
    if table in CALLS:
        return of_system_calls(loaded, actors, table)
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


def of_system_calls(
    loaded: LoadedTrace, actors: Sequence[tuple[object, ...]], table: str
) -> Metrics:
    """``calls``: those that were seen to return, with what they returned; ``begun``: who called
    what when, whether it was seen to return or not."""
    rows = Rows(loaded.analysis.tables["syscalls"])
    codes, names = rows.texts("name")
    kept = rows["end"] != NONE if table == "calls" else np.ones(len(rows), dtype=np.bool_)
    columns = ("begin", "end", "result") if table == "calls" else ("begin",)
    owners = [actors[actor] for actor in rows["actor"][kept].tolist()]
    called = [names[code] for code in codes[kept].tolist()]
    return set(zip(owners, called, *(rows[name][kept].tolist() for name in columns), strict=True))


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


def compared(
    told: CounterSteps, truth: CounterSteps, loaded: LoadedTrace
) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """How many values are told, and the moments at which the truth is another. A thread that was
    woken just before a loss, and ran in it, has no wait: the step that a loss ends is left out."""
    cut = [loss.begin for loss in loaded.analysis.losses if loss.begin is not None]
    kept = ~np.isin(told.until, cut)
    told = replace(told, time=told.time[kept], value=told.value[kept], until=told.until[kept])
    moments = np.unique(np.concatenate([told.time, truth.time, truth.until]))
    values = []
    for steps in (told, truth):
        at = np.searchsorted(steps.time, moments, side="right") - 1
        holds = (at >= 0) & (moments < steps.until[at])
        values.append((steps.value[at], holds))
    (said, is_said), (real, is_real) = values
    return told.time.size, moments[is_said & ~(is_real & (said == real))]


def longest_paths(loaded: LoadedTrace) -> list[CriticalPath]:
    """Those of the activations with the longest responses, as far as they are complete."""
    tasks = [actor for actor in loaded.analysis.actors if actor.kind == "task"]
    paths = []
    for rank in range(1, 5):
        try:
            instance = select_activation(loaded.analysis, tasks, rank=rank)
        except UsageError:
            break
        path = critical_path(loaded.analysis, instance)
        if not path.incomplete:
            paths.append(path)
    return paths


def not_on(path: CriticalPath, loaded: LoadedTrace, whole: LoadedTrace) -> list[object]:
    """The segments of a path that the path to the same end in the complete recording has not."""
    rows = whole.analysis.instances
    same = (rows["begin"] == path.instance.begin) & (rows["end"] == path.instance.end)
    truths = [critical_path(whole.analysis, int(at)) for at in np.flatnonzero(same)]

    def actor(of: LoadedTrace, number: int | None) -> tuple[object, ...] | None:
        if number is None:
            return None
        found = of.analysis.actors[number]
        return found.kind, found.tid, found.number, found.cpu

    real = [
        (each, actor(whole, each.actor_id), actor(whole, each.through_id))
        for truth in truths
        for each in truth.segments
    ]
    return [
        segment
        for segment in path.segments
        if segment.actor_id is not None
        if not any(
            each.begin <= segment.begin
            and segment.end <= each.end
            and each.state == segment.state
            and owner == actor(loaded, segment.actor_id)
            and through == actor(loaded, segment.through_id)
            for each, owner, through in real
        )
    ]
