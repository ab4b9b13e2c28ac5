"""udev rules: ``ATTR{…}=``, ``SYSCTL{…}=`` and ``RUN+=`` set things when a device appears.

After udev(7) of systemd 252: the rules of all directories are run in the order of their files'
names, of equal names that of the first directory; ``GOTO`` skips to a ``LABEL`` of the same file. A
rule is taken as one for the devices that its keys name: ``KERNEL`` (with that of the rules which
jump past it) becomes the device in the target; what else it asks of a device can only be known on
the board, where files of ``/sys`` answer it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from benchvise.why.provenance.assignment import Assignment, Line, Stage
from benchvise.why.provenance.direct import path_of
from benchvise.why.provenance.files import SettingFiles, Tree, split_words
from benchvise.why.provenance.globs import ANYTHING
from benchvise.why.provenance.shell import Run

_DIRECTORIES = (
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
)
_RULE_FILES = tuple(f"{directory}/*.rules" for directory in _DIRECTORIES)

_MOST_RULES = 20_000

_KEY = re.compile(
    r'\s*([A-Z_]{1,30})(?:\{([^{}"]{1,200})\})?\s*(==|!=|\+=|-=|:=|=)\s*(e?i?)"((?:[^"\\]|\\.)*)"\s*,?'
)
_SUBSYSTEM_HOMES = {
    "block": "/sys/block/",
    "net": "/sys/class/net/",
    "cpu": "/sys/devices/system/cpu/",
    "usb": "/sys/bus/usb/devices/",
    "pci": "/sys/bus/pci/devices/",
    "mmc": "/sys/bus/mmc/devices/",
    "sdio": "/sys/bus/sdio/devices/",
    "usb-serial": "/sys/bus/usb-serial/devices/",
    "platform": "/sys/bus/platform/devices/",
    "i2c": "/sys/bus/i2c/devices/",
    "spi": "/sys/bus/spi/devices/",
    "module": "/sys/module/",
}
_ACTIONS = re.compile(r"(?:^|\|)(?:add|change|bind|\*|move|online)(?:$|\|)")
# What a device of the system has by itself, so that asking for it says little.
_NOT_ASKED = frozenset({"ACTION", "SUBSYSTEM", "KERNEL", "DEVTYPE", "TEST", "SUBSYSTEMS"})
_SUBSTITUTIONS = (
    (re.compile(r"\$devpath|%p"), "devpath"),
    (re.compile(r"\$kernel|%k|\$name|%D"), "kernel"),
    (re.compile(r"\$number|%n"), "number"),
    (re.compile(r"\$sys|%S"), "sys"),
    (re.compile(r"\$devnode|\$tempnode|%N"), "node"),
    (re.compile(r"\$(?:attr|env|id|driver|major|minor|parent|links)(?:\{[^}]{0,200}\})?"
                r"|%[sEbMmP](?:\{[^}]{0,200}\})?|%c(?:\{[^}]{0,9}\})?"), "other"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """One ``NAME{attribute}operator"value"``."""

    name: str
    attribute: str
    operator: str
    value: str

    @property
    def asks(self) -> bool:
        """Whether it asks something of a device."""
        return self.operator in ("==", "!=")


@dataclass(frozen=True, slots=True)
class UdevRule:
    """A line, joined with those it goes on in; ``doubt`` is why the rules before may skip it."""

    line: Line
    keys: tuple[Key, ...]
    required: tuple[Key, ...] = ()
    doubt: str = ""


@dataclass(slots=True)
class _Skipped:
    """A jump: the rules up to the label are run only where the opposite of its keys holds."""

    label: str
    keys: tuple[Key, ...]


@dataclass(slots=True)
class _Device:
    """What a rule says of the device that it is for."""

    subsystems: tuple[str, ...] = ("",)
    kernels: tuple[str, ...] = ("*",)
    doubts: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)


def _find(tree: Tree) -> Iterator[Assignment]:
    """What every rule sets, in order."""
    count = 0
    for rank, path in enumerate(tree.in_order(_DIRECTORIES, "*.rules")):
        for rule in rules(tree.lines(path)):
            count += 1
            if count > _MOST_RULES:
                return
            yield from _assignments(tree, rule, (Stage.UDEV, rank, rule.line.number))


def rules(lines: Sequence[Line]) -> Iterator[UdevRule]:
    """The rules of a file that set something, with what the jumps before them require."""
    jumps: list[_Skipped] = []
    for line in _joined(lines):
        keys = tuple(_keys(line.text))
        labels = {key.value for key in keys if key.name == "LABEL"}
        jumps = [jump for jump in jumps if jump.label not in labels]
        is_setting = any(not key.asks and key.name in ("ATTR", "SYSCTL", "RUN") for key in keys)
        if is_setting and all(jump.keys for jump in jumps):  # else all jump past it
            required, doubt = _opposites(jumps)
            yield UdevRule(line, keys, required, doubt)
        goto = next((key.value for key in keys if key.name == "GOTO"), None)
        if goto is not None:
            jumps.append(_Skipped(goto, tuple(key for key in keys if key.asks)))


def _joined(lines: Sequence[Line]) -> Iterator[Line]:
    """Lines that end in a backslash go on in the next one."""
    waiting: Line | None = None
    for line in lines:
        text = line.text.strip()
        if waiting is None and (not text or text.startswith("#")):
            continue
        whole = (
            line
            if waiting is None
            else Line(waiting.file, waiting.number, waiting.text + " " + text)
        )
        if text.endswith("\\") and len(whole.text) < 8192:
            waiting = Line(whole.file, whole.number, whole.text.rstrip("\\ "))
            continue
        waiting = None
        yield whole


def _keys(text: str) -> Iterator[Key]:
    at = 0
    text = text.strip()
    while at < len(text):
        match = _KEY.match(text, at)
        if match is None:
            return
        value = match[5].replace('\\"', '"') if match[4] == "" else match[5]
        yield Key(match[1], match[2] or "", match[3], value)
        at = match.end()


def _opposites(jumps: Sequence[_Skipped]) -> tuple[tuple[Key, ...], str]:
    required: list[Key] = []
    doubt = ""
    for jump in jumps:
        if len(jump.keys) == 1 and jump.keys[0].operator == "!=":
            key = jump.keys[0]
            required.append(Key(key.name, key.attribute, "==", key.value))
        elif not (len(jump.keys) == 1 and jump.keys[0].name in ("ACTION", "KERNEL", "SUBSYSTEM")):
            doubt = f"the rules before may jump past it (GOTO {jump.label})"
    return tuple(required), doubt


def _assignments(tree: Tree, rule: UdevRule, when: tuple[int, ...]) -> Iterator[Assignment]:
    device = _device((*rule.required, *rule.keys))
    if device is None:
        return
    if rule.doubt:
        device.doubts.append(rule.doubt)
    for index, key in enumerate(rule.keys):
        if key.asks or key.operator == "-=":
            continue
        order = (*when, index)
        for subsystem in device.subsystems:
            for kernel in device.kernels:
                home = f"{_SUBSYSTEM_HOMES.get(subsystem, f'/sys/class/{subsystem}/')}{kernel}"
                if not subsystem:
                    home = f"/sys/{ANYTHING}"
                if key.name == "ATTR":
                    value = _substituted(key.value, home, kernel)
                    doubt = _unmet(tree, device, home)
                    yield Assignment("udev", rule.line, f"{home}/{key.attribute}", value, order,
                                     not doubt, doubt)  # fmt: skip
                elif key.name == "SYSCTL":
                    target = path_of(_substituted(key.attribute, home, kernel))
                    doubt = _unmet(tree, device, home)
                    yield Assignment("udev", rule.line, target,
                                     _substituted(key.value, home, kernel), order, not doubt,
                                     doubt)  # fmt: skip
                elif key.name == "RUN" and key.attribute in ("", "program"):
                    yield from _run(tree, rule.line, key.value, home, kernel, device, order)


def _run(
    tree: Tree, line: Line, command: str, home: str, kernel: str, device: _Device,
    when: tuple[int, ...],
) -> Iterator[Assignment]:  # fmt: skip
    run = Run(tree)
    run.command(line, split_words(_substituted(command, home, kernel)))
    yield from run.assignments("udev", when, _unmet(tree, device, home))


def _device(keys: Sequence[Key]) -> _Device | None:
    """What the keys ask of a device; None where they ask for its removal."""
    device = _Device()
    for key in keys:
        if not key.asks:
            continue
        wanted = tuple(key.value.split("|"))
        if key.name == "ACTION":
            if key.operator == "==" and _ACTIONS.search(key.value) is None:
                return None
        elif key.name == "SUBSYSTEM" and key.operator == "==":
            device.subsystems = wanted
        elif key.name == "KERNEL" and key.operator == "==":
            device.kernels = wanted
        elif key.name == "ATTR":
            device.attributes.append((key.attribute, key.operator, key.value))
        elif key.name not in _NOT_ASKED:
            name = f"{key.name}{{{key.attribute}}}" if key.attribute else key.name
            device.doubts.append(f"only where {name}{key.operator}{key.value}")
    return device


def _unmet(tree: Tree, device: _Device, home: str) -> str:
    """Why the rule may not hold for the devices of a place; empty where it does.

    What is asked of attributes is looked up where the system runs.
    """
    doubts = list(device.doubts)
    for attribute, operator, wanted in device.attributes:
        values = [tree.text(path).strip() for path in tree.paths(f"{home}/{attribute}")]
        if tree.source.is_live and not values:
            tree.need(f"{home}/{attribute}")
        holds = [_matches(value, wanted) == (operator == "==") for value in values]
        if not holds or not all(holds):
            doubts.append(f"only where ATTR{{{attribute}}}{operator}{wanted}")
    return "; ".join(dict.fromkeys(doubts))


def _matches(value: str, wanted: str) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in wanted.split("|"))


def _substituted(text: str, home: str, kernel: str) -> str:
    """A value with the device's name filled in; what else udev would fill in matches anything."""
    substitutes = {
        "devpath": home.removeprefix("/sys"),
        "kernel": kernel,
        "number": "*",
        "sys": "/sys",
        "node": f"/dev/{kernel}",
        "other": "*",
    }
    for pattern, name in _SUBSTITUTIONS:
        text = substitutes[name].join(pattern.split(text))
    return text.replace("%%", "%").replace("$$", "$")


RULES = SettingFiles("udev rules", _RULE_FILES, _find, _RULE_FILES)
