"""A line that gives a value to something when a system starts.

What is set is a *target*: the path of a file in ``/sys``, ``/proc`` or a control group, often with
wildcards, or where the kernel shows no file a word and a name: ``word:isolcpus`` (of the command
line), ``config:CONFIG_HZ``, ``environment:LD_PRELOAD``, ``qdisc:eth0``, ``ethtool:eth0/tso``,
``mount:/data``, ``limit:memlock``, ``process:timer_slack``, ``device tree:/soc/…``.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from enum import IntEnum

from benchvise.quantities import nanoseconds_or_none, parse_cpu_mask, parse_cpus, size_or_none


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file; ``number`` counts from 1, 0 where a file has no lines."""

    file: str
    number: int
    text: str

    @property
    def where(self) -> str:
        """``/etc/rc.local:12``."""
        return f"{self.file}:{self.number}" if self.number else self.file


class Stage(IntEnum):
    """When in the course of a boot something is set: later ones win."""

    KERNEL_DEFAULT = 0
    DEVICE_TREE = 1
    COMMAND_LINE = 2
    MODULES = 3
    UDEV = 4
    SYSCTL = 5
    TMPFILES = 6
    INIT = 7
    RUN_LEVEL = 8
    UNITS = 8
    RC_LOCAL = 9
    LATE = 10
    LOGIN = 11


@dataclass(frozen=True, slots=True)
class Assignment:
    """``line`` sets ``target`` to ``value`` at ``when``: compared, the larger one is later.

    ``value`` is None where it is not known before the line is run. ``certain`` is false where the
    line may not be run, or may mean another device; ``note`` says why, or by way of what it is
    run. Targets that match one of ``but`` are not set by it.
    """

    kind: str
    line: Line
    target: str
    value: str | None
    when: tuple[int, ...]
    certain: bool = True
    note: str = ""
    but: tuple[str, ...] = ()


# -- whether two spellings of a value mean the same to a file of the kernel ------------------------

_YES = frozenset({"1", "y", "yes", "on", "true", "enabled", "enable"})
_NO = frozenset({"0", "n", "no", "off", "false", "disabled", "disable", "never"})
_NUMBER = re.compile(r"[+-]?(?:0x[0-9a-f]{1,16}|\d{1,19})", re.IGNORECASE)
_CPU_LIST = re.compile(r"\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?)*")
_MASK = re.compile(r"(?:0x)?[0-9a-f]{1,8}(?:,[0-9a-f]{8})*", re.IGNORECASE)


def same(target: str, text: str, other: str) -> bool:
    """Whether a line that says ``text`` can have made the target show ``other``."""
    a, b = _tidy(text), _tidy(other)
    if a == b:
        return True
    if target.endswith("kernel/printk"):
        return a.split(" ")[0] == b.split(" ")[0]
    if target.endswith(("smp_affinity", "rps_cpus", "xps_cpus", "cpumask", "affinity_list",
                        "isolated", "nohz_full", "/online", "process:affinity")):  # fmt: skip
        return bool(_meanings_of_cpus(a) & _meanings_of_cpus(b))
    if target in ("process:timer_slack",):
        return _nanoseconds(a) == _nanoseconds(b) is not None
    if target.startswith("limit:") and ":" in a:  # soft and hard
        return any(same(target, part, b) for part in a.split(":"))
    if target.startswith("limit:") or "/memory." in target or target.endswith("_bytes"):
        return _bytes(a) == _bytes(b) is not None
    parts, others = a.split(" "), b.split(" ")
    if len(parts) > 1 and len(parts) == len(others):
        return all(_equal(x, y) for x, y in zip(parts, others, strict=True))
    if target.startswith("qdisc:") and a and b:
        return parts[0] == others[0] or parts[0] in b
    return _equal(a, b)


def _tidy(text: str) -> str:
    return " ".join(text.strip().strip("\"'").lower().split())


def _equal(a: str, b: str) -> bool:
    if a == b:
        return True
    if _NUMBER.fullmatch(a) and _NUMBER.fullmatch(b):
        return _integer(a) == _integer(b)
    return (a in _YES and b in _YES) or (a in _NO - {"never"} and b in _NO - {"never"})


def _integer(text: str) -> int:
    return int(text, 16) if "x" in text else int(text)


def _meanings_of_cpus(text: str) -> set[frozenset[int]]:
    """The CPUs of a list, of a mask, or of a number that could be either."""
    meanings: set[frozenset[int]] = set()
    if _CPU_LIST.fullmatch(text):
        with contextlib.suppress(ValueError):
            meanings.add(frozenset(parse_cpus(text)))
    if _MASK.fullmatch(text):
        meanings.add(frozenset(parse_cpu_mask(text)))
    return meanings


def _nanoseconds(text: str) -> float | None:
    """Of a duration, or of a number, which the kernel counts in nanoseconds."""
    return nanoseconds_or_none(text if text[-1:].isalpha() else f"{text}ns")


def _bytes(text: str) -> int | str | None:
    if text in ("infinity", "unlimited", "max", "-1"):
        return "max"
    return size_or_none(text)
