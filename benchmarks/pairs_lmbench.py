"""Pairs with lmbench's own programs, which our benchmarks of the operating system follow.

lmbench is in Debian's non-free part only: ``references/tools`` builds it. Its programs write to
standard error. ``ENOUGH`` is lmbench's own variable for how long a repetition lasts at the least,
in microseconds: without it each program first takes half a minute to find that out. Those that
move bytes, and ``lat_pipe``, ``lat_tcp`` and ``lat_udp``, take a second or two for a repetition
whatever it says, so they get one.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks.pairs import (
    FEW,
    LARGE,
    NO_TOOL,
    Pair,
    measured_cpu,
    probe_median,
    reference_tool,
)

_ENOUGH = ("env", "ENOUGH=10000")
_QUICK = ("-W", "10000", "-N", "5")
_SLOW = ("-W", "10000", "-N", "1")
_BATCHES = ("--batches", "63")
_OFFSETS = (8, 16, 32, 64, 128, 256)
_LINE_SIZE = Path("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size")
_CALLS = ("read", "write", "stat", "fstat", "open")


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot."""
    found: list[Pair] = []
    missing: list[str] = []
    for programs, make in (
        (("lat_syscall", "lat_sig", "lat_ctx", "lat_pipe", "lat_unix"), _latencies),
        (("lat_tcp", "lat_udp", "bw_tcp"), _served),
        (("bw_unix", "bw_pipe", "bw_mem"), _bandwidths),
        (("line", "lat_mem_rd"), _memory),
    ):
        paths = {program: reference_tool(program) for program in programs}
        missing += [NO_TOOL.format(program) for program, path in paths.items() if path is None]
        if all(paths.values()):
            found += make({program: str(path) for program, path in paths.items()})
    if _LINE_SIZE.exists():
        reference = ("cat", str(_LINE_SIZE))
        found.append(_line_pair("memory.line : sysfs coherency_line_size", reference))
    else:
        missing.append("coherency_line_size: sysfs does not tell it here")
    return found, missing


def _command(*words: str) -> tuple[str, ...]:
    """One of its programs, pinned, with what it writes to standard error on standard output.

    Some return from main without a value, so that their exit status says nothing; what they print
    does.
    """
    pinned = ("taskset", "-c", str(measured_cpu()), *_ENOUGH, *words)
    return ("sh", "-c", '"$@" 2>&1; exit 0', "sh", *pinned)


def _microseconds(text: str) -> float:
    return float(re.findall(r": ([\d.]+) microseconds", text)[-1]) * 1000


def _switch_microseconds(text: str) -> float:
    # "size=16k ovr=0.64", then the number of processes and the microseconds
    return float(re.findall(r"^\d+ ([\d.]+)$", text, re.MULTILINE)[-1]) * 1000


def _megabytes(text: str) -> float:
    return float(re.findall(r"bandwidth: ([\d.]+) MB/sec", text)[-1]) * 1e6


def _tcp_megabytes(text: str) -> float:
    # the message's size in 10^6 bytes, then the bandwidth
    return float(re.findall(r"^[\d.]+ ([\d.]+) MB/sec$", text, re.MULTILINE)[-1]) * 1e6


def _memory_megabytes(text: str) -> float:
    # the array's size in 10^6 bytes, then the bandwidth
    return float(re.findall(r"^[\d.]+ ([\d.]+)$", text, re.MULTILINE)[-1]) * 1e6


def _last_load(text: str) -> float:
    # a line for each size: MiB and nanoseconds
    return float(re.findall(r"^64\.00000 ([\d.]+)$", text, re.MULTILINE)[-1])


def _latencies(paths: dict[str, str]) -> Iterator[Pair]:
    def pair(
        ours: str,
        program: str,
        words: str = "",
        agreement: float = 0.05,
        read: Callable[[str], float] = _microseconds,
        options: tuple[str, ...] = _QUICK,
    ) -> Pair:
        name = f"{ours} : {program} {words}".rstrip()
        reference = _command(paths[program], *options, *words.split())
        return Pair(name, (*ours.split(), *_BATCHES), reference, read, agreement)

    yield pair("os.syscall", "lat_syscall", "null")
    for call in _CALLS:
        yield pair(f"os.syscall --call {call}", "lat_syscall", call, 0.20)
    yield pair("os.signal --call install", "lat_sig", "install", 0.10)
    yield pair("pipe.latency", "lat_pipe", options=_SLOW)
    yield pair("socket.latency", "lat_unix", agreement=0.10)
    yield pair("os.context_switch", "lat_ctx", "-s 0 2", 0.20, _switch_microseconds)
    yield pair(
        "os.context_switch_grid --processes 8 --size 16K",
        "lat_ctx",
        "-s 16k 8",
        0.20,
        _switch_microseconds,
    )


@contextmanager
def _server(program: str) -> Iterator[None]:
    subprocess.run(_command(program, "-s"), check=True)
    time.sleep(0.2)  # it says nothing when it is ready
    try:
        yield
    finally:
        subprocess.run([program, "-S", "localhost"], check=False)


def _served(paths: dict[str, str]) -> Iterator[Pair]:
    """Client and server on one CPU."""
    for kind in ("tcp", "udp"):
        program = paths[f"lat_{kind}"]
        yield Pair(
            f"socket.latency --kind {kind} : lat_{kind}",
            ("socket.latency", "--kind", kind, *_BATCHES),
            _command(program, *_SLOW, "localhost"),
            _microseconds,
            0.10,
            scene=partial(_server, program),
        )
    program = paths["bw_tcp"]
    yield Pair(
        "socket.throughput --kind tcp : bw_tcp",
        ("socket.throughput", "--kind", "tcp", "--block", "64K"),
        _command(program, "-m", "65536", "-M", "64m", *_QUICK, "localhost"),
        _tcp_megabytes,
        0.20,
        scene=partial(_server, program),
    )


def _bandwidths(paths: dict[str, str]) -> Iterator[Pair]:
    yield Pair(
        "socket.throughput : bw_unix",
        ("socket.throughput", "--block", "64K"),
        # without -M: it counts 10 MiB a turn, whatever it is told to move
        _command(paths["bw_unix"], "-m", "65536", *_SLOW),
        _megabytes,
        0.20,
    )
    yield Pair(
        "pipe.throughput : bw_pipe",
        ("pipe.throughput", "--block", "64K"),
        _command(paths["bw_pipe"], "-m", "65536", *_SLOW),
        _megabytes,
        0.20,
    )
    yield Pair(
        "memory.fill : bw_mem fwr",
        ("memory.fill", "--size", LARGE, *FEW),
        _command(paths["bw_mem"], *_QUICK, LARGE, "fwr"),
        _memory_megabytes,
        0.10,
    )


def _memory(paths: dict[str, str]) -> Iterator[Pair]:
    # Of 8 MiB, as the step does not depend on the size; it takes two minutes without being told.
    line = _command(paths["line"], "-M", "8m", "-N", "1", "-W", "1000")
    yield _line_pair("memory.line : line", line)
    yield Pair(
        "memory.latency : lat_mem_rd -t",
        ("memory.latency", "--size", "64M"),
        # It goes through all sizes up to this one and sets up each anew, which takes 20 s.
        _command(paths["lat_mem_rd"], "-t", "-W", "0", "-N", "1", "64", "64"),
        _last_load,
        0.30,
        rounds=6,
    )


def _line_pair(name: str, reference: tuple[str, ...]) -> Pair:
    """The line's size in bytes, which is no measurement: the same or not."""
    return Pair(name, line_bytes, reference, float, 0.0, benchmark="memory.line", unit="B")


def line_bytes() -> float:
    """The line's size by memory.line: the first offset at which a visit costs 1.3 times what it
    did at the offset before. It is the threshold of lmbench's line, which chases at doubled strides
    instead and answers with the one from which a load gets no dearer."""
    costs = [
        min(
            probe_median(("memory.line", "--offset", str(offset), "--batches", "5"))
            for _ in range(2)
        )
        for offset in _OFFSETS
    ]
    return float(first_step(list(zip(_OFFSETS, costs, strict=True))))


def first_step(costs: list[tuple[int, float]]) -> int:
    """The first offset that is dearer than the one before by the threshold. RuntimeError: none."""
    for (_, sooner), (offset, later) in pairwise(costs):
        if later > 1.3 * sooner:
            return offset
    raise RuntimeError(f"memory.line shows no step: {costs}")
