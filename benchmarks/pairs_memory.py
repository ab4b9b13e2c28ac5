"""Memory on several CPUs, beside STREAM as a compiler makes it."""

from __future__ import annotations

import os
import shutil

from benchmarks.pairs import FEW, LARGE, LARGE_BYTES, Pair, build_stream, measured_cpu


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot."""
    stream = build_stream()
    if stream is None:
        return [], ["STREAM triad: gcc is not installed"]
    found = []
    cpus = len(os.sched_getaffinity(0))
    for threads in dict.fromkeys((1, cpus)):
        # The same CPUs as ours takes: the measured one first, then the others.
        order = sorted(os.sched_getaffinity(0), key=lambda cpu: (cpu != measured_cpu(), cpu))
        places = ",".join(f"{{{cpu}}}" for cpu in order[:threads])
        environment = (
            f"OMP_NUM_THREADS={threads}",
            "OMP_PROC_BIND=true",
            f"OMP_PLACES={places}",
        )
        found.append(
            Pair(
                f"triad, {threads} CPU{'s' if threads > 1 else ''} : STREAM triad by OpenMP",
                ("memory.triad", "--size", LARGE, "--threads", str(threads), *FEW),
                (str(shutil.which("env")), *environment, str(stream), "triad", LARGE_BYTES, "15"),
                float,
                0.10,
            )
        )
    return found, []
