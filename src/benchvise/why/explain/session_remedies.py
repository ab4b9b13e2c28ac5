"""Remedies for what a login, a service or a mount is given: variables, limits, mount options.

After environment(7), pam_env(8), limits.conf(5), systemd.exec(5), fstab(5). The limits of a service
are those of its unit: limits.conf is for logins. There sizes are in units of 1024 bytes and CPU
time in minutes, while systemd takes bytes and seconds.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from benchvise.state.knobs import Setting
from benchvise.text import printable
from benchvise.why.explain.remedy_lines import (
    BUILDROOT,
    COMMAND_LINE,
    DEBIAN,
    NOW,
    YOCTO,
    buildroot_file,
    debian_file,
    yocto_file,
)
from benchvise.why.model import Remedy, Side, Suspect
from benchvise.why.provenance.shell.commands import LIMITS_BY_LETTER
from benchvise.why.suspects.command_suspects import (
    FILES,
    LOCALTIME,
    MOUNT_POINT,
    NOT_THERE,
    SEPARATOR,
    TRACER,
    options_apart,
)
from benchvise.why.suspects.many_variables import OTHERS

ITEMS = ("process.environment", "process.inherited", FILES)
HARD_LIMIT = "hard_limit."
LIMIT = "limit."
"""What begins the part of an id that is about a limit: ``process.inherited:limit.nofile``."""

_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ULIMIT = {kind: letter for letter, kind in LIMITS_BY_LETTER.items()}
_IN_KIB = ("data", "fsize", "memlock", "rss", "stack", "as", "core")


def of_session(suspect: Suspect, good: str, cost: str) -> Iterator[Remedy]:
    """For a variable of the environment or a limit; nothing for what is neither."""
    name = suspect.id.partition(":")[2]
    if name.endswith(OTHERS):
        begin = suspect.title.rpartition(" ")[2]
        yield Remedy(NOW, f"unset $(env | grep -o '^{begin}[^=]*')", cost)
    elif suspect.item == "process.environment" and _VARIABLE.fullmatch(name):
        yield from _of_variable(name, None if good == "not there" else good, cost)
    elif suspect.id == TRACER and good == NOT_THERE:
        yield Remedy(
            NOW, f"pkill -x {shlex.quote(suspect.bad)}", "what it traces goes on without it"
        )
    elif suspect.item == FILES:
        yield from _of_file(name, good, suspect.bad, cost)
    elif name.startswith(HARD_LIMIT) and re.fullmatch(r"\d+|unlimited", good):
        yield from _of_hard_limit(name.removeprefix(HARD_LIMIT), good, cost)
    elif name.startswith(LIMIT) and re.fullmatch(r"\d+|unlimited", good):
        yield from _of_limit(name.removeprefix(LIMIT), good, cost)


def _of_variable(name: str, value: str | None, cost: str) -> Iterator[Remedy]:
    if value is None:
        service = _in_unit(f"UnsetEnvironment={name}")
        yield Remedy(NOW, f"unset {name}", cost)
        nowhere = f"# no line of a profile or of /etc/environment sets {name}"
        yield Remedy(DEBIAN, f"{nowhere}\n{service}", cost)
        return
    text = printable("" if value == "(empty)" else value, 1000)
    line = f"export {name}={shlex.quote(text)}"
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    service = _in_unit(f'Environment="{name}={quoted}"')
    profile = f"/etc/profile.d/{name.lower()}.sh"
    yield Remedy(NOW, line, cost)
    yield Remedy(DEBIAN, f"# in /etc/environment, for logins\n{name}={text}\n{service}", cost)
    yield Remedy(YOCTO, yocto_file(profile, line), cost)
    yield Remedy(BUILDROOT, buildroot_file(profile, line), cost)


def _of_limit(kind: str, value: str, cost: str) -> Iterator[Remedy]:
    service = _in_unit(f"Limit{kind.upper()}={'infinity' if value == 'unlimited' else value}")
    yield Remedy(NOW, f"prlimit --{kind}={value}: --pid $$", cost)
    if kind not in _ULIMIT:
        yield Remedy(DEBIAN, service, cost)
        return
    of_shell = _in_units_of_limits(kind, value)
    file = f"/etc/security/limits.d/90-{kind}.conf"
    text = f"* soft {kind} {of_shell}\nroot soft {kind} {of_shell}"
    profile = f"/etc/profile.d/limit-{kind}.sh"
    # bash and busybox take CPU time in seconds, unlike limits.conf
    line = f"ulimit -S{_ULIMIT[kind]} {value if kind == 'cpu' else of_shell}"
    yield Remedy(DEBIAN, f"{debian_file(file, text)}\n{service}", cost)
    yield Remedy(YOCTO, yocto_file(profile, line), cost)
    yield Remedy(BUILDROOT, buildroot_file(profile, line), cost)


def _of_hard_limit(kind: str, value: str, cost: str) -> Iterator[Remedy]:
    unit = "infinity" if value == "unlimited" else value
    yield Remedy(NOW, f"prlimit --{kind}=:{value} --pid $$", cost)
    text = f"* hard {kind} {_in_units_of_limits(kind, value)}"
    file = f"/etc/security/limits.d/90-{kind}.conf"
    service = _in_unit(f"Limit{kind.upper()}=SOFT:{unit}")
    yield Remedy(DEBIAN, f"{debian_file(file, text)}\n{service}", cost)


def _of_file(path: str, good: str, bad: str, cost: str) -> Iterator[Remedy]:
    """The lines that only one side has, as comments: what writes the file decides where they go."""
    if path == LOCALTIME:
        zone = shlex.quote(f"/usr/share/zoneinfo/{good}")
        yield Remedy(NOW, f"ln -sf {zone} {path}", cost)
        yield Remedy(YOCTO, f'# conf/local.conf, with tzdata\nDEFAULT_TIMEZONE = "{good}"', cost)
        yield Remedy(BUILDROOT, f'BR2_TARGET_TZ_INFO=y\nBR2_TARGET_LOCALTIME="{good}"', cost)
        return
    lines = [f"# {path}: take away {line}" for line in _lines_of(bad)]
    lines += [f"# {path}: put in {line}" for line in _lines_of(good)]
    if not lines:
        return
    lines.append(_WRITERS.get(path, "# the file is the board's own"))
    yield Remedy(NOW, "\n".join(lines), cost)


_WRITERS = {
    "/etc/resolv.conf": "# where the file is a link, what it leads to is written by "
    "systemd-resolved (/etc/systemd/resolved.conf), resolvconf or a DHCP client",
}


def _lines_of(shown: str) -> list[str]:
    return [] if shown == NOT_THERE else [line for line in shown.split(SEPARATOR) if line]


def _in_units_of_limits(kind: str, value: str) -> str:
    if not value.isdigit():
        return value
    per = 1024 if kind in _IN_KIB else 60 if kind == "cpu" else 1
    return str(-(-int(value) // per))


def _in_unit(line: str) -> str:
    return f"# for a service: systemctl edit UNIT\n[Service]\n{line}"


# -- mounts ----------------------------------------------------------------------------------------

_MOUNTED = re.compile(r"(?:mounts )?(/\S*)=\S+ \S+ (\S+)|\S+ \S+ (\S+)")
_OPPOSITES = {
    "sync": "async",
    "discard": "nodiscard",
    "ro": "rw",
    "nobarrier": "barrier",
    "nodelalloc": "delalloc",
    "noauto_da_alloc": "auto_da_alloc",
    "noatime": "relatime",
    "strictatime": "relatime",
}


def of_one_mount(suspect: Suspect, cost: str) -> Iterator[Remedy]:
    """One file system as on the good side: its options, or away where that has none."""
    point = suspect.id.removeprefix(MOUNT_POINT)
    place = shlex.quote(point)
    if suspect.good == NOT_THERE:
        yield Remedy(NOW, f"umount {place}", cost)
        return
    if suspect.good.split(" ")[:2] != suspect.bad.split(" ")[:2]:
        return  # another device, or another kind
    more, lost = options_apart(suspect)
    wanted = more or [_OPPOSITES[option] for option in lost if option in _OPPOSITES]
    if wanted:
        yield from _of_mount(point, ",".join(wanted), ",".join(lost), cost)
    elif lost:
        options = suspect.good.split(" ")[2]
        device = f'"$(awk \'$2 == "{point}" {{print $1}}\' /proc/mounts)"'
        if _OPTIONS.fullmatch(options) and _PLAIN_POINT.fullmatch(point):
            yield Remedy(NOW, f"mount -o remount,{options} {device} {place}", cost)
        yield Remedy(
            DEBIAN, f"# /etc/fstab: in the line of {point}, without {','.join(lost)}", cost
        )


_PLAIN_POINT = re.compile(r"/[\w./-]*", re.ASCII)


def of_mounts(side_values: Mapping[Side, str], cost: str) -> Iterator[Remedy]:
    """The options of the good side that the bad one has not, of the first file system shown."""
    good, bad = (_mounted(side_values.get(side, "")) for side in (Side.GOOD, Side.BAD))
    if good is None or bad is None or good[0] != bad[0]:
        return
    point, lost = good[0], [option for option in bad[1] if option not in good[1]]
    more = [option for option in good[1] if option not in bad[1]]
    more = more or [_OPPOSITES[option] for option in lost if option in _OPPOSITES]
    if not more:
        return
    yield from _of_mount(point, ",".join(more), ",".join(lost), cost)


def of_memory(point: str) -> Iterator[Remedy]:
    """A file system in memory at a place."""
    cost = "DATA: what lies there is lost at a power cut, and it takes memory"
    line = f"tmpfs {point} tmpfs mode=1777 0 0"
    yield Remedy(NOW, f"mount -t tmpfs -o mode=1777 tmpfs {shlex.quote(point)}", cost)
    yield Remedy(DEBIAN, f"# /etc/fstab, for the line of {point}\n{line}", cost)
    yield Remedy(YOCTO, f"# fstab of recipes-core/base-files\n{line}", cost)
    yield Remedy(BUILDROOT, f"# fstab of the root file system overlay\n{line}", cost)


def of_file(path: str, *, only_bad: bool, service: str = "") -> Iterator[Remedy]:
    """A file that the command opens, away or as the good side has it; one that a ``service`` reads
    counts when that is started anew."""
    name = shlex.quote(path)
    anew = ""
    if service:
        quoted = shlex.quote(service)
        is_unit = service.endswith((".service", ".timer"))
        anew = f"systemctl restart {quoted}" if is_unit else f"/etc/init.d/{quoted} restart"
        anew = f"\n{anew}  # who talks to it is cut off"
    if only_bad:
        yield Remedy(NOW, f"mv -- {name} {name}.away{anew}")
    else:
        text = f"cp -p -- {name} {name}.before\n# then put the good side's file there"
        yield Remedy(NOW, text + anew)


def of_files(place: str, paths: Sequence[str]) -> Iterator[Remedy]:
    """Files in or below a directory that only the bad side has, away."""
    kept = shlex.quote(f"{place}.away.tar")
    inside = " ".join(shlex.quote(path.removeprefix(f"{place}/")) for path in paths)
    line = f"cd {shlex.quote(place)} && tar -cf {kept} -- {inside} && rm -- {inside}"
    yield Remedy(NOW, line)


def of_mount_settings(suspect: Suspect, settings: Sequence[Setting], cost: str) -> Iterator[Remedy]:
    """The good option of each mount that the suspect is about."""
    entries = (member.removeprefix(f"{suspect.item}/") for member in suspect.members)
    points = [key.rpartition(" ")[0] for key in entries] or [_SOME_MOUNT]
    for setting in settings:
        named = {path.split("/")[4].replace("!", "/") for path in setting.paths}
        for point in points:
            if not named or point in named:
                yield from _of_mount(point, setting.value, suspect.bad, cost)


def _of_mount(point: str, changed: str, lost: str, cost: str) -> Iterator[Remedy]:
    instead = f" instead of {lost}" if _OPTIONS.fullmatch(lost) else ""
    fstab = f"# /etc/fstab: in the line of {point}, the fourth field: {changed}{instead}"
    yield Remedy(NOW, f"mount -o remount,{changed} {shlex.quote(point)}", cost)
    yield Remedy(DEBIAN, fstab, cost)
    yield Remedy(YOCTO, f"{fstab}\n# the file is of recipes-core/base-files", cost)
    yield Remedy(BUILDROOT, f"{fstab}\n# the file is of the root file system overlay", cost)
    if point == "/":
        yield Remedy(COMMAND_LINE, f"rootflags={changed}", cost)


_OPTIONS = re.compile(r"[\w=,]+", re.ASCII)
_SOME_MOUNT = "/MOUNT_POINT"


def _mounted(text: str) -> tuple[str, list[str]] | None:
    """Mount point and options in ``mounts /=root_part ext4 noatime,rw`` or ``root_part ext4 rw``:
    without a name it is not said which one it is, and the root file system is taken."""
    match = _MOUNTED.match(printable(text, 300))
    if match is None:
        return None
    options = (match[2] or match[3]).rstrip(",").split(",")
    return match[1] or "/", [option for option in options if re.fullmatch(r"[\w=]+", option)]
