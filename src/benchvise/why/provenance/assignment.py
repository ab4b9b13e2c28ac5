"""A line that gives a value to something when a system starts.

What is set is a *target*: the path of a file in ``/sys``, ``/proc`` or a control group, often with
wildcards, or where the kernel shows no file a word and a name: ``word:isolcpus`` (of the command
line), ``config:CONFIG_HZ``, ``environment:LD_PRELOAD``, ``qdisc:eth0``, ``ethtool:eth0/tso``,
``mount:/data``, ``limit:memlock``, ``process:timer_slack``, ``device tree:/soc/…``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from benchvise.text import printable

_SHOWN = 300  # characters of a line


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

    @property
    def text(self) -> str:
        """The line, fit to be printed."""
        return printable(self.line.text, _SHOWN)

    def later(self, *rank: int) -> Assignment:
        """The same, ordered by these numbers before its own."""
        return replace(self, when=(*rank, *self.when))
