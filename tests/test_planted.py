"""Differences that were planted on purpose are found.

Each plant is measured without and with it, in full runs of the command line. Machines that tests
run on are noisy: about one unrelated series in forty looks changed for a moment. So an experiment
is repeated, three times at most, and judged by what stays: a planted difference must be found in
one of the repetitions, and an unrelated series must be found unchanged in one of them. That is a
control of the experiment and no more: how often an unchanged series is called changed is a claim
of the calibration, over simulated boards (``unit/test_compare.py``: at most 3 in 100).
"""

from __future__ import annotations

import json
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

pytest_plugins = ["probe_fixtures"]
pytestmark = pytest.mark.alone

REPETITIONS = 3
CPU = max(os.sched_getaffinity(0))
QUICK = ("--processes", "3", "--batches", "9")
CALLS, COPY, PIPE = "os.syscall", "memory.copy:size=32K", "pipe.latency"
WAKEUP = "timer.wakeup"

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


EXPERIMENTS = [
    Experiment("seccomp-filter", plants.seccomp_filter, (CALLS,), (COPY, "cpu.clock"), root=False),
    Experiment(
        "neighbour-on-the-cpu",
        lambda: plants.neighbour(CPU),
        (f"{CALLS}:cpu={CPU}", f"{COPY},cpu={CPU}"),
        (),
        root=False,
        # batches that had the CPU to themselves, and others: two modes, and no number for both
        seen_as=("slower", "unstable"),
    ),
    Experiment(
        "timer-slack",
        lambda: plants.timer_slack(2_000_000),
        (WAKEUP,),
        (CALLS, COPY),
        root=False,
    ),
    Experiment("cpu-quota", lambda: plants.quota(30), (CALLS, COPY), ()),
]
CONTROLS = (CALLS, COPY, PIPE, "memory.latency:size=16K", "cpu.clock", "os.context_switch")


def measure(label: str, series: tuple[str, ...], prefix: plants.Words) -> None:
    words = [*prefix, sys.executable, "-m", "benchvise", "run", *QUICK, "--no-snapshot"]
    words += ["--label", label]
    for name in series:
        words += ["--bench", name]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def verdicts() -> dict[str, str]:
    words = [sys.executable, "-m", "benchvise", "compare", "without", "with", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    changes = json.loads(done.stdout)["data"]["changes"]
    return {in_any_order(change["key"]): change["verdict"] for change in changes}


def in_any_order(key: str) -> str:
    """A series' key with its parameters sorted: it names them in the order of the registry."""
    benchmark, _, params = key.partition(":")
    return f"{benchmark}:{','.join(sorted(params.split(',')))}"


def investigate(experiment: Experiment, before: plants.Words) -> None:
    """Measures without and with the plant; ``before`` are words that go before ``benchvise``."""
    series = (*experiment.slower, *experiment.alone)
    slower = {in_any_order(key) for key in experiment.slower}
    alone = {in_any_order(key) for key in experiment.alone}
    found: set[str] = set()
    left_alone: set[str] = set()
    seen = []
    for _ in range(REPETITIONS):
        measure("without", series, before)
        with experiment.plant() as prefix:
            measure("with", series, [*before, *prefix])
        seen.append(verdicts())
        found |= {key for key in slower if seen[-1][key] in experiment.seen_as}
        left_alone |= {key for key in alone if seen[-1][key] not in ("faster", "slower")}
        if found == slower and left_alone == alone:
            return
    pytest.fail(f"{experiment.name}: {seen}")


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "results.db"))


def test_where_nothing_is_planted_the_controls_come_out_alike() -> None:
    investigate(Experiment("control", plants.nothing, (), CONTROLS), [])


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_a_planted_difference_is_found_and_not_everywhere(experiment: Experiment) -> None:
    if experiment.root:
        skips.need_root()
    investigate(experiment, [])


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

        investigate(Experiment("slow-link", slow_link, (tcp,), (CALLS, COPY)), before)


def test_no_read_ahead_is_found() -> None:
    with storage_places.loop_disk(192 << 20, "--direct-io=on") as disk:
        storage_places.tool("mkfs.ext4", "-q", disk.device)
        with storage_places.mounted(disk.device) as point:
            ahead = Path(f"/sys/block/{disk.device.name}/queue/read_ahead_kb")
            ahead.write_text("4096\n")  # this device is ours and goes with the test
            where = f"file={point},size=64M,batch_ms=50"
            experiment = Experiment(
                "no-read-ahead",
                lambda: plants.file_set(ahead, "0"),
                (f"storage.read:mode=buffered,block=16K,{where}",),
                (f"storage.read:mode=cached,block=16K,{where}", CALLS, COPY),
            )
            investigate(experiment, [])
