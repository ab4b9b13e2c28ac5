"""Configurations of programs that set things for somebody: cpufrequtils, cpupower, TLP, tuned,
irqbalance, zram, hdparm. One table each of what their words mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from benchvise.state.places import FILTERS
from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.direct import path_of
from benchvise.why.provenance.files import SettingFiles, Tree, split_words
from benchvise.why.provenance.shell import Run
from benchvise.why.provenance.shell.commands import kilohertz

_VARIABLES = (
    "/etc/default/cpufrequtils", "/etc/default/cpu_governor", "/etc/default/cpupower",
    "/etc/default/loadcpufreq", "/etc/default/raspi-config", "/etc/conf.d/cpupower",
    "/etc/sysconfig/cpupower", "/etc/default/irqbalance", "/etc/irqbalance.conf",
    "/etc/default/zramswap", "/etc/default/armbian-zram-config", "/etc/default/armbian-ramlog",
    "/etc/systemd/zram-generator.conf", "/etc/dphys-swapfile", "/etc/ksmtuned.conf",
    "/etc/default/cpufreq", "/etc/cpufreq-bench.conf", "/etc/ld.so.preload",
)  # fmt: skip
_TLP = ("/etc/tlp.d/*.conf", "/etc/tlp.conf", "/etc/default/tlp")
_TUNED_ACTIVE = "/etc/tuned/active_profile"
_TUNED_FILES = (
    _TUNED_ACTIVE, "/etc/tuned/*/tuned.conf", "/usr/lib/tuned/*/tuned.conf",
    "/etc/tuned/profiles/*/tuned.conf", "/usr/lib/tuned/profiles/*/tuned.conf",
)  # fmt: skip
_HDPARM = "/etc/hdparm.conf"
_NFTABLES = ("/etc/nftables.conf", "/etc/nftables.d/*", "/etc/nftables/*",
             "/etc/sysconfig/nftables.conf")  # fmt: skip
_TABLE = re.compile(r"\s*(?:add\s+)?table\s+(?:(ip6?|inet|arp|bridge|netdev)\s+)?([\w.-]+)")

_CPUFREQ = "/sys/devices/system/cpu/cpufreq/policy*/"
_VARIABLE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w{0,60})\s*=\s*(.*)")

_MEANINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "cpu": {
        "GOVERNOR": (f"{_CPUFREQ}scaling_governor",),
        "CPU_DEFAULT_GOVERNOR": (f"{_CPUFREQ}scaling_governor",),
        "governor": (f"{_CPUFREQ}scaling_governor",),
        "MIN_SPEED": (f"{_CPUFREQ}scaling_min_freq",),
        "MAX_SPEED": (f"{_CPUFREQ}scaling_max_freq",),
        "min_freq": (f"{_CPUFREQ}scaling_min_freq",),
        "max_freq": (f"{_CPUFREQ}scaling_max_freq",),
    },
    "tlp": {
        "CPU_SCALING_GOVERNOR_ON_AC": (f"{_CPUFREQ}scaling_governor",),
        "CPU_SCALING_GOVERNOR_ON_BAT": (f"{_CPUFREQ}scaling_governor",),
        "CPU_SCALING_MIN_FREQ_ON_AC": (f"{_CPUFREQ}scaling_min_freq",),
        "CPU_SCALING_MAX_FREQ_ON_AC": (f"{_CPUFREQ}scaling_max_freq",),
        "CPU_ENERGY_PERF_POLICY_ON_AC": (f"{_CPUFREQ}energy_performance_preference",),
        "CPU_BOOST_ON_AC": ("/sys/devices/system/cpu/cpufreq/boost",),
        "SATA_LINKPWR_ON_AC": ("/sys/class/scsi_host/host*/link_power_management_policy",),
        "PCIE_ASPM_ON_AC": ("/sys/module/pcie_aspm/parameters/policy",),
        "RUNTIME_PM_ON_AC": ("/sys/bus/pci/devices/*/power/control",),
        "NMI_WATCHDOG": ("/proc/sys/kernel/nmi_watchdog",),
        "DISK_IOSCHED": ("/sys/block/*/queue/scheduler",),
        "MAX_LOST_WORK_SECS_ON_AC": ("/proc/sys/vm/dirty_writeback_centisecs",),
        "USB_AUTOSUSPEND": ("/sys/bus/usb/devices/*/power/control",),
    },
}
_TUNED: Mapping[tuple[str, str], str] = {
    ("cpu", "governor"): f"{_CPUFREQ}scaling_governor",
    ("cpu", "energy_performance_preference"): f"{_CPUFREQ}energy_performance_preference",
    ("cpu", "no_turbo"): "/sys/devices/system/cpu/intel_pstate/no_turbo",
    ("cpu", "boost"): "/sys/devices/system/cpu/cpufreq/boost",
    ("vm", "transparent_hugepages"): "/sys/kernel/mm/transparent_hugepage/enabled",
    ("vm", "transparent_hugepage"): "/sys/kernel/mm/transparent_hugepage/enabled",
    ("vm", "transparent_hugepage.defrag"): "/sys/kernel/mm/transparent_hugepage/defrag",
    ("disk", "readahead"): "/sys/block/*/queue/read_ahead_kb",
    ("disk", "elevator"): "/sys/block/*/queue/scheduler",
    ("scheduler", "sched_min_granularity_ns"): "/sys/kernel/debug/sched/min_granularity_ns",
    ("scheduler", "sched_migration_cost_ns"): "/sys/kernel/debug/sched/migration_cost_ns",
    ("scsi_host", "alpm"): "/sys/class/scsi_host/host*/link_power_management_policy",
}


def _find(tree: Tree) -> Iterator[Assignment]:
    """What all these files ask for."""
    for path in _VARIABLES:
        yield from _variables(tree, path)
    for rank, path in enumerate([path for glob in _TLP for path in tree.paths(glob)]):
        yield from _table(tree, path, "tlp", "TLP", (Stage.LATE, 4, rank))
    yield from _tuned(tree)
    yield from _hdparm(tree)
    yield from _tables(tree)


def _table(
    tree: Tree, path: str, table: str, kind: str, when: tuple[int, ...]
) -> Iterator[Assignment]:
    for line in tree.lines(path):
        setting = _setting(line)
        if setting is None:
            continue
        name, value = setting
        for target in _MEANINGS[table].get(name, ()):
            setting_value = _VALUES[name](value) if name in _VALUES else value
            battery = name.endswith("_ON_BAT")
            yield Assignment(kind, line, target, setting_value, (*when, line.number), not battery,
                             "only on battery" if battery else "")  # fmt: skip


def _variables(tree: Tree, path: str) -> Iterator[Assignment]:
    name = path.rpartition("/")[2]
    kind = f"{name} configuration"
    when = (Stage.RUN_LEVEL, 20)
    if "cpu" in name or name == "raspi-config":
        yield from _table(tree, path, "cpu", kind, when)
    for line in tree.lines(path):
        text = line.text.strip()
        if path == "/etc/ld.so.preload":
            if text and not text.startswith("#"):
                yield Assignment("ld.so.preload", line, "environment:LD_PRELOAD", text, when)
            continue
        setting = _setting(line)
        if setting is not None:
            yield Assignment(kind, line, f"daemon:{name}/{setting[0]}", setting[1],
                             (*when, line.number))  # fmt: skip


def _setting(line: Line) -> tuple[str, str] | None:
    match = _VARIABLE.fullmatch(line.text)
    if match is None or line.text.lstrip().startswith("#"):
        return None
    return match[1], " ".join(split_words(match[2].split(" #")[0]))


def _seconds_to_centiseconds(text: str) -> str:
    return str(int(text) * 100) if text.isdecimal() and len(text) < 9 else text


_VALUES: Mapping[str, Callable[[str], str]] = {
    "MIN_SPEED": lambda text: kilohertz(text) or text,
    "MAX_SPEED": lambda text: kilohertz(text) or text,
    "min_freq": lambda text: kilohertz(text) or text,
    "max_freq": lambda text: kilohertz(text) or text,
    "MAX_LOST_WORK_SECS_ON_AC": _seconds_to_centiseconds,
    "USB_AUTOSUSPEND": lambda text: {"1": "auto", "0": "on"}.get(text, text),
}


# -- tuned -----------------------------------------------------------------------------------------

_MOST_INCLUDED = 8


def _tuned(tree: Tree) -> Iterator[Assignment]:
    """The active profiles, with those that they include first."""
    for name in tree.text(_TUNED_ACTIVE).split()[:_MOST_INCLUDED]:
        for rank, path in enumerate(_profiles(tree, name)):
            yield from _profile(tree, path, rank)


def _profiles(tree: Tree, name: str) -> list[str]:
    paths: list[str] = []
    waiting = [name]
    seen: set[str] = set()
    while waiting and len(seen) < _MOST_INCLUDED:
        wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        path = next(
            (
                f"{home}/{wanted}/tuned.conf"
                for home in (
                    "/etc/tuned/profiles",
                    "/etc/tuned",
                    "/usr/lib/tuned/profiles",
                    "/usr/lib/tuned",
                )
                if tree.has(f"{home}/{wanted}/tuned.conf")
            ),
            "",
        )
        if not path:
            continue
        paths.insert(0, path)
        for line in tree.lines(path):
            name_, equals, value = line.text.partition("=")
            if equals and name_.strip() == "include":
                waiting += value.replace(",", " ").split()
    return paths


def _profile(tree: Tree, path: str, rank: int) -> Iterator[Assignment]:
    section = ""
    for line in tree.lines(path):
        text = line.text.strip()
        if text.startswith("["):
            section = text.strip("[]")
            continue
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or text[:1] in "#;":
            continue
        when = (Stage.LATE, 5, rank, line.number)
        kind = "tuned profile"
        if section == "sysctl":
            yield Assignment(kind, line, path_of(name), value.lstrip(">"), when)
        elif section == "sysfs":
            yield Assignment(kind, line, name, value, when)
        elif section == "script" and name == "script":
            script = value.replace("${i:PROFILE_DIR}", path.rpartition("/")[0])
            run = Run(tree)
            run.command(line, [script, "start"])
            yield from run.assignments(kind, when)
        elif section == "bootloader" and name.startswith("cmdline"):
            for word in value.lstrip("+").split():
                yield Assignment(kind, line, f"word:{word.partition('=')[0]}",
                                 word.partition("=")[2], when)  # fmt: skip
        elif (section, name) in _TUNED:
            setting_value = value.split("|")[0].lstrip(">")
            yield Assignment(kind, line, _TUNED[section, name], setting_value, when)


# -- nftables --------------------------------------------------------------------------------------


def _tables(tree: Tree) -> Iterator[Assignment]:
    """The line that begins each table."""
    for rank, path in enumerate(path for glob in _NFTABLES for path in tree.paths(glob)):
        for line in tree.lines(path):
            match = _TABLE.match(line.text)
            if match is not None:
                target = f"{FILTERS}{match[1] or 'ip'}!{match[2]}"
                when = (Stage.RUN_LEVEL, 30, rank, line.number)
                yield Assignment("nftables", line, target, "active", when)


# -- hdparm ----------------------------------------------------------------------------------------


def _hdparm(tree: Tree) -> Iterator[Assignment]:
    """``read_ahead_sect`` and the like, for the device whose braces they stand in."""
    device = "*"
    for line in tree.lines(_HDPARM):
        text = line.text.split("#")[0].strip()
        if text.endswith("{"):
            device = text[:-1].strip().rpartition("/")[2] or "*"
        elif text == "}":
            device = "*"
        name, equals, value = (part.strip() for part in text.partition("="))
        when = (Stage.UDEV, 90, line.number)
        if equals and name == "read_ahead_sect" and value.isdecimal() and len(value) < 12:
            yield Assignment("hdparm.conf", line, f"/sys/block/{device}/queue/read_ahead_kb",
                             str(int(value) // 2), when)  # fmt: skip
        elif equals and name == "write_cache":
            yield Assignment("hdparm.conf", line, f"/sys/block/{device}/queue/write_cache",
                             {"on": "write back", "off": "write through"}.get(value, value),
                             when)  # fmt: skip


DAEMONS = SettingFiles(
    "cpufrequtils, TLP, tuned, nftables and the like",
    (*_VARIABLES, *_TLP, *_TUNED_FILES, *_NFTABLES, _HDPARM),
    _find,
)
