"""Profiles of AppArmor that confine the programs which a command runs or talks to.

A program takes the profile of its name when it is executed (apparmor(7)), so who runs it has none
and sees none. Which profiles are loaded, and whether they are enforced, is told by the kernel; one
that the bad side alone enforces has each file that the program opens checked, or refuses it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from benchvise.state.model import Snapshot
from benchvise.text import printable
from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.witness.model import SideWatch
from benchvise.why.witness.opened import NOT_THERE

PROFILE = "kernel.security:profile "
"""What begins the id of such a suspect."""

_LIST = "kernel.security/profiles of AppArmor"
_LINE = re.compile(r"(\S.{0,200}) \((\w{1,20})\)")
_ENFORCED = "enforce"
_UNTESTABLE = "it confines whoever runs the program: have it complain and no more"
_RUNS = Term("profile", -0.5, "the command runs the program that it confines")
_TALKS = Term("profile", -1.5, "the command talks to the program that it confines")


def profile_suspects(
    watches: Mapping[Side, SideWatch], snapshots: Mapping[Side, Snapshot]
) -> Iterator[Suspect]:
    """A suspect for each profile that is not in the same mode on both sides and that confines a
    program which the command runs, or one that it talks to."""
    if len(watches) < len(Side) or len(snapshots) < len(Side):
        return
    modes = {side: _modes(snapshots[side]) for side in Side}
    executed = {
        call.target
        for watch in watches.values()
        for call in watch.calls
        if call.name.startswith("execve") and call.count > call.errors
    }
    served = {of.program[0] for w in watches.values() for of in w.partners if of.program}
    for name in dict.fromkeys((*modes[Side.BAD], *modes[Side.GOOD])):
        good, bad = (modes[side].get(name, NOT_THERE) for side in (Side.GOOD, Side.BAD))
        runs, talks = _confines(name, executed), _confines(name, served)
        if good == bad or not (runs or talks):
            continue
        called = printable(name, 120)
        less = () if bad == _ENFORCED else (Term("profile", -1.5, "the bad side is freer"),)
        yield Suspect(
            f"{PROFILE}{called}",
            f"the profile {called} of AppArmor",
            Layer.RUN_TIME,
            "kernel.security",
            good,
            bad,
            (f"{PROFILE}{called}",),
            untestable=_UNTESTABLE,
            terms=(_RUNS if runs else _TALKS, *less),
        )


def _modes(snapshot: Snapshot) -> dict[str, str]:
    value = next((entry.value for entry in snapshot.entries() if entry.name == _LIST), None)
    lines = map(str, value) if isinstance(value, list) else ()
    return {match[1]: match[2] for line in lines if (match := _LINE.fullmatch(line))}


def _confines(name: str, programs: set[str]) -> bool:
    """Whether a profile is that of one of these: by its path, which may hold wildcards, or by its
    name."""
    return any(
        fnmatchcase(path, name) or name == path.rpartition("/")[2] for path in programs if path
    )


def complaining(suspect: Suspect) -> str:
    """The line of shell that has a profile complain and no more (aa-complain(8)); empty for others,
    and where the bad side does not enforce it."""
    if not suspect.id.startswith(PROFILE) or suspect.bad != _ENFORCED:
        return ""
    return shlex.join(["aa-complain", suspect.id.removeprefix(PROFILE)])
