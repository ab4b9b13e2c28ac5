"""How to make the good value last: the line to take away, and the lines to put in, ready to paste.

A remedy is for the side that is worse. What sets its value there is changed first: a line that is
put in elsewhere and comes earlier would lose. Everything is text for a person; nothing here
writes.

The lines themselves are of ``remedy_lines``, and of ``session_remedies`` for what a login, a
service or a mount is given. Values are those of settings, which the catalogue's knobs have checked:
no quotes, no control characters. Names of devices and groups come from a board; one that would need
quoting has no line (``_SAFE``).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from benchvise.state.catalogue import knobs
from benchvise.state.knobs import Setting, is_limit_of_disks
from benchvise.state.model import Knob
from benchvise.state.places import MOUNTS
from benchvise.state.roles import ROLES
from benchvise.text import printable
from benchvise.why.cards import load_cards, named
from benchvise.why.explain import session_remedies, system_remedies
from benchvise.why.explain.remedy_lines import (
    BUILDROOT,
    COMMAND_LINE,
    DEBIAN,
    KERNEL,
    NOW,
    SYSCTL,
    YOCTO,
    buildroot_file,
    buildroot_kernel,
    command_line_places,
    command_word,
    config_lines,
    debian_file,
    fixes,
    modprobe_line,
    now_command,
    start_script,
    sysctl_line,
    tmpfiles_line,
    udev_line,
    unit_setting,
    yocto_file,
    yocto_kernel,
)
from benchvise.why.model import Layer, LayerMeans, Origin, Remedy, SettingMeans, Side, Suspect
from benchvise.why.provenance.targets import is_one_mount
from benchvise.why.suspects.command_suspects import MOUNT_POINT, options_apart
from benchvise.why.witness.database_suspects import DATABASE, remedy_of_file
from benchvise.why.witness.grouped import is_group
from benchvise.why.witness.opened import OPENED_FILE, differs_further

ORIGIN = "the line that sets it"

_CGROUPS = "/sys/fs/cgroup"

_ROLE = re.compile(r"\{(" + "|".join(ROLES) + r")\}")
_SAFE = re.compile(r"[\w./:*?\[\]@+-]+", re.ASCII)
_WILD = re.compile(r"[*?\[]")
_ABSENT = frozenset({"not there", "not set", ""})
_COMMENTED = "#"

# Kinds of origins that are lines of a file which can be taken away by themselves.
_IN_A_FILE = re.compile(
    r"sysctl|rc\.local|init|tmpfiles|udev|script|modprobe|sysfs|profile|cron|environment|limits|fstab"
)


def remedies(
    suspect: Suspect,
    *,
    origins: Sequence[Origin],
    side_values: Mapping[Side, str],
    roles: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Remedy, ...]:
    """The remedies of a suspect on the bad side, what is nearest to its origin first.

    ``side_values`` are the values as shown, ``roles`` the devices of the bad side by their role
    (``Snapshot.roles``); where one is missing, the lines are for all devices of its kind, and say
    so.
    """
    ways = [*_edits(suspect, origins)]
    cost = _cost(suspect)
    settings = _settings(suspect, side_values)
    if any(setting.knob.path.startswith(MOUNTS) for setting in settings):
        ways += session_remedies.of_mount_settings(suspect, settings, cost)
    elif system_remedies.are_of_trees(settings):
        ways += system_remedies.of_settings(settings, cost)
    elif settings:
        for setting in settings:
            ways += _of_setting(setting, roles, cost)
    elif is_one_mount(suspect):
        ways += session_remedies.of_one_mount(suspect, cost)
    elif suspect.id.startswith(MOUNT_POINT):
        ways += session_remedies.of_memory(suspect.id.removeprefix(MOUNT_POINT))
    elif suspect.id.startswith(DATABASE):
        line = remedy_of_file(suspect)
        ways += [Remedy(NOW, line, cost)] if line else []
    elif suspect.id.startswith(OPENED_FILE):
        only_bad = side_values[Side.GOOD] in _ABSENT
        service = suspect.means.service if isinstance(suspect.means, LayerMeans) else ""
        path = suspect.id.removeprefix(OPENED_FILE)
        if is_group(suspect):
            paths = [member.removeprefix(OPENED_FILE) for member in suspect.members]
            ways += session_remedies.of_files(path, paths) if only_bad else ()
        else:
            ways += session_remedies.of_file(path, only_bad=only_bad, service=service)
    elif suspect.item == "storage.mounts":
        ways += session_remedies.of_mounts(side_values, cost)
    elif suspect.item in session_remedies.ITEMS:
        ways += session_remedies.of_session(suspect, side_values[Side.GOOD], cost)
    elif _is_command_line(suspect):
        ways += _of_command_line(suspect, side_values, cost)
    elif suspect.item in system_remedies.ITEMS:
        ways += system_remedies.of_item(suspect, cost)
    elif suspect.item.startswith("kernel.") or suspect.layer is Layer.KERNEL:
        ways += _of_kernel(suspect, side_values, cost)
    return tuple(dict.fromkeys(ways))


def _cost(suspect: Suspect) -> str:
    """What the good value costs, by the card that names the suspect best; of equal ones that which
    needs no look to apply."""
    points, _, cost = max(
        ((named(card, suspect), not card.needs, card.cost) for card in load_cards()),
        key=lambda match: match[:2],
    )
    return cost if points else ""


def _settings(suspect: Suspect, side_values: Mapping[Side, str]) -> tuple[Setting, ...]:
    """The settings of the good side; those too that are tried per process, or may not be written
    here. One that its sibling sets to 0 is left out: writing it would undo the sibling."""
    means = suspect.means
    if isinstance(means, SettingMeans):
        settings = means.towards(Side.GOOD)
        names = {setting.knob.name for setting in settings}
        return tuple(
            s for s in settings if s.value != "0" or _SIBLINGS.get(s.knob.name) not in names
        )
    name, _, part = suspect.id.partition(":")
    record = knobs().get(suspect.id) or knobs().get(name)
    value = side_values.get(Side.GOOD, suspect.good)
    if record is None or value in _ABSENT:
        return ()
    knob = record[1]
    if knob.is_family and part:
        return (Setting(knob, value, (f"{knob.family_directory}{part}",)),)
    return (Setting(knob, value),) if suspect.id == knob.name else ()


_SIBLINGS = {
    "vm.dirty_bytes": "vm.dirty_ratio",
    "vm.dirty_ratio": "vm.dirty_bytes",
    "vm.dirty_background_bytes": "vm.dirty_background_ratio",
    "vm.dirty_background_ratio": "vm.dirty_background_bytes",
}


# -- what sets it ----------------------------------------------------------------------------------


def _edits(suspect: Suspect, origins: Sequence[Origin]) -> Iterator[Remedy]:
    """The bad value's own line: with the good value in its place where it has the bad one once, as
    without it the setting may be what it is with it; else the good side's own line of that kind;
    else to be taken away; of a file of which more lines differ it is only said where they begin. By
    hand or by sed, which touches the line only if it still names the setting."""
    for origin in origins:
        if origin.side is not Side.BAD or not origin.line or origin.kind == COMMAND_LINE:
            continue  # of a command line a word goes, and not the line
        file = "/" + f"{origin.file}".lstrip("/")
        doubt = "" if origin.certain else ", if it is what sets it"
        change = _change(suspect, origin)
        is_one_of_many = differs_further(origin)
        what = "look at" if is_one_of_many else "remove"
        option, edit = "-i", f"s/^/{_COMMENTED} /"
        if change is not None:
            bad, good = change
            what, option = f"put {good} for {bad} in", "-i -E"
            edit = f"s/{_BORDER[0]}{re.escape(bad)}{_BORDER[1]}/\\1{good}\\2/"
        text = f"{what} line {origin.line} of {file}{doubt}: {origin.text:120}"
        text += f"\n# {origin.note:120}" if is_one_of_many else ""
        instead = _line_of_good_side(origins, origin)
        if change is None and instead is not None and not is_one_of_many:
            begin = f"in line {origin.line} of {file}{doubt}"
            yield Remedy(ORIGIN, f"{begin}, for {origin.text:120}\nput {instead.text:120}")
            continue
        mark = _mark(suspect, origin)
        if _IN_A_FILE.search(origin.kind) and mark:
            script = f"{origin.line}{{/{mark}/{edit}}}"
            text += f"\nsed {option} {shlex.quote(script)} {shlex.quote(file)}"
        yield Remedy(ORIGIN, text)


def _line_of_good_side(origins: Sequence[Origin], origin: Origin) -> Origin | None:
    """The line by which the good side sets the same otherwise, in a file of the same kind."""
    lines = [o for o in origins if o.side is Side.GOOD and o.line and o.kind == origin.kind]
    is_one = len(lines) == 1 and lines[0].certain and lines[0].text != origin.text
    return lines[0] if is_one else None


_BORDER = "(^|[^[:alnum:]_./-])", "([^[:alnum:]_./-]|$)"
_PLAIN_VALUE = re.compile(r"[\w.-]+", re.ASCII)


def _change(suspect: Suspect, origin: Origin) -> tuple[str, str] | None:
    """The bad value and the good one that goes in its place; None where either is not one word, or
    the line has the bad one not just once."""
    values = {side: _one_value(suspect, side) for side in Side}
    good, bad = values[Side.GOOD], values[Side.BAD]
    if is_one_mount(suspect):
        more, lost = options_apart(suspect)
        good, bad = (more or ["defaults"])[0], lost[0] if len(lost) == 1 and len(more) < 2 else ""
    if not _PLAIN_VALUE.fullmatch(good) or not _PLAIN_VALUE.fullmatch(bad):
        return None
    places = re.findall(rf"(?<![\w./-]){re.escape(bad)}(?![\w./-])", origin.text.raw)
    return (bad, good) if len(places) == 1 else None


def _one_value(suspect: Suspect, side: Side) -> str:
    """The value of a side, by its settings or as shown; empty where there are several, or none."""
    means = suspect.means
    values = {s.value for s in means.towards(side)} if isinstance(means, SettingMeans) else set()
    text = suspect.good if side is Side.GOOD else suspect.bad
    if len(values) == 1:
        return next(iter(values))
    return "" if values or text in _ABSENT else text


def _mark(suspect: Suspect, origin: Origin) -> str:
    """A word of the line that is ours and not the board's: the last part of a knob's file, of an
    option of a mount, the name of a variable or of a limit. Of a line of a start file its longest
    plain word, so that no other line is taken for it."""
    means = suspect.means
    settings = means.to_good if isinstance(means, SettingMeans) else ()
    if is_one_mount(suspect):
        lost = options_apart(suspect)[1]
        return lost[0] if len(lost) == 1 and re.fullmatch(r"\w+", lost[0]) else ""
    part = suspect.id.partition(":")[2].removeprefix(session_remedies.LIMIT)
    if suspect.item in session_remedies.ITEMS and re.fullmatch(r"\w+", part, re.ASCII):
        return part if part in origin.text.raw else ""
    if suspect.item == "boot.init_settings":
        return max(re.findall(r"\w+", origin.text.raw, re.ASCII), key=len, default="")
    files = [path for s in settings for path in (s.knob.is_family and s.paths) or (s.knob.path,)]
    for file in files:
        word = file.rpartition("/")[2]
        if re.fullmatch(r"\w+", word) and word in origin.text.raw:
            return word
    return ""


# -- settings --------------------------------------------------------------------------------------


def _of_setting(setting: Setting, roles: Mapping[str, str], cost: str) -> Iterator[Remedy]:
    knob, value = setting.knob, setting.value
    name = knob.name
    if knob.is_family:  # its files are settings of their own: nothing is said of the others
        path, note = next(iter(setting.paths), ""), ""
        name = path.removeprefix(knob.family_directory)
        if not _SAFE.fullmatch(path) or _WILD.search(path):
            return
    else:
        path, note = _path(knob.path, roles)
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    place, name_of_own = _group_of(knob.name)
    unit = unit_setting(name_of_own, value)
    now = note + (_without_limits(knob, path) if value == knob.empty else now_command(path, value))
    if unit:
        yield from _of_unit(unit, now, roles.get(place, ""), cost)
        return
    yield Remedy(NOW, now, cost)
    if value == knob.empty and knob.path.startswith(_CGROUPS):
        return  # no line of tmpfiles.d(5) ends a limit; without the line that sets it, it is gone
    name, line = _file(path, value, slug)
    script = start_script((now_command(path, value),))
    yield Remedy(DEBIAN, note + debian_file(name, line) + _modules(knob, path, value, slug), cost)
    yield Remedy(YOCTO, note + yocto_file(name, line), cost)
    if path.startswith(SYSCTL):
        yield Remedy(BUILDROOT, note + buildroot_file(name, line), cost)
    else:
        yield Remedy(BUILDROOT, note + buildroot_file(f"/etc/init.d/S99{slug}", script), cost)
    if word := command_word(knob.name, path, value):
        yield Remedy(COMMAND_LINE, f"{word}\n{command_line_places(word)}", cost)
    if options := config_lines(knob.name, value):
        yield from _of_options(options, slug, cost)


def _without_limits(knob: Knob, path: str) -> str:
    """The line that empties a file of a control group; limits of disks go one by one."""
    if is_limit_of_disks(knob.path):
        return f'for disk in $(cut -d" " -f1 {path}); do echo "$disk 0" > {path}; done'
    if knob.path.endswith("/io.max"):
        every = " ".join(f"{name}=max" for name in ("rbps", "wbps", "riops", "wiops"))
        return f'for disk in $(cut -d" " -f1 {path}); do echo "$disk {every}" > {path}; done'
    return f"echo > {path}"


def _group_of(name: str) -> tuple[str, str]:
    """The role of the control group that a knob is about, and the knob's name for the login's."""
    match = re.fullmatch(r"cgroup\.(above|top)_(\w+)", name)
    return (f"cgroup_{match[1]}", f"cgroup.{match[2]}") if match else ("cgroup", name)


def _modules(knob: Knob, path: str, value: str, slug: str) -> str:
    """What is to be said to modprobe beside the file: that a module must be there for the setting,
    or the parameter of one that is loaded later."""
    fix = fixes().get(knob.name)
    if fix is not None and fix.module:
        return f"\n# /etc/modules-load.d/{slug}.conf\n{fix.module}"
    option = modprobe_line(path, value)
    return f"\n# where that is a module, /etc/modprobe.d/{slug}.conf\n{option}" if option else ""


def _path(path: str, roles: Mapping[str, str]) -> tuple[str, str]:
    """The knob's file with the board's own devices, and a word where they are not known."""
    filled = _ROLE.sub(lambda match: roles.get(match[1], match[0]), path)
    if _SAFE.fullmatch(filled):
        return filled, ""
    unknown = ", ".join(ROLES[name] for name in _ROLE.findall(filled)) or "the device"
    return _ROLE.sub("*", path), f"# for all devices: put in the name of {unknown}\n"


def _file(path: str, value: str, slug: str) -> tuple[str, str]:
    """The file that makes it last under systemd, and its line."""
    if path.startswith(SYSCTL):
        return f"/etc/sysctl.d/90-{slug}.conf", sysctl_line(path, value)
    if rule := udev_line(path, value):
        return f"/etc/udev/rules.d/90-{slug}.rules", rule
    return f"/etc/tmpfiles.d/{slug}.conf", tmpfiles_line(path, value)


def _of_unit(setting: str, now: str, group: str, cost: str) -> Iterator[Remedy]:
    """For the nearest unit of systemd that a control group belongs to."""
    units = re.findall(r"[\w@:.\\-]+\.(?:service|slice|scope)", group)
    unit = units[-1] if units else "user.slice"
    if unit.endswith(".scope"):  # made for a login: it has no file
        unit = next((name for name in reversed(units) if name.endswith(".slice")), "user.slice")
    section = "Slice" if unit.endswith(".slice") else "Service"
    name = f"/etc/systemd/system/{unit}.d/50-limits.conf"
    text = f"[{section}]\n{setting}"
    properties = " ".join(shlex.quote(line) for line in setting.splitlines())
    property_ = f"systemctl set-property --runtime {shlex.quote(unit)} {properties}"
    yield Remedy(NOW, f"{now}\n# under systemd instead: {property_}", cost)
    yield Remedy(DEBIAN, debian_file(name, text), cost)
    yield Remedy(YOCTO, yocto_file(name, text), cost)
    yield Remedy(BUILDROOT, buildroot_file(name, text), cost)


# -- what is no setting ----------------------------------------------------------------------------


def _is_command_line(suspect: Suspect) -> bool:
    means = suspect.means
    layered = isinstance(means, LayerMeans) and means.layer == "command-line" and means.part
    return suspect.item == "kernel.command_line" or bool(layered)


def _of_command_line(
    suspect: Suspect, side_values: Mapping[Side, str], cost: str
) -> Iterator[Remedy]:
    """A word to put in, to change or to take away."""
    name = printable(suspect.id.partition(":")[2], 60).partition("=")[0]
    if not re.fullmatch(r"[\w.-]+", name):
        return
    good, bad = (_word(name, side_values.get(s, "")) for s in (Side.GOOD, Side.BAD))
    if good:
        text = f"{good}\n{command_line_places(good)}"
        if bad:
            text = f"{good}    # instead of {bad}\n{command_line_places(good)}"
    else:
        text = f"# without {bad or name}\n{command_line_places('', bad or name)}"
    yield Remedy(COMMAND_LINE, text, cost)


def _word(name: str, text: str) -> str:
    """The word of a value as shown; empty for none."""
    value = printable(text, 120)
    if value in _ABSENT:
        return ""
    if value in ("given", name):
        return name
    return value if value.startswith(f"{name}=") else f"{name}={value}"


_OPTION = re.compile(r"(?:CONFIG_)?([A-Z][A-Z0-9_]{1,63})=(y|m|\d{1,10}|0x[0-9a-f]{1,16})\b")
_UNSET = re.compile(r"(?:CONFIG_)?([A-Z][A-Z0-9_]{1,63})=(?:not there|not set|n)\b")


def _of_kernel(suspect: Suspect, side_values: Mapping[Side, str], cost: str) -> Iterator[Remedy]:
    """Options by name in the good side's values: those that it has, those that it has not."""
    good = side_values.get(Side.GOOD, suspect.good)
    name = suspect.id.rpartition(":")[2].removeprefix("CONFIG_")
    if re.fullmatch(r"[A-Z][A-Z0-9_]{1,63}", name):
        good = f"{name}={good}"
    wanted = [f"CONFIG_{option}={value}" for option, value in _OPTION.findall(good)]
    wanted += [f"# CONFIG_{option} is not set" for option in _UNSET.findall(good)]
    if wanted:
        yield from _of_options(tuple(dict.fromkeys(wanted)), "benchvise", cost)


def _of_options(options: tuple[str, ...], slug: str, cost: str) -> Iterator[Remedy]:
    text = "\n".join(options)
    yield Remedy(KERNEL, text, cost)
    yield Remedy(YOCTO, yocto_kernel(f"{slug}.cfg", text), cost)
    yield Remedy(BUILDROOT, buildroot_kernel(f"{slug}.cfg", text), cost)
