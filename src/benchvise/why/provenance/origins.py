"""Which line sets a suspect's value: of all lines that set it, the last one whose value it has.

``survey_of`` reads all files that set something, in the order of a boot, once a source. A line that
sets another value than the system has is not the origin, whatever its place. Where the value is not
known, the last line is named, as uncertain. Where no line sets it, one that names the setting
beside its value is told (``mentions``), else the answer says what was searched, and what decides
the value then.

A part of an image's init settings is a suspect of ``benchvise.rig.compose``. It is called by its
file, ``/etc/rc.local#2``, and shows what each image has there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from benchvise.state.catalogue import items_by_id
from benchvise.state.places import FILTERS, PROGRAMS, SERVICES
from benchvise.text import NO_TEXT, Untrusted
from benchvise.why.model import (
    NOT_FOUND,
    LayerMeans,
    Origin,
    ProcessMeans,
    SettingMeans,
    Side,
    Suspect,
)
from benchvise.why.provenance import daemons, direct, kernel, scripts, session, udev, units
from benchvise.why.provenance.assignment import Assignment, Line, Stage, same
from benchvise.why.provenance.files import INIT_FILES, INIT_LINKS, FileSource, SettingFiles, Tree
from benchvise.why.provenance.globs import ANYTHING, is_pattern, overlap
from benchvise.why.provenance.mentions import (
    lines_of_boot_settings,
    lines_of_routes,
    lines_of_rules,
    mentions,
)
from benchvise.why.provenance.targets import Wanted, canonical, places_of, targets_of
from benchvise.why.suspects.command_suspects import NOT_THERE, TRACER

PART_LAYER = "init-settings"
PART_KIND = "init settings"

_COMMENT = "#;"


def file_of(suspect: Suspect) -> str:
    """The file that a suspect is a part of; empty when it is none of the kind."""
    means = suspect.means
    if isinstance(means, LayerMeans) and means.layer == PART_LAYER and means.part:
        path = means.part.rpartition("#")[0] or means.part
        return path if path.startswith("/") else f"/{path}"
    item, _, key = suspect.id.partition(":")
    return key if item == "boot.init_settings" and key.startswith("/") else ""


def origin_of_part(survey: Survey, suspect: Suspect, side: Side) -> Origin | None:
    """The line of a part on a side, and of what kind it is; None when that side has it not."""
    path = file_of(suspect)
    side_text = suspect.good if side is Side.GOOD else suspect.bad
    texts = [line.strip() for line in _lines_in(side_text)]
    wanted = [text for text in texts if text and text[0] not in _COMMENT]
    lines = survey.tree.lines(path) if path else ()
    if not lines or not wanted:
        return None
    line = next(
        (line for line in lines if line.text.strip() == wanted[0]), Line(path, 0, wanted[0])
    )
    assignment = next((a for a in survey.assignments if a.line == line), None)
    kind = assignment.kind if assignment is not None else PART_KIND
    origin = Origin(side, kind, Untrusted(line.file), line.number, _text_of(line))
    return (
        replace(origin, note=Untrusted(assignment.note), certain=assignment.certain)
        if assignment is not None
        else origin
    )


_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def _lines_in(side_text: str) -> list[str]:
    """The lines that a side shows: each by itself, or in a list, of which the end may be cut."""
    if not side_text.startswith("["):
        return side_text.split("\n")
    lines = []
    for quoted in _QUOTED.findall(side_text):
        with suppress(ValueError):
            lines.append(str(json.loads(quoted)))
    return lines


_MOST_ORIGINS = 8  # of one suspect

_TEXT_LIMIT = 300  # characters of a line


def find_origins(files: FileSource, suspect: Suspect, side: Side) -> tuple[Origin, ...]:
    """The places that set a suspect's value on a side, those that are certain first.

    Never empty: where nothing sets it, one origin of the kind ``not found`` says what was searched
    and what decides then. Raises what the source raises.
    """
    survey = survey_of(files)
    origins: list[Origin] = []
    part = origin_of_part(survey, suspect, side)
    if part is not None:
        return (part,)
    for wanted in targets_of(suspect, side, files.roles):
        if not wanted.is_absent:
            origins += _of_target(survey, wanted, side)
    if not origins:
        origins = list(_of_program(survey, suspect, side))
    if not origins:
        origins = [_by_record(o) for w in places_of(suspect) for o in _of_target(survey, w, side)]
    if not origins:
        origins = [
            *lines_of_rules(survey.tree, suspect, side),
            *lines_of_routes(survey.tree, suspect, side),
            *lines_of_boot_settings(survey.tree, suspect, side),
        ]
    if not origins:
        read_globs = [glob for kind in KINDS for glob in kind.globs]
        origins = [*mentions(survey.tree, targets_of(suspect, side, files.roles), side, read_globs)]
    unique: dict[tuple[Untrusted, int], Origin] = {}
    for origin in origins:
        unique.setdefault((origin.file, origin.line), origin)
    ordered = sorted(unique.values(), key=lambda origin: not origin.certain)
    if any(origin.certain for origin in ordered):
        ordered = [origin for origin in ordered if origin.certain]
    return tuple(ordered[:_MOST_ORIGINS]) or (_nowhere(survey, suspect, side),)


def settings_of(files: FileSource) -> list[tuple[Origin, str, str]]:
    """Every line that sets something when the system starts: where it stands, what, to which
    value, in the order of a boot.

    Two systems compare by the last two: a line that only one of them has, or with another value,
    is a part of what differs in their init settings. The kernel's own configuration and command
    line are not among them; lines that are not run are. Raises what the source raises.
    """
    return [
        (_origin(assignment, Side.BAD), assignment.target, assignment.value or "")
        for assignment in survey_of(files).assignments
        if assignment.when[0] > Stage.COMMAND_LINE
        and assignment.kind != session.NAME_LOOKUP
        and not assignment.target.startswith(("mounted:", SERVICES, FILTERS))
    ]


def _of_program(survey: Survey, suspect: Suspect, side: Side) -> Iterator[Origin]:
    """The lines that call a program by its name, where the suspect is one that runs on a side."""
    means = suspect.means
    settings = means.towards(side) if isinstance(means, SettingMeans) else ()
    names = [path.removeprefix(PROGRAMS) for s in settings for path in s.paths
             if path.startswith(PROGRAMS) and s.value == "running"]  # fmt: skip
    if suspect.id == TRACER:
        value = suspect.good if side is Side.GOOD else suspect.bad
        names = [value] if value != NOT_THERE else []
    for name in names:
        for kind, line in scripts.lines_that_call(survey.tree, name):
            origin = Origin(side, kind, Untrusted(line.file), line.number, _text_of(line))
            yield replace(origin, certain=False, note=Untrusted("it names the program"))


def _of_target(survey: Survey, wanted: Wanted, side: Side) -> list[Origin]:
    setting = [a for a in survey.of(wanted.target) if not _is_absence(a, wanted)]
    if not setting:
        return []
    matching = [a for a in setting if _agrees(a, wanted)]
    candidates = [a for a in matching if a.value is not None] or matching
    if not candidates:
        return []
    best = max(candidates, key=lambda a: (a.certain, a.when))
    later = [a for a in setting if a.when > best.when and a.certain and a is not best]
    return [_chosen(best, candidates, later, wanted, side)]


def _by_record(origin: Origin) -> Origin:
    note = "what decides such a value as far as its record says"
    return replace(origin, certain=False, note=also_noted(origin, note))


def _chosen(
    best: Assignment,
    matching: Sequence[Assignment],
    later: Sequence[Assignment],
    wanted: Wanted,
    side: Side,
) -> Origin:
    notes = [best.note]
    certain = best.certain and best.value is not None
    if not wanted.values:
        notes.append("its value now is not known")
        certain = certain and not later
    elif later:
        other = later[-1]
        notes.append(
            f"{Untrusted(other.line.where)} comes later and says "
            f"{Untrusted(other.value or '?'):40}, but that is not what it has"
        )
        certain = False
    also = [a for a in matching if a.line != best.line]
    if also:
        says = "belongs to it, too" if best.kind == session.NAME_LOOKUP else "says the same"
        notes.append(f"{Untrusted(also[-1].line.where)} {says}")
    if ANYTHING in best.target:
        notes.append("which file it is, is only known when it runs")
        certain = False
    note = Untrusted("; ".join(note for note in notes if note))
    return replace(_origin(best, side), certain=certain, note=note)


def _is_absence(assignment: Assignment, wanted: Wanted) -> bool:
    """An option that is not set decides nothing, unless it was asked for by its value."""
    return not wanted.values and assignment.value == "n" and wanted.target.startswith("config:")


def _agrees(assignment: Assignment, wanted: Wanted) -> bool:
    if not wanted.values or assignment.value is None:
        return True
    if wanted.target.startswith("mount:"):
        return not wanted.values.isdisjoint({assignment.value, *assignment.value.split(",")})
    return any(same(wanted.target, assignment.value, value) for value in wanted.values)


def _origin(assignment: Assignment, side: Side) -> Origin:
    return Origin(
        side,
        assignment.kind,
        Untrusted(assignment.line.file),
        assignment.line.number,
        _text_of(assignment.line),
        assignment.certain,
        Untrusted(assignment.note),
    )


def _text_of(line: Line) -> Untrusted:
    return Untrusted(line.text.strip()[:_TEXT_LIMIT])


def also_noted(origin: Origin, note: str) -> Untrusted:
    """The origin's note with another one."""
    return Untrusted(f"{origin.note.raw}; {note}" if origin.note else note)


def _nowhere(survey: Survey, suspect: Suspect, side: Side) -> Origin:
    """What was searched, and what decides the value when no line sets it."""
    item = items_by_id().get(suspect.item)
    places = ", ".join(item.places) if item is not None else ""
    unread = f"; not readable: {', '.join(survey.unread[:5])}" if survey.unread else ""
    kinds = "; ".join(kind.name for kind in KINDS)
    begins = "the kernel or its driver begins with"
    if suspect.item.startswith("process.") or isinstance(suspect.means, ProcessMeans):
        begins = "the login or the service that starts the command gives"
    note = (
        f"no line of {survey.files} files sets it ({kinds} were searched{unread}): "
        f"it is what {begins}, or was set since the system started"
    )
    return Origin(
        side,
        NOT_FOUND,
        Untrusted(places or "the running system"),
        0,
        NO_TEXT,
        certain=False,
        note=Untrusted(note),
    )


# -- all that sets something on a system -----------------------------------------------------------

_ROUNDS = 4  # a unit's script, what that sources or runs, and what that runs in turn

_MOST_ASSIGNMENTS = 200_000
KINDS: tuple[SettingFiles, ...] = (
    kernel.CONFIGURATION, kernel.FIRMWARE, kernel.COMMAND_LINE, kernel.MODULES, udev.RULES,
    direct.SYSCTL, direct.TMPFILES, units.UNITS, scripts.SCRIPTS, direct.SYSFS, daemons.DAEMONS,
    session.SESSION,
)  # fmt: skip
"""What is searched, in this order."""


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
        setting = [a for a in candidates if overlap(a.target, target)]
        if not is_pattern(target):
            setting = sorted([*setting, *self._plain.get(target, ())], key=lambda a: a.when)
        return [a for a in setting if not any(overlap(canonical(but), target) for but in a.but)]

    @cached_property
    def _patterns(self) -> tuple[Assignment, ...]:
        return tuple(a for a in self.assignments if is_pattern(a.target))

    @cached_property
    def _plain(self) -> Mapping[str, Sequence[Assignment]]:
        by_target: dict[str, list[Assignment]] = {}
        for assignment in self.assignments:
            if not is_pattern(assignment.target):
                by_target.setdefault(assignment.target, []).append(assignment)
        return by_target


_surveys: WeakKeyDictionary[FileSource, Survey] = WeakKeyDictionary()


def survey_of(source: FileSource) -> Survey:
    """The survey of a source; read at the first call. Raises what the source raises."""
    if source not in _surveys:
        _surveys[source] = _survey(source)
    return _surveys[source]


def _survey(source: FileSource) -> Survey:
    tree = Tree(source)
    tree.ask(
        [*INIT_FILES, *(glob for kind in KINDS for glob in kind.globs)],
        [*INIT_LINKS, *(glob for kind in KINDS for glob in kind.links)],
    )
    for _ in range(_ROUNDS):
        tree.begin()
        assignments = list(_all(tree))
        if not tree.ask_wanted():
            break
    assignments = [replace(a, target=canonical(a.target)) for a in assignments]
    assignments.sort(key=lambda assignment: assignment.when)
    unread = [f"{path} ({why})" for path, why in source.unread.items()]
    if tree.left_out:
        unread.append(f"{tree.left_out} more files than are looked at")
    if not tree.spend():
        unread.append("the rest of scripts that are longer than is looked at")
    return Survey(tuple(assignments), tree.count, tuple(unread), tree)


def _all(tree: Tree) -> Iterator[Assignment]:
    count = 0
    for kind in KINDS:
        for assignment in kind.find(tree):
            count += 1
            if count > _MOST_ASSIGNMENTS:
                return
            yield assignment
