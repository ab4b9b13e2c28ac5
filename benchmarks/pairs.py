"""The pairs: a benchmark of ours, a reference tool, and how its value becomes one of ours."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchvise.statistics import Interval

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "benchmarks"
PROBE = HERE.parent / "src" / "benchvise" / "board" / "probes" / platform.machine() / "bvprobe"
GIB = float(1 << 30)
LARGE = "256M"  # far beyond the last-level cache of any board
LARGE_BYTES = str(256 << 20)
FEW = ("--batches", "12")  # so that ours takes no longer than the reference tool


@dataclass(frozen=True)
class Pair:
    """A benchmark of ours, or a whole command of ours, beside a reference tool.

    ``ours`` are words for ``bvprobe run``, or gives our value itself; ``read`` takes our unit out
    of the reference tool's output. With ``work``, both sides are whole commands that do that much
    of it, and the value of either is work a second of its process, start-up included: ``ours`` is
    the command then, and ``read`` is not asked.

    ``agreement`` is how far apart the medians may be, where the conventions are aligned. Where it
    is not agreement that is claimed, ``bounds`` are the least and the largest ratio.
    ``prefix`` goes before our program (``ip netns exec …``). ``scene`` makes what both sides need
    (a file, a network) and takes it away again.
    """

    name: str
    ours: tuple[str, ...] | Callable[[], float]
    reference: tuple[str, ...]
    read: Callable[[str], float] = float
    agreement: float = 0.0
    prefix: tuple[str, ...] = ()
    scene: Callable[[], AbstractContextManager[object]] = nullcontext
    bounds: tuple[float, float] | None = None
    work: float | None = None

    @property
    def claim(self) -> str:
        """What is claimed of the ratio, in a few characters."""
        if self.bounds is None:
            return f"±{self.agreement:.0%}"
        least, most = self.bounds
        return f"≥ {least:g}" if math.isinf(most) else f"{least:.2g} … {most:.2g}"

    def holds(self, interval: Interval) -> bool | None:
        """Whether the ratio is as claimed: its whole interval decides. None where it is too wide
        to say."""
        least, most = self.bounds or (1 - self.agreement, 1 + self.agreement)
        if least <= interval.low and interval.high <= most:
            return True
        return False if interval.high < least or interval.low > most else None


def measured_cpu() -> int:
    """The CPU that the probe takes by default on a machine of equal CPUs."""
    return max(os.sched_getaffinity(0))


def probe_median(words: tuple[str, ...], prefix: tuple[str, ...] = ()) -> float:
    """The median of one process of the probe."""
    command = [*prefix, str(PROBE), "run", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    if result.returncode:
        message = lines[-1].get("message") if lines else None
        raise RuntimeError(message or f"{command} ended with {result.returncode}")
    return float(statistics.median(x["value"] for x in lines if x["type"] == "sample"))


def reference_tool(name: str) -> str | None:
    """A tool that Debian does not have, as ``references/tools`` builds it, or as it is in PATH."""
    built = BUILD / "tools" / name
    return str(built) if built.exists() else shutil.which(name)


NO_TOOL = "{} is not there (benchmarks/references/tools builds it): its pairs are left out"


def _perf_gib(text: str) -> float:
    # perf says GB and means GiB
    return float(re.findall(r"([\d.]+) GB/sec", text)[-1]) * GIB


def _perf_us(text: str) -> float:
    return float(re.findall(r"([\d.]+) usecs/op", text)[-1]) * 1000


def build_reference(name: str, *flags: str) -> Path | None:
    """Compiles a reference program of ours, ``references/NAME.c``; None without a compiler."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return None
    BUILD.mkdir(parents=True, exist_ok=True)
    program = BUILD / name
    source = HERE / "references" / f"{name}.c"
    subprocess.run([compiler, "-O3", *flags, "-o", str(program), str(source)], check=True)
    return program


def build_stream() -> Path | None:
    """The STREAM-like reference; None without a compiler.

    The loop must stay a loop: gcc would make it a call of memcpy, which is another pair.
    """
    return build_reference(
        "stream", "-march=native", "-fopenmp", "-fno-tree-loop-distribute-patterns"
    )


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot."""
    cpu = str(measured_cpu())
    found: list[Pair] = []
    missing: list[str] = []
    pin = ("taskset", "-c", cpu)
    # perf writes zeros to its source, and some CPUs copy zeros faster than random bytes
    # (rep movsb by a tenth on Zen 5).
    zeros = ("--source", "zero")
    perf = shutil.which("perf")
    if perf:

        def memory(operation: str, function: str, size: str, loops: int) -> tuple[str, ...]:
            words = f"bench mem {operation} -s {size}B -l {loops} -f {function}"
            return (*pin, perf, *words.split())

        found += [
            Pair(
                "libc copy 1M : perf memcpy",
                ("memory.libc_copy", "--size", "1M", "--batches", "40", *zeros),
                memory("memcpy", "default", "1M", 12000),
                _perf_gib,
                0.05,
            ),
            Pair(
                "libc copy : perf memcpy",
                ("memory.libc_copy", "--size", LARGE, *FEW, *zeros),
                memory("memcpy", "default", LARGE, 15),
                _perf_gib,
                0.05,
            ),
            Pair(
                "syscall : perf syscall basic",
                ("os.syscall", "--batches", "80"),
                (*pin, perf, "bench", "syscall", "basic", "-l", "4000000"),
                _perf_us,
                0.05,
            ),
            Pair(
                "pipe : perf sched pipe, pinned",
                ("pipe.latency", "--batches", "90"),
                (*pin, perf, "bench", "sched", "pipe", "-l", "150000"),
                _perf_us,
                0.05,
            ),
        ]
        if platform.machine() == "x86_64":
            found += [
                Pair(
                    "copy movsb : perf movsb",
                    ("memory.copy", "--size", LARGE, *FEW, "--kernel", "movsb", *zeros),
                    memory("memcpy", "x86-64-movsb", LARGE, 20),
                    _perf_gib,
                    0.05,
                ),
                Pair(
                    "fill movsb : perf stosb",
                    ("memory.fill", "--size", LARGE, *FEW, "--kernel", "movsb"),
                    memory("memset", "x86-64-stosb", LARGE, 20),
                    _perf_gib,
                    0.10,
                ),
            ]
    else:
        missing.append("perf is not installed (Debian: linux-perf): its pairs are left out")
    stream = build_stream()
    if stream:
        found += [
            Pair(
                "copy : STREAM copy, halved",
                ("memory.copy", "--size", LARGE, *FEW),
                (*pin, str(stream), "copy", LARGE_BYTES, "15"),
                lambda text: float(text) / 2,
                0.05,
            ),
            Pair(
                "read : STREAM-like sum",
                ("memory.read", "--size", LARGE, *FEW),
                (*pin, str(stream), "read", LARGE_BYTES, "15"),
                float,
                0.10,
            ),
        ]
    else:
        missing.append("gcc is not installed: the STREAM pairs are left out")
    return found, missing
