"""Synthetic runs for the tests of reports: plausible shapes, no measurement.

An eight-core Arm board with 32 KiB, 512 KiB and 2 MiB of cache, measured under a vendor's image
and under one of one's own. The numbers come from a small model with seeded noise.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from benchvise.measure.model import (
    Better,
    ProcessRecord,
    RunRecord,
    RunStatus,
    Sample,
    SeriesRecord,
    SeriesSpec,
    SeriesStatus,
)
from benchvise.text import NO_TEXT

KIB, MIB = 1 << 10, 1 << 20
SIZES = [4 * KIB * 4**n for n in range(10)]
L1, L2, L3 = 32 * KIB, 512 * KIB, 2 * MIB
PROCESSES = 3
BATCHES = 21

NOT_A_BANDWIDTH = (
    "the source was never written, so its pages are the shared zero page: "
    "this is not a copy bandwidth"
)

HOST: dict[str, Any] = {
    "arch": "aarch64",
    "machine": "aarch64",
    "hostname": "bench-07",
    "kernel": "5.10.110-rockchip",
    "cpu_model": "Cortex-A76",
    "board_model": "Radxa ROCK 5B",
    "memory_bytes": 16 << 30,
    "cpus_online": "0-7",
    "caches": [
        {"level": 1, "type": "Data", "size": L1, "line": 64, "shared_by": "7"},
        {"level": 1, "type": "Instruction", "size": L1, "line": 64, "shared_by": "7"},
        {"level": 2, "type": "Unified", "size": L2, "line": 64, "shared_by": "7"},
        {"level": 3, "type": "Unified", "size": L3, "line": 64, "shared_by": "0-7"},
    ],
    "page_size": 4096,
    "thp": "always [madvise] never",
    "governor": "performance",
    "clocksource": "arch_sys_counter",
}


@dataclass(frozen=True)
class Noise:
    """How the samples of a series lie around its true value."""

    relative: float = 0.004
    by_process: float = 0.001
    second_mode: float = 1.0
    second_share: float = 0.0
    polluted: float = 0.01
    drift: float = 0.0


DEFAULTS = {
    "memory.copy": {"size": "64M", "source": "random", "pages": "default", "kernel": "auto"},
    "memory.read": {"size": "64M", "source": "random", "pages": "default", "kernel": "auto"},
    "memory.fill": {"size": "64M", "pages": "default", "kernel": "auto"},
    "memory.latency": {"size": "64M", "stride": "64", "order": "random", "pages": "default"},
}


def size_text(size: int) -> str:
    if size >= 1 << 30:
        return f"{size >> 30}G"
    return f"{size >> 20}M" if size >= MIB else f"{size >> 10}K"


def spec(benchmark: str, **params: str) -> SeriesSpec:
    special = ",".join(f"{name}={value}" for name, value in params.items())
    return SeriesSpec(
        benchmark=benchmark,
        params=tuple({**DEFAULTS.get(benchmark, {}), **params, "cpu": "auto"}.items()),
        key=f"{benchmark}:{special}" if special else benchmark,
    )


def series(
    what: SeriesSpec,
    value: float,
    *,
    unit: str = "ns",
    better: Better = "lower",
    counted: str = "",
    noise: Noise | None = None,
    caveats: tuple[str, ...] = (),
    seed: int = 1,
    processes: int = PROCESSES,
    batches: int = BATCHES,
) -> SeriesRecord:
    """A measured series around ``value``."""
    noise = noise or Noise()
    chance = random.Random(f"{what.key}{seed}")
    harm = 1.03 if better == "lower" else 1 / 1.03
    records = []
    for number in range(processes):
        middle = value * math.exp(chance.gauss(0, noise.by_process))
        samples = tuple(
            _sample(chance, middle, noise, harm, index, start=number * 10**10 + index * 6 * 10**6)
            for index in range(batches)
        )
        begin = {"benchmark": what.benchmark, "caveats": list(caveats)}
        records.append(ProcessRecord(number, begin, samples, complete=True))
    return SeriesRecord(
        spec=what,
        unit=unit,
        better=better,
        counted=counted,
        status=SeriesStatus.MEASURED,
        reason="",
        processes=tuple(records),
    )


def _sample(
    chance: random.Random, middle: float, noise: Noise, harm: float, index: int, start: int
) -> Sample:
    value = middle * math.exp(chance.gauss(0, noise.relative)) * (1 + noise.drift * index / BATCHES)
    if chance.random() < noise.second_share:
        value *= noise.second_mode
    flags = []
    if chance.random() < noise.polluted:
        flags.append("preempted")
        value *= harm
    return Sample(index, value, {"start_ns": start, "elapsed_ns": 5_100_000, "flags": flags})


def unavailable(what: SeriesSpec, reason: str) -> SeriesRecord:
    return SeriesRecord(
        spec=what,
        unit="B/s",
        better="higher",
        counted="",
        status=SeriesStatus.NOT_AVAILABLE,
        reason=reason,
        processes=(),
    )


def _step(size: float, bound: float) -> float:
    """From 0 to 1 as ``size`` grows beyond ``bound``."""
    return 1 / (1 + (bound / size) ** 4)


def bandwidth(peak: float, memory: float) -> Callable[[int], float]:
    """Bytes a second over the size, falling at each cache to that of the memory."""

    def at(size: int) -> float:
        level = peak * (1 - 0.45 * _step(size, L1 / 2)) * (1 - 0.4 * _step(size, L2 / 2))
        return level + (memory - level) * _step(size, L3 / 1.6)

    return at


def latency(*, walk: float) -> Callable[[int], float]:
    """Nanoseconds a load over the size; ``walk`` is what page walks add in memory."""

    def at(size: int) -> float:
        cached = 1.75 + 3.6 * _step(size, L1) + 11 * _step(size, L2) + 104 * _step(size, L3 * 1.2)
        return cached + walk * _step(size, 24 * MIB)

    return at


@cache
def demonstration_series(scale: float = 1.0, seed: int = 1) -> tuple[SeriesRecord, ...]:
    """A whole suite; ``scale`` is how fast memory is compared with the vendor's image."""
    return tuple(_demonstration_series(scale, seed))


def _demonstration_series(scale: float, seed: int) -> Iterator[SeriesRecord]:
    yield series(spec("cpu.clock"), 2.256e9, unit="Hz", better="higher", counted="cycles",
                 noise=Noise(relative=0.0006), seed=seed)  # fmt: skip
    for benchmark, counted, peak, memory in (
        ("memory.copy", "copied", 38e9, 9.3e9),
        ("memory.fill", "written", 71e9, 21.4e9),
        ("memory.read", "read", 49e9, 14.9e9),
    ):
        curve = bandwidth(peak, memory * scale)
        for size in SIZES:
            noise = Noise(0.06, 0.05) if size == L3 * 2 else Noise(polluted=0.03)
            yield series(spec(benchmark, size=size_text(size)), curve(size), unit="B/s",
                         better="higher", counted=counted, noise=noise, seed=seed)  # fmt: skip
    curve = bandwidth(38e9, 21.8e9 * scale**0.3)
    for size in SIZES[4:]:
        yield series(spec("memory.copy", size=size_text(size), source="untouched"), curve(size),
                     unit="B/s", better="higher", counted="copied", caveats=(NOT_A_BANDWIDTH,),
                     seed=seed)  # fmt: skip
    for pages, walk in (("4k", 34.0), ("huge", 3.0)):
        load = latency(walk=walk)
        for size in SIZES:
            yield series(spec("memory.latency", size=size_text(size), pages=pages), load(size),
                         counted="a load that depends on the one before",
                         seed=seed)  # fmt: skip
    for call, cost in (("getppid", 148), ("read", 301), ("write", 264), ("stat", 1480),
                       ("open", 3325)):  # fmt: skip
        yield series(spec("os.syscall", call=call), cost * (1.09 if seed == 2 else 1),
                     counted="a system call", noise=Noise(0.009), seed=seed)  # fmt: skip
    counted = "a round trip"
    yield series(spec("pipe.latency", place="same"), 8240, counted=counted, seed=seed)
    yield series(spec("pipe.latency", place="cluster"), 21900, counted=counted,
                 noise=Noise(0.02, drift=0.06), seed=seed)  # fmt: skip
    yield series(spec("pipe.latency", place="free"), 8400, counted=counted,
                 noise=Noise(0.02, second_mode=2.7, second_share=0.4), seed=seed)  # fmt: skip
    yield unavailable(spec("pipe.latency", place="sibling"), "this CPU has no sibling thread")
    yield unavailable(
        spec("memory.libc_copy", size="64M"),
        "the helper needs glibc 2.28; the board has musl (/lib/ld-musl-aarch64.so.1)",
    )


def demonstration_run(**changes: Any) -> RunRecord:
    """The vendor's image."""
    run = RunRecord(
        id="4f2a91c07be3",
        label="vendor-5.10",
        board="ssh://root@bench-07",
        suite="standard",
        status=RunStatus.COMPLETE,
        reason=NO_TEXT,
        started="2026-03-14T09:26:53+00:00",
        finished="2026-03-14T09:33:05+00:00",
        seed=20260314,
        host=HOST,
        tool_version="0.1.0",
        simulated=False,
        series=demonstration_series(),
    )
    return replace(run, **changes)


def other_run(**changes: Any) -> RunRecord:
    """One's own image, on which memory is slower and system calls cost more."""
    host = {**HOST, "kernel": "6.6.32-yocto-standard", "thp": "[always] madvise never",
            "governor": {"na": "cpufreq is not in this kernel"}}  # fmt: skip
    run = demonstration_run(
        id="b81d05e2f94c",
        label="yocto-6.6",
        started="2026-03-14T10:02:11+00:00",
        finished="2026-03-14T10:08:31+00:00",
        host=host,
        series=demonstration_series(scale=0.62, seed=2),
    )
    return replace(run, **changes)
