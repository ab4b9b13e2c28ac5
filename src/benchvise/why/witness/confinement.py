"""What the processes of a command may not do on one side: filters, capabilities, profiles.

Read of the very processes, by /proc/PID/status and attr/current (proc(5)), just before they end: a
service manager, a container, a wrapper or the profile of a program gives them less than the login
has. A filter runs at each system call, a refused one sends a program another way, and without a
capability it gets no priority and no locked memory. Rules of Landlock are shown by no kernel; a
process that has some has "no new privileges" as a rule.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchvise.text import printable
from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.witness.model import ProcessConfinement, SideWatch

CONFINED = "process.confined:"
"""What begins the id of such a suspect."""

SESSION = "kernel.security/process"
"""The entry of a snapshot that tells the same of the session."""

_NAMES = (
    "chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable "
    "net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio "
    "sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time "
    "sys_tty_config mknod lease audit_write audit_control setfcap mac_override mac_admin syslog "
    "wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore"
)
"""capabilities(7), in the order of their numbers."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """One way to confine a process: ``key`` as the kernel calls it, and who sets it."""

    key: str
    name: str
    title: str
    points: float
    free: str
    unit: str
    container: str


_KINDS = (
    _Kind("Seccomp", "seccomp", "the filter of system calls (seccomp) of the command", -0.5, "0",
          "SystemCallFilter=", "--security-opt seccomp=unconfined"),
    _Kind("Seccomp_filters", "seccomp_filters", "the filters of system calls (seccomp) that the "
          "command has", -0.5, "0", "SystemCallFilter=", "--security-opt seccomp=unconfined"),
    _Kind("NoNewPrivs", "no_new_privs", "whether programs of the command gain rights by setuid "
          "(no_new_privs)", -1.5, "0", "NoNewPrivileges=no", "without no-new-privileges"),
    _Kind("CapEff", "capabilities", "the capabilities of the command's processes", -0.5, "",
          "CapabilityBoundingSet=", "--cap-add NAME"),
    _Kind("profile", "profile", "the profile (AppArmor, SELinux) of the command's processes", -0.5,
          "unconfined", "AppArmorProfile=unconfined", "--security-opt apparmor=unconfined"),
)  # fmt: skip
_MODES = {"0": "none", "1": "strict", "2": "a filter"}
_MORE_FREE = -2.0
_UNTESTABLE = "a process cannot take it off again: change what starts it"
_HEX = re.compile(r"[0-9a-f]{1,16}")


def confinement_suspects(watches: Mapping[Side, SideWatch]) -> Iterator[Suspect]:
    """A suspect for each kind in which the processes of the command are confined otherwise."""
    if any(not watches[side].confinements for side in Side if side in watches) or len(watches) < 2:
        return
    for kind in _KINDS:
        seen = {side: _values(kind.key, watches[side].confinements) for side in Side}
        if seen[Side.GOOD] == seen[Side.BAD] or not all(seen.values()):
            continue
        if kind.key == "Seccomp_filters" and _differ("Seccomp", watches):
            continue  # the same, said twice
        good, bad = _texts(kind.key, seen[Side.GOOD], seen[Side.BAD])
        program = _program(kind.key, watches)
        terms = [Term("confined", kind.points, f"{program} of the command is confined so")]
        if not _is_tighter(kind, seen[Side.GOOD], seen[Side.BAD]):
            terms.append(Term("confined", _MORE_FREE, "the bad side is freer"))
        yield Suspect(
            f"{CONFINED}{kind.name}",
            kind.title,
            Layer.PROCESS,
            "process.confined",
            good,
            bad,
            (f"{CONFINED}{kind.name}",),
            untestable=_UNTESTABLE,
            terms=tuple(terms),
        )


def without_session(
    suspects: Sequence[Suspect], confined: Sequence[Suspect]
) -> tuple[Suspect, ...]:
    """The suspects without what snapshots tell of the session alone, where it is told of the very
    processes."""
    if not confined:
        return tuple(suspects)
    return tuple(s for s in suspects if set(s.members) != {SESSION})


def started_free(suspect: Suspect, command: str) -> str:
    """The line of shell that has process 1 start the command, so without what a login, a container
    or a wrapper took away; of a profile the one without it. Empty for others, and where the bad
    side is freer."""
    if not suspect.id.startswith(CONFINED) or any(t.points == _MORE_FREE for t in suspect.terms):
        return ""
    started = shlex.join(["sh", "-c", command or "COMMAND"])
    if suspect.id == f"{CONFINED}profile":
        return f"aa-exec -p unconfined -- {started}"
    kind = next(kind for kind in _KINDS if suspect.id == f"{CONFINED}{kind.name}")
    who = f"  # by process 1; a unit: {kind.unit}; a container: {kind.container}"
    return f"systemd-run --quiet --wait --pipe {started}{who}"


def _values(key: str, of: Sequence[ProcessConfinement]) -> frozenset[str]:
    return frozenset(value for process in of if (value := process.values.get(key, "")))


def _differ(key: str, watches: Mapping[Side, SideWatch]) -> bool:
    return len({_values(key, watches[side].confinements) for side in Side}) > 1


def _program(key: str, watches: Mapping[Side, SideWatch]) -> str:
    """A program that has a value which no process of the good side has."""
    usual = _values(key, watches[Side.GOOD].confinements)
    for process in watches[Side.BAD].confinements:
        if process.values.get(key, "") not in usual and process.program:
            return printable(process.program.rpartition("/")[2], 60)
    return "a process"


def _is_tighter(kind: _Kind, good: frozenset[str], bad: frozenset[str]) -> bool:
    if kind.key == "CapEff":
        least = [min((_mask(v).bit_count() for v in side), default=0) for side in (good, bad)]
        return least[1] < least[0]
    if kind.free.isdigit():
        return max(map(_number, bad)) > max(map(_number, good))
    return kind.free in good or kind.free not in bad


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _mask(text: str) -> int:
    return int(text, 16) if _HEX.fullmatch(text) else 0


def _texts(key: str, good: frozenset[str], bad: frozenset[str]) -> tuple[str, str]:
    """Both values in words; of capabilities those that the other side has besides."""
    if key != "CapEff":
        return tuple(  # type: ignore[return-value]  # two of them
            printable(
                ", ".join(sorted(_MODES.get(v, v) if key == "Seccomp" else v for v in side)), 200
            )
            for side in (good, bad)
        )
    masks = [min((_mask(value) for value in side), key=int.bit_count) for side in (good, bad)]
    missing = [masks[1] & ~masks[0], masks[0] & ~masks[1]]
    return tuple(_without(mask) for mask in missing)  # type: ignore[return-value]


def _without(mask: int) -> str:
    names = [f"CAP_{name.upper()}" for bit, name in enumerate(_NAMES.split()) if mask >> bit & 1]
    return f"without {', '.join(names)}" if names else "with all of them"
