"""Pairs of the operating system's benchmarks.

``references/os.c`` has loops as lmbench has, written anew on the system's own C library;
``pairs_lmbench`` has lmbench's own programs. ``perf bench sched messaging`` and hackbench count
messages of many processes at once, stress-ng counts rounds of mixed work: neither has an equal
here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.pairs import BUILD, HERE, PROBE, Pair, measured_cpu

MIB = str(1 << 20)
ADDRESS = ("-i", "127.0.0.1", "-p", "15151")
CLIENT = (*ADDRESS, "-t", "1", "-m", "14", "--full-rtt")


def build_loops(compiler: tuple[str, ...], name: str) -> tuple[Path | None, str]:
    """``references/os.c``, static as the probe is, or why that compiler cannot build it."""
    program = BUILD / name
    BUILD.mkdir(parents=True, exist_ok=True)
    flags = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-static", "-pthread"]
    command = [*compiler, *flags, "-o", str(program), str(HERE / "references" / "os.c")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None, f"{compiler[0]} is not installed"
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    return program, ""


@contextmanager
def sockperf_server(cpu: str, *words: str) -> Iterator[None]:
    """A sockperf server on that CPU."""
    command = ["taskset", "-c", cpu, "sockperf", "server", *ADDRESS, *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        time.sleep(0.5)  # it says nothing when it is ready
        try:
            yield
        finally:
            server.terminate()


def sockperf_ns(text: str) -> float:
    """The median round trip: its mean is that of a few disturbed ones."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    return float(re.findall(r"percentile 50\.000 = +([\d.]+)", plain)[-1]) * 1000


def sockperf(cpu: str, kind: str, *words: str) -> Pair:
    """A round trip of its smallest message."""
    pinned = ("taskset", "-c", cpu, "sockperf")
    return Pair(
        f"{kind.upper()}, 14 bytes : sockperf ping-pong",
        ("socket.latency", "--kind", kind, "--message", "14", "--batches", "90"),
        (*pinned, "ping-pong", *CLIENT, *words),
        sockperf_ns,
        0.20,
        scene=partial(sockperf_server, cpu, *words),
    )


def loops(cpu: str, program: Path) -> list[Pair]:
    """Each benchmark beside the same loop."""
    pin = ("taskset", "-c", cpu, str(program))

    def pair(name: str, ours: str, reference: str, agreement: float) -> Pair:
        words = (*ours.split(), "--batches", "30")
        return Pair(name, words, (*pin, *reference.split()), float, agreement)

    return [
        pair("timer.clock : loop of clock_gettime", "timer.clock", "clock 42000000", 0.10),
        pair("fstat : loop", "os.syscall --call fstat", "fstat 1000000", 0.10),
        pair("sigaction : loop", "os.signal --call install", "install 1000000", 0.10),
        pair("signal : loop of kill", "os.signal --call catch", "catch 200000", 0.10),
        pair("protection fault : loop", "os.signal --call fault", "fault 200000", 0.10),
        pair("fork, 1 MiB : loop", "os.fork", f"fork 2100 {MIB}", 0.30),
        pair(
            "fork and exec, 1 MiB : loop",
            "os.exec --start fork",
            f"exec 1050 {MIB} {PROBE}",
            0.30,
        ),
        pair("mmap, first page : loop", "os.mmap", f"mmap 42000 {MIB}", 0.10),
        # the 21 parts of the reference tool touch 16 MiB each
        pair(
            "page fault : loop", "os.page_fault --size 16M", f"pages {4096 * 21} {16 << 20}", 0.10
        ),
        pair("futex : loop", "os.futex", "futex 84000", 0.10),
        pair("eventfd : loop", "os.eventfd", "eventfd 84000", 0.10),
        pair("UNIX socket : loop, as lat_unix", "socket.latency", "unix 42000 4", 0.10),
        pair("TCP : loop, as lat_tcp", "socket.latency --kind tcp", "tcp 42000 4", 0.10),
        pair("UDP : loop, as lat_udp", "socket.latency --kind udp", "udp 42000 4", 0.10),
        pair("2 processes : loop, as lat_ctx -s 0 2", "os.context_switch", "ring 42000 0 2", 0.20),
        *(
            pair(
                f"{processes} processes of {size} KiB : loop, as lat_ctx",
                f"os.context_switch_grid --processes {processes} --size {size}K",
                f"ring {84000 // processes} {size << 10} {processes}",
                0.20,
            )
            for processes, size in ((8, 16), (16, 64))
        ),
    ]


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot."""
    cpu = str(measured_cpu())
    pairs: list[Pair] = []
    missing: list[str] = []
    program, reason = build_loops(("gcc",), "os")
    if program:
        pairs += loops(cpu, program)
    else:
        missing.append(f"the loops of references/os.c: {reason}")
    # Another C library keeps the stacks of threads, and spins for a semaphore otherwise: only the
    # probe's own does the same.
    zig = (sys.executable, "-m", "ziglang", "cc")
    musl = ("-target", f"{PROBE.parent.name}-linux-musl")
    program, reason = build_loops((*zig, *musl), "os-musl")
    if program:
        for name, iterations in (("os.thread", "8400"), ("os.semaphore", "84000")):
            words = (name, "--batches", "30")
            loop = name.removeprefix("os.")
            reference = ("taskset", "-c", cpu, str(program), loop, iterations)
            pairs.append(Pair(f"{loop} : loop, musl", words, reference, float, 0.10))
    else:
        missing.append(f"the loops of threads and semaphores: {reason}")
    if shutil.which("sockperf"):
        pairs += [sockperf(cpu, "udp"), sockperf(cpu, "tcp", "--tcp")]
    else:
        missing.append("sockperf: not installed (Debian: sockperf)")
    return pairs, missing
