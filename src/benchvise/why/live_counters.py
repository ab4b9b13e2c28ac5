"""What was counted while one process was measured: by the probe, and by the kernel for all.

Counters of a trial, by name:

``cycles``, ``dtlb_load_misses``, …
    of the probe's perf counters: per iteration of the benchmark, median of the batches that
    counted it; only where counting was on
``minor_faults``, ``voluntary_switches``, ``wait_ns``, …
    of the measuring process: per batch, mean of the batches
``detail.wall_ns``, …
    further figures of the benchmark: median of the batches
``vmstat.thp_fault_alloc``, ``stat.ctxt``, ``softirqs.NET_RX``, ``interrupts.24``, ``snmp.Tcp.…``
    of the whole board, from before the process was started until after it had ended, with its
    calibration: counts that did not grow are there as 0, but for interrupts
``pressure.cpu.some_us``, ``pressure.memory.full_us``, …
    microseconds stalled (Documentation/accounting/psi.rst)

What cannot be counted is not there.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from benchvise.board.channel import FileError, FileValue
from benchvise.board.sanitise import printable

Files = Mapping[str, FileValue | FileError]
Counts = dict[str, float]

GLOBS = (
    *(f"/proc/{name}" for name in ("vmstat", "stat", "softirqs", "interrupts")),
    *("/proc/net/snmp", "/proc/net/netstat"),
    "/proc/pressure/*",
    "/sys/class/thermal/thermal_zone*/temp",
)
"""Read before and after a process: a dozen files, one request."""

# Of a trial's record; `during` has all of them.
_KEPT = (
    *("vmstat.pg*fault", "vmstat.thp_*alloc", "vmstat.thp_split*", "vmstat.pgscan*"),
    *("vmstat.compact_stall", "vmstat.pswp*", "vmstat.oom_kill", "vmstat.numa_hint_faults"),
    *("vmstat.nr_written", "vmstat.nr_dirtied", "vmstat.allocstall*", "vmstat.pgpg*"),
    *("stat.*", "softirqs.*", "pressure.*"),
    *("snmp.Tcp.RetransSegs", "snmp.Udp.RcvbufErrors", "snmp.Ip.InDiscards"),
)

_PROCESS = (
    *("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches"),
    *("migrations", "wait_ns", "steal_ticks", "other_busy_ticks"),
)
_LABELS = 200  # of interrupts, at most: a board may name as many as it likes


def counts(files: Files) -> Counts:
    """What the kernel has counted since the board booted, by name."""
    found: Counts = {}
    for path, content in files.items():
        if isinstance(content, FileValue) and isinstance(content.value, str):
            name = path.rpartition("/")[2]
            found.update(_READERS.get(name, _pressure if "/pressure/" in path else _none)(
                name, content.value
            ))  # fmt: skip
    return found


def grown(before: Counts, after: Counts) -> Counts:
    """By how much each count grew; those that went back (a device came anew) are left out."""
    return {
        name: count - before.get(name, 0.0)
        for name, count in after.items()
        if count >= before.get(name, 0.0)
        and not (name.startswith("interrupts.") and count == before.get(name, 0.0))
    }


def of_trial(deltas: Counts) -> Counts:
    """Those of the board's counts that a trial's record keeps."""
    return {n: v for n, v in deltas.items() if any(fnmatchcase(n, kept) for kept in _KEPT)}


def of_samples(samples: Sequence[Mapping[str, Any]]) -> Counts:
    """What the probe counted around and in its batches."""
    found: Counts = {}
    for name in _PROCESS:
        values = list(_numbers(sample.get(name) for sample in samples))
        if values:
            found[name] = statistics.fmean(values)
    for name, values in _by_name(samples, "counters", per_iteration=True):
        found[name] = statistics.median(values)
    for name, values in _by_name(samples, "detail", per_iteration=False):
        found[f"detail.{name}"] = statistics.median(values)
    return found


def covariates(samples: Sequence[Mapping[str, Any]], files: Files) -> Counts:
    """What else is known of the moment: ``clock_hz``, ``temperature_c`` (the CPU's as the probe
    has it, else the hottest zone's)."""
    found: Counts = {}
    clocks = list(_numbers(sample.get("clock_before_hz") for sample in samples))
    if clocks:
        found["clock_hz"] = statistics.median(clocks)
    heat = [n / 1000 for n in _numbers(sample.get("temperature_mc") for sample in samples)]
    if not heat:
        zones = [
            _integer(content.value)
            for path, content in files.items()
            if "/thermal_zone" in path and isinstance(content, FileValue)
        ]
        heat = [n / 1000 for n in _numbers(zones)]
    if heat:
        found["temperature_c"] = max(heat)
    return found


# -- the kernel's texts ----------------------------------------------------------------------------


def _vmstat(_name: str, text: str) -> Counts:
    """One name and number a line; most count up, and the others' differences say nothing."""
    return {f"vmstat.{words[0]}": n for words, n in _rows(text) if len(words) == 1}


def _stat(_name: str, text: str) -> Counts:
    """proc_stat(5): the sum of all CPUs in ticks, context switches, interrupts, forks."""
    found: Counts = {}
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == "cpu":
            kinds = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
            for kind, number in zip(kinds, words[1:], strict=False):
                found[f"stat.{kind}_ticks"] = float(_integer(number) or 0)
        elif len(words) > 1 and words[0] in ("ctxt", "intr", "processes"):
            found[f"stat.{words[0]}"] = float(_integer(words[1]) or 0)
    return found


def _per_cpu(name: str, text: str) -> Counts:
    """A label and a number for each CPU: their sums."""
    found: Counts = {}
    for line in text.splitlines()[1 : _LABELS + 1]:
        label, colon, rest = line.partition(":")
        numbers: list[float] = []
        for word in rest.split() if colon else ():
            number = _integer(word)
            if number is None:
                break
            numbers.append(number)
        if numbers:
            found[f"{name}.{printable(label.strip(), 20)}"] = sum(numbers)
    return found


def _protocols(name: str, text: str) -> Counts:
    """Two lines a protocol: the names, then the numbers."""
    found: Counts = {}
    lines = text.splitlines()
    for names, numbers in zip(lines[::2], lines[1::2], strict=False):
        protocol, _, rest = names.partition(":")
        for key, word in zip(rest.split(), numbers.partition(":")[2].split(), strict=False):
            number = _integer(word)
            if number is not None and number >= 0:
                found[f"{name}.{printable(protocol, 20)}.{printable(key, 40)}"] = number
    return found


def _pressure(name: str, text: str) -> Counts:
    found: Counts = {}
    for line in text.splitlines():
        words = line.split()
        total = next((w.partition("=")[2] for w in words if w.startswith("total=")), "")
        number = _integer(total)
        if number is not None and words[0] in ("some", "full"):
            found[f"pressure.{name}.{words[0]}_us"] = number
    return found


def _none(_name: str, _text: str) -> Counts:
    return {}


_READERS = {
    "vmstat": _vmstat,
    "stat": _stat,
    "softirqs": _per_cpu,
    "interrupts": _per_cpu,
    "snmp": _protocols,
    "netstat": _protocols,
}


def _rows(text: str) -> Iterator[tuple[list[str], float]]:
    for line in text.splitlines():
        *words, last = line.split() or [""]
        number = _integer(last)
        if number is not None:
            yield [printable(word, 40) for word in words], number


# -- numbers ---------------------------------------------------------------------------------------


def _by_name(
    samples: Sequence[Mapping[str, Any]], key: str, *, per_iteration: bool
) -> Iterator[tuple[str, list[float]]]:
    found: dict[str, list[float]] = {}
    for sample in samples:
        table = sample.get(key)
        iterations = next(_numbers([sample.get("iterations")]), 1.0) if per_iteration else 1.0
        for name, value in table.items() if isinstance(table, Mapping) else ():
            for number in _numbers([value]):
                found.setdefault(printable(str(name), 40), []).append(number / (iterations or 1.0))
    yield from found.items()


def _numbers(values: Iterable[object]) -> Iterator[float]:
    for value in values:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield float(value)


def _integer(text: object) -> int | None:
    word = str(text).strip()
    return int(word) if len(word) <= 20 and word.removeprefix("-").isdecimal() else None
