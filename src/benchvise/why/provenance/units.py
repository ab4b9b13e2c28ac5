"""systemd units: what the commands of started services set, and what their directives do.

After systemd.unit(5), systemd.service(5), systemd.exec(5) and systemd.resource-control(5) of
systemd 252. A unit is that of the first directory that has it, with its drop-ins of all
directories in the order of their names. Started are the units that the default target leads to
by ``.wants`` and ``.requires`` links, ``Wants=`` and the like, timers, sockets and paths.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchvise.state.places import SERVICES
from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.files import Init, SettingFiles, Tree, init_of, split_words
from benchvise.why.provenance.shell import Run
from benchvise.why.provenance.shell.state import Text

_DIRECTORIES = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
_KINDS = ("service", "slice", "scope", "timer", "socket", "path", "target", "mount", "swap")
_MANAGER = ("/etc/systemd/system.conf", "/etc/systemd/system.conf.d/*.conf")

_GLOBS = (
    *(f"{directory}/*.{kind}" for directory in _DIRECTORIES for kind in _KINDS),
    *(f"{directory}/*.d/*.conf" for directory in _DIRECTORIES),
    "/etc/systemd/system.control/*.d/*.conf",
    "/run/systemd/system.control/*.d/*.conf",
    *_MANAGER,
)
_LINKS = (
    *(f"{directory}/*.{kind}" for directory in _DIRECTORIES for kind in ("service", "target")),
    *(f"{directory}/*.wants/*" for directory in _DIRECTORIES),
    *(f"{directory}/*.requires/*" for directory in _DIRECTORIES),
)

_ROOTS = ("default.target", "sysinit.target", "basic.target", "multi-user.target",
          "local-fs.target", "timers.target", "sockets.target", "paths.target",
          "slices.target")  # fmt: skip
_PULLS = frozenset({"Wants", "Requires", "BindsTo", "Requisite", "Upholds", "Also"})
_COMMANDS = ("ExecStartPre", "ExecStart", "ExecStartPost")
_PREFIXES = "@-:+!|"
_DIRECTIVE = re.compile(r"\s*([A-Za-z][A-Za-z0-9]{0,60})\s*=\s*(.*)", re.DOTALL)
_MOST_UNITS = 4000

_LOGINS = ("ssh", "sshd", "dropbear", "getty@", "serial-getty@", "console-getty", "user@", "user-",
           "user.slice", "systemd-logind")  # fmt: skip
_PROCESS = {
    "TimerSlackNSec": "process:timer_slack",
    "CPUAffinity": "process:affinity",
    "CPUSchedulingPolicy": "process:policy",
    "CPUSchedulingPriority": "process:priority",
    "Nice": "process:nice",
    "IOSchedulingClass": "process:io_class",
    "IOSchedulingPriority": "process:io_priority",
    "NUMAPolicy": "process:numa_policy",
    "Personality": "process:personality",
    "OOMScoreAdjust": "process:oom_score_adj",
    "MemoryTHP": "process:thp",
}
_LIMITS = re.compile(r"(?:Default)?Limit([A-Z]+)")
_CGROUP = {
    "CPUQuota": "cpu.max", "CPUWeight": "cpu.weight", "CPUShares": "cpu.weight",
    "MemoryMax": "memory.max", "MemoryLimit": "memory.max", "MemoryHigh": "memory.high",
    "MemorySwapMax": "memory.swap.max", "IOWeight": "io.weight", "TasksMax": "pids.max",
    "AllowedCPUs": "cpuset.cpus", "AllowedMemoryNodes": "cpuset.mems", "IOReadBandwidthMax":
    "io.max", "IOWriteBandwidthMax": "io.max", "IOReadIOPSMax": "io.max", "IOWriteIOPSMax":
    "io.max", "CPUUtilClampMin": "cpu.uclamp.min",
}  # fmt: skip
_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(slots=True)
class SystemdUnit:
    """A unit with its drop-ins: directives in the order in which they count."""

    name: str
    directives: list[tuple[str, str, str, Line]] = field(default_factory=list)  # section first

    def values(self, name: str) -> list[tuple[str, Line]]:
        """The values of a list directive; an empty one drops those before it."""
        values: list[tuple[str, Line]] = []
        for _, key, value, line in self.directives:
            if key == name:
                values = [*values, (value, line)] if value else []
        return values

    def last(self, name: str) -> tuple[str, Line] | None:
        """The last value of a directive."""
        values = self.values(name)
        return values[-1] if values else None


def _find(tree: Tree) -> Iterator[Assignment]:
    """What all units set; those that are not started, as uncertain."""
    if init_of(tree) not in (Init.SYSTEMD, Init.UNKNOWN):
        return
    units = _units(tree)
    started = _started(tree, units)
    yield from _manager(tree)
    for rank, name in enumerate(_in_order(units, started)):
        doubt = "" if name in started else f"{name} is not started at boot"
        yield from _unit(tree, units[name], started.get(name, name), rank, doubt)


def _unit(
    tree: Tree, unit: SystemdUnit, instance: str, rank: int, doubt: str
) -> Iterator[Assignment]:
    early = any(value == "no" for value, _ in unit.values("DefaultDependencies"))
    stage = Stage.INIT if early else Stage.UNITS
    run = Run(tree, _environment(tree, unit))
    at = 0
    for name in _COMMANDS:
        for command, line in unit.values(name):
            run.command(line, _exec_words(command, instance))
            when = (stage, 500 + rank, at)
            yield from run.assignments("systemd unit", when, doubt)
            run.written.clear()
            at += 1
    first = unit.values("ExecStart") or unit.values("OnCalendar") or unit.values("OnBootSec")
    if first and unit.name.endswith((".service", ".timer")):
        line = first[0][1]
        yield Assignment("systemd unit", line, f"{SERVICES}{instance}", "running",
                         (stage, 500 + rank), not doubt, doubt)  # fmt: skip
    for _, name, value, line in unit.directives:
        for target, setting_value in _set_by(name, value, unit, instance):
            certain = not doubt and (target.startswith("/") or _gives_to_logins(unit.name))
            when = (stage, 400, line.number)
            note = doubt or f"for {unit.name}"
            yield Assignment("systemd unit", line, target, setting_value, when, certain, note)
    for value, line in unit.values("Environment"):
        for word in split_words(value):
            name, equals, setting_value = word.partition("=")
            if equals:
                yield Assignment("systemd unit", line, f"environment:{name}", setting_value,
                                 (stage, 400, line.number), False,
                                 doubt or f"for {unit.name}")  # fmt: skip


def _gives_to_logins(name: str) -> bool:
    """Whether what is run by hand or over the network inherits from this unit."""
    return name.startswith(_LOGINS) or name in ("service", "-.slice")


# -- reading units ---------------------------------------------------------------------------------


def _units(tree: Tree) -> dict[str, SystemdUnit]:
    units: dict[str, SystemdUnit] = {}
    for directory in _DIRECTORIES:
        for kind in _KINDS:
            for path in tree.paths(f"{directory}/*.{kind}"):
                name = posixpath.basename(path)
                link = tree.link(path)
                alias = link is not None and posixpath.basename(link) != name
                if len(units) > _MOST_UNITS or alias or name in units:
                    continue
                units[name] = SystemdUnit(name)
                if not tree.is_masked(path):
                    units[name].directives += _directives(tree.lines(path))
            for path, _ in tree.links(f"{directory}/*.{kind}"):
                name = posixpath.basename(path)
                if tree.is_masked(path) and name not in units:
                    units[name] = SystemdUnit(name)
    for name, lines in _drop_ins(tree):
        matching = [unit for unit in units.values() if _is_for(name, unit.name)]
        if not matching and name.endswith((".slice", ".scope", ".service")):
            units[name] = SystemdUnit(name)
            matching = [units[name]]
        for unit in matching:
            unit.directives += _directives(lines)
    return units


def _drop_ins(tree: Tree) -> Iterator[tuple[str, Sequence[Line]]]:
    """``NAME.d/*.conf``, by name of the unit; of equal file names the first directory's."""
    path_by_name: dict[tuple[str, str], str] = {}
    directories = ("/etc/systemd/system.control", "/run/systemd/system.control", *_DIRECTORIES)
    for directory in directories:
        for path in tree.paths(f"{directory}/*.d/*.conf"):
            unit = posixpath.basename(posixpath.dirname(path)).removesuffix(".d")
            path_by_name.setdefault((unit, posixpath.basename(path)), path)
    ordered = sorted(path_by_name.items(), key=lambda item: (len(item[0][0]), item[0]))
    for (unit, _), path in ordered:
        if not tree.is_masked(path):
            yield unit, tree.lines(path)


def _is_for(drop_in: str, unit: str) -> bool:
    """``service`` is for all services, ``a-.service`` for all that begin so."""
    if drop_in == unit or (unit.endswith(f".{drop_in}") and "." not in drop_in):
        return True
    name, _, kind = drop_in.rpartition(".")
    return (
        bool(name)
        and name.endswith(("-", "@"))
        and unit.startswith(name)
        and (unit.endswith(f".{kind}"))
    )


def _directives(lines: Sequence[Line]) -> Iterator[tuple[str, str, str, Line]]:
    section = ""
    waiting: Line | None = None
    for line in lines:
        text = line.text.strip()
        if waiting is not None:
            if text.startswith(("#", ";")):
                continue
            line = Line(waiting.file, waiting.number, f"{waiting.text} {text}")
            text = line.text
            waiting = None
        elif not text or text[0] in "#;":
            continue
        if text.endswith("\\") and len(text) < 16_384:
            waiting = Line(line.file, line.number, text[:-1].rstrip())
            continue
        if text.startswith("["):
            section = text.strip("[]")
            continue
        match = _DIRECTIVE.fullmatch(text)
        if match is not None:
            yield section, match[1], match[2].strip(), line


# -- which are started -----------------------------------------------------------------------------


def _started(tree: Tree, units: Mapping[str, SystemdUnit]) -> dict[str, str]:
    """The units that the default target leads to: name, and instance of a template."""
    pulled: dict[str, list[str]] = {}
    for directory in _DIRECTORIES:
        for kind in ("wants", "requires"):
            for path, _ in tree.links(f"{directory}/*.{kind}/*"):
                owner = posixpath.basename(posixpath.dirname(path)).removesuffix(f".{kind}")
                pulled.setdefault(owner, []).append(posixpath.basename(path))
            for path in tree.paths(f"{directory}/*.{kind}/*"):
                owner = posixpath.basename(posixpath.dirname(path)).removesuffix(f".{kind}")
                pulled.setdefault(owner, []).append(posixpath.basename(path))
    aliases: dict[str, str] = {}
    for directory in _DIRECTORIES:
        for kind in ("service", "target"):
            for path, target in tree.links(f"{directory}/*.{kind}"):
                aliases.setdefault(posixpath.basename(path), posixpath.basename(target))
    waiting = list(_ROOTS)
    started: dict[str, str] = {}
    while waiting and len(started) < _MOST_UNITS:
        instance = waiting.pop()
        name = aliases.get(instance, instance)
        template = f"{name.partition('@')[0]}@.{name.rpartition('.')[2]}" if "@" in name else name
        name = name if name in units else template
        if name in started:
            continue
        started[name] = instance
        waiting += pulled.get(instance, []) + (pulled.get(name, []) if name != instance else [])
        unit = units.get(name)
        if unit is None:
            continue
        for _, key, value, _ in unit.directives:
            if key in _PULLS and key != "Also":
                waiting += value.split()
        if name.endswith((".timer", ".socket", ".path")):
            named = unit.last("Unit") or unit.last("Service")
            waiting.append(named[0] if named else f"{name.rpartition('.')[0]}.service")
    for name in units:
        if name.endswith((".slice", ".scope")):  # come into being with what is in them
            started.setdefault(name, name)
    return started


def _in_order(units: Mapping[str, SystemdUnit], started: Mapping[str, str]) -> list[str]:
    """Units after those that they name in After=, as far as that goes; then by name."""
    before: dict[str, set[str]] = {name: set() for name in units}
    for name, unit in units.items():
        for _, key, value, _ in unit.directives:
            if key == "After":
                before[name] |= {other for other in value.split() if other in units}
            elif key == "Before":
                for other in value.split():
                    if other in before:
                        before[other].add(name)
    order: list[str] = []
    done: set[str] = set()
    for first in sorted(units, key=lambda name: (name in started, name)):
        stack = [(first, iter(sorted(before[first])))]
        path = {first}
        while stack:
            name, rest = stack[-1]
            following = next((n for n in rest if n not in done and n not in path), None)
            if following is not None:
                path.add(following)
                stack.append((following, iter(sorted(before[following]))))
                continue
            stack.pop()
            path.discard(name)
            if name not in done:
                done.add(name)
                order.append(name)
    return order


# -- what they set ---------------------------------------------------------------------------------


def _environment(tree: Tree, unit: SystemdUnit) -> dict[str, Text]:
    """What the unit's files and its own lines give to its commands."""
    variables: dict[str, Text] = {}
    for value, line in unit.values("Environment"):
        for word in split_words(value):
            name, equals, text = word.partition("=")
            if equals:
                variables[name] = Text(text, line)
    for value, _ in unit.values("EnvironmentFile"):
        path = value.removeprefix("-")
        if tree.need(path):
            for line in tree.lines(path):
                name, equals, text = line.text.strip().partition("=")
                if equals and name.isidentifier():
                    variables[name] = Text(" ".join(split_words(text)), line)
    return variables


def _exec_words(command: str, instance: str) -> list[str]:
    """The words of an Exec line: without its prefixes, with the specifiers of the instance."""
    at = instance.partition("@")[2].rpartition(".")[0]
    text = command.lstrip(_PREFIXES)
    for specifier, word in (
        ("%%", "\0"), ("%i", at), ("%I", at.replace("-", "/")), ("%n", instance),
        ("%N", instance.rpartition(".")[0]), ("%p", instance.partition("@")[0]),
    ):  # fmt: skip
        text = text.replace(specifier, word)
    arguments = split_words(text.replace("\0", "%").replace("$$", "$"))
    return [word for word in arguments if word != ";"]


def _set_by(name: str, value: str, unit: SystemdUnit, instance: str) -> Iterator[tuple[str, str]]:
    if not value:
        return
    if name in _PROCESS:
        yield _PROCESS[name], value
    limit = _LIMITS.fullmatch(name)
    if limit is not None:
        yield f"limit:{limit[1].lower()}", value
    if name in _CGROUP:
        group = cgroup_of(unit.name, unit, instance)
        yield f"/sys/fs/cgroup{group}/{_CGROUP[name]}", _cgroup_value(name, value, unit)


def cgroup_of(name: str, unit: SystemdUnit, instance: str) -> str:
    """The control group of a unit, below /sys/fs/cgroup; with ``*`` where it has an instance."""
    if name.endswith(".slice"):
        parts = name.removesuffix(".slice").split("-")
        if name == "-.slice":
            return ""
        if parts[-1] == "":  # user-.slice: a drop-in for all of them
            parts[-1] = "*"
        return "".join(f"/{'-'.join(parts[: index + 1])}.slice" for index in range(len(parts)))
    slice_name = unit.last("Slice")
    if slice_name is not None:
        name_of_slice = re.sub(r"%[iIjJn]", "*", slice_name[0])
        above = cgroup_of(name_of_slice, SystemdUnit(name_of_slice), name_of_slice)
    elif "@" in name:
        base = name.partition("@")[0]
        if base == "user":
            return "/user.slice/user-*.slice/user@*.service"
        above = f"/system.slice/system-{base.replace('-', chr(92) + 'x2d')}.slice"
    elif name.endswith(".scope"):
        above = "/user.slice/user-*.slice"
    else:
        above = "/system.slice"
    own = name.replace("@.", "@*.").replace("-.", "-*.") if instance == name else instance
    return f"{above}/{own}"


def _cgroup_value(name: str, value: str, unit: SystemdUnit) -> str:
    """As the kernel's file shows it."""
    if name == "CPUQuota" and value.endswith("%"):
        period = 100_000
        period_setting = unit.last("CPUQuotaPeriodSec")
        if (
            period_setting is not None
            and period_setting[0].removesuffix("ms").isdecimal()
            and len(period_setting[0]) < 9
        ):
            period = int(period_setting[0].removesuffix("ms")) * 1000
        try:
            return f"{round(float(value[:-1][:12]) / 100 * period)} {period}"
        except (ValueError, OverflowError):
            return value
    if name == "CPUUtilClampMin":
        return value
    if name.startswith("Memory") and value[-1:] in _BYTES and value[:-1].isdecimal():
        return str(int(value[:-1][:12]) * _BYTES[value[-1]])
    return "max" if value == "infinity" else value


def _manager(tree: Tree) -> Iterator[Assignment]:
    """system.conf: what all services begin with."""
    for glob in _MANAGER:
        for path in tree.paths(glob):
            for _, name, value, line in _directives(tree.lines(path)):
                for target, setting_value in _set_by(
                    name.removeprefix("Default"), value, SystemdUnit(""), ""
                ):
                    if not target.startswith("/sys/fs"):
                        yield Assignment("systemd manager", line, target, setting_value,
                                         (Stage.INIT, 0, line.number))  # fmt: skip


UNITS = SettingFiles("systemd units", _GLOBS, _find, _LINKS)
