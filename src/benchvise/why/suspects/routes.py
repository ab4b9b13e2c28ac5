"""Routes that differ, as settings: what is to be written so that packets go as on the other side.

A snapshot has the ways to a destination in the words of ip(8) without what tells boards apart
(``normalise.network.routes``); these words are what makes the route (ip-route(8)). Rules that
choose among tables (ip-rule(8)) are made with their numbers, which say in which order they are
asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from benchvise.state.catalogue import knobs
from benchvise.state.knobs import Setting, can_be_put_back
from benchvise.state.model import Knob, Snapshot
from benchvise.state.normalise.network import told_of_route
from benchvise.state.places import ROUTES as ROUTE_FILES
from benchvise.why.model import SettingMeans, Side, Suspect

ROUTES = "net.routes"
ROUTE_LISTS = {f"{ROUTES}/routes": "4", f"{ROUTES}/routes of IPv6": "6"}
RULES = f"{ROUTES}/rules"

_SEPARATOR = ", then "
_NONE = "none"
_TYPE = re.compile(r"(?:blackhole|unreachable|prohibit|throw)\b")
_DESTINATION = re.compile(r"default|[0-9a-fA-F.:]{2,45}(?:/\d{1,3})?")
_TABLE = re.compile(r"\w{1,30}", re.ASCII)
_NUMBERED = re.compile(r"(\d{1,10}):\s+(\S.*)")


def with_route(suspect: Suspect, snapshots: Mapping[Side, Snapshot]) -> Suspect:
    """The suspect with the means to make its routes as the other side has them, where it is about
    routes to one destination or about rules, and their words can be written."""
    if suspect.item != ROUTES or len(suspect.members) != 1:
        return suspect
    member = suspect.members[0]
    if member in ROUTE_LISTS:
        knob, place = _knob("net.route"), _place(suspect, ROUTE_LISTS[member])
        values = {side: _ways(suspect, member, snapshots[side]) for side in Side}
    elif member == RULES:
        knob, place = _knob("net.rule"), f"{ROUTE_FILES}4,rules,"
        values = {side: _rules(snapshots[side]) for side in Side}
    else:
        return suspect
    values = {
        side: _with_ports_of(snapshots[side.other], snapshots[side], value)
        for side, value in values.items()
    }
    if not place or not all(can_be_put_back(knob, value) for value in values.values()):
        return suspect
    to_good, to_bad = ((Setting(knob, values[side], (place,)),) for side in (Side.GOOD, Side.BAD))
    return replace(suspect, means=SettingMeans(to_good, to_bad), untestable="")


def _knob(name: str) -> Knob:
    return knobs()[name][1]


def _place(suspect: Suspect, family: str) -> str:
    """The path of the routes to its destination; empty where that has no such name."""
    destination, table = _destination(suspect)
    if not _DESTINATION.fullmatch(destination) or not _TABLE.fullmatch(table):
        return ""
    return f"{ROUTE_FILES}{family},{table},{destination.replace('/', '!')}"


def _destination(suspect: Suspect) -> tuple[str, str]:
    destination, _, table = suspect.id.partition(":")[2].partition(" in table ")
    return destination, table or "main"


def _ways(suspect: Suspect, member: str, snapshot: Snapshot) -> str:
    """The lines of ip-route(8) that make the routes of a side."""
    entry = next((entry for entry in snapshot.entries() if entry.name == member), None)
    if entry is None or not isinstance(entry.value, Mapping):
        return ""
    destination = _destination(suspect)[0]
    ways = entry.value.get(suspect.id.partition(":")[2])
    if ways is None:
        return _of_own_network(destination, entry.raw or "")
    if not isinstance(ways, str) or ";" in ways:
        return ""
    lines = []
    for way in ways.split(_SEPARATOR):
        kind = _TYPE.match(way)
        rest = way[kind.end() :] if kind else way
        words = [kind[0] if kind else "", destination, "" if rest == "on" else rest.strip()]
        lines.append(" ".join(word for word in words if word))
    return "; ".join(lines)


def _of_own_network(destination: str, text: str) -> str:
    """The route that the kernel makes to the network of an address, where that is the destination;
    it is none of those that are compared."""
    for line in text.splitlines():
        if line.startswith(f"{destination} dev ") and " proto kernel " in line:
            return f"{destination} {' '.join(told_of_route(line.split()[1:]))}"
    return _NONE


def _rules(snapshot: Snapshot) -> str:
    """The rules of a side with their numbers; empty where these are not known."""
    for entry in snapshot.entries():
        if entry.name == RULES and isinstance(entry.value, list):
            matches = [_NUMBERED.fullmatch(line) for line in (entry.raw or "").splitlines()]
            numbered = [match for match in matches if match is not None]
            if [" ".join(match[2].split()) for match in numbered] == entry.value:
                return "; ".join(
                    f"pref {match[1]} {' '.join(match[2].split())}" for match in numbered
                )
    return ""


def _with_ports_of(board: Snapshot, other: Snapshot, value: str) -> str:
    """A value of another board with the names of this board's interfaces."""
    names = {other.roles.get(role, ""): board.roles.get(role, "") for role in _INTERFACES}
    words = value.split(" ")
    for number in range(1, len(words)):
        name = words[number].rstrip(";")
        if words[number - 1] == "dev" and names.get(name):
            words[number] = names[name] + words[number][len(name) :]
    return " ".join(words)


_INTERFACES = ("default_nic",)
