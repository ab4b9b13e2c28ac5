"""Pairs of the timer benchmarks: cyclictest of rt-tests.

Both sleep to absolute times of CLOCK_MONOTONIC on one CPU, a millisecond apart, with memory
locked. What has to be made equal: cyclictest holds ``/dev/cpu_dma_latency`` at 0 unless it is told
not to (``--default-system``), it is real time only with a priority, and it leaves the timer slack
as it is. Its median is taken from its histogram, in nanoseconds (``-N``). Missed periods, which it
skips and we count, are too few on an idle machine to move a median.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from benchmarks.pairs import Pair, measured_cpu

WAKEUPS = 1000
PRIORITY = "80"
LONGEST_NS = 300_000  # of its histogram, of which it prints every line


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot."""
    cyclictest = shutil.which("cyclictest")
    if cyclictest is None:
        return [], ["cyclictest: not installed (Debian: rt-tests)"]
    if os.getuid() != 0:
        return [], ["cyclictest: takes root here"]
    words = f"-a {measured_cpu()} -t1 -i 1000 -l {WAKEUPS} -m -N -q -h {LONGEST_NS}"
    reference = (cyclictest, *words.split())
    ours = ("timer.wakeup", "--batches", str(WAKEUPS // 200))
    real_time = (*ours, "--policy", "fifo", "--priority", PRIORITY)
    found = [
        Pair("wake-up : cyclictest", ours, (*reference, "--default-system"), median, 0.10),
        Pair(
            "wake-up fifo : cyclictest -p",
            real_time,
            (*reference, "-p", PRIORITY, "--default-system"),
            median,
            0.10,
        ),
    ]
    if Path("/dev/cpu_dma_latency").exists():
        found.append(
            Pair(
                "wake-up fifo, no idle states : cyclictest -p",
                (*real_time, "--dma_latency", "zero"),
                (*reference, "-p", PRIORITY),
                median,
                0.10,
            )
        )
    return found, []


def median(text: str) -> float:
    """The median latency in ns of the histogram that cyclictest prints: a latency and a count."""
    counts = [
        (int(latency), int(count))
        for latency, count in re.findall(r"^(\d+)\s+(\d+)$", text, re.MULTILINE)
    ]
    overflows = re.search(r"^# Histogram Overflows:\s*(\d+)", text, re.MULTILINE)
    total = sum(count for _, count in counts) + (int(overflows[1]) if overflows else 0)
    below = 0
    for latency, count in counts:
        below += count
        if 2 * below >= total > 0:
            return float(latency)
    raise RuntimeError(
        "more than half of cyclictest's wake-ups were later than its histogram reaches"
    )
