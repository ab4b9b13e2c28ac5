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
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchvise.statistics.sample import Interval

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "benchmarks"
PROBE = HERE.parent / "src" / "benchvise" / "board" / "probes" / platform.machine() / "bvprobe"
GIB = float(1 << 30)
_HUGE_MALLOC = ("env", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1")
LARGE = "256M"  # far beyond the last-level cache of any board
LARGE_BYTES = str(256 << 20)
_LEAST_COVERAGE = 0.95
FEW = ("--batches", "12")  # so that ours takes no longer than the reference tool


@dataclass(frozen=True)
class Pair:
    """A benchmark of ours, or a whole command of ours, beside a reference tool.

    ``ours`` are words for ``bvprobe run``, or gives our value itself; ``read`` takes our unit out
    of the reference tool's output. With ``work``, both sides are whole commands that do that much
    of it, and the value of either is work a second of its process, start-up included: ``ours`` is
    the command then, and ``read`` is not asked. ``warm`` gives our value for the same work in a
    process that has started: it is shown beside, and compared with nothing.

    ``agreement`` is how far apart the medians may be, where the conventions are aligned. Where it
    is not agreement that is claimed, ``bounds`` are the least and the largest ratio.
    ``prefix`` goes before our program (``ip netns exec …``). ``scene`` makes what both sides need
    (a file, a network) and takes it away again. ``benchmark`` is the one compared, ``unit`` that
    of both values: needed only where ``ours`` does not tell. ``rounds`` are the most that a pair
    takes part in whose reference tool takes long.
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
    warm: Callable[[], float] | None = None
    benchmark: str = ""
    unit: str = ""
    rounds: int | None = None

    def __post_init__(self) -> None:
        if not self.benchmark and isinstance(self.ours, tuple) and self.ours and self.work is None:
            object.__setattr__(self, "benchmark", self.ours[0])

    def value_of(self, text: str) -> float:
        """The reference tool's value in our unit. RuntimeError where its output is not understood,
        which names both: no value and 0 would pass for a measurement."""
        try:
            value = self.read(text)
        except (ValueError, LookupError, TypeError, ArithmeticError, RuntimeError) as error:
            raise RuntimeError(f"{self._not_understood(text)} ({error!r})") from error
        if not (math.isfinite(value) and value > 0):
            raise RuntimeError(f"{self._not_understood(text)} (read as {value})")
        return value

    def _not_understood(self, text: str) -> str:
        command = " ".join(self.reference)
        return f"{self.name}: the output of `{command}` is not understood: {text[-500:]!r}"

    @property
    def claim(self) -> str:
        """What is claimed of the ratio, in a few characters."""
        if self.bounds is None:
            return f"±{self.agreement:.0%}"
        least, most = self.bounds
        return f"≥ {least:g}" if math.isinf(most) else f"{least:.2g} … {most:.2g}"

    def holds(self, interval: Interval) -> bool | None:
        """Whether the ratio is as claimed: its whole interval decides. None where it is too wide
        to say, or of too few rounds."""
        if interval.coverage < _LEAST_COVERAGE:
            return None
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


def probe_figure(words: tuple[str, ...], name: str) -> float:
    """The median of a further metric that a benchmark's samples carry."""
    command = [str(PROBE), "run", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return float(statistics.median(x["detail"][name] for x in lines if x["type"] == "sample"))


def reference_tool(name: str) -> str | None:
    """A tool that Debian does not have, as ``references/tools`` builds it, or as it is in PATH."""
    built = BUILD / "tools" / name
    return str(built) if built.exists() else shutil.which(name)


NO_TOOL = "{}: not installed (benchmarks/references/tools builds it)"


def _perf_gib(text: str) -> float:
    # perf says GB and means GiB
    return float(re.findall(r"([\d.]+) GB/sec", text)[-1]) * GIB


def _perf_us(text: str) -> float:
    return float(re.findall(r"([\d.]+) usecs/op", text)[-1]) * 1000


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A directory on the disk where traces are unpacked, but not among them: what a run that is
    killed leaves there is taken for no trace."""
    BUILD.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=BUILD, prefix="bench-")


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
    # (rep movsb by 3 to 10 % on Zen 5; the C library's copy there alike).
    zeros = ("--source", "zero")
    # Base pages copy slower: the C library's copy by 7 % at 256 MiB, by 40 % at 64 MiB, more than
    # is claimed. So both sides ask for huge ones, whatever the system does by default. What else
    # differs makes less of it, measured one by one: static or dynamic C library, the 16 bytes of
    # malloc before each buffer, a written target: nothing; source and target 4 KiB apart in their
    # huge pages, as malloc leaves them, where ours begin alike: perf has 2 % less.
    huge = ("--pages", "huge")
    perf = shutil.which("perf")
    if perf:

        def memory(operation: str, function: str, size: str, loops: int) -> tuple[str, ...]:
            words = f"bench mem {operation} -s {size}B -l {loops} -f {function}"
            return (*pin, *_HUGE_MALLOC, perf, *words.split())

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
                ("memory.libc_copy", "--size", LARGE, *FEW, *zeros, *huge),
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
                    ("memory.copy", "--size", LARGE, *FEW, "--kernel", "movsb", *zeros, *huge),
                    memory("memcpy", "x86-64-movsb", LARGE, 20),
                    _perf_gib,
                    0.05,
                ),
                Pair(
                    "fill movsb : perf stosb",
                    ("memory.fill", "--size", LARGE, *FEW, "--kernel", "movsb", *huge),
                    memory("memset", "x86-64-stosb", LARGE, 20),
                    _perf_gib,
                    0.10,
                ),
            ]
    else:
        missing.append("perf: not installed (Debian: linux-perf)")
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
                "read : loop that adds up, as STREAM",
                ("memory.read", "--size", LARGE, *FEW),
                (*pin, str(stream), "read", LARGE_BYTES, "15"),
                float,
                0.10,
            ),
        ]
    else:
        missing.append("STREAM: gcc is not installed")
    return found, missing
