"""Where a board has its knobs: the files behind a knob's path, what they hold, and how several are
brought to given values.

Nothing outside ``ROOTS`` is ever named to a board for writing, whatever a role or the board's own
answers say: ``/proc/sys``, ``/sys``, and what the probe shows as files, though the kernel does not:
options of mounts (``probe/state/mounts.c``), areas of swap, queueing disciplines, tables of
nftables, routes, services, their files, and programs (``probe/state/trees.h``).
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from benchvise.board.messages import FileError, FileValue, FileWritten, content_text
from benchvise.errors import SettingError
from benchvise.state import knobs as values
from benchvise.state.model import Knob
from benchvise.text import printable

MOUNTS = "/proc/self/mountinfo/"
SWAPS = "/proc/swaps/"
INTERFACES = "/proc/net/dev/"
FILTERS = "/proc/net/netlink/"
ROUTES = "/proc/net/route/"
SERVICES = "/proc/1/comm/"
SERVICE_FILES = "/proc/1/cmdline/"
PROGRAMS = "/proc/loadavg/"
ROOTS = (
    *("/proc/sys/", "/sys/", MOUNTS, SWAPS, INTERFACES, FILTERS, ROUTES),
    *(SERVICES, SERVICE_FILES, PROGRAMS),
)

Roles = Mapping[str, str]
"""Which device has a role on a board: ``{"root_disk": "mmcblk0"}``."""

_ROLE = re.compile(r"\{(\w+)\}")
_SPECIAL = re.compile(r"([*?\[\]\\{}])")
_PART = re.compile(
    r"\{(?P<role>\w+)\}|(?P<any>\*)|(?P<one>\?)|\[(?P<set>!?[^\]/]+)\]"
    r"|\\(?P<escaped>.)|(?P<plain>.)",
    re.DOTALL,
)
_LIMIT = 4096  # bytes of a path in Linux

# Files that take one of the words which another file beside them lists.
_LISTED_IN = {
    "scaling_governor": "scaling_available_governors",
    "scaling_min_freq": "scaling_available_frequencies",
    "scaling_max_freq": "scaling_available_frequencies",
    "scaling_setspeed": "scaling_available_frequencies",
    "energy_performance_preference": "energy_performance_available_preferences",
    "current_governor": "available_governors",
    "governor": "available_governors",
    "min_freq": "available_frequencies",
    "max_freq": "available_frequencies",
    "current_clocksource": "available_clocksource",
    "tcp_congestion_control": "tcp_available_congestion_control",
    "policy": "available_policies",
    "current_tracer": "available_tracers",
}


class BoardFiles(Protocol):
    """The files of a board: what ``ProbeChannel`` offers of it."""

    @property
    def is_open(self) -> bool:
        """Whether another request can be made."""

    @property
    def place(self) -> tuple[int, str] | None:
        """The probe's process on the board, and the path of its program, where known."""

    def read(self, globs: Iterable[str]) -> dict[str, FileValue | FileError]:
        """Path to content, or to why there is none, of all that the patterns match."""

    def write(self, path: str, value: str) -> FileWritten:
        """Writes a file and reads it back; a refusal is part of the answer."""

    def end_other(self, pid: int, program: str) -> None:
        """Ends another probe on the same board, left by a connection that broke."""

    def close(self) -> None:
        """Ends the connection, within seconds."""


@dataclass(frozen=True, slots=True)
class SettingPlace:
    """A file of a knob. ``value`` is None when it cannot be had, for the ``reason``.

    ``choices`` are the words that the file itself lists.
    """

    knob: Knob
    path: str
    value: str | None
    reason: str = ""
    choices: tuple[str, ...] = ()

    @property
    def value_text(self) -> str:
        """``is 60``, or why there is no value."""
        if self.value is not None:
            return f"is {printable(self.value, 60)}"
        return "is not there" if self.reason == "ENOENT" else f"cannot be read ({self.reason})"


def expand(knob: Knob, roles: Roles) -> str:
    """The knob's glob for a board with these roles.

    SettingError when the board has none of a role, or one whose name does not belong in a path.
    """

    def device(match: re.Match[str]) -> str:
        name = roles.get(match[1])
        if name is None:
            raise SettingError(
                f"{knob.name}: this board has no {match[1].replace('_', ' ')}",
                "it can be set only where there is one",
            )
        if ".." in name.split("/") or not name.isprintable():
            raise SettingError(
                f"{knob.name}: '{name}' is no name of a {match[1].replace('_', ' ')}",
                "see what the device is called on the board",
            )
        return literal(name)

    return _ROLE.sub(device, knob.path) if "{" in knob.path else knob.path


def literal(path: str) -> str:
    """The glob that matches a path and nothing else."""
    return _SPECIAL.sub(r"\\\1", path)


def may_be_written(glob: str, path: str) -> bool:
    """Whether a path is one of the glob's and lies where settings are made.

    A role in the glob may be any device.
    """
    return (
        path.startswith(ROOTS)
        and len(path) < _LIMIT
        and ".." not in path.split("/")
        and _expression(glob).fullmatch(path) is not None
    )


def survey(files: BoardFiles, knobs: Iterable[Knob], roles: Roles) -> dict[str, SettingPlace]:
    """What every file of these knobs holds, by path. Knobs of roles not there are left out.

    A file of several knobs belongs to the first. A knob without any file has one place, at its
    glob, that says why.
    """
    globs: dict[str, Knob] = {}
    for knob in knobs:
        with contextlib.suppress(SettingError):
            globs.setdefault(expand(knob, roles), knob)
    ranks = {glob: rank for rank, glob in enumerate(globs)}
    globs_of = _matcher(frozenset(globs))
    places: dict[str, SettingPlace] = {}
    for path, content in files.read(globs).items():
        if matching := globs_of(path):
            places[path] = place_of(globs[min(matching, key=ranks.__getitem__)], path, content)
    return dict(sorted(places.items(), key=lambda item: _natural(item[0])))


@lru_cache(maxsize=8)
def _matcher(globs: frozenset[str]) -> Callable[[str], tuple[str, ...]]:
    """A function that returns those of the globs that match a path. It remembers its answers: a
    diagnosis surveys the same board twice for each setting that it makes."""
    by_begin: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for glob in globs:
        if special := _SPECIAL.search(glob):
            begin = glob[: special.start()]
            by_begin.setdefault(begin, []).append((_expression(glob), glob))
    lengths = sorted({len(begin) for begin in by_begin})

    @lru_cache(maxsize=4096)
    def globs_of(path: str) -> tuple[str, ...]:
        if path in globs and _SPECIAL.search(path):  # it matches nothing, not even other globs
            return (path,)
        matching = [
            glob
            for length in lengths[: bisect_right(lengths, len(path))]
            for pattern, glob in by_begin.get(path[:length], ())
            if pattern.fullmatch(path)
        ]
        return (*matching, path) if path in globs else tuple(matching)

    return globs_of


def place_of(knob: Knob, path: str, content: FileValue | FileError | None) -> SettingPlace:
    """A knob's file, by what the board answers about it."""
    if content is None:
        return SettingPlace(knob, path, None, "ENOENT")
    if isinstance(content, FileError):
        return SettingPlace(knob, path, None, content.name)
    if not isinstance(content.value, str) or content.truncated:
        return SettingPlace(knob, path, None, "it holds no short text")
    text = content.value
    return SettingPlace(
        knob,
        path,
        values.present_value(knob, path, text),
        choices=values.marked_choices(path, text) if knob.kind == "choice" else (),
    )


def offered(files: BoardFiles, places: Sequence[SettingPlace]) -> tuple[str, ...]:
    """The values that every one of these files takes, as far as the kernel lists them.

    Nothing when it does not. Frequencies are sorted, other words keep the kernel's order.
    """
    beside = {place.path: list_beside(place.path) for place in places if not place.choices}
    lists = files.read(literal(path) for path in beside.values() if path)
    common: list[str] | None = None
    for place in places:
        content = lists.get(beside.get(place.path) or "")
        words = place.choices or (tuple(content_text(content).split()))
        common = [word for word in (words if common is None else common) if word in words]
    choices = common or []
    if all(word.isdigit() for word in choices):
        choices.sort(key=int)
    return tuple(dict.fromkeys(choices))


def unwritable(glob: str) -> SettingError:
    """The error for a path that nothing may be written to."""
    return SettingError(
        f"'{glob}' is not among the files that may be written",
        "settings are files of /proc/sys and /sys, and what `benchvise knobs` lists beside them",
    )


def list_beside(path: str) -> str:
    """The file that lists the words which that file takes; empty where there is none."""
    directory, _, name = path.rpartition("/")
    return f"{directory}/{_LISTED_IN[name]}" if name in _LISTED_IN else ""


@lru_cache(maxsize=1024)
def _expression(glob: str) -> re.Pattern[str]:
    """The regular expression of a glob as glob(3) has it: no wildcard matches "/", but a role."""
    return re.compile("".join(map(_translated, _PART.finditer(glob))), re.DOTALL)


def _translated(part: re.Match[str]) -> str:
    match part.lastgroup:
        case "role":
            return ".+"
        case "any":
            return "[^/]*"
        case "one":
            return "[^/]"
        case "set":
            inside = re.escape(part["set"].lstrip("!")).replace(r"\-", "-")
            return f"(?!/)[{'^' if part['set'].startswith('!') else ''}{inside}]"
        case _:
            return re.escape(part["escaped"] or part["plain"])


@lru_cache(maxsize=4096)
def _natural(path: str) -> tuple[tuple[bool, int, str], ...]:
    """So that policy2 comes before policy10."""
    return tuple(
        (not part.isdigit(), int(part) if part.isdigit() else 0, part)
        for part in re.split(r"(\d+)", path)
    )


# -- several files that the kernel ties to each other ----------------------------------------------

_PASSES = 6


@dataclass(frozen=True, slots=True)
class Goal:
    """A file, and the value that it is to have."""

    knob: Knob
    path: str
    value: str


@dataclass(frozen=True, slots=True)
class Missed:
    """A goal that was not reached: what its file holds instead, and how the kernel refused."""

    goal: Goal
    place: SettingPlace
    error: str

    @property
    def is_gone(self) -> bool:
        """Whether there is no such file any more: its device or driver has gone."""
        return self.place.value is None and self.place.reason == "ENOENT"

    def __str__(self) -> str:
        refused = f", {self.error} when {self.goal.value} is written" if self.error else ""
        return f"{self.goal.knob.name} ({self.goal.path} {self.place.value_text}{refused})"


Written = Callable[[Goal, str | None], None]


def drive(
    files: BoardFiles, goals: Sequence[Goal], written: Written = lambda _goal, _now: None
) -> list[Missed]:
    """Writes files until each has its goal's value; returns the goals that were not reached.

    The kernel ties files to each other: a lower limit above the upper one is refused, a ratio
    resets its number of bytes and the other way round, a governor brings its own files along. So
    there are several passes, each of which writes only what is not yet right, in alternating
    order, until everything is or nothing moves any more.

    ``written`` hears of each write that changed something, with what the file holds since.
    """
    errors: dict[str, str] = {}
    order = list(goals)
    for _ in range(_PASSES):
        moved = False
        places = present(files, order)
        for goal in [goal for goal in order if not is_reached(goal, places[goal.path])]:
            # An earlier write may have brought this one along, or taken it away.
            before = present(files, [goal])[goal.path]
            if before.value is None or is_reached(goal, before):
                continue
            result = files.write(goal.path, values.as_written(goal.knob, goal.value, before.value))
            text = result.now
            now = None if text is None else values.present_value(goal.knob, goal.path, text)
            errors[goal.path] = result.error
            if now != before.value:
                moved = True
                written(goal, now)
        places = present(files, goals)
        missed = [goal for goal in goals if not is_reached(goal, places[goal.path])]
        if not missed or not moved:
            break
        order.reverse()
    return [Missed(goal, places[goal.path], errors.get(goal.path, "")) for goal in missed]


def present(files: BoardFiles, goals: Iterable[Goal]) -> dict[str, SettingPlace]:
    """What the goals' files hold now, by path."""
    knobs = {goal.path: goal.knob for goal in goals}
    contents = files.read(literal(path) for path in knobs)
    return {
        path: place_of(knob, path, contents.get(path) or contents.get(literal(path)))
        for path, knob in knobs.items()
    }


def is_reached(goal: Goal, place: SettingPlace) -> bool:
    """Whether a file has its goal's value."""
    return place.value is not None and values.same(goal.knob, place.value, goal.value)
