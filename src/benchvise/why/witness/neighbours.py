"""What other programs did on a board while the command was watched there.

A service that one side alone runs may take no CPU to speak of and be the cause all the same: it
holds a lock, wakes a hundred times a second to empty a cache or to send, or has most of the memory.
One that never wakes and holds nothing is hardly the cause. /proc/PID/status and /proc/locks tell
that apart (proc(5), proc_locks(5)); they are read before and after the command was watched.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchvise.board.protocol import Board
from benchvise.errors import BoardUnusable
from benchvise.text import printable
from benchvise.why.model import Side, Suspect, Term
from benchvise.why.witness.model import Activity, NeighbourActivity, SideWatch, Witness
from benchvise.why.witness.touching import NAME

_READ = (
    'grep -h -E "^(Name|Pid|VmRSS|voluntary_ctxt_switches):" /proc/[0-9]*/status 2>/dev/null; '
    "sed -n 's/^/lock /p' /proc/locks 2>/dev/null; "
    'for p in /proc/[0-9]*; do [ -r $p/stat ] && read -r s <$p/stat && echo "stat $s"; '
    'set -- $p/fd/*; echo "open ${p#/proc/} $#"; done 2>/dev/null; true'
)
_READ_S = 20.0
_LOCK = re.compile(r"lock \d+: \w+ +\w+ +\w+ (\d{1,9}) ")
# Times are those of the process and of the children that it has waited for (proc(5)).
_STAT = re.compile(r"stat (\d{1,9}) \(.*\) ([A-Za-z](?: -?\d{1,20}){15,60})$")
_OPEN = re.compile(r"open (\d{1,9}) (\d{1,9})$")
_TICKS_PER_S = 100.0
_SESSIONS = ("sshd", "sshd-session", "dropbear", "bvprobe", "login", "getty")
_KERNEL_THREADS = 2
_BUSIEST = 3
_MOST = 400  # programs of a board
_COMM = 15  # characters of a program's name that the kernel keeps

_RUNS = "system.services/program "
_OFTEN = 2.0  # wake-ups a second
_HARDLY = 0.2
_LARGE_MB = 128.0
_SHARE = 0.1
_BUSY = 0.15
_LOCKING = ("fcntl", "flock")
_MISSED_POINTS = 6.0


@dataclass(slots=True)
class ProcessSample:
    """The processes of a board at one moment, by number."""

    at: float
    names: dict[int, str] = field(default_factory=dict)
    wakes: dict[int, int] = field(default_factory=dict)
    resident_kb: dict[int, int] = field(default_factory=dict)
    holders: list[int] = field(default_factory=list)
    ticks: dict[int, int] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    descriptors: dict[int, int] = field(default_factory=dict)


def sample(board: Board) -> ProcessSample | None:
    """The processes of a board now; None where it cannot tell. Raises BoardUnreachable."""
    try:
        completed = board.run(["sh", "-c", _READ], timeout=_READ_S)
    except BoardUnusable:
        return None
    return parse_sample(completed.stdout.decode("utf-8", "replace"), time.monotonic())


def parse_sample(text: str, at: float) -> ProcessSample | None:
    """A sample by what was read; None where that has no process."""
    taken = ProcessSample(at)
    name, process = "", 0
    for line in text.splitlines():
        key, _, value = line.partition(":")
        number = re.match(r"\s*(\d{1,12})", value)
        if lock := _LOCK.match(line):
            taken.holders.append(int(lock[1]))
        elif stat := _STAT.match(line):
            fields = stat[2].split()
            taken.parents[int(stat[1])] = int(fields[1])
            taken.ticks[int(stat[1])] = sum(map(int, fields[11:15]))
        elif of := _OPEN.match(line):
            taken.descriptors[int(of[1])] = int(of[2])
        elif key == "Name":
            name, process = printable(value.strip(), _COMM), 0
        elif number is None:
            continue
        elif key == "Pid":
            process = int(number[1])
            taken.names[process] = name
        elif key == "VmRSS" and process:
            taken.resident_kb[process] = int(number[1])
        elif key == "voluntary_ctxt_switches" and process:
            taken.wakes[process] = int(number[1])
    return taken if taken.names else None


def activities(
    before: ProcessSample | None, after: ProcessSample | None
) -> tuple[NeighbourActivity, ...]:
    """What the programs that were there all the time did between two samples."""
    if before is None or after is None or after.at <= before.at:
        return ()
    seconds = after.at - before.at
    programs: dict[str, list[int]] = {}
    for process, name in after.names.items():
        if before.names.get(process) == name:
            programs.setdefault(name, []).append(process)
    return tuple(
        NeighbourActivity(
            name,
            round(sum(_woke(p, before, after) for p in processes) / seconds, 3),
            round(sum(after.resident_kb.get(p, 0) for p in processes) / 1024, 1),
            sum(after.holders.count(p) for p in processes),
            len(processes),
            round(sum(_cpus(p, before, after) for p in processes), 3),
            sum(after.descriptors.get(p, 0) for p in processes),
        )
        for name, processes in list(programs.items())[:_MOST]
    )


def busiest(before: ProcessSample | None, after: ProcessSample | None) -> dict[int, float]:
    """The processes that took most of the CPUs beside the command, and how much: none of sessions,
    in which the command itself runs."""
    if before is None or after is None or after.at <= before.at:
        return {}
    took = {
        process: _cpus(process, before, after)
        for process, name in after.names.items()
        if before.names.get(process) == name and not _is_of_session(process, after)
    }
    busy = sorted((p for p in took if took[p] >= _BUSY), key=lambda p: -took[p])
    return {process: took[process] for process in busy[:_BUSIEST]}


def _cpus(process: int, before: ProcessSample, after: ProcessSample) -> float:
    ticks = after.ticks.get(process, 0) - before.ticks.get(process, 0)
    return max(0.0, ticks / _TICKS_PER_S / (after.at - before.at))


def _is_of_session(process: int, sample: ProcessSample) -> bool:
    """Whether a process, or one of those that it stems from, carries a login; threads of the kernel
    count as such, as no file configures them."""
    seen: set[int] = set()
    while process > 1 and process not in seen:
        seen.add(process)
        if process == _KERNEL_THREADS or sample.names.get(process) in _SESSIONS:
            return True
        process = sample.parents.get(process, 0)
    return False


def _woke(process: int, before: ProcessSample, after: ProcessSample) -> int:
    return max(0, after.wakes.get(process, 0) - before.wakes.get(process, 0))


# -- what it says of suspects ----------------------------------------------------------------------


def put_active_first(
    suspects: Sequence[Suspect], watches: Mapping[Side, SideWatch], witness: Witness | None
) -> tuple[Suspect, ...]:
    """The suspects in their new order, those about programs that only one side runs with a term for
    what these did there."""
    bad = watches.get(Side.BAD, SideWatch())
    activities = {activity.name: activity for activity in bad.neighbours}
    missed = _missed(watches)
    if not activities and not missed:
        return tuple(suspects)
    waits = _waits_for_locks(witness)
    scored = []
    for suspect in suspects:
        terms = (*_terms(suspect, activities, waits=waits), *_of_missed(suspect, missed))
        scored.append(replace(suspect, terms=(*suspect.terms, *terms)) if terms else suspect)
    return tuple(sorted(scored, key=lambda s: (s.means is None, -s.log_odds)))


def _waits_for_locks(witness: Witness | None) -> bool:
    if witness is None:
        return False
    # who is refused a lock sleeps and tries again
    if any(name.startswith(_LOCKING) for name in witness.failing):
        return True
    parts = witness.parts
    return any(part.activity is Activity.LOCK and part.share >= _SHARE for part in parts)


def _missed(watches: Mapping[Side, SideWatch]) -> dict[str, str]:
    """The programs that the command talks to on the good side alone, and that have no process on
    the bad one, with what it talks to them by: a cache, a resolver, a daemon that was never
    started."""
    if len(watches) < len(Side):
        return {}
    good, bad = watches[Side.GOOD], watches[Side.BAD]
    there = {partner.name[:_COMM] for partner in bad.partners}
    there |= {activity.name for activity in bad.neighbours}
    return {
        partner.name[:_COMM]: ", ".join(partner.targets[:2])
        for partner in good.partners
        if partner.name[:_COMM] not in there and not partner.through
    }


def _of_missed(suspect: Suspect, missed: Mapping[str, str]) -> Iterator[Term]:
    names = [m.removeprefix(_RUNS)[:_COMM] for m in suspect.members if m.startswith(_RUNS)]
    name = next((name for name in names if name in missed), "")
    if name and suspect.good == "running" and suspect.bad != "running":
        reason = (
            f"the command talks to {name} by {missed[name]} on good, and it is not there on bad"
        )
        yield Term(NAME, _MISSED_POINTS, reason)


def _terms(
    suspect: Suspect, activities: Mapping[str, NeighbourActivity], *, waits: bool
) -> Iterator[Term]:
    names = [m.removeprefix(_RUNS)[:_COMM] for m in suspect.members if m.startswith(_RUNS)]
    seen = [activities[name] for name in names if name in activities]
    if not seen or suspect.bad != "running":
        return
    most = max(seen, key=lambda activity: activity.wakes_per_s)
    if waits and (holder := next((activity for activity in seen if activity.locks), None)):
        yield Term(
            NAME, 4.0, f"{holder.name} holds a lock of a file, and the command waits for one"
        )
    if most.wakes_per_s >= _OFTEN:
        points = min(3.0, 1.5 + 0.03 * most.wakes_per_s)
        yield Term(NAME, points, f"{most.name} woke {most.wakes_per_s:.3g} times a second there")
    if (large := max(activity.resident_mb for activity in seen)) >= _LARGE_MB:
        yield Term(NAME, 1.0, f"it has {large:.0f} MB of memory there")
    is_still = most.wakes_per_s < _HARDLY and large < _LARGE_MB
    if is_still and not any(activity.locks for activity in seen):
        yield Term(NAME, -1.0, f"{most.name} did nothing while the command was watched")
