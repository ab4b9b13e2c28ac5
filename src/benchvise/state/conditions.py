"""Conditions that a board was measured under and that a reader must know: throttled, swapping,
short of CPUs, disturbed, or with a clock that does not run true.

Each rule looks at the snapshots before and after a run and says a sentence, or nothing. What a
board does not tell is no condition; it is in the snapshot as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from benchvise.kernel_log import classify, log_classes
from benchvise.kernel_log.lines import parse_line
from benchvise.quantities import number_or_none
from benchvise.state.model import Family, Snapshot
from benchvise.text import enumerated

_BUSY_CPUS = 0.2
_CROWDED = 1.5  # as many that want to run for each CPU
_STOLEN = 0.01
_SLOW_CLOCK = 0.05
# Host and board are read one after the other, over a network: so long may that take, in seconds.
_READING = 0.25
_CLOCK_ERROR = 0.002

_OWN = ("bvprobe", "benchvise", "python", "sshd", "ssh")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: the word for it, a sentence without a full stop, and the families that it can
    affect (none: all)."""

    rule: str
    sentence: str
    families: tuple[Family, ...] = ()


def conditions(before: Snapshot, after: Snapshot) -> tuple[Condition, ...]:
    """All conditions of a run, from the snapshots around it."""
    return tuple(condition for rule in _RULES for condition in rule(before, after))


def busy_programs(*snapshots: Snapshot) -> dict[str, float]:
    """The CPUs that programs took while snapshots were taken, the most of each: 0.3 is 30 % of one.

    Programs that are part of looking are left out.
    """
    programs: dict[str, float] = {}
    for snapshot in snapshots:
        for table in _values(snapshot, "system.processes", "busy*").values():
            for name, cpus in _busy(table):
                programs[name] = max(programs.get(name, 0.0), cpus)
    return programs


# -- looking at snapshots --------------------------------------------------------------------------


def _values(snapshot: Snapshot, item: str, key: str = "*") -> dict[str, Any]:
    """The values of an item by key, those with a value only."""
    return {
        entry.key: entry.value
        for entry in snapshot.entries()
        if entry.item == item and entry.missing is None and fnmatchcase(entry.key, key)
    }


def _growth(before: Snapshot, after: Snapshot, item: str, name: str) -> float:
    """By how much the counters ``name`` of an item grew in sum: entries of that key, or fields of
    tables. Counters that went back (a reboot, a device that was taken off) count as nothing."""
    total = 0.0
    first, last = _numbers(before, item, name), _numbers(after, item, name)
    for place, end in last.items():
        begin = first.get(place)
        if begin is not None and end > begin:
            total += end - begin
    return total


def _numbers(snapshot: Snapshot, item: str, name: str) -> dict[tuple[str, str], float]:
    numbers = {}
    for key, value in _values(snapshot, item).items():
        fields = value if isinstance(value, Mapping) else {key: value}
        for field, content in fields.items():
            number = number_or_none(content)
            if number is not None and fnmatchcase(str(field), name):
                numbers[key, str(field)] = number
    return numbers


# -- the rules -------------------------------------------------------------------------------------


def _throttled(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    count = _growth(before, after, "power.throttling", "*throttle_count")
    if count:
        yield Condition("throttled", f"the CPU was throttled {count:.0f} times by its temperature")
    flags = {
        name
        for table in _values(after, "power.throttling", "flags*").values()
        if isinstance(table, Mapping)
        for name, on in table.items()
        if on is True and str(name).endswith(" now")
    }
    if flags:
        names = sorted(name.removesuffix(" now") for name in flags)
        yield Condition("throttled", f"the firmware reports: {enumerated(names)}")
    states = _values(after, "thermal.cooling", "device* cur_state")
    types = _values(after, "thermal.cooling", "device* type")
    held = [
        str(kind)
        for key, kind in types.items()
        if _holds_clock_down(str(kind))
        and (number_or_none(states.get(key.replace(" type", " cur_state"))) or 0) > 0
    ]
    if held:
        yield Condition("throttled", f"cooling holds clocks down: {enumerated(sorted(set(held)))}")


def _holds_clock_down(kind: str) -> bool:
    """Whether a cooling device is a clock, and not a fan."""
    return any(word in kind.lower() for word in ("cpufreq", "devfreq", "processor", "gpu"))


def _swapped(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    pages_in = _growth(before, after, "memory.swap", "pswpin")
    pages_out = _growth(before, after, "memory.swap", "pswpout")
    if pages_in or pages_out:
        yield Condition(
            "swapped", f"the board swapped: {pages_in:.0f} pages in, {pages_out:.0f} out"
        )


def _killed(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    count = _growth(before, after, "memory.swap", "oom_kill")
    if count:
        yield Condition("out of memory", f"the kernel killed {count:.0f} processes for memory")


def _quota(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    periods = _growth(before, after, "system.cgroup", "nr_throttled")
    if periods:
        yield Condition(
            "CPU quota", f"the control group's quota took the CPU away in {periods:.0f} periods"
        )


def _fewer_cpus(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    for snapshot in (after, before):
        cpus_by_key = _values(snapshot, "cpu.present")
        present, online = _cpus(cpus_by_key.get("present")), _cpus(cpus_by_key.get("online"))
        if present and online and online < present:
            missing = ", ".join(str(cpu) for cpu in sorted(present - online)[:16])
            yield Condition(
                "fewer CPUs", f"{len(online)} of {len(present)} CPUs are online, not {missing}"
            )
            return


def _cpus(value: object) -> set[int]:
    """CPUs of a list as the kernel writes it, or as a list of numbers."""
    if isinstance(value, list | tuple):
        return {number for number in value if isinstance(number, int)}
    cpus: set[int] = set()
    for part in str(value or "").split(","):
        low, _, high = part.strip().partition("-")
        if low.isdigit() and (high or low).isdigit() and int(high or low) < 4096:
            cpus |= set(range(int(low), int(high or low) + 1))
    return cpus


def _slow_clock(_before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    """The true clock below what the kernel says it is."""
    advertised = [
        number * 1000
        for value in _values(after, "cpu.measured_clock", "policy* scaling_cur_freq").values()
        if (number := number_or_none(value)) is not None
    ]
    measured = {
        cpu: best
        for cpu, table in _values(after, "cpu.measured_clock").items()
        if isinstance(table, Mapping) and (best := number_or_none(table.get("best_hz"))) is not None
    }
    if not advertised or not measured:
        return
    fastest = max(measured.values())
    if fastest < max(advertised) * (1 - _SLOW_CLOCK):
        yield Condition(
            "clock",
            f"the fastest CPU runs at {fastest / 1e6:.0f} MHz, while the kernel says "
            f"{max(advertised) / 1e6:.0f} MHz",
        )


def _background(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    """Who used the CPU while snapshots were taken: nothing of ours was measured then.

    Where far more wants to run than there are CPUs, each process gets little: the load tells then,
    that of the first snapshot, before anything of ours ran.
    """
    programs = busy_programs(before, after)
    busy = sorted(programs.items(), key=lambda one: -one[1])
    names = enumerated([f"{name} ({cpus:.1f} CPU)" for name, cpus in busy])
    load, cpus = _load(before)
    if cpus and load > _CROWDED * cpus:
        busiest = f"; busiest of those seen: {names}" if names else ""
        yield Condition(
            "background load",
            f"about {load:.0f} processes wanted to run on {cpus} CPUs (load of the last minute)"
            f"{busiest}",
        )
    elif sum(programs.values()) > _BUSY_CPUS:
        yield Condition("background load", f"other processes were busy: {names}")


def _load(snapshot: Snapshot) -> tuple[float, int]:
    """The load of the last minute, and on how many CPUs; 0 where it is not known."""
    loads = _values(snapshot, "system.load", "loadavg").values()
    minutes = [load.get("1 min") for load in loads if isinstance(load, Mapping)]
    online = _cpus(_values(snapshot, "cpu.present").get("online"))
    return next((n for m in minutes if (n := number_or_none(m)) is not None), 0.0), len(online)


def _busy(table: object) -> Iterator[tuple[str, float]]:
    if not isinstance(table, Mapping):
        return
    window, hertz = (
        number_or_none(table.get("window_ns")),
        number_or_none(table.get("ticks_per_second")),
    )
    processes = table.get("processes")
    if not window or not hertz or not isinstance(processes, list):
        return
    for process in processes:
        if not isinstance(process, Mapping):
            continue
        name, ticks = str(process.get("name", "")), number_or_none(process.get("ticks"))
        # A tick or two in so short a time say nothing.
        if ticks is not None and ticks > 2 and not name.startswith(_OWN):
            yield name, ticks / hertz / (window / 1e9)


def _stolen(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    stolen = _growth(before, after, "system.load", "steal")
    whole = sum(
        _growth(before, after, "system.load", name)
        for name in ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    )
    if whole and stolen / whole > _STOLEN:
        yield Condition(
            "steal", f"a hypervisor took {stolen / whole * 100:.1f} % of all CPU time away"
        )


def _log(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    """Lines of the kernel log from between the two snapshots."""
    for key, table in _values(after, "log.classes").items():
        earlier = _values(before, "log.classes").get(key)
        since = number_or_none(earlier.get("until")) if isinstance(earlier, Mapping) else None
        classes = table.get("classes") if isinstance(table, Mapping) else None
        if since is None or not isinstance(classes, Mapping):
            continue
        for name, entry in classes.items():
            times = entry.get("times") if isinstance(entry, Mapping) else None
            new = [t for t in times or () if (number_or_none(t) or 0.0) > since]
            if new:
                last = next(iter(reversed(entry.get("last") or [""])), "")
                lines = "1 line" if len(new) == 1 else f"{len(new)} lines"
                yield Condition(
                    "kernel log",
                    f"{name}{_what(last)}: {lines} meanwhile, the last one: {last}",
                    _log_families().get(str(name), ()),
                )


def _what(line: object) -> str:
    """What a line of the log says, in brackets: ``" (mmc0: CRC error)"``."""
    finding = classify(parse_line(str(line)).text)
    if finding is None:
        return ""
    return (
        f" ({finding.device}: {finding.rule.title})"
        if finding.device
        else f" ({finding.rule.title})"
    )


@cache
def _log_families() -> Mapping[str, tuple[Family, ...]]:
    """Which families a class of the kernel log touches; all where it is not here, or names none."""
    return {
        log_class.name: tuple(Family(family) for family in log_class.families)
        for log_class in log_classes()
    }


def _false_clock(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    """The board's clock against the host's: an emulator's may run at another speed."""
    times = (before.board_time_ns, after.board_time_ns, before.host_time_ns, after.host_time_ns)
    if None in times or before.boot_id != after.boot_id:
        return
    board = ((after.board_time_ns or 0) - (before.board_time_ns or 0)) / 1e9
    host = ((after.host_time_ns or 0) - (before.host_time_ns or 0)) / 1e9
    if host > 1.0 and abs(board - host) > _READING + _CLOCK_ERROR * host:
        yield Condition(
            "false clock",
            f"the board's clock went {board:.2f} s while the host's went {host:.2f} s: "
            "its times and rates are wrong by as much",
        )


def _rebooted(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    if before.boot_id and after.boot_id and before.boot_id != after.boot_id:
        yield Condition("rebooted", "the board was booted anew while it was measured")


def _changed(before: Snapshot, after: Snapshot) -> Iterator[Condition]:
    """Settings that are not what they were."""
    first = {entry.name: entry for entry in before.settings}
    names = [
        entry.name
        for entry in after.settings
        if entry.missing is None
        and (old := first.get(entry.name)) is not None
        and old.missing is None
        and old.value != entry.value
        and not _counts_up(entry.item, old.value, entry.value)
    ]
    if names:
        yield Condition("settings changed", f"changed meanwhile: {enumerated(names)}")


def _counts_up(item: str, old: object, new: object) -> bool:
    """Whether it is no setting at all: some modules count where their parameters are."""
    first, last = number_or_none(old), number_or_none(new)
    return item == "kernel.modules" and first is not None and last is not None and first < last


_RULES: tuple[Callable[[Snapshot, Snapshot], Iterator[Condition]], ...] = (
    _rebooted,
    _false_clock,
    _throttled,
    _slow_clock,
    _fewer_cpus,
    _quota,
    _background,
    _stolen,
    _swapped,
    _killed,
    _log,
    _changed,
)
