"""Remedies for what no file of the kernel shows: services, programs, swap, queueing disciplines and
tables of nftables.

After systemctl(1), update-rc.d(8), rc-update(8), fstab(5), zram-generator.conf(5), tc(8), nft(8).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchvise.state.knobs import Setting, shown_value
from benchvise.state.places import FILTERS, INTERFACES, PROGRAMS, SERVICES, SWAPS
from benchvise.why.explain.remedy_lines import BUILDROOT, DEBIAN, NOW
from benchvise.why.model import Remedy

OPENRC = "OpenRC"

_TREES = (SERVICES, PROGRAMS, SWAPS, INTERFACES, FILTERS)
_UNIT = (".service", ".timer", ".socket")
_ZRAM = re.compile(r"(zram\d+)/(algorithm|size)")


def are_of_trees(settings: Sequence[Setting]) -> bool:
    """Whether these are settings of what the kernel shows no file of."""
    return any(setting.knob.path.startswith(_TREES) for setting in settings)


def of_settings(settings: Sequence[Setting], cost: str) -> Iterator[Remedy]:
    """The remedies that give each the value of its setting."""
    for setting in settings:
        for path in setting.paths:
            root = next(root for root in _TREES if path.startswith(root))
            name = path.removeprefix(root).replace("!", "/")
            for system, text in _OF_TREES[root](name, setting):
                yield Remedy(system, text, cost)


def _service(name: str, setting: Setting) -> Iterator[tuple[str, str]]:
    starts = setting.value == "running"
    word, quoted = ("start" if starts else "stop"), shlex.quote(name)
    if name.endswith(_UNIT):
        yield NOW, f"systemctl {word} {quoted}"
        yield DEBIAN, f"systemctl {'enable' if starts else 'disable'} --now {quoted}"
        return
    script = shlex.quote(f"/etc/init.d/{name}")
    yield NOW, f"{script} {word}"
    if re.match(r"S\d\d", name):
        yield BUILDROOT, f"chmod {'+x' if starts else '-x'} {script}"
        return
    yield DEBIAN, f"update-rc.d {quoted} {'enable' if starts else 'disable'}"
    yield OPENRC, f"rc-update {'add' if starts else 'del'} {quoted}"


def _program(name: str, setting: Setting) -> Iterator[tuple[str, str]]:
    quoted = shlex.quote(name)
    stop, go_on = f"pkill -STOP -x {quoted}", f"pkill -CONT -x {quoted}"
    if setting.value == "running":
        yield NOW, f"{go_on}  # where it is paused; start it where it is not there"
    else:
        yield NOW, f"{stop}  # {go_on} lets it go on"
        yield DEBIAN, f"# take away what starts {quoted}: a unit, cron, rc.local, a profile"


def _swap(name: str, setting: Setting) -> Iterator[tuple[str, str]]:
    zram = _ZRAM.fullmatch(name)
    if zram is not None:
        yield from _zram(zram[1], zram[2], setting.value)
        return
    quoted = shlex.quote(name)
    if setting.value == "off":
        yield NOW, f"swapoff {quoted}"
        yield DEBIAN, f"# in /etc/fstab, before the line of {quoted}: a #\nswapoff {quoted}"
        return
    priority = setting.value if setting.value.isdecimal() else ""
    yield NOW, f"swapon {f'-p {priority} ' * bool(priority)}{quoted}"
    option = f"sw,pri={priority}" if priority else "sw"
    yield DEBIAN, f"# /etc/fstab\n{quoted} none swap {option} 0 0"


def _zram(device: str, what: str, value: str) -> Iterator[tuple[str, str]]:
    block, node = f"/sys/block/{device}", f"/dev/{device}"
    file = "comp_algorithm" if what == "algorithm" else "disksize"
    other = "disksize" if what == "algorithm" else "comp_algorithm"
    kept = f"cat {block}/{other}"
    if what == "size":
        kept += " | sed 's/.*\\[\\(.*\\)\\].*/\\1/'"
    writes = [f"echo {shlex.quote(value)} > {block}/{file}", f'echo "$kept" > {block}/{other}']
    writes.sort(key=lambda line: "disksize" in line)  # the algorithm can be chosen before the size
    lines = [f"kept=$({kept})", f"swapoff {node}", f"echo 1 > {block}/reset", *writes]
    yield NOW, "; ".join([*lines, f"mkswap {node}", f"swapon {node}"])
    if what == "algorithm":
        yield DEBIAN, f"# /etc/default/zramswap\nALGO={shlex.quote(value)}"
        yield (
            "systemd",
            f"# /etc/systemd/zram-generator.conf\n[{device}]\ncompression-algorithm = {value}",
        )


def _qdisc(name: str, setting: Setting) -> Iterator[tuple[str, str]]:
    interface = shlex.quote(name.removesuffix("/qdisc"))
    if setting.value == "default":
        yield NOW, f"tc qdisc del dev {interface} root"
        return
    kind, _, options = shown_value(setting.knob, setting.value).partition(" ")
    rate = re.fullmatch(r"rate (\d+) B/s limit (\d+) B", options)
    if rate is not None:
        options = f" rate {8 * int(rate[1])}bit burst 64k limit {rate[2]}"
    else:
        options = f"  # its options are {options}" if options else ""
    yield NOW, f"tc qdisc replace dev {interface} root {kind}{options}"


def _filter(name: str, setting: Setting) -> Iterator[tuple[str, str]]:
    family, _, table = name.partition("/")
    words = f"{family} {table}"
    flags = "" if setting.value == "active" else " '{ flags dormant; }'"
    yield NOW, f"nft add table {shlex.quote(family)} {shlex.quote(table)}{flags}"
    if setting.value == "dormant":
        yield DEBIAN, f"# in /etc/nftables.conf and what it includes: without table {words}"


_OF_TREES: Mapping[str, Callable[[str, Setting], Iterator[tuple[str, str]]]] = {
    SERVICES: _service,
    PROGRAMS: _program,
    SWAPS: _swap,
    INTERFACES: _qdisc,
    FILTERS: _filter,
}
