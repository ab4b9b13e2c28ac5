"""Differences that can be flipped for the measured process alone, without setting the board.

The kernel lets a process give up more than it can take: it can be barred from huge pages and from
random addresses, and not be given them where the board has them off. The attributes are those of
the probe's ``--as``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchvise.state.diff import Difference, Part
from benchvise.state.model import Entry
from benchvise.why.model import Layer, ProcessMeans, Suspect

# policy numbers of sched(7)
_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle"}
_REAL_TIME = ("fifo", "rr")
_IO_CLASSES = {0: "be", 1: "rt", 2: "be", 3: "idle"}

# Since then a process can be barred from huge pages but for those that it advises.
_ADVISED = (6, 18)


def instead_of_setting(suspect: Suspect, kernel: str) -> ProcessMeans | str:
    """The per-process flip that does what a suspect's setting would do, or why there is none.

    ``kernel`` is the release of the one that the process would run on.
    """
    values = suspect.good, suspect.bad
    if suspect.id == "memory.thp":
        if values == ("madvise", "always"):
            return ProcessMeans({"thp": "advised" if _release(kernel) >= _ADVISED else "off"})
        if values[0] == "never":
            return ProcessMeans({"thp": "off"})
        return "a process can be barred from huge pages, but not be given them"
    if suspect.id == "kernel.randomize_va_space":
        if values[0] == "0":
            return ProcessMeans({"aslr": "off"})
        return "a process can be given fixed addresses, but not random ones"
    return "nothing that is done to one process does the same"


def _release(kernel: str) -> tuple[int, int]:
    found = re.match(r"(\d{1,4})\.(\d{1,4})", kernel)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def process_suspects(difference: Difference) -> tuple[tuple[Suspect, ...], tuple[Part, ...]]:
    """The suspects in what a process inherits, and the parts that no flip covers."""
    found: list[Suspect] = []
    left: list[Part] = []
    for part in difference.parts:
        made = _made(difference, part)
        if made is None:
            left.append(part)
        elif made not in found:
            found.append(made)
    return tuple(found), tuple(left)


def _made(difference: Difference, part: Part) -> Suspect | None:
    name = difference.entry.name
    if name == "timer.resolution/of the probe" and part.key == "slack_ns":
        return _suspect(difference, "timer.resolution:slack", "timer_slack", part.a, part.b)
    if name == "cpu.present/allowed" and part.key == "Cpus_allowed_list":
        return _suspect(difference, "cpu.present:allowed", "cpus", part.a, part.b)
    if name == "process.inherited/process" and part.key == "nice":
        return _suspect(difference, "process.inherited:nice", "nice", part.a, part.b)
    if name == "process.inherited/process" and part.key in ("policy", "priority"):
        values = [_scheduling(entry) for entry in (difference.a, difference.b)]
        return _suspect(difference, "process.inherited:sched", "sched", *values)
    if name == "process.inherited/process" and part.key in ("io_class", "io_level"):
        values = [_io(entry) for entry in (difference.a, difference.b)]
        return _suspect(difference, "process.inherited:ioprio", "ioprio", *values)
    return None


def _io(entry: Entry | None) -> str | None:
    value = entry.value if entry is not None else None
    if not isinstance(value, Mapping):
        return None
    kind = _IO_CLASSES.get(value.get("io_class", -1))
    if kind is None or kind == "idle":
        return kind
    # without a class it is as nice 0 has it
    return f"{kind}:{value.get('io_level', 4) if value.get('io_class') else 4}"


def _scheduling(entry: Entry | None) -> str | None:
    value = entry.value if entry is not None else None
    if not isinstance(value, Mapping):
        return None
    policy = _POLICIES.get(value.get("policy", -1))
    if policy in _REAL_TIME:
        return f"{policy}:{value.get('priority', 1)}"
    return policy


def _suspect(
    difference: Difference, name: str, attribute: str, good: object, bad: object
) -> Suspect | None:
    if good is None or bad is None:
        return None
    item = difference.item
    return Suspect(
        id=name,
        title=_TITLES[attribute],
        layer=Layer.PROCESS,
        item=item.id if item is not None else difference.entry.item,
        good=str(good),
        bad=str(bad),
        members=(difference.entry.name,),
        means=ProcessMeans({attribute: str(good)}, {attribute: str(bad)}),
    )


_TITLES = {
    "timer_slack": "how much later than asked a process is woken",
    "cpus": "on which CPUs a process may run",
    "nice": "how much of the CPU a process gets beside others",
    "ioprio": "how urgent the I/O of a process is",
    "sched": "the scheduling class that a process inherits",
}
