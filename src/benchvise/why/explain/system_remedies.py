"""Remedies for what no file of the kernel shows: services, programs, swap, queueing disciplines and
tables of nftables, routes.

After systemctl(1), update-rc.d(8), rc-update(8), fstab(5), zram-generator.conf(5), tc(8), nft(8),
ip(8).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchvise.state.knobs import Setting, shown_value
from benchvise.state.places import FILTERS, INTERFACES, PROGRAMS, ROUTES, SERVICES, SWAPS
from benchvise.why.explain.remedy_lines import (
    BUILDROOT,
    DEBIAN,
    NOW,
    YOCTO,
    buildroot_file,
    start_script,
    yocto_file,
)
from benchvise.why.model import Remedy, Suspect

OPENRC = "OpenRC"

_TREES = (SERVICES, PROGRAMS, SWAPS, INTERFACES, FILTERS, ROUTES)
_UNIT = (".service", ".timer", ".socket")
_ZRAM = re.compile(r"(zram\d+)/(algorithm|size)")


def are_of_trees(settings: Sequence[Setting]) -> bool:
    """Whether these are settings of what the kernel shows no file of."""
    return any(setting.knob.path.startswith(_TREES) for setting in settings)


def of_settings(settings: Sequence[Setting], cost: str) -> Iterator[Remedy]:
    """The remedies that give each the value of its setting, on each kind of system."""
    for setting in settings:
        for path in setting.paths or (setting.knob.path.replace("*", "NAME"),):
            root = next(root for root in _TREES if path.startswith(root))
            name = path.removeprefix(root).replace("!", "/")
            for system, text in _OF_TREES[root](name, setting):
                yield Remedy(system, text, cost)


ITEMS = ("kernel.modules", "kernel.security")
"""What nothing here tries, and a line of shell does."""

_PARAMETER = re.compile(r"kernel\.modules/(\w[\w-]{0,60})\.(\w{1,60})", re.ASCII)
_MODULE = re.compile(r"(?:^|, )(\w[\w-]{0,60})=(not there|\S)", re.ASCII)
_PLAIN_VALUE = re.compile(r"[\w.:+-]{1,80}", re.ASCII)


def of_item(suspect: Suspect, cost: str) -> Iterator[Remedy]:
    """How modules are loaded and unloaded by hand, and how a command is started without a profile
    or a filter."""
    if suspect.item == "kernel.security":
        yield Remedy(NOW, _WITHOUT_PROFILE, cost)
        return
    parameters = [_PARAMETER.fullmatch(member) for member in suspect.members]
    if len(parameters) == 1 and parameters[0] and _PLAIN_VALUE.fullmatch(suspect.good):
        module, name = parameters[0].groups()
        option = f"{name}={suspect.good}"
        yield Remedy(NOW, f"modprobe -r {module} && modprobe {module} {option}", cost)
        yield Remedy(DEBIAN, f"# /etc/modprobe.d/{module}.conf\noptions {module} {option}", cost)
        return
    loaded = dict(_MODULE.findall(suspect.good))
    gone = [name for name, value in loaded.items() if value == "not there"]
    come = [name for name, value in loaded.items() if value != "not there"]
    lines = [f"modprobe -r {' '.join(gone)}"] * bool(gone)
    lines += [f"modprobe -a {' '.join(come)}"] * bool(come)
    if lines:
        yield Remedy(NOW, " && ".join(lines), cost)


_WITHOUT_PROFILE = "aa-exec -p unconfined -- COMMAND  # SELinux: setenforce 0, then 1 again"

_Texts = Iterator[tuple[str, str]]


def _at_boot(slug: str, *lines: str) -> _Texts:
    """Lines of shell that are run at each boot."""
    script = start_script(lines)
    yield DEBIAN, "# /etc/rc.local\n" + "\n".join(lines)
    yield YOCTO, yocto_file(f"/etc/init.d/{slug}", script)
    yield BUILDROOT, buildroot_file(f"/etc/init.d/S99{slug}", script)


def _service(name: str, setting: Setting) -> _Texts:
    starts = setting.value == "running"
    word, quoted = ("start" if starts else "stop"), shlex.quote(name)
    able = "enable" if starts else "disable"
    plain = shlex.quote(re.sub(r"^S\d\d(?=.)", "", name).partition(".")[0])
    script = shlex.quote(f"/etc/init.d/{name}")
    is_unit = name.endswith(_UNIT)
    yield NOW, f"systemctl {word} {quoted}" if is_unit else f"{script} {word}"
    if is_unit:
        yield DEBIAN, f"systemctl {able} --now {quoted}"
    else:
        yield DEBIAN, f"update-rc.d {plain} {able}"
        yield OPENRC, f"rc-update {'add' if starts else 'del'} {plain}"
    yield YOCTO, f'# conf/local.conf; NAME is the recipe\nSYSTEMD_AUTO_ENABLE:pn-NAME = "{able}"'
    yield (
        BUILDROOT,
        f'# board/yours/post-build.sh\nchmod {"+x" if starts else "-x"} "$TARGET_DIR"'
        + (f"/etc/init.d/S??{plain}" if is_unit else script),
    )


def _program(name: str, setting: Setting) -> _Texts:
    quoted = shlex.quote(name)
    stop, go_on = f"pkill -STOP -x {quoted}", f"pkill -CONT -x {quoted}"
    if setting.value == "running":
        yield NOW, f"{go_on}  # where it is paused; start it where it is not there"
        text = f"# have {quoted} started: by a unit, cron or rc.local"
    else:
        yield NOW, f"{stop}  # {go_on} resumes it"
        text = f"# take away what starts {quoted}: a unit, cron, rc.local, a profile"
    yield from ((system, text) for system in (DEBIAN, YOCTO, BUILDROOT))


def _swap(name: str, setting: Setting) -> _Texts:
    zram = _ZRAM.fullmatch(name)
    if zram is not None:
        yield from _zram(zram[1], zram[2], setting.value)
        return
    quoted = shlex.quote(name)
    priority = setting.value if setting.value.isdecimal() else ""
    option = f"sw,pri={priority}" if priority else "sw"
    if setting.value == "off":
        now, line = f"swapoff {quoted}", f"# without the line of {quoted}"
    else:
        now = f"swapon {f'-p {priority} ' * bool(priority)}{quoted}"
        line = f"{quoted} none swap {option} 0 0"
    yield NOW, now
    for system in (DEBIAN, YOCTO, BUILDROOT):
        yield system, f"# {_IMAGE_FSTAB.get(system, '/etc/fstab')}\n{line}"


_IMAGE_FSTAB = {
    YOCTO: "meta-yours/recipes-core/base-files/base-files/fstab",
    BUILDROOT: "board/yours/overlay/etc/fstab",
}


def _zram(device: str, what: str, value: str) -> _Texts:
    block, node = f"/sys/block/{device}", f"/dev/{device}"
    file = "comp_algorithm" if what == "algorithm" else "disksize"
    other = "disksize" if what == "algorithm" else "comp_algorithm"
    kept = f"cat {block}/{other}"
    if what == "size":
        kept += " | sed 's/.*\\[\\(.*\\)\\].*/\\1/'"
    writes = [f"echo {shlex.quote(value)} > {block}/{file}", f'echo "$kept" > {block}/{other}']
    writes.sort(key=lambda line: "disksize" in line)  # the algorithm can be chosen before the size
    lines = [f"kept=$({kept})", f"swapoff {node}", f"echo 1 > {block}/reset", *writes]
    lines += [f"mkswap {node}", f"swapon {node}"]
    yield NOW, "; ".join(lines)
    yield from _at_boot(device, *lines)
    if what == "algorithm":
        yield DEBIAN, f"# /etc/default/zramswap\nALGO={shlex.quote(value)}"
        option = f"compression-algorithm = {value}"
        yield "systemd", f"# /etc/systemd/zram-generator.conf\n[{device}]\n{option}"


def _qdisc(name: str, setting: Setting) -> _Texts:
    interface = shlex.quote(name.removesuffix("/qdisc"))
    if setting.value == "default":
        now = f"tc qdisc del dev {interface} root"
        yield NOW, now
        text = f"# take away what sets it, such as: tc qdisc add dev {interface} root …"
        yield from ((system, text) for system in (DEBIAN, YOCTO, BUILDROOT))
        return
    kind, _, options = shown_value(setting.knob, setting.value).partition(" ")
    rate = re.fullmatch(r"rate (\d+) B/s limit (\d+) B", options)
    if rate is not None:
        options = f" rate {8 * int(rate[1])}bit burst 64k limit {rate[2]}"
    elif queue := re.fullmatch(r"limit (\d+) \w+", options):
        options = f" limit {queue[1]}"
    else:
        options = f"  # its options are {options}" if options else ""
    now = f"tc qdisc replace dev {interface} root {kind}{options}"
    yield NOW, now
    yield from _at_boot("qdisc", now)


def _filter(name: str, setting: Setting) -> _Texts:
    family, _, table = name.partition("/")
    flags = "" if setting.value == "active" else " '{ flags dormant; }'"
    yield NOW, f"nft add table {shlex.quote(family)} {shlex.quote(table)}{flags}"
    have = "with" if setting.value == "active" else "without"
    text = f"# in /etc/nftables.conf and what it includes: {have} table {family} {table}"
    yield from ((system, text) for system in (DEBIAN, YOCTO, BUILDROOT))


_OF_KERNEL = re.compile(r"pref (?:0|32766|32767) from all lookup (?:local|main|default)$")


def _routes(name: str, setting: Setting) -> _Texts:
    """Routes to one destination, or rules, made anew."""
    family, table, destination = name.split(",", 2)
    tool = "ip" if family == "4" else "ip -6"
    parts = [part for part in setting.value.split("; ") if part != "none"]
    if setting.knob.name == "net.rule":
        lines = [f"{tool} rule add {part}" for part in parts if not _OF_KERNEL.match(part)]
        yield NOW, " && ".join(lines) + "  # and take away the others: ip rule del …"
        yield from _at_boot("rules", *lines)
        return
    of_table = f" table {table}" if table != "main" else ""
    lines = [f"{tool} route flush exact {destination}{of_table}"]
    lines += [f"{tool} route append {part}{of_table}" for part in parts]
    yield NOW, " && ".join(lines)
    yield from _at_boot("routes", *lines)


_OF_TREES: Mapping[str, Callable[[str, Setting], _Texts]] = {
    SERVICES: _service,
    PROGRAMS: _program,
    SWAPS: _swap,
    INTERFACES: _qdisc,
    FILTERS: _filter,
    ROUTES: _routes,
}
