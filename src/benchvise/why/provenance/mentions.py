"""Lines of files that no program known here reads, which name a setting beside its value.

Products have configurations of their own, which a start script or a daemon turns into settings.
What reads such a file is not known, so its lines are only named where nothing else sets the value,
and as uncertain.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from benchvise.text import Untrusted
from benchvise.why.model import Origin, Side, Suspect
from benchvise.why.provenance.files import Tree
from benchvise.why.provenance.globs import is_pattern, overlap
from benchvise.why.provenance.targets import NOT_THERE, Wanted

KIND = "a line that names it"
GLOBS = ("/etc/*.conf", "/etc/*/*.conf", "/etc/default/*", "/etc/conf.d/*", "/etc/sysconfig/*")

# What the other version of control groups calls it.
_ALSO = {
    "cpu.cfs_quota_us": ("cpu.max", "CPUQuota"),
    "cpu.shares": ("cpu.weight", "CPUWeight"),
    "cpu.max": ("cpu.cfs_quota_us",),
    "cpu.weight": ("cpu.shares",),
    "memory.limit_in_bytes": ("memory.max",),
    "memory.max": ("memory.limit_in_bytes",),
    **{
        f"blkio.throttle.{way}_{amount}_device": ("io.max", f"IO{way.title()}{of_systemd}")
        for way in ("read", "write")
        for amount, of_systemd in (("bps", "BandwidthMax"), ("iops", "IOPSMax"))
    },
}
FILTERS_ITEM = "net.filter"
_RULE_GLOBS = (
    *("/etc/nftables.conf", "/etc/nftables.d/*", "/etc/nftables/*", "/etc/sysconfig/nftables.conf"),
    *("/etc/iptables/*", "/etc/iptables*", "/etc/sysconfig/ip*tables", "/etc/ufw/*.rules"),
    *("/etc/firewall*", "/etc/rc.local", "/etc/network/if-*.d/*", "/etc/init.d/*"),
    "/etc/default/*",
)
_RULE = "a line that says the same"
_MOST_OF_IT = 0.7
_NO_RULE = re.compile(r"not there$|and \d+ ")
ROUTES_ITEM = "net.routes"
_ROUTE_GLOBS = (
    *("/etc/network/interfaces", "/etc/network/interfaces.d/*", "/etc/network/if-*.d/*"),
    *("/etc/systemd/network/*", "/usr/lib/systemd/network/*", "/run/systemd/network/*"),
    *("/etc/NetworkManager/system-connections/*", "/etc/NetworkManager/dispatcher.d/*"),
    *("/etc/sysconfig/network-scripts/route*", "/etc/sysconfig/static-routes", "/etc/dhcpcd.conf"),
    *("/etc/dhcp/*", "/etc/conf.d/net", "/etc/rc.local", "/etc/init.d/*", "/etc/local.d/*"),
    "/etc/ethers",
)
_ROUTE = "a line that names the destination"

_NUMBER = re.compile(r"\d{2,}")
_MOST = 3
_SHORTEST = 4
_TEXT_LIMIT = 300


def mentions(
    tree: Tree, wanted: Sequence[Wanted], side: Side, read_globs: Collection[str]
) -> tuple[Origin, ...]:
    """The lines, at most ``_MOST``. Files of ``read_globs`` are left out: who reads these is
    known, and none of their lines sets it. Raises what the source raises."""
    names = {name: values for target in wanted for name, values in _names_of(target)}
    if not names:
        return ()
    tree.ask(GLOBS)
    paths = dict.fromkeys(path for glob in GLOBS for path in tree.paths(glob))
    origins = [
        Origin(
            side,
            KIND,
            Untrusted(path),
            line.number,
            Untrusted(line.text.strip()[:_TEXT_LIMIT]),
            certain=False,
            note=Untrusted("what reads this file is not known"),
        )
        for path in paths
        for line in tree.lines(path)
        if any(_says(line.text, name, values) for name, values in names.items())
        and not any(overlap(glob, path) for glob in read_globs)  # few lines come so far
    ]
    return tuple(origins[:_MOST])


def lines_of_rules(tree: Tree, suspect: Suspect, side: Side) -> tuple[Origin, ...]:
    """The line that says most of what a rule of a packet filter does that only this side has. It is
    uncertain: tools write rules in another form than they list them. Raises what the source raises.
    """
    text = suspect.good if side is Side.GOOD else suspect.bad
    rules = [set(rule.split()) for rule in text.split(", ") if not _NO_RULE.match(rule)]
    if suspect.item != FILTERS_ITEM or not rules:
        return ()
    tree.ask(_RULE_GLOBS)
    best: tuple[float, Origin] | None = None
    for path in dict.fromkeys(path for glob in _RULE_GLOBS for path in tree.paths(glob)):
        for line in tree.lines(path):
            line_words = set(line.text.split())
            part = max(len(rule & line_words) / len(rule | line_words) for rule in rules)
            if part >= _MOST_OF_IT and (best is None or part > best[0]):
                line_text = Untrusted(line.text.strip()[:_TEXT_LIMIT])
                best = part, Origin(
                    side, _RULE, Untrusted(path), line.number, line_text, certain=False
                )  # fmt: skip
    return () if best is None else (best[1],)


def lines_of_routes(tree: Tree, suspect: Suspect, side: Side) -> tuple[Origin, ...]:
    """The line that names the destination of a route which only this side has, and has most of its
    words. It is uncertain, as for rules. Raises what the source raises."""
    here, there = (suspect.good, suspect.bad)[:: 1 if side is Side.GOOD else -1]
    ways = set(here.split(", then ")) - set(there.split(", then "))
    if suspect.item != ROUTES_ITEM or not ways or here == NOT_THERE:
        return ()
    destination = suspect.id.partition(":")[2].partition(" in table ")[0]
    called = re.compile(rf"(?<![\w.:/-]){re.escape(destination)}(?![\w.:/-])")
    words = set(" ".join(ways).split())
    tree.ask(_ROUTE_GLOBS)
    lines = (
        line
        for path in dict.fromkeys(path for glob in _ROUTE_GLOBS for path in tree.paths(glob))
        for line in tree.lines(path)
        if called.search(line.text) and not line.text.lstrip().startswith(("#", ";"))
    )
    best = max(lines, key=lambda line: len(words & set(line.text.split())), default=None)
    if best is None:
        return ()
    line_text = Untrusted(best.text.strip()[:_TEXT_LIMIT])
    return (Origin(side, _ROUTE, Untrusted(best.file), best.number, line_text, certain=False),)


def lines_of_boot_settings(tree: Tree, suspect: Suspect, side: Side) -> tuple[Origin, ...]:
    """The line of a boot loader's file that says what differs. Raises what the source raises."""
    value = suspect.good if side is Side.GOOD else suspect.bad
    paths = [m.removeprefix(_BOOT) for m in suspect.members if m.startswith(f"{_BOOT}/boot/")]
    if suspect.item != _BOOT[:-1] or value == NOT_THERE:
        return ()
    keyword = suspect.id.rpartition(" ")[2].removeprefix(f"{_BOOT[:-1]}:")
    tree.ask(paths)
    for path in paths:
        for line in tree.lines(path):
            name, _, rest = line.text.strip().replace("=", " ", 1).partition(" ")
            if name == keyword and " ".join(rest.split()).strip("\"'") == value:
                text = Untrusted(line.text.strip()[:_TEXT_LIMIT])
                return (Origin(side, "boot loader", Untrusted(path), line.number, text),)
    return ()


_BOOT = "boot.settings/"


def _names_of(wanted: Wanted) -> Iterator[tuple[str, frozenset[str]]]:
    """What a line may call a target, with the words of its value one of which has to be there."""
    if wanted.is_absent or not wanted.values:
        return
    name = wanted.target.rpartition("/")[2].rpartition(":")[2]
    if len(name) < _SHORTEST or is_pattern(name):
        return
    yield name, wanted.values
    for other in _ALSO.get(name, ()):
        numbers = frozenset(n for value in wanted.values for n in _NUMBER.findall(value))
        if numbers:
            yield other, numbers


def _says(text: str, name: str, values: Collection[str]) -> bool:
    if name not in text:
        return False
    stripped = text.strip()
    if stripped[:1] in ("#", ";", ""):
        return False
    place = re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", stripped)
    if place is None:
        return False
    rest = " ".join(stripped[place.end() :].split())
    return any(
        re.search(rf"(?<![\w.-]){re.escape(' '.join(value.split()))}(?![\w.-])", rest)
        for value in values
        if value.strip()
    )
