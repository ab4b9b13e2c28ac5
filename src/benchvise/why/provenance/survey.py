"""Everything that sets something on a system, read once and remembered for its source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from benchvise.why.provenance import (
    command_line,
    daemons,
    firmware,
    inits,
    kernel_config,
    modules,
    scripts,
    session,
    sysctl,
    sysfsutils,
    tmpfiles,
    udev,
    units,
)
from benchvise.why.provenance.assignment import Assignment
from benchvise.why.provenance.files import FileSource, Tree
from benchvise.why.provenance.globs import is_pattern, overlap
from benchvise.why.provenance.targets import canonical

_ROUNDS = 4  # a unit's script, what that sources or runs, and what that runs in turn

MOST = 200_000
"""Assignments of one system."""

KINDS: dict[
    str, tuple[tuple[str, ...], tuple[str, ...], Callable[[Tree], Iterator[Assignment]]]
] = {
    "the kernel's configuration": (kernel_config.GLOBS, kernel_config.LINKS, kernel_config.find),
    "firmware settings and overlays": (firmware.GLOBS, firmware.LINKS, firmware.find),
    "the boot loader's command line": (command_line.GLOBS, command_line.LINKS, command_line.find),
    "modprobe.d and modules-load.d": (modules.GLOBS, modules.LINKS, modules.find),
    "udev rules": (udev.GLOBS, udev.LINKS, udev.find),
    "sysctl.d and sysctl.conf": (sysctl.GLOBS, sysctl.LINKS, sysctl.find),
    "tmpfiles.d": (tmpfiles.GLOBS, tmpfiles.LINKS, tmpfiles.find),
    "systemd units": (units.GLOBS, units.LINKS, units.find),
    "init scripts, rc.local and cron": (scripts.GLOBS, scripts.LINKS, scripts.find),
    "sysfs.conf": (sysfsutils.GLOBS, sysfsutils.LINKS, sysfsutils.find),
    "cpufrequtils, TLP, tuned and the like": (daemons.GLOBS, daemons.LINKS, daemons.find),
    "profiles, environment, limits and fstab": (session.GLOBS, session.LINKS, session.find),
}
"""What is searched: globs of files, globs of links, and what finds assignments in them."""


@dataclass(frozen=True)
class Survey:
    """What sets something on a system, in the order of a boot; ``files`` are how many were read,
    ``unread`` which could not be, ``tree`` what was read."""

    assignments: tuple[Assignment, ...]
    files: int
    unread: tuple[str, ...]
    tree: Tree

    def of(self, target: str) -> list[Assignment]:
        """Those that set a target, which may be a pattern, in the order of a boot."""
        candidates = self.assignments if is_pattern(target) else self._patterns
        found = [a for a in candidates if overlap(a.target, target)]
        if not is_pattern(target):
            found = sorted([*found, *self._plain.get(target, ())], key=lambda a: a.when)
        return [a for a in found if not any(overlap(canonical(but), target) for but in a.but)]

    @cached_property
    def _patterns(self) -> tuple[Assignment, ...]:
        return tuple(a for a in self.assignments if is_pattern(a.target))

    @cached_property
    def _plain(self) -> Mapping[str, Sequence[Assignment]]:
        found: dict[str, list[Assignment]] = {}
        for assignment in self.assignments:
            if not is_pattern(assignment.target):
                found.setdefault(assignment.target, []).append(assignment)
        return found


_known: WeakKeyDictionary[FileSource, Survey] = WeakKeyDictionary()


def survey_of(source: FileSource) -> Survey:
    """The survey of a source; read at the first call. Raises what the source raises."""
    if source not in _known:
        _known[source] = _survey(source)
    return _known[source]


def _survey(source: FileSource) -> Survey:
    tree = Tree(source)
    tree.ask(
        [*inits.GLOBS, *(glob for globs, _, _ in KINDS.values() for glob in globs)],
        [*inits.LINKS, *(glob for _, links, _ in KINDS.values() for glob in links)],
    )
    for _ in range(_ROUNDS):
        tree.begin()
        found = list(_all(tree))
        if not tree.ask_wanted():
            break
    found = [replace(a, target=canonical(a.target)) for a in found]
    found.sort(key=lambda assignment: assignment.when)
    unread = [f"{path} ({why})" for path, why in source.unread.items()]
    if tree.left_out:
        unread.append(f"{tree.left_out} more files than are looked at")
    if not tree.spend():
        unread.append("the rest of scripts that are longer than is looked at")
    return Survey(tuple(found), tree.count, tuple(unread), tree)


def _all(tree: Tree) -> Iterator[Assignment]:
    count = 0
    for _, _, find in KINDS.values():
        for assignment in find(tree):
            count += 1
            if count > MOST:
                return
            yield assignment
