"""Pairs of clock, loads and translations: mhz and multichase.

Neither is in a Debian release: ``references/tools`` builds them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial

from benchmarks.pairs import NO_TOOL, Pair, measured_cpu, probe_figure, reference_tool

SPAN = "64M"


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot."""
    found: list[Pair] = []
    missing: list[str] = []
    for tool, make in (
        ("mhz", _clock),
        ("multichase", _loads),
    ):
        path = reference_tool(tool)
        if path:
            found += make(path)
        else:
            missing.append(NO_TOOL.format(tool))
    missing.append("gpio.response: takes an oscilloscope or a logic analyser")
    missing.append("command.output: gives the number of another program, nothing to compare")
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
        f"taskset -c {cpu} {mhz} -c 2" for cpu in sorted(os.sched_getaffinity(0))
    )
    yield Pair(
        "cpu.sustained : mhz on all CPUs at once",
        ("cpu.sustained", "--batches", "2"),
        ("sh", "-c", f"{everywhere} & wait"),
        _megahertz,
        0.02,
    )


def _loads(multichase: str) -> Iterator[Pair]:
    """Loads that depend on each other: in any order, in parts, and from page to page."""

    def chase(*options: str) -> tuple[str, ...]:
        # -a: the mean, as ours; it says the smallest otherwise.
        return _pinned(multichase, "-a", "-m", "64m", "-n", "1", *options)

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

    # A page and a line further each time, so that the nodes do not share a few sets of the cache,
    # as ours do not. Its load is compared with ours, once with base pages and once with huge ones.
    # The difference, which is memory.tlb, is not: where page tables and lines fit the caches it
    # is a third of either load, and base pages vary by as much from process to process with the
    # physical pages that they are given.
    for pages, figure, options in (("base", "base_ns", ()), ("huge", "huge_ns", ("-H",))):
        words = ("memory.tlb", "--span", SPAN)
        yield Pair(
            f"memory.tlb, load with {pages} pages : {' '.join(('multichase -s 4160', *options))}",
            partial(probe_figure, words, figure),
            chase("-s", "4160", "-T", "64m", *options),
            float,
            0.20,
            benchmark="memory.tlb",
            unit="ns",
        )
