"""Single values, lists and masks, which most files of /proc/sys and /sys hold; and tables, as /proc
writes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchvise.quantities import format_cpus, parse_cpu_mask, parse_cpus, parse_size

LINES = 400
LINE_LENGTH = 500

_ACTIVE = re.compile(r"\[([^\[\]]+)\]|\(([^()]+)\)")
_SIZE = re.compile(r"(\d+)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)  # ``8192 kB``, ``32KiB``


def text(given: str) -> str:
    """The text without white space around it."""
    return given.strip()


def first_line(given: str) -> str:
    """The first line that is not empty; none is empty text."""
    return next((line.strip() for line in given.splitlines() if line.strip()), "")


def lines(given: str) -> list[str]:
    """The lines that are not empty, at most 400 of at most 500 characters."""
    kept = [line.rstrip()[:LINE_LENGTH] for line in given.splitlines() if line.strip()]
    return kept[:LINES]


def config_lines(given: str) -> list[str]:
    """The lines of a configuration file or script that do something: no comments, no blanks."""
    return [line.strip() for line in lines(given) if not line.lstrip().startswith(("#", ";"))]


def integer(given: str) -> int:
    """A whole number, decimal or with 0x; ValueError when it is none."""
    word = given.strip()
    return int(word, 16) if word.lower().startswith(("0x", "-0x")) else int(word, 10)


def vector(given: str) -> list[int]:
    """Numbers with white space or commas between them (``4096 131072 6291456``)."""
    return [int(word) for word in re.split(r"[\s,]+", given.strip()) if word]


def frequencies(given: str) -> list[int]:
    """A table of clocks in its unit, sorted: drivers list them up or down."""
    return sorted(set(vector(given)))


def size(given: str) -> int:
    """Bytes of a size such as ``32K`` or ``1024 kB`` (powers of 1024)."""
    match = _SIZE.fullmatch(given.strip())
    if match is None:
        raise ValueError("not a size")
    return parse_size(match[1] + match[2])


def bracket(given: str) -> str:
    """The active one of several choices: ``always [madvise] never``, ``none (full)``."""
    found = _ACTIVE.search(given)
    if found is not None:
        return (found[1] or found[2]).strip()
    if len(given.split()) != 1:
        raise ValueError("no choice is marked as active")
    return given.strip()


def word_set(given: str) -> list[str]:
    """Words whose order means nothing, sorted."""
    return sorted(set(given.split()))


def comma_list(given: str) -> list[str]:
    """Words between commas, whose order means something."""
    return [word.strip() for word in given.split(",") if word.strip()]


def presence(_given: str) -> bool:
    """True: that the file exists is the value."""
    return True


def cpu_list(given: str) -> str:
    """A list of CPUs in its shortest form: ``0-1,2,3`` is ``0-3``."""
    return format_cpus(parse_cpus(given))


def cpu_mask(given: str) -> str:
    """A hexadecimal mask of CPUs as a list: ``f`` or ``00000000,0000000f`` is ``0-3``."""
    return format_cpus(parse_cpu_mask(given))


# -- tables of keys and values ---------------------------------------------------------------------

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
