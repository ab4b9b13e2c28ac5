"""Memory on several CPUs, beside STREAM as a compiler makes it."""

from __future__ import annotations

import os
import shutil

from benchmarks.pairs import FEW, LARGE, LARGE_BYTES, Pair, build_stream


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot.

    multichase, the reference tool of memory.latency, is in no Debian release; lat_mem_rd's default
    stride is one that prefetchers foresee.
    """
    stream = build_stream()
    if stream is None:
        return [], ["gcc is not installed: the STREAM triad is left out"]
    found = []
    cpus = len(os.sched_getaffinity(0))
    for threads in dict.fromkeys((1, cpus)):
        environment = (f"OMP_NUM_THREADS={threads}", "OMP_PROC_BIND=true")
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
