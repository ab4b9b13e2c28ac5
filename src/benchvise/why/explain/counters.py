"""What is counted for a mechanism: the names that cards use, and where their figures come from.

Three sources: the probe's samples (perf counters, the account of a command, what its memory is
made of), files of the kernel read before and after a process of the metric, and those two
together. Counts are for one unit of work (an iteration, a run of a command), so that a side that
does more of it in the same time does not look different for that.
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchvise.documents import JsonObject, number_at
from benchvise.quantities import is_number


@dataclass(frozen=True, slots=True)
class MechanismCounter:
    """One thing that is counted.

    ``margin`` is by how much, as a part, it differs between two measurements of the same state:
    less is no change. ``least`` is the count of a process below which it says nothing, and is
    taken for none.
    """

    name: str
    summary: str
    margin: float = 0.10
    least: float = 0.0


_OF_SAMPLES = (
    MechanismCounter("cycles", "cycles of the CPU", 0.05),
    MechanismCounter("instructions", "instructions", 0.03),
    MechanismCounter("cycles_per_instruction", "cycles an instruction", 0.05),
    MechanismCounter("cache_references", "looks into the last cache but one", 0.15),
    MechanismCounter("cache_misses", "looks into the caches that went to memory", 0.15),
    MechanismCounter("dtlb_load_misses", "loads without a translation in the TLB", 0.20),
    MechanismCounter("itlb_load_misses", "instructions without a translation in the TLB", 0.20),
    MechanismCounter("branches", "branches", 0.05),
    MechanismCounter("branch_misses", "branches that were predicted wrongly", 0.15),
    MechanismCounter("l1d_load_misses", "loads that missed the first data cache", 0.15),
    MechanismCounter("llc_load_misses", "loads that missed the last cache", 0.15),
    MechanismCounter("bus_cycles", "cycles of the bus", 0.10),
    MechanismCounter("stalled_cycles", "cycles without progress", 0.10),
    MechanismCounter("context_switches", "context switches of the benchmark", 0.20),
    MechanismCounter("cpu_migrations", "moves of the benchmark to another CPU", 0.30),
    MechanismCounter("page_faults", "page faults of the benchmark", 0.10),
    MechanismCounter("task_clock_ns", "CPU time of the benchmark, in ns", 0.05),
    MechanismCounter("clock_hz", "measured clock of the CPU, in Hz", 0.03),
    MechanismCounter("wait_ns", "time that the benchmark could run and did not, in ns", 0.30, 1000),
    MechanismCounter("steal_ticks", "time that a hypervisor took, in ticks", 0.50, 1),
    MechanismCounter("temperature_mc", "temperature, in thousandths of a degree", 0.05),
    MechanismCounter("user_ns", "CPU time of a command in user space, in ns", 0.05),
    MechanismCounter("sys_ns", "CPU time of a command in the kernel, in ns", 0.10, 1e6),
    MechanismCounter("faults_minor", "page faults of a command served from memory", 0.05, 100),
    MechanismCounter("faults_major", "page faults of a command that read from a device", 0.30, 10),
    MechanismCounter(
        "switches_waiting", "context switches of a command because it waited", 0.20, 20
    ),
    MechanismCounter("switches_forced", "context switches of a command by others", 0.30, 20),
    MechanismCounter(
        "zero_page_bytes", "memory read and never written: the kernel's page of zeros", 0.05
    ),
    MechanismCounter("rss_bytes", "memory of its own, in bytes", 0.05),
    MechanismCounter("anon_huge_bytes", "memory in huge pages, in bytes", 0.05, 2 << 20),
    MechanismCounter("cpu_s_per_gb", "CPU time for a gigabyte, in s", 0.10),
    MechanismCounter("device_bytes", "bytes that the device moved", 0.05),
    MechanismCounter("retransmits", "TCP segments sent again", 0.50, 5),
    MechanismCounter("rtt_ns", "round trip of TCP, in ns", 0.20),
    MechanismCounter("interrupts_here", "share of the interrupts that its CPU took, in %", 0.20),
    MechanismCounter("throttle_events", "times that heat held the clock down", 0.50, 1),
)

_OF_FILES = (
    MechanismCounter("vmstat.pgfault", "page faults of the system", 0.15, 100),
    MechanismCounter(
        "vmstat.pgmajfault", "page faults of the system that read from a device", 0.30, 10
    ),
    MechanismCounter("vmstat.pswpin", "pages swapped in", 0.30, 10),
    MechanismCounter("vmstat.pswpout", "pages swapped out", 0.30, 10),
    MechanismCounter("vmstat.thp_fault_alloc", "page faults served by a huge page", 0.20, 2),
    MechanismCounter("vmstat.thp_fault_fallback", "page faults that got no huge page", 0.30, 2),
    MechanismCounter("vmstat.compact_stall", "allocations that waited for compaction", 0.30, 2),
    MechanismCounter("vmstat.allocstall", "allocations that waited for reclaim", 0.30, 2),
    MechanismCounter("vmstat.nr_dirtied", "pages written in the page cache", 0.15, 100),
    MechanismCounter("vmstat.nr_written", "pages written back", 0.20, 100),
    MechanismCounter("stat.ctxt", "context switches of the system", 0.25, 100),
    MechanismCounter("stat.intr", "interrupts of the system", 0.25, 100),
    MechanismCounter("stat.iowait_ticks", "time that CPUs waited for I/O, in ticks", 0.30, 5),
    MechanismCounter("stat.irq_ticks", "time in interrupts and soft interrupts, in ticks", 0.30, 5),
    MechanismCounter("stat.busy_ticks", "CPU time of all the system, in ticks", 0.10, 5),
    MechanismCounter("softirqs.NET_RX", "soft interrupts for received packets", 0.25, 50),
    MechanismCounter("softirqs.TIMER", "soft interrupts for timers", 0.25, 50),
    MechanismCounter("softirqs.BLOCK", "soft interrupts for finished I/O", 0.25, 20),
    MechanismCounter("interrupts.LOC", "interrupts of the local timers (x86)", 0.25, 50),
    MechanismCounter("interrupts.arch_timer", "interrupts of the local timers (Arm)", 0.25, 50),
    MechanismCounter("disk.read_ios", "reads that reached disks", 0.20, 20),
    MechanismCounter("disk.read_sectors", "sectors of 512 bytes read", 0.10, 256),
    MechanismCounter("disk.read_size", "bytes a read", 0.15, 512),
    MechanismCounter("disk.write_ios", "writes that reached disks", 0.25, 20),
    MechanismCounter("disk.write_sectors", "sectors of 512 bytes written", 0.20, 256),
    MechanismCounter("disk.flushes", "flushes of disks' caches", 0.25, 5),
    MechanismCounter("disk.busy_ms", "time that disks worked, in ms", 0.20, 10),
    MechanismCounter("tcp.segments_out", "TCP segments sent", 0.15, 100),
    MechanismCounter("tcp.segments_in", "TCP segments received", 0.15, 100),
    MechanismCounter("tcp.retransmits", "TCP segments sent again by the system", 0.50, 5),
    MechanismCounter("softnet.squeezed", "rounds of packets cut short", 0.50, 5),
    MechanismCounter("softnet.dropped", "packets dropped for want of a CPU", 0.50, 5),
    MechanismCounter("quota.throttled", "periods in which a quota stopped a group", 0.30, 2),
    MechanismCounter(
        "quota.throttled_us", "time for which quotas stopped groups, in us", 0.30, 1000
    ),
    MechanismCounter(
        "idle.deep", "times that a CPU slept deeper than the lightest state", 0.30, 50
    ),
    MechanismCounter("ksm.pages_scanned", "pages that KSM looked at", 0.50, 100),
    MechanismCounter("serial.sent", "characters sent on serial lines", 0.20, 20),
    MechanismCounter("throttle.events", "times that heat held a core down", 0.50, 1),
    MechanismCounter("psi.cpu_us", "time that tasks waited for a CPU, in us", 0.40, 1000),
    MechanismCounter("psi.memory_us", "time that tasks waited for memory, in us", 0.40, 1000),
    MechanismCounter("psi.io_us", "time that tasks waited for I/O, in us", 0.40, 1000),
)

COUNTERS: Mapping[str, MechanismCounter] = {
    counter.name: counter for counter in (*_OF_SAMPLES, *_OF_FILES)
}

OF_THE_SYSTEM = frozenset(counter.name for counter in _OF_FILES)
"""What others on the board count into as well."""

GAUGES = frozenset(
    {
        *("zero_page_bytes", "rss_bytes", "anon_huge_bytes", "clock_hz", "temperature_mc"),
        *("cycles_per_instruction", "cpu_s_per_gb", "rtt_ns", "interrupts_here", "disk.read_size"),
    }
)
"""What is a state and not a count: not divided by the work done."""

READS = (
    "/proc/vmstat",
    "/proc/stat",
    "/proc/softirqs",
    "/proc/interrupts",
    "/proc/net/snmp",
    "/proc/net/softnet_stat",
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
    "/proc/tty/driver/serial",
    "/sys/block/*/stat",
    "/sys/kernel/mm/ksm/pages_scanned",
    "/sys/devices/system/cpu/cpu*/cpuidle/state[1-9]*/usage",
    "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count",
    *(f"/sys/fs/cgroup/{'*/' * depth}cpu.stat" for depth in range(5)),
)
"""Files to read before and after, for ``between``."""

_MADE_UP_DISK = re.compile(r"/sys/block/(?:loop|ram|zram|dm-|md)\d*/")
_VMSTAT = tuple(n.partition(".")[2] for n in COUNTERS if n.startswith("vmstat."))
_SOFTIRQS = tuple(n.partition(".")[2] for n in COUNTERS if n.startswith("softirqs."))


def between(
    before: Mapping[str, str], after: Mapping[str, str], work: float = 1.0
) -> dict[str, float]:
    """The counters of files: texts by path, read before and after, over the ``work`` done between
    (see ``work_of``).

    What cannot be had, or went backwards (a device that came anew), is not there.
    """
    first, last = dict(_totals(before)), dict(_totals(after))
    changes = {
        name: _none_below(name, last[name] - first[name]) / work
        for name in last
        if name in first and last[name] >= first[name]
    }
    if changes.get("disk.read_ios", 0) > 0 and "disk.read_sectors" in changes:
        changes["disk.read_size"] = changes["disk.read_sectors"] * 512 / changes["disk.read_ios"]
    return changes


def of_samples(samples: Iterable[JsonObject]) -> dict[str, float]:
    """The counters of a process' ``sample`` lines, for one unit of work: the median over batches
    of counts, the largest of the sizes of memory."""
    seen: defaultdict[str, list[float]] = defaultdict(list)
    for sample in samples:
        work = work_of(sample)
        for name, value in _of_sample(sample):
            if name in GAUGES:
                seen[name].append(_none_below(name, value))
            elif work:
                seen[name].append(_none_below(name, value) / work)
    medians = {
        name: max(values) if name.endswith("_bytes") else float(np.median(values))
        for name, values in seen.items()
    }
    if medians.get("instructions") and "cycles" in medians:
        medians["cycles_per_instruction"] = medians["cycles"] / medians["instructions"]
    return medians


def work_of(sample: JsonObject) -> float:
    """How much work a batch did; 0 where it does not say.

    The iterations, or runs of a command. An iteration of what sends for a given time is a window
    of time, in which more is sent where it goes faster: there it is the megabytes that went.
    """
    detail = sample.get("detail")
    moved = detail.get("moved_bytes") if isinstance(detail, Mapping) else None
    if is_number(moved):
        return max(0.0, moved / 1e6)
    iterations = sample.get("iterations")
    return max(0.0, float(iterations)) if is_number(iterations) else 0.0


def _none_below(name: str, count: float) -> float:
    return count if count >= COUNTERS[name].least else 0.0


def _of_sample(sample: JsonObject) -> Iterator[tuple[str, float]]:
    for part in ("counters", "detail"):
        values = sample.get(part)
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if name in COUNTERS and is_number(value):
                yield name, float(value)
    # what is measured happens in other processes then: that ours waited says nothing
    detail = sample.get("detail")
    is_command = isinstance(detail, Mapping) and "wall_ns" in detail
    for name, key in (
        ("clock_hz", "clock_after_hz"),
        *((name, name) for name in ("wait_ns", "steal_ticks", "temperature_mc")),
    ):
        count = number_at(sample, key)
        if count is not None and not (is_command and name == "wait_ns"):
            yield name, float(count)


def _totals(texts: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Each counter's total; texts of a board that are not of the form expected add nothing."""
    sums: defaultdict[str, float] = defaultdict(float)
    for path, text in texts.items():
        with contextlib.suppress(ValueError, IndexError):
            for name, value in list(_of_file(path, text)):
                sums[name] += value
    yield from sums.items()


def _of_file(path: str, text: str) -> Iterator[tuple[str, float]]:
    rows = [line.split() for line in text.splitlines()]
    match path:
        case "/proc/vmstat":
            for row in rows:
                if len(row) == 2 and row[1].isdecimal():
                    name = "allocstall" if row[0].startswith("allocstall") else row[0]
                    if name in _VMSTAT:
                        yield f"vmstat.{name}", int(row[1])
        case "/proc/stat":
            yield from _stat(rows)
        case "/proc/softirqs" | "/proc/interrupts":
            yield from _per_cpu(path, rows)
        case "/proc/net/snmp":
            yield from _tcp(rows)
        case "/proc/net/softnet_stat":
            for row in rows:
                yield "softnet.dropped", int(row[1], 16)
                yield "softnet.squeezed", int(row[2], 16)
        case "/proc/tty/driver/serial":
            yield from (("serial.sent", int(n)) for n in re.findall(r"\btx:(\d{1,18})", text))
        case "/sys/kernel/mm/ksm/pages_scanned":
            yield from (("ksm.pages_scanned", n) for n in _numbers(rows))
        case _ if path.startswith("/proc/pressure/"):
            for total in re.findall(r"^some .*\btotal=(\d{1,18})", text, re.MULTILINE):
                yield f"psi.{path.rpartition('/')[2]}_us", int(total)
        case _ if path.startswith("/sys/block/") and not _MADE_UP_DISK.match(path):
            yield from _disk(rows)
        case _ if path.endswith("/usage"):
            yield from (("idle.deep", n) for n in _numbers(rows))
        case _ if path.endswith("/core_throttle_count"):
            yield from (("throttle.events", n) for n in _numbers(rows))
        case _ if path.endswith("/cpu.stat"):
            yield from _quota(rows)


def _numbers(rows: list[list[str]]) -> list[int]:
    return [int(row[0]) for row in rows[:1] if row and row[0].isdecimal()]


def _stat(rows: list[list[str]]) -> Iterator[tuple[str, float]]:
    for row in rows:
        if len(row) > 1 and row[0] in ("ctxt", "intr"):
            yield f"stat.{row[0]}", int(row[1])
        if len(row) > 7 and row[0] == "cpu":
            user, nice, system, _, iowait, irq, softirq = map(int, row[1:8])
            yield "stat.iowait_ticks", iowait
            yield "stat.irq_ticks", irq + softirq
            yield "stat.busy_ticks", user + nice + system + irq + softirq


def _per_cpu(path: str, rows: list[list[str]]) -> Iterator[tuple[str, float]]:
    for row in rows[1:]:
        label = row[0].rstrip(":") if row else ""
        counts = sum(int(word) for word in row[1:] if word.isdecimal())
        if path == "/proc/softirqs" and label in _SOFTIRQS:
            yield f"softirqs.{label}", counts
        elif path == "/proc/interrupts" and label == "LOC":
            yield "interrupts.LOC", counts
        elif path == "/proc/interrupts" and row and row[-1] == "arch_timer":
            yield "interrupts.arch_timer", counts


_TCP = {
    "OutSegs": "tcp.segments_out",
    "InSegs": "tcp.segments_in",
    "RetransSegs": "tcp.retransmits",
}


def _tcp(rows: list[list[str]]) -> Iterator[tuple[str, float]]:
    lines = [row for row in rows if row[:1] == ["Tcp:"]]
    for heads, values in zip(lines[::2], lines[1::2], strict=False):
        for head, value in zip(heads[1:], values[1:], strict=False):
            if head in _TCP and value.isdecimal():
                yield _TCP[head], int(value)


_DISK = {
    0: "disk.read_ios",
    2: "disk.read_sectors",
    4: "disk.write_ios",
    6: "disk.write_sectors",
    9: "disk.busy_ms",
    15: "disk.flushes",
}


def _disk(rows: list[list[str]]) -> Iterator[tuple[str, float]]:
    for row in rows[:1]:
        for place, name in _DISK.items():
            if place < len(row) and row[place].isdecimal():
                yield name, int(row[place])


def _quota(rows: list[list[str]]) -> Iterator[tuple[str, float]]:
    for row in rows:
        match row:
            case ["nr_throttled", count]:
                yield "quota.throttled", int(count)
            case ["throttled_usec", count]:
                yield "quota.throttled_us", int(count)
            case ["throttled_time", count]:  # version 1, in ns
                yield "quota.throttled_us", int(count) / 1000
