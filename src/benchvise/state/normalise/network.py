"""Network: counters, queueing disciplines, Wi-Fi."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping, Sequence

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


_TYPES = ("blackhole", "unreachable", "prohibit", "throw")
_METRICS = re.compile(
    r"\b(mtu|advmss|window|initcwnd|initrwnd|rto_min|rtt|rttvar|cwnd|ssthresh|reordering|hoplimit|"
    r"quickack|congctl|features|fastopen_no_cookie)( lock)? (\S+)"
)


def route_metrics(text: str) -> dict[str, str]:
    """The routes of ``ip route`` that are not plain: destination to what its line adds (a size of
    segments or windows, a time, a route to nowhere), without addresses on the way."""
    routes = {}
    for line in text.splitlines():
        fields = line.split()
        kind = fields[0] if fields and fields[0] in _TYPES else ""
        if kind or (
            fields and fields[0] in ("unicast", "local", "broadcast", "multicast", "anycast")
        ):
            fields = fields[1:]
        metrics = [f"{m[1]}{m[2] or ''} {m[3]}" for m in _METRICS.finditer(line)]
        metrics = [*([kind] if kind else []), *metrics]
        if metrics and fields:
            routes[fields[0]] = " ".join(metrics)
    return routes
