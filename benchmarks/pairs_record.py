"""What recording costs: switching between two processes, each switch of which is recorded as three
events at the least, beside the same without a recording. No agreement is claimed, but a bound.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from benchmarks.pairs import PROBE, Pair

BENCHMARK = ("run", "os.context_switch", "--batches", "63")
COST = (0.95, 5.0)


def median_ns(lines: str) -> float:
    """The median of a benchmark's samples."""
    found = [json.loads(line) for line in lines.splitlines() if line.startswith('{"type":"sample"')]
    return statistics.median(float(line["value"]) for line in found)


def recorded(events: str) -> float:
    """The benchmark while those events are recorded."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "trace.dat"
        words = ("--events", events, "--kallsyms", "off", "--progress_ms", "0")
        command = [str(PROBE), "trace", *words, "--output", str(file), "--", str(PROBE), *BENCHMARK]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return median_ns(done.stderr)  # standard output holds the recorder's lines


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot."""
    with tempfile.TemporaryDirectory() as directory:
        words = ("trace", "--for_ms", "1", "--kallsyms", "off", "--output", f"{directory}/t")
        tried = subprocess.run([PROBE, *words], capture_output=True, text=True, check=False)
    if tried.returncode or os.geteuid():
        return [], [f"the cost of recording: {tried.stdout.strip()[-200:]}"]
    return [
        Pair(
            f"2 processes, recording {name} : not recording",
            lambda events=events: recorded(events),  # type: ignore[misc]
            (str(PROBE), *BENCHMARK),
            median_ns,
            0.0,
            bounds=COST,
            benchmark="os.context_switch",
        )
        for name, events in (
            ("sched, irq, timer", "sched,irq,timer"),
            ("switches only", "sched/sched_switch"),
        )
    ], []
