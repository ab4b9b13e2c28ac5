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


def text(text: str) -> str:
    """The text without white space around it."""
    return text.strip()


def first_line(text: str) -> str:
    """The first line that is not empty; none is empty text."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def lines(text: str) -> list[str]:
    """The lines that are not empty, at most 400 of at most 500 characters."""
    kept = [line.rstrip()[:LINE_LENGTH] for line in text.splitlines() if line.strip()]
    return kept[:LINES]


def config_lines(text: str) -> list[str]:
    """The lines of a configuration file or script that do something: no comments, no blanks."""
    return [line.strip() for line in lines(text) if not line.lstrip().startswith(("#", ";"))]


def integer(text: str) -> int:
    """A whole number, decimal or with 0x; ValueError when it is none."""
    word = text.strip()
    return int(word, 16) if word.lower().startswith(("0x", "-0x")) else int(word, 10)


def vector(text: str) -> list[int]:
    """Numbers with white space or commas between them (``4096 131072 6291456``)."""
    return [int(word) for word in re.split(r"[\s,]+", text.strip()) if word]


def frequencies(text: str) -> list[int]:
    """A table of clocks in its unit, sorted: drivers list them up or down."""
    return sorted(set(vector(text)))


def size(text: str) -> int:
    """Bytes of a size such as ``32K`` or ``1024 kB`` (powers of 1024)."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("not a size")
    return parse_size(match[1] + match[2])


def bracket(text: str) -> str:
    """The active one of several choices: ``always [madvise] never``, ``none (full)``."""
    active = _ACTIVE.search(text)
    if active is not None:
        return (active[1] or active[2]).strip()
    if len(text.split()) != 1:
        raise ValueError("no choice is marked as active")
    return text.strip()


def word_set(text: str) -> list[str]:
    """Words whose order means nothing, sorted."""
    return sorted(set(text.split()))


def comma_list(text: str) -> list[str]:
    """Words between commas, whose order means something."""
    return [word.strip() for word in text.split(",") if word.strip()]


def presence(_given: str) -> bool:
    """True: that the file exists is the value."""
    return True


def cpu_list(text: str) -> str:
    """A list of CPUs in its shortest form: ``0-1,2,3`` is ``0-3``."""
    return format_cpus(parse_cpus(text))


def cpu_mask(text: str) -> str:
    """A hexadecimal mask of CPUs as a list: ``f`` or ``00000000,0000000f`` is ``0-3``."""
    return format_cpus(parse_cpu_mask(text))


# -- tables of keys and values ---------------------------------------------------------------------

_KILOBYTES = re.compile(r"(\d+) kB")
_INTEGER = re.compile(r"-?\d{1,20}")

Cell = int | str


def cell(word: str) -> Cell:
    """A number where it is one, bytes where it is given in kB, else the text."""
    kilobytes = _KILOBYTES.fullmatch(word)
    if kilobytes is not None:
        return int(kilobytes[1]) * 1024
    return int(word) if _INTEGER.fullmatch(word) else word


def colon_table(text: str) -> dict[str, Cell]:
    """``key: value`` lines, as in /proc/meminfo. Sizes are in bytes."""
    return _table(text, ":")


def equals_table(text: str) -> dict[str, Cell]:
    """``key=value`` lines, quotes taken away."""
    return _table(text, "=")


def space_table(text: str) -> dict[str, int]:
    """``key 123`` lines, as in /proc/vmstat."""
    table = {}
    for line in text.splitlines():
        columns = line.split()
        if len(columns) == 2 and _INTEGER.fullmatch(columns[1]):
            table[columns[0]] = int(columns[1])
    if not table and text.strip():
        raise ValueError("no line holds a key and a number")
    return table


def _table(text: str, separator: str) -> dict[str, Cell]:
    table: dict[str, Cell] = {}
    for line in text.splitlines():
        key, there, value = line.partition(separator)
        if there and key.strip() and not key.lstrip().startswith("#"):
            table[key.strip()] = cell(" ".join(value.strip().strip("\"'").split()))
    if not table and text.strip():
        raise ValueError(f"no line holds a key and a value with '{separator}' between them")
    return table


def pressure(text: str) -> dict[str, float]:
    """/proc/pressure: average shares in percent, and ``total`` in microseconds."""
    shares = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        for word in rest.split():
            name, _, value = word.partition("=")
            shares[f"{kind} {name}"] = int(value) if name == "total" else float(value)
    return shares


def loadavg(text: str) -> dict[str, float]:
    """/proc/loadavg: runnable and waiting tasks over 1, 5, 15 minutes; and now."""
    columns = text.split()
    running, _, threads = columns[3].partition("/")
    return {
        "1 min": float(columns[0]),
        "5 min": float(columns[1]),
        "15 min": float(columns[2]),
        "running": int(running),
        "threads": int(threads),
    }


def uptime(text: str) -> float:
    """Seconds since boot."""
    return float(text.split()[0])


_CPU_FIELDS = (
    *("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest"),
    "guest_nice",
)


def stat_cpu(text: str) -> dict[str, int]:
    """What all CPUs did, in ticks of USER_HZ, from the first line of /proc/stat."""
    for line in text.splitlines():
        columns = line.split()
        if columns[:1] == ["cpu"]:
            return dict(zip(_CPU_FIELDS, map(int, columns[1:]), strict=False))
    raise ValueError("no line 'cpu'")


def stat_totals(text: str) -> dict[str, int]:
    """Interrupts, context switches, forks and soft interrupts since boot, from /proc/stat."""
    totals = {}
    for line in text.splitlines():
        columns = line.split()
        if columns and columns[0] in ("intr", "ctxt", "processes", "softirq"):
            totals[columns[0]] = int(columns[1])
    return totals


def buddyinfo(text: str) -> dict[str, list[int]]:
    """Free pieces of 1, 2, 4 … pages by node and zone."""
    free = {}
    for line in text.splitlines():
        head, there, rest = line.partition("zone")
        if there:
            zone, *counts = rest.split()
            free[f"{head.strip().rstrip(',')} {zone}"] = [int(count) for count in counts]
    return free


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
