"""From a suspect to what lines would have to set it: the targets, and the values they have now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchvise.state.catalogue import items_by_id, knobs
from benchvise.state.model import Read
from benchvise.state.places import INTERFACES, MOUNTS, SWAPS
from benchvise.state.roles import ROLES
from benchvise.why.model import LayerMeans, SettingMeans, Side, Suspect
from benchvise.why.provenance.globs import overlap
from benchvise.why.suspects.command_suspects import (
    FILES,
    MOUNT_POINT,
    SEPARATOR,
    is_told,
    options_apart,
)
from benchvise.why.suspects.many_variables import OTHERS

NOT_THERE = "not there"
PRESENT = "given"

_ROLE = re.compile(r"\{(" + "|".join(ROLES) + r")\}")
_LIMIT = "limit."
# What is set for `default` reaches the interfaces that nobody has set (of IPv6 the neighbours').
_OF_INTERFACE = re.compile(
    r"(/proc/sys/net/(?:ipv4/(?:conf|neigh)|ipv6/neigh)/)(?!all/|default/)[^/]+(/\w+)$"
)
_KEY = re.compile(r"\{(name|path|(?:[a-z]+:)?\d(?::\d)*)\}")
_WILD = re.compile(r"\*|\?|\[[^\]]*\]")
_CPUFREQ = re.compile(r"^/sys/devices/system/cpu/cpu([^/]+)/cpufreq/")
_DEVICES = re.compile(r"^/sys/devices/.*/(block|net|devfreq)/([^/]+)/(.*)$")
_HOMES = {"block": "/sys/block/", "net": "/sys/class/net/", "devfreq": "/sys/class/devfreq/"}
_ALIASES = (
    ("/sys/class/block/", "/sys/block/"),
    ("/sys/kernel/debug/tracing/", "/sys/kernel/tracing/"),
    ("/sys/bus/workqueue/devices/", "/sys/devices/virtual/workqueue/"),
    ("/sys/dev/block/", "/sys/block/"),
    ("/sys/bus/cpu/devices/", "/sys/devices/system/cpu/"),
    ("/sys/devices/virtual/net/", "/sys/class/net/"),
    ("/sys/devices/virtual/block/", "/sys/block/"),
)

# Entries that no file of the kernel shows: the words that lines about them are kept under.
_OF_ITEMS: Mapping[str, tuple[str, ...]] = {
    "timer.resolution": ("process:timer_slack", "/proc/*/timerslack_ns", "word:highres"),
    "process.inherited": ("process:*", "limit:*"),
    "storage.mounts": ("mount:*", "word:rootflags", "word:ro", "word:rw"),
    "libc.preload": ("environment:LD_PRELOAD",),
    "libc.hwcaps": ("environment:GLIBC_TUNABLES", "environment:LD_*"),
    "firmware.raspberry_pi": ("firmware:*",),
    "boot.device_tree": ("overlay:*", "firmware:dtoverlay=*", "firmware:dtparam=*"),
    "system.cgroup": ("unit:*/*",),
    "irq.threads": ("word:threadirqs",),
    "net.wifi": ("iw:*",),
}
# What is given to a process is set by lines about processes alone.
_OF_PROCESSES: Mapping[str, tuple[str, ...]] = {
    "timer.resolution:slack": ("process:timer_slack", "/proc/*/timerslack_ns"),
    "process.inherited:nice": ("process:nice",),
    "process.inherited:sched": ("process:policy",),
    "process.inherited:ioprio": ("process:io_class",),
    "cpu.present:allowed": ("process:affinity", "word:isolcpus"),
}
_OF_KEYS: tuple[tuple[str, str, str], ...] = (
    ("net.tcp", r"(?P<nic>\S+) qdiscs", "qdisc:{nic}"),
    ("net.offloads", r"(?P<nic>\S+) features", "ethtool:{nic}/features/*"),
    ("net.offloads", r"(?P<nic>\S+) rings", "ethtool:{nic}/rings/*"),
    ("net.offloads", r"(?P<nic>\S+) coalescing", "ethtool:{nic}/coalesce/*"),
    ("net.offloads", r"(?P<nic>\S+) channels", "ethtool:{nic}/channels/*"),
    ("net.link", r"(?P<nic>\S+) (?:link|speed|duplex)", "ethtool:{nic}/link/*"),
    ("net.link", r"(?P<nic>\S+) pause", "ethtool:{nic}/pause/*"),
    ("net.link", r"(?P<nic>\S+) EEE", "ethtool:{nic}/eee/*"),
    ("memory.swap", "devices", "swap:*"),
    ("kernel.modules", "modules", "module:*"),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A target, and the values that it has on the side: none where they are not known.

    ``is_absent`` is set where the side is known not to have it: then nothing sets it there.
    """

    target: str
    values: frozenset[str] = frozenset()
    is_absent: bool = False


def targets_of(suspect: Suspect, side: Side, roles: Mapping[str, str]) -> tuple[Wanted, ...]:
    """What to look for, each target once."""
    values_by_target: dict[str, set[str]] = {}
    side_text = suspect.good if side is Side.GOOD else suspect.bad
    for path, setting in _of_settings(suspect, side):
        values_by_target.setdefault(canonical(_filled(path, roles)), set()).add(setting)
    by_settings = set(values_by_target)
    shown = [] if by_settings else _values_of(suspect, side_text)
    for target in (*_of_part(suspect), *_of_members(suspect, roles), *_of_knob(suspect, roles)):
        target = canonical(target)
        if target not in values_by_target and not _is_covered(target, by_settings):
            values_by_target[target] = set(shown)
    for target, values in list(values_by_target.items()):
        if _OF_INTERFACE.match(target):
            values_by_target.setdefault(_OF_INTERFACE.sub(r"\1default\2", target), values)
    absent = side_text == NOT_THERE and not by_settings
    return tuple(
        Wanted(target, frozenset() if absent else frozenset(values), absent)
        for target, values in values_by_target.items()
    )


def is_one_mount(suspect: Suspect) -> bool:
    """Whether a suspect is how one file system is mounted, and not that it is in memory."""
    return suspect.id.startswith(MOUNT_POINT) and suspect.means is None


def _values_of(suspect: Suspect, side_text: str) -> list[str]:
    """The values that a side shows, as lines of files have them; none where they are not known."""
    is_many = suspect.id.endswith(OTHERS)
    if suspect.item == "process.environment" and (is_many or not is_told(side_text)):
        return []
    if suspect.item == FILES:
        return [line for line in side_text.split(SEPARATOR) if line and not line.endswith("…")]
    if is_one_mount(suspect):
        return options_apart(suspect)[side_text == suspect.bad]
    if suspect.id.startswith(MOUNT_POINT):
        return side_text.split(" ")[1:2]  # source, kind, options
    value = _plain(side_text) if _is_one_value(suspect, side_text) else None
    return [] if value is None else [value]


def canonical(target: str) -> str:
    """The one of several paths of a file that the catalogue has."""
    match = _CPUFREQ.match(target)
    if match is not None:
        target = f"/sys/devices/system/cpu/cpufreq/policy{match[1]}/{target[match.end() :]}"
    device = _DEVICES.match(target)
    if device is not None and "/virtual/workqueue/" not in target:
        target = f"{_HOMES[device[1]]}{device[2]}/{device[3]}"
    for alias, path in _ALIASES:
        if target.startswith(alias):
            return path + target[len(alias) :]
    return target


def _of_settings(suspect: Suspect, side: Side) -> Iterator[tuple[str, str]]:
    if isinstance(suspect.means, SettingMeans):
        for setting in suspect.means.towards(side):
            if setting.knob.each:
                yield from (_of_tree(path, setting.value) for path in setting.paths)
                continue
            # A mount point has the same name on both sides, unlike a device.
            is_mount = setting.knob.path.startswith(MOUNTS)
            for path in (is_mount and setting.paths) or (setting.knob.path,):
                yield path, setting.value


def _of_tree(path: str, value: str) -> tuple[str, str]:
    """What lines that set it are kept under, and what they say: ``swap:/dev/sda2``, ``on``."""
    if path.startswith(SWAPS):
        area = path.removeprefix(SWAPS).replace("!", "/")
        return f"swap:{area}", "off" if value == "off" else "on"
    if path.startswith(INTERFACES):
        interface = path.removeprefix(INTERFACES).partition("/")[0]
        return f"qdisc:{interface}", value.partition(" ")[0]
    return path, value


def _of_knob(suspect: Suspect, roles: Mapping[str, str]) -> Iterator[str]:
    """A suspect may be called by its knob, with the one of several that it is about, and have no
    means."""
    name, colon, which = suspect.id.partition(":")
    record = knobs().get(name)
    if record is not None and record[1].each and colon:
        path = record[1].path
        if record[1].is_family:
            yield f"{record[1].family_directory}{which}"
        else:
            yield _of_tree(path.replace("*", which.replace("/", "!")), "")[0]
    elif record is not None and not colon:
        yield _filled(record[1].path, roles)


def places_of(suspect: Suspect) -> tuple[Wanted, ...]:
    """Words of the command line, options of the kernel and of the firmware that the catalogue's
    record names as places; none for a knob, whose own file decides."""
    of_process = suspect.id in _OF_PROCESSES or suspect.item == "process.inherited"
    if of_process or suspect.id in knobs() or isinstance(suspect.means, SettingMeans):
        return ()
    return tuple(Wanted(target) for target in dict.fromkeys(_of_places(suspect)))


def _of_places(suspect: Suspect) -> Iterator[str]:
    item = items_by_id().get(suspect.item)
    for place in item.places if item is not None else ():
        kind, colon, names = place.partition(": ")
        if kind == "kernel command line":
            yield from (f"word:{name.strip().partition('=')[0]}" for name in names.split(","))
        elif kind == "config.txt":
            yield from (f"firmware:{name.strip().partition('=')[0]}" for name in names.split(","))
        elif place.startswith("CONFIG_") and not colon:
            first, *others = (name.strip() for name in place.split(","))
            yield f"config:{first}"
            for name in others:  # "CONFIG_ARM64_4K_PAGES, _16K_PAGES"
                whole = name.startswith("CONFIG_")
                yield f"config:{name}" if whole else f"config:*{name}"


def _of_part(suspect: Suspect) -> Iterator[str]:
    """What an id names behind its item: a word of the command line, a variable, an option."""
    item, colon, part = suspect.id.partition(":")
    if isinstance(suspect.means, LayerMeans) and suspect.means.part:
        item, part = suspect.means.layer, suspect.means.part
    elif not colon:
        return
    word = part.split("=")[0]
    if suspect.id.startswith(MOUNT_POINT):
        yield f"mount:{part}" if is_one_mount(suspect) else f"mounted:{part}"
        return
    if item in ("kernel.command_line", "command-line"):
        yield f"word:{word}"
    elif item == FILES and part.startswith("/"):
        yield part
    elif item == "process.environment":
        yield f"environment:{word.removesuffix(OTHERS)}"
    elif item == "process.inherited" and _LIMIT in word:
        yield f"limit:{word.partition(_LIMIT)[2]}"
    elif item in ("kernel.config", "kernel"):
        yield f"config:{word if word.startswith('CONFIG_') else 'CONFIG_' + word}"
    elif item == "kernel.modules":
        yield f"module:{word.replace('-', '_')}"
        yield f"/sys/module/{word.replace('-', '_')}/parameters/*"


def _of_members(suspect: Suspect, roles: Mapping[str, str]) -> Iterator[str]:
    if suspect.id in _OF_PROCESSES:
        yield from _OF_PROCESSES[suspect.id]
        return
    for member in suspect.members:
        item_id, _, key = member.partition("/")
        item = items_by_id().get(item_id)
        if item is None:
            continue
        for wanted_item, pattern, target in _OF_KEYS:
            match = re.fullmatch(pattern, key) if item_id == wanted_item else None
            if match is not None:
                groups = {name: _device(value, roles) for name, value in match.groupdict().items()}
                yield target.format(**groups)
        for read in item.reads:
            if read.source == "file" and not read.volatile:
                path = _path_of(read, key, roles)
                if path and path.startswith(("/sys/", "/proc/sys/", "/proc/irq/", "/etc/")):
                    yield path
    if is_one_mount(suspect) and suspect.id != f"{MOUNT_POINT}/":
        return
    if suspect.item in _OF_ITEMS and f":{_LIMIT}" not in suspect.id:
        yield from _OF_ITEMS[suspect.item]


def _path_of(read: Read, key: str, roles: Mapping[str, str]) -> str:
    """The path that an entry of this key was read at; empty when it is not one of the read's."""
    name = read.path.rpartition("/")[2]
    pattern, at = "", 0
    captured: list[str] = []
    for match in _KEY.finditer(read.key):
        pattern += re.escape(read.key[at : match.start()]) + "(.+?)"
        captured.append(match[1])
        at = match.end()
    pattern += re.escape(read.key[at:])
    match_of_key = re.fullmatch(pattern, key)
    if match_of_key is None:
        return ""
    wild: dict[int, str] = {}
    for what, value in zip(captured, match_of_key.groups(), strict=True):
        if what == "path":
            return value if _path_matches(read.path, value) else ""
        if what == "name":
            if not _path_matches(name, value):
                return ""
        elif what.rpartition(":")[2].isdigit() and what.count(":") <= 1:
            wild[int(what.rpartition(":")[2])] = _device(value, roles)
    count = 0

    def filled(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return wild.get(count, match[0])

    path = _WILD.sub(filled, read.path)
    if "name" in captured:
        path = f"{path.rpartition('/')[0]}/{match_of_key.groups()[captured.index('name')]}"
    return _filled(path, roles)


def _path_matches(glob: str, path: str) -> bool:
    parts = [re.escape(part) for part in _WILD.split(glob)]
    return re.fullmatch("[^/]*".join(parts), path) is not None


def _device(called: str, roles: Mapping[str, str]) -> str:
    """What a device is called there, by its role; any where that is not known."""
    return roles.get(called, "*") if called in ROLES else called


def _filled(path: str, roles: Mapping[str, str]) -> str:
    return _ROLE.sub(lambda match: roles.get(match[1], "*"), path)


def _is_covered(target: str, by_settings: set[str]) -> bool:
    return any(overlap(target, other) for other in by_settings)


def _is_one_value(suspect: Suspect, side_text: str) -> bool:
    """Whether what is shown is one value, that of all its entries."""
    return len(suspect.members) <= 1 or not any(sign in side_text for sign in ("=", "; ", " ("))


def _plain(side_text: str) -> str | None:
    """A value as shown, where it is one that a file can hold."""
    if side_text == PRESENT:
        return ""
    if side_text == NOT_THERE or not side_text or side_text[:1] in "[{" or side_text.endswith("…"):
        return None
    return None if len(side_text) > 80 else side_text
