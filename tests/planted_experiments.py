"""Experiments with a planted difference: measured without and with it, and judged.

``test_planted`` and ``test_planted_waiting`` say what they prove.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import plants
import pytest
from in_process import benchvise
from probe_programs import Line

LEAST = 1.3
"""Times that the best batch gets worse by a plant, at least; the smallest is the quota."""
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
    seen_as: tuple[str, ...] = ("slower",)
    always: bool = True
    """Whether no batch gets by without feeling it."""
    often: tuple[str, ...] = QUICK


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
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHVISE_STORE", str(Path(place) / "results.db"))
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
