"""Network: counters, queueing disciplines, Wi-Fi."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator, Mapping, Sequence

from benchvise.state.normalise.values import LINES, Cell, colon_table, lines


def softnet(text: str) -> list[dict[str, int]]:
    """Of each CPU: packets worked on, dropped because the backlog was full, and how often the
    time for them ran out (/proc/net/softnet_stat).
    """
    return [
        {
            "processed": int(columns[0], 16),
            "dropped": int(columns[1], 16),
            "squeezed": int(columns[2], 16),
        }
        for columns in map(str.split, text.splitlines())
        if len(columns) >= 3
    ]


def snmp(text: str) -> dict[str, int]:
    """``Tcp.RetransSegs`` and so on to counts, of /proc/net/snmp and /proc/net/netstat."""
    counters = {}
    rows = [line.split() for line in text.splitlines()]
    for heads, values in zip(rows[::2], rows[1::2], strict=False):
        if heads[:1] != values[:1]:
            raise ValueError("heads and values do not match")
        for head, value in zip(heads[1:], values[1:], strict=True):
            counters[f"{heads[0].rstrip(':')}.{head}"] = int(value)
    return counters


_COUNTED = re.compile(r"^\[\d+:\d+\] | ?\[\d+:\d+\]$| counter packets \d+ bytes \d+")


def filter_rules(text: str) -> list[str]:
    """The rules of packet filters as ``nft`` or ``iptables-save`` list them, without what they have
    counted; of more than 400 lines the rest as a checksum."""
    rules = [_COUNTED.sub("", line) for line in text.splitlines()]
    rules = [line.rstrip() for line in rules if line.strip() and not line.startswith("#")]
    if len(rules) <= LINES:
        return lines("\n".join(rules))
    rest = rules[LINES - 1 :]
    digest = hashlib.sha256("\n".join(rest).encode()).hexdigest()[:12]
    return [*lines("\n".join(rules[: LINES - 1])), f"and {len(rest)} lines, SHA-256 {digest}"]


_ROOT = 0xFFFFFFFF


def qdiscs(fact: object) -> list[str]:
    """The queueing disciplines of an interface, in the words of ``tc``.

    Numbers that the kernel chose itself are left out; of options only the limits of token buckets
    and plain queues are spelled out, others stand as digits.
    """
    if not isinstance(fact, Sequence) or isinstance(fact, str):
        raise ValueError("not a list of queueing disciplines")
    return [_qdisc(entry) for entry in fact if isinstance(entry, Mapping)]


def _qdisc(entry: Mapping[str, object]) -> str:
    kind, parent = str(entry.get("kind", "?")), entry.get("parent")
    where = "root" if parent == _ROOT else f"parent {_handle(parent)}"
    return f"{kind} {where} {discipline_options(kind, str(entry.get('options', '')))}".strip()


def discipline_options(kind: str, options: str) -> str:
    """The options of a queueing discipline, given as hex digits; in words where these are known."""
    if kind == "tbf":
        return _token_bucket(options)
    if kind in ("pfifo", "bfifo") and len(options) == 8:
        return f"limit {_word(bytes.fromhex(options), 0)} {'packets' if kind == 'pfifo' else 'B'}"
    return options


def _handle(number: object) -> str:
    if not isinstance(number, int):
        return "?"
    major = number >> 16
    # From 8000: on they are given out by the kernel, in the order of setting up.
    return f"{'auto' if major >= 0x8000 else f'{major:x}'}:{number & 0xFFFF:x}"


_TBF_PARMS = 1
_TBF_RATE64 = 4


def _token_bucket(options: str) -> str:
    """``rate 10000000 B/s limit 3000 B`` of the attributes of ``tbf``."""
    attributes = _attributes(bytes.fromhex(options))
    parameters = attributes.get(_TBF_PARMS, b"")
    if len(parameters) < 28:
        return options
    # struct tc_tbf_qopt: two struct tc_ratespec of 12 bytes, whose last word is the rate
    rate, limit = struct.unpack_from("<I", parameters, 8)[0], _word(parameters, 24)
    if len(attributes.get(_TBF_RATE64, b"")) >= 8:
        rate = struct.unpack_from("<Q", attributes[_TBF_RATE64])[0]
    return f"rate {rate} B/s limit {limit} B"


def _word(data: bytes, offset: int) -> int:
    return int(struct.unpack_from("<I", data, offset)[0])


def _attributes(data: bytes) -> dict[int, bytes]:
    attributes, at = {}, 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("<HH", data, at)
        if length < 4:
            break
        attributes[kind] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return attributes


_IDENTITY = re.compile(r"\s*(addr|ssid|wdev|BSSID|SSID|Connected to)\b")


def wifi_devices(text: str) -> list[str]:
    """What ``iw dev`` says, without addresses and names of networks."""
    return [line.strip() for line in text.splitlines() if line.strip() and not _is_private(line)]


def wifi_link(text: str) -> dict[str, Cell]:
    """What ``iw dev … link`` says, without addresses and names of networks."""
    return colon_table("\n".join(line for line in text.splitlines() if not _is_private(line)))


def _is_private(line: str) -> bool:
    return _IDENTITY.match(line) is not None


_OF_OWN_ADDRESSES = frozenset({"local", "broadcast", "multicast", "anycast"})
_WITH_TYPE = frozenset({"unicast", "blackhole", "unreachable", "prohibit", "throw", "nat"})
_LEFT_OUT = frozenset({"proto", "src", "pref", "expires", "error", "nhid"})
"""Words of ``ip route`` that come with one of their own and say who made a route, or when."""


def routes(text: str) -> dict[str, str]:
    """The routes that ``ip route`` lists, by destination, each table but the main one for itself.

    Of each what leads there, in the words of ``ip``, without addresses of the board itself; several
    to one destination stand in the order in which the kernel takes them. Those that the kernel made
    for the board's own addresses are left out.
    """
    by_destination: dict[str, list[tuple[int, str]]] = {}
    for line in text.splitlines():
        fields = line.split()
        if not fields or fields[0] in _OF_OWN_ADDRESSES or "proto kernel" in line:
            continue
        kind = [fields.pop(0)] if fields[0] in _WITH_TYPE else []
        if not fields:
            continue
        destination, *fields = fields
        route_words, metric = list(told_of_route(fields)), 0
        if "metric" in fields[:-1] and (digits := fields[fields.index("metric") + 1]).isdigit():
            metric = int(digits)
        if "table" in route_words[:-1]:
            at = route_words.index("table")
            destination = f"{destination} in table {route_words[at + 1]}"
            del route_words[at : at + 2]
        way = " ".join([*(word for word in kind if word != "unicast"), *route_words])
        by_destination.setdefault(destination, []).append((metric, way or "on"))
    return {
        destination: ", then ".join(way for _, way in sorted(ways, key=lambda way: way[0]))
        for destination, ways in by_destination.items()
    }


def told_of_route(fields: Sequence[str]) -> Iterator[str]:
    """The words of a route without what tells boards apart."""
    rest = iter(fields)
    for word in rest:
        if word in _LEFT_OUT:
            next(rest, "")
        elif word == "via":
            gateway = next(rest, "")
            if gateway in ("inet", "inet6"):
                gateway = next(rest, "")
            yield f"via {gateway or 'a gateway'}"
        elif word not in ("linkdown", "dead", "onlink", "offload"):
            yield word


def words_of_routes(text: str) -> list[list[str]]:
    """What decides of the routes of a setting ``net.route``, which has one after another with "; "
    between them: their words in an order that does not matter."""
    return [sorted(told_of_route(route.split())) for route in text.split("; ")]


def fixed_neighbours(text: str) -> dict[str, str]:
    """Neighbours whose addresses on the link somebody has set (``ip neigh show nud permanent``):
    a wrong one is nobody's, and what is sent there is lost."""
    neighbours = {}
    for line in text.splitlines():
        address, _, rest = line.partition(" ")
        if ":" in rest or "." in address:
            neighbours[address] = " ".join(rest.replace("PERMANENT", "").split())
    return neighbours


def routing_rules(text: str) -> list[str]:
    """The rules of ``ip rule`` in their order, without the numbers that say no more than that."""
    return [" ".join(line.partition(":")[2].split()) for line in text.splitlines() if ":" in line]
