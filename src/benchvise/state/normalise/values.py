"""Single values, lists and masks: what most files of /proc/sys and /sys hold."""

from __future__ import annotations

import re

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
