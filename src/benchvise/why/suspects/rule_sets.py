"""Rules of packet filters that are not the same on both sides.

A table of nftables that one side alone has is a setting (``nft.table``). Of one that both have, the
rules may differ: without them the bad side shows what they cost, as a dormant table keeps its rules
and no packet meets it (nft(8)). Rules of iptables of old kernels cannot be put to sleep; how to
take those of the other side is told as a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from benchvise.state.catalogue import knobs
from benchvise.state.knobs import Setting
from benchvise.state.model import Missing, Snapshot, StateEntry
from benchvise.state.places import FILTERS
from benchvise.why.model import Layer, SettingMeans, Side, Suspect
from benchvise.why.suspects.routes import ROUTES

FILTER = "net.filter"
_TABLE = "nft.table"
_LIST = f"{FILTER}/rule set of nftables"
_HEAD = re.compile(r"table (\w{2,10}) ([\w.-]{1,100}) \{", re.ASCII)
_NOT_LISTED = "so many that they were not listed in time"
_NOT_ON_GOOD = "the good side has other rules in it"


POLICIES = f"{ROUTES}/policies of IPsec"
"""The entry with what ``ip xfrm policy`` prints."""


def is_one_set(entry: StateEntry) -> bool:
    """Whether an entry is a set of rules or policies, which is a suspect by itself."""
    is_set = entry.item == FILTER and entry.key.startswith("rule set of ")
    return is_set or entry.name == POLICIES


def rule_suspects(good: Snapshot, bad: Snapshot) -> Iterator[Suspect]:
    """A suspect for each table of nftables whose rules differ and that is active on both sides."""
    tables = [_tables(snapshot) for snapshot in (good, bad)]
    late = [_is_late(snapshot) for snapshot in (good, bad)]
    for name in tables[0 if late[1] else 1]:
        first, second = (
            (_NOT_LISTED,) if is_late else of.get(name)
            for of, is_late in zip(tables, late, strict=True)
        )
        if first is None or second is None:
            continue
        path = f"{FILTERS}{name[0]}!{name[1]}"
        if first == second or not all(_is_active(snapshot, path) for snapshot in (good, bad)):
            continue
        called = f"{name[0]}/{name[1]}"
        knob = knobs()[_TABLE][1]
        yield Suspect(
            f"{_TABLE}:{called} rules",
            f"the rules in table {called} of nftables, iptables-nft included",
            Layer.RUN_TIME,
            FILTER,
            _summary(first, second),
            _summary(second, first),
            members=(f"{_TABLE}:{called} rules",),
            means=SettingMeans((Setting(knob, "dormant", (path,)),), ()),
            not_on_good=_NOT_ON_GOOD,
        )


def _tables(snapshot: Snapshot) -> dict[tuple[str, str], tuple[str, ...]]:
    """The lines in each table, by its family and name."""
    value = next((entry.value for entry in snapshot.entries() if entry.name == _LIST), None)
    tables: dict[tuple[str, str], list[str]] = {}
    lines: list[str] = []
    for line in map(str, value) if isinstance(value, list) else ():
        if match := _HEAD.fullmatch(line.strip()):
            lines = tables.setdefault((match[1], match[2]), [])
        else:
            lines.append(line.strip())
    return {name: tuple(of) for name, of in tables.items()}


def _is_late(snapshot: Snapshot) -> bool:
    """Whether a side has so many rules that they were not listed in time."""
    entry = next((entry for entry in snapshot.entries() if entry.name == _LIST), None)
    return entry is not None and entry.missing is Missing.UNREADABLE


def _is_active(snapshot: Snapshot, path: str) -> bool:
    return any(
        entry.path == path and str(entry.value).strip() == "active" for entry in snapshot.entries()
    )


def _summary(own: Sequence[str], other: Sequence[str]) -> str:
    """How many lines there are, and the first that the other side has not."""
    if _NOT_LISTED in own:
        return _NOT_LISTED
    new = next((line for line in own if line not in other), "")
    return f"{len(own)} lines" + (f", {new[:80]}" if new else "")


_SETS = {
    "rule set of nftables": ("nft -s list ruleset", "nft -f -"),
    "rule set of iptables": ("iptables-save", "iptables-restore"),
    "rule set of ip6tables": ("ip6tables-save", "ip6tables-restore"),
    "rule set of legacy iptables": ("iptables-legacy-save", "iptables-legacy-restore"),
}
OF_SSH = re.compile(r"ssh://[\w.:@%\[\]-]{1,200}", re.ASCII)
"""The name of a board that ssh(1) takes as it is."""


def rules_of_good(
    suspect: Suspect, names: Mapping[Side, str], snapshots: Mapping[Side, Snapshot]
) -> str:
    """The line of shell, for this machine, that keeps the bad side's rules in a file and has it
    take those of the good one; for policies of IPsec that which takes them away, where the good
    side has none. Empty for others, and where a board is not reached by SSH."""
    if len(suspect.members) != 1 or len(snapshots) < len(Side):
        return ""
    if suspect.members == (POLICIES,):
        has_none = not _value(snapshots[Side.GOOD], POLICIES)
        return "ip xfrm policy flush  # first keep what `ip xfrm policy` prints" if has_none else ""
    commands = _SETS.get(suspect.members[0].removeprefix(f"{FILTER}/"))
    good, bad = names[Side.GOOD], names[Side.BAD]
    if commands is None or not OF_SSH.fullmatch(good) or not OF_SSH.fullmatch(bad):
        return ""
    tell, take = commands
    source = f"ssh {good} {tell}"
    if take.startswith("nft"):
        source = f"{{ echo flush ruleset; {source}; }}"
    return f"ssh {bad} {tell} > {tell.split()[0]}.before && {source} | ssh {bad} {take}"


def _value(snapshot: Snapshot, name: str) -> object:
    return next((entry.value for entry in snapshot.entries() if entry.name == name), None)
