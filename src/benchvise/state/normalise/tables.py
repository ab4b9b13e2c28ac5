"""Tables of keys and values, as /proc writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_KILOBYTES = re.compile(r"(\d+) kB")
_INTEGER = re.compile(r"-?\d{1,20}")

Cell = int | str


def cell(word: str) -> Cell:
    """A number where it is one, bytes where it is given in kB, else the text."""
    found = _KILOBYTES.fullmatch(word)
    if found is not None:
        return int(found[1]) * 1024
    return int(word) if _INTEGER.fullmatch(word) else word


def colon_table(given: str) -> dict[str, Cell]:
    """``key: value`` lines, as in /proc/meminfo. Sizes are in bytes."""
    return _table(given, ":")


def equals_table(given: str) -> dict[str, Cell]:
    """``key=value`` lines, quotes taken away."""
    return _table(given, "=")


def space_table(given: str) -> dict[str, int]:
    """``key 123`` lines, as in /proc/vmstat."""
    found = {}
    for line in given.splitlines():
        words = line.split()
        if len(words) == 2 and _INTEGER.fullmatch(words[1]):
            found[words[0]] = int(words[1])
    if not found and given.strip():
        raise ValueError("no line holds a key and a number")
    return found


def _table(given: str, separator: str) -> dict[str, Cell]:
    found: dict[str, Cell] = {}
    for line in given.splitlines():
        key, there, value = line.partition(separator)
        if there and key.strip() and not key.lstrip().startswith("#"):
            found[key.strip()] = cell(" ".join(value.strip().strip("\"'").split()))
    if not found and given.strip():
        raise ValueError(f"no line holds a key and a value with '{separator}' between them")
    return found


def pressure(given: str) -> dict[str, float]:
    """/proc/pressure: average shares in percent, and ``total`` in microseconds."""
    found = {}
    for line in given.splitlines():
        kind, _, rest = line.partition(" ")
        for word in rest.split():
            name, _, value = word.partition("=")
            found[f"{kind} {name}"] = int(value) if name == "total" else float(value)
    return found


def loadavg(given: str) -> dict[str, float]:
    """/proc/loadavg: runnable and waiting tasks over 1, 5, 15 minutes; and now."""
    words = given.split()
    running, _, threads = words[3].partition("/")
    return {
        "1 min": float(words[0]),
        "5 min": float(words[1]),
        "15 min": float(words[2]),
        "running": int(running),
        "threads": int(threads),
    }


def uptime(given: str) -> float:
    """Seconds since boot."""
    return float(given.split()[0])


_CPU_FIELDS = (
    *("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest"),
    "guest_nice",
)


def stat_cpu(given: str) -> dict[str, int]:
    """What all CPUs did, in ticks of USER_HZ, from the first line of /proc/stat."""
    for line in given.splitlines():
        words = line.split()
        if words[:1] == ["cpu"]:
            return dict(zip(_CPU_FIELDS, map(int, words[1:]), strict=False))
    raise ValueError("no line 'cpu'")


def stat_totals(given: str) -> dict[str, int]:
    """Interrupts, context switches, forks and soft interrupts since boot, from /proc/stat."""
    found = {}
    for line in given.splitlines():
        words = line.split()
        if words and words[0] in ("intr", "ctxt", "processes", "softirq"):
            found[words[0]] = int(words[1])
    return found


def buddyinfo(given: str) -> dict[str, list[int]]:
    """Free pieces of 1, 2, 4 … pages by node and zone."""
    found = {}
    for line in given.splitlines():
        head, there, rest = line.partition("zone")
        if there:
            zone, *counts = rest.split()
            found[f"{head.strip().rstrip(',')} {zone}"] = [int(count) for count in counts]
    return found


def pick(
    table: Mapping[str, object], only: tuple[str, ...], drop: tuple[str, ...]
) -> dict[str, object]:
    """The part of a table whose keys match one of ``only`` (all when that is empty), less
    those that match one of ``drop``. The patterns know ``*`` alone.
    """
    kept, left_out = _pattern(only or ("*",)), _pattern(drop)
    return {k: v for k, v in table.items() if kept.fullmatch(k) and not left_out.fullmatch(k)}


def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    parts = (".*".join(map(re.escape, pattern.split("*"))) for pattern in patterns)
    return re.compile("|".join(parts) or r"(?!)", re.DOTALL)
