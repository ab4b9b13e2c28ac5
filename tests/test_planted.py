"""Differences that were planted on purpose are found.

Each plant is measured once without and once with it, in full runs of the command line, and is so
large that every batch feels it, also on a busy machine: the best batch with it has to be worse than
the best without, and the comparison has to say so. It may only fail to where the run without it
says itself that something else disturbed it.

Unrelated series are a control of the experiment and no more: one may seem to have changed, but not
by nearly as much. How often an unchanged series is called changed is a claim of the calibration,
over simulated boards (``unit/test_compare.py``: at most 3 in 100).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import plants
import pytest
import remote_hosts
import skips
import storage_places
from in_process import benchvise
from probe_programs import Line

pytest_plugins = ["probe_fixtures"]
pytestmark = pytest.mark.alone

LEAST = 1.3
"""Times that the best batch gets worse by a plant, at least; the smallest is the quota."""
MOST_CHANGED = 2
"""Of six series that nothing was done to: three at once are no chance."""
CPU = max(os.sched_getaffinity(0))
QUICK = ("--processes", "3", "--batches", "9")
QUICKER = ("--processes", "3", "--batches", "5")
"""For a plant that makes a thing many times slower, where a batch is long."""
NEIGHBOUR = "neighbour-on-the-cpu"
SHARED_CPU = "other work took the CPU"
"""How a run says that it had a neighbour: it has to, whatever the verdict is."""
CALLS, COPY, PIPE = "os.syscall", "memory.copy:size=32K", "pipe.latency"
WAKEUP = "timer.wakeup:batch_ms=50"

Plant = Callable[[], AbstractContextManager[plants.Words]]


@dataclass(frozen=True)
class Experiment:
    """A plant, the series that it must make slower, and those that it must leave alone."""

    name: str
    plant: Plant
    slower: tuple[str, ...]
    alone: tuple[str, ...]
    root: bool = True
    seen_as: tuple[str, ...] = ("slower",)
    always: bool = True
    """Whether no batch gets by without feeling it."""
    often: tuple[str, ...] = QUICK


EXPERIMENTS = [
    Experiment("seccomp-filter", plants.seccomp_filter, (CALLS,), (COPY, "cpu.clock"), root=False),
    Experiment(
        NEIGHBOUR,
        lambda: plants.neighbour(CPU),
        (f"{CALLS}:cpu={CPU}", f"{COPY},cpu={CPU}"),
        (),
        root=False,
        # batches that had the CPU to themselves, and others: two modes, and no number for both
        seen_as=("slower", "unstable"),
        always=False,
    ),
    Experiment(
        "timer-slack",
        lambda: plants.timer_slack(2_000_000),
        (WAKEUP,),
        (CALLS, COPY),
        root=False,
    ),
    Experiment("cpu-quota", lambda: plants.quota(50), (CALLS, COPY), ()),
]
CONTROLS = (CALLS, COPY, PIPE, "memory.latency:size=16K", "cpu.clock", "os.context_switch")


def measure(
    label: str, series: tuple[str, ...], prefix: plants.Words, often: tuple[str, ...] = QUICK
) -> None:
    words = ["run", *often, "--no-snapshot", "--label", label]
    for name in series:
        words += ["--bench", name]
    if not prefix:
        ran = benchvise(*words)
        assert ran.code == 0, ran.out + ran.err
        return
    command = [*prefix, sys.executable, "-m", "benchvise", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def changes() -> dict[str, Line]:
    found = benchvise("compare", "without", "with", "--json").data["changes"]
    return {in_any_order(change["key"]): change for change in found}


def times_worse(change: Line) -> float:
    """By the best batch of each run, which other work has disturbed least."""
    base, other = change["base"], change["other"]
    if change["better"] == "lower":
        return float(other["minimum"] / base["minimum"])
    return float(base["maximum"] / other["maximum"])


def is_disturbed(run: Line) -> bool:
    """Whether that side says that it is unstable, or that it had to share the CPU."""
    return bool(run["causes"]) or any(SHARED_CPU in note for note in run["notes"])


def in_any_order(key: str) -> str:
    """A series' key with its parameters sorted: it names them in the order of the registry."""
    benchmark, _, params = key.partition(":")
    return f"{benchmark}:{','.join(sorted(params.split(',')))}"


def investigate(experiment: Experiment, before: plants.Words) -> dict[str, Line]:
    """Measures without and with the plant; ``before`` are words that go before ``benchvise``."""
    series = (*experiment.slower, *experiment.alone)
    measure("without", series, before, experiment.often)
    with experiment.plant() as prefix:
        measure("with", series, [*before, *prefix], experiment.often)
    return changes()


def judge(experiment: Experiment, found: dict[str, Line]) -> None:
    """That the plant was found, and not everywhere."""
    effects = []
    for key in map(in_any_order, experiment.slower):
        change = found[key]
        effects.append(times_worse(change))
        assert not experiment.always or effects[-1] > LEAST, (key, change)
        seen = change["verdict"] in experiment.seen_as or is_disturbed(change["base"])
        assert seen, (key, change)
        if experiment.name == NEIGHBOUR:
            assert is_disturbed(change["other"]), (key, change)
    for key in map(in_any_order, experiment.alone):
        change = found[key]
        unchanged = change["verdict"] not in ("faster", "slower")
        assert unchanged or times_worse(change) < min(effects) ** 0.5, (key, change)


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "results.db"))


def test_where_nothing_is_planted_the_controls_come_out_alike() -> None:
    found = investigate(Experiment("control", plants.nothing, (), CONTROLS), [])
    changed = {k: c for k, c in found.items() if c["verdict"] in ("faster", "slower")}
    assert len(changed) <= MOST_CHANGED, changed


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_a_planted_difference_is_found_and_not_everywhere(experiment: Experiment) -> None:
    if experiment.root:
        skips.need_root()
    judge(experiment, investigate(experiment, []))


def test_a_slow_link_is_found(static: Path) -> None:
    """On one side of a pair of virtual interfaces; the other side is a sink of ours."""
    with remote_hosts.namespaces() as link, ExitStack() as stack:
        sink = stack.enter_context(remote_hosts.sink(static, prefix=link.in_remote))
        tcp = f"net.tcp:peer={remote_hosts.REMOTE_ADDRESS}:{sink.port},batch_ms=60"
        before = [*link.in_board]

        @contextmanager
        def slow_link() -> Iterator[plants.Words]:
            link.shape("tbf", "rate", "100mbit", "burst", "32k", "latency", "50ms")
            try:
                yield []
            finally:
                link.shape("pfifo_fast")

        experiment = Experiment("slow-link", slow_link, (tcp,), (CALLS, COPY), often=QUICKER)
        judge(experiment, investigate(experiment, before))


def test_no_read_ahead_is_found() -> None:
    with storage_places.loop_disk(64 << 20, "--direct-io=on") as disk:
        storage_places.tool("mkfs.ext4", "-q", disk.device)
        with storage_places.mounted(disk.device) as point:
            ahead = Path(f"/sys/block/{disk.device.name}/queue/read_ahead_kb")
            ahead.write_text("4096\n")  # this device is ours and goes with the test
            where = f"file={point},size=8M,batch_ms=20"
            experiment = Experiment(
                "no-read-ahead",
                lambda: plants.file_set(ahead, "0"),
                (f"storage.read:mode=buffered,block=16K,{where}",),
                (f"storage.read:mode=cached,block=16K,{where}", CALLS, COPY),
                often=QUICKER,
            )
            judge(experiment, investigate(experiment, []))
