"""The cases: what is planted, what it slows down, how the true cause is recognised.

``cases/*.toml`` has one file a class, and in ``first_held_out.toml`` to ``eleventh_held_out.toml``
those that were held out once. ``held_out.toml`` has those that are held out now; there is none from
when a set has been run until the next is written. Whoever changes the diagnosis reads the former
only.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchvise.documents import decode
from benchvise.errors import UsageError

CLASSES = (
    "environment",
    "limits",
    "scheduling and cgroups",
    "mounts and file systems",
    "programs and libraries",
    "locale and time zone",
    "resolver and nsswitch",
    "network",
    "block queues and swap",
    "services and timers",
    "modules and boot words",
    "kernel settings",
)

_HERE = Path(__file__).parent
_CASES = _HERE / "cases"
_HELD_OUT = _HERE / "held_out.toml"


@dataclass(frozen=True, slots=True)
class Case:
    """A cause and the command that it slows down.

    ``report`` is the address of the public report, ``told`` what it says. ``both`` is a script that
    makes all boards fit for the command, ``plant`` one that makes the cause on the bad board; both
    run as root on the board before it boots. ``truth`` are regular expressions, any of which
    recognises the cause in what an answer calls it. ``where`` is what has to be named as what sets
    it: a file of the bad board, and after a colon a word of the line. ``needs`` are the programs
    that this machine must have, ``disk_mb`` the size of a disk for ``/data``, ``avoids`` a regular
    expression of decoys that would touch the cause. ``append`` are words for the kernel of a board
    that QEMU simulates; ``machine`` says which boards: ``ssh`` or ``qemu``.
    """

    name: str
    kind: str
    report: str
    told: str
    command: str
    truth: tuple[str, ...]
    plant: str = ""
    both: str = ""
    where: str = ""
    machine: str = "ssh"
    append: str = ""
    needs: tuple[str, ...] = ()
    disk_mb: int = 0
    options: tuple[str, ...] = ()
    avoids: str = ""
    held_out: bool = False

    def is_named_by(self, said: str) -> bool:
        """Whether this is what an answer calls the cause."""
        return any(re.search(pattern, said) for pattern in self.truth)


def development() -> list[Case]:
    """The cases that may be run at any time."""
    return [case for path in sorted(_CASES.glob("*.toml")) for case in _read(path, held_out=False)]


def held_out() -> list[Case]:
    """The cases that are run once, at the end; none where no set is unseen at present."""
    return _read(_HELD_OUT, held_out=True) if _HELD_OUT.exists() else []


def named(cases: Sequence[Case], names: Sequence[str]) -> list[Case]:
    """The cases of these names or classes, all where none is given. UsageError for an unknown
    one."""
    unknown = set(names) - {case.name for case in cases} - {case.kind for case in cases}
    if unknown:
        known = ", ".join(case.name for case in cases)
        raise UsageError(f"there is no case or class {min(unknown)}", f"there are {known}")
    return [case for case in cases if not names or {case.name, case.kind} & set(names)]


def _read(path: Path, *, held_out: bool) -> list[Case]:
    tables = tomllib.loads(path.read_text()).get("case", [])
    return [decode(Case, {**table, "held_out": held_out}) for table in tables]
