"""Pairs of clock, loads, lines, translations and sockets: the tools that engineers compare by.

mhz, multichase and lmbench are in no Debian release (lmbench is in its non-free part only):
``references/tools`` builds them. lmbench writes to standard error.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks.pairs import NO_TOOL, Pair, measured_cpu, probe_median, reference_tool

SPAN = "64M"
_OFFSETS = (8, 16, 32, 64, 128, 256, 512, 1024)
_LMBENCH_TRIES = ("-W", "10000", "-N", "3")
_BLOCK = ("-m", "65536", "-M", "64m")


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot."""
    found: list[Pair] = []
    missing: list[str] = []
    for tool, make in (
        ("mhz", _clock),
        ("multichase", _loads),
        ("line", _line),
        ("lat_syscall", _lmbench_latencies),
        ("bw_unix", _streams),
    ):
        path = reference_tool(tool)
        if path:
            found += make(path)
        else:
            missing.append(NO_TOOL.format(tool))
    missing.append(
        "gpio.response is compared with nothing here: it takes an oscilloscope or a logic analyser"
    )
    missing.append("command.output gives the number of another program: there is nothing to pair")
    return found, missing


def _pinned(*command: str) -> tuple[str, ...]:
    return ("taskset", "-c", str(measured_cpu()), *command)


def _megahertz(text: str) -> float:
    values = [float(value) for value in re.findall(r"^\s*([\d.]+)\s*$", text, re.MULTILINE)]
    return sum(values) / len(values) * 1e6


def _clock(mhz: str) -> Iterator[Pair]:
    """The clock of one CPU, and the mean of all while all of them work."""
    yield Pair("cpu.clock : mhz", ("cpu.clock",), _pinned(mhz, "-c"), _megahertz, 0.01)
    everywhere = " & ".join(
        f"taskset -c {cpu} {mhz} -c 5" for cpu in sorted(os.sched_getaffinity(0))
    )
    yield Pair(
        "cpu.sustained : mhz on all CPUs at once",
        ("cpu.sustained", "--batches", "4"),
        ("sh", "-c", f"{everywhere} & wait"),
        _megahertz,
        0.02,
    )


def _loads(multichase: str) -> Iterator[Pair]:
    """Loads that depend on each other: in any order, in parts, and from page to page."""

    def chase(*options: str) -> tuple[str, ...]:
        # -a: the mean, as ours; it says the smallest otherwise.
        return _pinned(multichase, "-a", "-m", "64m", "-n", "3", *options)

    yield Pair(
        "memory.latency, local : multichase -T 256k",
        ("memory.latency", "--size", SPAN, "--order", "local"),
        chase("-s", "64", "-T", "256k"),
        float,
        0.05,
    )
    yield Pair(
        "memory.latency, huge pages : multichase -H",
        ("memory.latency", "--size", SPAN, "--pages", "huge"),
        chase("-s", "64", "-T", "64m", "-H"),
        float,
        0.05,
    )

    # A page and a line further each time, so that the nodes do not share a few sets of the cache.
    def across(*options: str) -> str:
        return " ".join(chase("-s", "4160", "-T", "64m", *options))

    yield Pair(
        "memory.tlb : multichase, base less huge pages",
        ("memory.tlb", "--span", SPAN),
        ("sh", "-c", f"{across()} && {across('-H')}"),
        lambda text: float(text.split()[0]) - float(text.split()[1]),
        0.20,
    )


def line_bytes() -> float:
    """The offset at which a visit gets dearer by most: the line's size as memory.line shows it."""
    costs = [probe_median(("memory.line", "--offset", str(offset))) for offset in _OFFSETS]
    steps = [later / sooner for sooner, later in pairwise(costs)]
    return float(_OFFSETS[steps.index(max(steps)) + 1])


def _line(line: str) -> Iterator[Pair]:
    yield Pair("memory.line, the step : line", line_bytes, _with_errors(_pinned(line)), float, 0.0)


def _with_errors(command: tuple[str, ...]) -> tuple[str, ...]:
    """A command that writes to standard output what it would write to standard error."""
    return ("sh", "-c", 'exec "$@" 2>&1', "sh", *command)


def _microseconds(text: str) -> float:
    return float(re.findall(r"([\d.]+) microseconds", text)[-1]) * 1000


def _lmbench_latencies(lat_syscall: str) -> Iterator[Pair]:
    directory = Path(lat_syscall).parent
    for name, ours, command, agreement in (
        ("os.syscall : lat_syscall null", "os.syscall", "lat_syscall {} null", 0.05),
        ("pipe.latency : lat_pipe", "pipe.latency", "lat_pipe {}", 0.05),
        ("socket.latency unix : lat_unix", "socket.latency", "lat_unix {}", 0.10),
    ):
        program, *options = command.format(" ".join(_LMBENCH_TRIES)).split()
        reference = _with_errors(_pinned(f"{directory}/{program}", *options))
        yield Pair(name, (*ours.split(), "--batches", "63"), reference, _microseconds, agreement)
    yield Pair(
        "memory.latency : lat_mem_rd -t",
        ("memory.latency", "--size", SPAN),
        _with_errors(_pinned(f"{directory}/lat_mem_rd", "-t", *_LMBENCH_TRIES, "64", "64")),
        lambda text: float(text.split()[-1]),
        0.30,
    )


def _megabytes(text: str) -> float:
    return float(re.findall(r"([\d.]+) MB/sec", text)[-1]) * 1e6


def _tcp_bandwidth(text: str) -> float:
    return float(text.split()[-2]) * 1e6 if text.split()[-1] == "MB/sec" else float("nan")


@contextmanager
def _tcp_server(bw_tcp: str) -> Iterator[None]:
    subprocess.run(_pinned(bw_tcp, "-s"), check=True)
    time.sleep(0.2)  # it says nothing when it is ready
    try:
        yield
    finally:
        subprocess.run([bw_tcp, "-S", "localhost"], check=False)


def _streams(bw_unix: str) -> Iterator[Pair]:
    """Bytes through a socket, both ends on one CPU."""
    bw_tcp = str(Path(bw_unix).with_name("bw_tcp"))
    yield Pair(
        "socket.throughput unix : bw_unix",
        ("socket.throughput", "--block", "64K"),
        _with_errors(_pinned(bw_unix, *_BLOCK, *_LMBENCH_TRIES)),
        _megabytes,
        0.20,
    )
    yield Pair(
        "socket.throughput tcp : bw_tcp",
        ("socket.throughput", "--kind", "tcp", "--block", "64K"),
        _with_errors(_pinned(bw_tcp, *_BLOCK, *_LMBENCH_TRIES, "localhost")),
        _tcp_bandwidth,
        0.20,
        scene=partial(_tcp_server, bw_tcp),
    )
