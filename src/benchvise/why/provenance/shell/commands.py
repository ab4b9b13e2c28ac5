"""What the words of programs set that scripts call for that: one function a program.

After the manual pages of procps, iproute2, util-linux, ethtool, hdparm, cpufrequtils and cpupower,
kmod, iw. Where the kernel shows a file for it the target is that file, with the value as the file
has it; else see ``benchvise.why.provenance.assignment``. At the end stand the programs that set
nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchvise.why.provenance.assignment import Line
from benchvise.why.provenance.direct import path_of, setting_of
from benchvise.why.provenance.files import Tree
from benchvise.why.provenance.shell.state import UNKNOWN


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """The words behind a program's name, and the system that it is called in."""

    arguments: Sequence[str]
    tree: Tree

    def option(self, *names: str) -> str | None:
        """What follows an option: ``-g performance``, ``-gperformance``, ``--governor=…``."""
        for index, word in enumerate(self.arguments):
            for name in names:
                if word == name and index + 1 < len(self.arguments):
                    return self.arguments[index + 1]
                if name.startswith("--") and word.startswith(f"{name}="):
                    return word[len(name) + 1 :]
                if not name.startswith("--") and word.startswith(name) and len(word) > len(name):
                    return word[len(name) :]
        return None

    def after(self, word: str) -> str | None:
        """The word that follows one."""
        arguments = list(self.arguments)
        index = arguments.index(word) + 1 if word in arguments else len(arguments)
        return arguments[index] if index < len(arguments) else None


@dataclass(frozen=True, slots=True)
class ProgramSetting:
    """What is set; ``line`` where that stands in another file than the call."""

    target: str
    value: str | None
    line: Line | None = None


Sets = Iterator[ProgramSetting]


def sysctl(arguments: Sequence[str], tree: Tree) -> Iterator[tuple[str, str, Line | None]]:
    """``sysctl [-w] name=value …``, ``sysctl -p FILE``."""
    loads = False
    for word in arguments:
        if word.startswith("--load="):
            loads, word = True, word[7:]
        elif word in ("-p", "--load", "-f"):
            loads = True
            continue
        if word.startswith("-") and "=" not in word:
            continue
        if loads and word.startswith("/"):
            if tree.need(word):
                for line in tree.lines(word):
                    setting = setting_of(line)
                    if setting is not None:
                        yield *setting, line
        elif "=" in word:
            name, _, value = word.partition("=")
            yield path_of(name), value, None


def _ip(call: ProgramCall) -> Sets:
    arguments = list(call.arguments)
    if ("link" not in arguments and "l" not in arguments) or "set" not in arguments:
        return
    rest = arguments[arguments.index("set") + 1 :]
    device = call.after("dev") or (rest[0] if rest else "")
    for word, file in (("txqueuelen", "tx_queue_len"), ("qlen", "tx_queue_len"), ("mtu", "mtu")):
        value = call.after(word)
        if value is not None and device:
            yield ProgramSetting(f"/sys/class/net/{device}/{file}", value)


def _ifconfig(call: ProgramCall) -> Sets:
    if not call.arguments:
        return
    for word, file in (("txqueuelen", "tx_queue_len"), ("mtu", "mtu")):
        value = call.after(word)
        if value is not None:
            yield ProgramSetting(f"/sys/class/net/{call.arguments[0]}/{file}", value)


def _tc(call: ProgramCall) -> Sets:
    arguments = [word for word in call.arguments if not word.startswith("-")]
    if len(arguments) < 4 or arguments[0] not in ("qdisc", "class", "filter"):
        return
    if arguments[1] not in ("add", "replace", "change", "link"):
        return
    device = call.after("dev")
    if device is None:
        return
    at = arguments.index(device) + 1
    rest = arguments[at:]
    for word in ("parent", "handle"):
        if word in rest:
            del rest[rest.index(word) : rest.index(word) + 2]
    yield ProgramSetting(
        f"{arguments[0]}:{device}", " ".join(word for word in rest if word != "root")
    )


_ETHTOOL = {
    "-K": "features", "--features": "features", "--offload": "features", "-G": "rings",
    "--set-ring": "rings", "-C": "coalesce", "--coalesce": "coalesce", "-A": "pause",
    "--pause": "pause", "-L": "channels", "--set-channels": "channels", "-s": "link",
    "--change": "link", "--set-eee": "eee", "--set-priv-flags": "flags",
}  # fmt: skip


def _ethtool(call: ProgramCall) -> Sets:
    if len(call.arguments) < 2 or call.arguments[0] not in _ETHTOOL:
        return
    group, device = _ETHTOOL[call.arguments[0]], call.arguments[1]
    rest = call.arguments[2:]
    for name, value in zip(rest[::2], rest[1::2], strict=False):
        yield ProgramSetting(f"ethtool:{device}/{group}/{name}", value)


def _disk(device: str) -> str:
    """The directory of a disk in /sys, by its device file."""
    name = posixpath.basename(device)
    return f"/sys/block/{UNKNOWN if UNKNOWN in name else name}"


def _halved(sectors: str) -> str | None:
    return str(int(sectors) // 2) if sectors.isdecimal() and len(sectors) < 12 else None


def _blockdev(call: ProgramCall) -> Sets:
    value = call.option("--setra", "--setfra")
    if value is not None:
        for device in call.arguments:
            if device.startswith("/dev/") or UNKNOWN in device:
                yield ProgramSetting(f"{_disk(device)}/queue/read_ahead_kb", _halved(value))


def _hdparm(call: ProgramCall) -> Sets:
    for device in call.arguments:
        if not device.startswith("/dev/"):
            continue
        ahead = call.option("-a")
        if ahead is not None:
            yield ProgramSetting(f"{_disk(device)}/queue/read_ahead_kb", _halved(ahead))
        cache = call.option("-W")
        if cache in ("0", "1"):
            word = "write back" if cache == "1" else "write through"
            yield ProgramSetting(f"{_disk(device)}/queue/write_cache", word)
        for letter in "ABSMQ":
            value = call.option(f"-{letter}")
            if value is not None and value.isdecimal():
                yield ProgramSetting(f"hdparm:{posixpath.basename(device)}/{letter}", value)


_POLICY = "/sys/devices/system/cpu/cpufreq/policy"
_UNITS = {"khz": 1, "mhz": 1000, "ghz": 1_000_000, "hz": 0.001}


def kilohertz(text: str) -> str | None:
    """A frequency as cpufreq's files have it: ``1.2GHz`` is ``1200000``."""
    value = text.strip().lower()
    unit = next((unit for unit in ("khz", "mhz", "ghz", "hz") if value.endswith(unit)), "")
    number = value.removesuffix(unit).strip()
    try:
        return str(round(float(number) * _UNITS.get(unit, 1))) if len(number) < 20 else None
    except (ValueError, OverflowError):
        return None


def _frequency_set(call: ProgramCall) -> Sets:
    cpus = call.option("-c", "--cpu")
    policy = f"{_POLICY}{cpus}" if cpus is not None and cpus.isdecimal() else f"{_POLICY}*"
    governor = call.option("-g", "--governor")
    if governor is not None:
        yield ProgramSetting(f"{policy}/scaling_governor", governor)
    both = call.option("-f", "--freq")
    for options, file in (
        (("-d", "--min"), "scaling_min_freq"),
        (("-u", "--max"), "scaling_max_freq"),
    ):
        value = call.option(*options) or both
        if value is not None:
            yield ProgramSetting(f"{policy}/{file}", kilohertz(value))


def _cpupower(call: ProgramCall) -> Sets:
    arguments = list(call.arguments)
    cpus: list[str] = []
    if arguments[:1] in (["-c"], ["--cpu"]):
        cpus, arguments = [arguments[0], *arguments[1:2]], arguments[2:]
    if arguments[:1] == ["frequency-set"]:
        yield from _frequency_set(ProgramCall([*cpus, *arguments[1:]], call.tree))
    elif arguments[:1] == ["idle-set"]:
        inner = ProgramCall(arguments[1:], call.tree)
        for option, value in (("-d", "1"), ("--disable", "1"), ("-e", "0"), ("--enable", "0")):
            state = inner.option(option)
            if state is not None and state.isdecimal():
                yield ProgramSetting(
                    f"/sys/devices/system/cpu/cpu*/cpuidle/state{state}/disable", value
                )
        if inner.option("-D", "--disable-by-latency") is not None:
            yield ProgramSetting("/sys/devices/system/cpu/cpu*/cpuidle/state*/disable", "1")


def _modprobe(call: ProgramCall) -> Sets:
    """``modprobe NAME option=value …``, ``modprobe -a NAME …``."""
    arguments = [word for word in call.arguments if not word.startswith("-")]
    options = {"-r", "--remove"} & set(call.arguments)
    if not arguments or options:
        return
    modules = [posixpath.basename(word).split(".ko")[0].replace("-", "_") for word in arguments]
    for module in modules if "-a" in call.arguments or "--all" in call.arguments else modules[:1]:
        yield ProgramSetting(f"module:{module}", "loaded")
    for word in arguments[1:]:
        name, equals, value = word.partition("=")
        if equals:
            yield ProgramSetting(f"/sys/module/{modules[0]}/parameters/{name}", value)


def _mount(call: ProgramCall) -> Sets:
    options = call.option("-o", "--options")
    if options is not None and call.arguments:
        yield ProgramSetting(f"mount:{call.arguments[-1]}", options.removeprefix("remount,"))


def _swapon(call: ProgramCall) -> Sets:
    for word in call.arguments:
        if word.startswith("/"):
            yield ProgramSetting(f"swap:{word}", "on")


def _swapoff(call: ProgramCall) -> Sets:
    for word in call.arguments:
        if word.startswith("/") or word == "-a":
            yield ProgramSetting("swap:*" if word == "-a" else f"swap:{word}", "off")


def _dmesg(call: ProgramCall) -> Sets:
    level = call.option("-n", "--console-level")
    if level is not None:
        yield ProgramSetting("/proc/sys/kernel/printk", level)


def _klogd(call: ProgramCall) -> Sets:
    level = call.option("-c")
    if level is not None:
        yield ProgramSetting("/proc/sys/kernel/printk", level)


def _iw(call: ProgramCall) -> Sets:
    arguments = list(call.arguments)
    if "power_save" in arguments and "set" in arguments:
        device = call.after("dev") or arguments[0]
        yield ProgramSetting(f"iw:{device}/power_save", call.after("power_save"))
    if arguments[:2] == ["reg", "set"] and len(arguments) > 2:
        yield ProgramSetting("iw:regulatory domain", arguments[2])


def _iwconfig(call: ProgramCall) -> Sets:
    power = call.after("power")
    if power is not None:
        yield ProgramSetting(f"iw:{call.arguments[0]}/power_save", power)


def _powertop(call: ProgramCall) -> Sets:
    if "--auto-tune" in call.arguments:
        yield ProgramSetting("/sys/bus/*/devices/*/power/control", "auto")
        yield ProgramSetting(
            "/sys/class/scsi_host/host*/link_power_management_policy", "med_power_with_dipm"
        )
        yield ProgramSetting("/proc/sys/kernel/nmi_watchdog", "0")
        yield ProgramSetting("/proc/sys/vm/dirty_writeback_centisecs", "1500")


LIMITS_BY_LETTER = {
    "c": "core", "d": "data", "e": "nice", "f": "fsize", "i": "sigpending", "l": "memlock",
    "m": "rss", "n": "nofile", "q": "msgqueue", "r": "rtprio", "s": "stack", "t": "cpu",
    "u": "nproc", "v": "as",
}  # fmt: skip
"""The limits that options of ulimit set (bash(1), ash of busybox)."""


def _ulimit(call: ProgramCall) -> Sets:
    arguments = [word for word in call.arguments if word not in ("-S", "-H", "-SH", "-HS")]
    if len(arguments) == 2 and (kind := LIMITS_BY_LETTER.get(arguments[0].lstrip("-SH"))):
        yield ProgramSetting(f"limit:{kind}", arguments[1])


def _chrt(call: ProgramCall) -> Sets:
    policies = {"-f": "FIFO", "--fifo": "FIFO", "-r": "RR", "--rr": "RR", "-b": "BATCH",
                "--batch": "BATCH", "-i": "IDLE", "--idle": "IDLE", "-o": "OTHER",
                "-d": "DEADLINE"}  # fmt: skip
    policy = next((policies[word] for word in call.arguments if word in policies), "")
    priority = next((word for word in call.arguments if word.isdecimal()), "")
    if policy and priority:
        yield ProgramSetting("process:policy", f"{policy} {priority}")


def _taskset(call: ProgramCall) -> Sets:
    arguments = [word for word in call.arguments if not word.startswith("-")]
    if arguments:
        yield ProgramSetting("process:affinity", arguments[0])


def _tuned(call: ProgramCall) -> Sets:
    profile = call.after("profile")
    if profile is not None:
        yield ProgramSetting("tuned:profile", profile)


def _systemctl(call: ProgramCall) -> Sets:
    if "set-property" in call.arguments:
        arguments = [word for word in call.arguments if not word.startswith("-")]
        for word in arguments[2:]:
            name, _, value = word.partition("=")
            yield ProgramSetting(f"unit:{arguments[1]}/{name}", value)


def _cgset(call: ProgramCall) -> Sets:
    assignment = call.option("-r")
    if assignment is not None and call.arguments:
        name, _, value = assignment.partition("=")
        yield ProgramSetting(f"/sys/fs/cgroup/{call.arguments[-1].strip('/')}/{name}", value)


def _stty(call: ProgramCall) -> Sets:
    device = call.option("-F", "--file")
    if device is not None:
        rest = [word for word in call.arguments if word not in ("-F", device)]
        yield ProgramSetting(f"stty:{posixpath.basename(device)}", " ".join(rest))


COMMANDS: Mapping[str, Callable[[ProgramCall], Sets]] = {
    "ip": _ip, "ifconfig": _ifconfig, "tc": _tc, "ethtool": _ethtool, "blockdev": _blockdev,
    "hdparm": _hdparm, "cpufreq-set": _frequency_set, "cpupower": _cpupower,
    "modprobe": _modprobe, "insmod": _modprobe, "mount": _mount, "swapon": _swapon,
    "swapoff": _swapoff, "dmesg": _dmesg, "klogd": _klogd, "iw": _iw, "iwconfig": _iwconfig,
    "powertop": _powertop, "ulimit": _ulimit, "chrt": _chrt, "taskset": _taskset,
    "tuned-adm": _tuned, "systemctl": _systemctl, "cgset": _cgset, "stty": _stty,
}  # fmt: skip

_BEFORE_COMMAND = {"chrt": 1, "taskset": 1}


def run_by(program: str, arguments: Sequence[str]) -> list[str]:
    """The command that ``chrt`` and ``taskset`` run, behind their own words."""
    if program not in _BEFORE_COMMAND or "-p" in arguments or "--pid" in arguments:
        return []
    rest = list(arguments[1:])
    while rest and rest[0].startswith("-"):
        rest.pop(0)
    return rest[_BEFORE_COMMAND[program] :]


# -- the others ------------------------------------------------------------------------------------

UNKNOWN_OUTPUT = frozenset(
    {
        *("grep", "egrep", "fgrep", "zgrep", "awk", "sed", "cut", "tr", "head", "tail", "sort"),
        *("nproc", "uname", "hostname", "date", "id", "readlink", "basename", "dirname", "lsblk"),
        *("findmnt", "pgrep", "pidof", "mountpoint", "systemd-detect-virt", "wc", "read", "expr"),
        *("xargs", "getent", "dmesg", "lspci", "lsusb", "lscpu", "stat", "false", "ps"),
    }
)
"""Programs that a script asks something: how they end, and what they print, is not known."""

WITHOUT_EFFECT = frozenset(
    {
        *("true", ":", "sleep", "wait", "mkdir", "rmdir", "rm", "cp", "mv", "ln", "touch", "chmod"),
        *("chown", "logger", "trap", "umask", "alias", "unset", "which", "type", "hash", "kill"),
        *("killall", "sync", "udevadm", "ebegin", "eend", "einfo", "ewarn", "eerror", "depend"),
        *("log_daemon_msg", "log_end_msg", "log_action_msg", "log_success_msg", "need", "after"),
        *("log_failure_msg", "log_warning_msg", "clear", "hwclock", "getty", "agetty", "login"),
        *("mknod", "mkfifo", "umount", "losetup", "shutdown", "reboot", "poweroff", "halt"),
        *("loadkeys", "setfont", "iptables", "nft", "dd", "gzip", "tar", "mktemp", "install"),
        *("before", "use", "provide", "keyword", "update-rc.d", "rc-update", "rc-service"),
        *("start-stop-daemon", "hostnamectl", "timedatectl", "localectl", "plymouth", "fsck"),
    }
)
"""Programs and functions that set none of what is looked for here: they are not read."""

UNKNOWN_STATUS = frozenset({"cmp", "diff", "systemctl", "ping", "blkid", "checkpath"})
"""Programs of which only how they end is asked, which is not known."""
