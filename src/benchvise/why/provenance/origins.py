"""Which line sets a suspect's value: of all lines that set it, the last one whose value it has.

A line that says another value than the system has is not the origin, whatever its place. Where the
value is not known, the last line is named, as uncertain. Where no line sets it, the answer says
what was searched, and what decides the value then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchvise.state.catalogue import items_by_id
from benchvise.text import NO_TEXT, Untrusted, printable
from benchvise.why.model import NOT_FOUND, Origin, Side, Suspect
from benchvise.why.provenance.assignment import Assignment, Stage
from benchvise.why.provenance.files import FileSource
from benchvise.why.provenance.globs import ANYTHING
from benchvise.why.provenance.parts import origin_of_part
from benchvise.why.provenance.survey import KINDS, Survey, survey_of
from benchvise.why.provenance.targets import Wanted, places_of, targets_of
from benchvise.why.provenance.values import same

MOST = 8
"""Origins of one suspect that are told."""

_SHOWN = 500  # characters of a path or a note


def find_origins(files: FileSource, suspect: Suspect, side: Side) -> tuple[Origin, ...]:
    """The places that set a suspect's value on a side, those that are certain first.

    Never empty: where nothing sets it, one origin of the kind ``not found`` says what was searched
    and what decides then. Raises what the source raises.
    """
    survey = survey_of(files)
    found: list[Origin] = []
    part = origin_of_part(survey, suspect, side)
    if part is not None:
        return (part,)
    for wanted in targets_of(suspect, side, files.roles):
        if not wanted.is_absent:
            found += _of_target(survey, wanted, side)
    if not found:
        found = [_by_record(o) for w in places_of(suspect) for o in _of_target(survey, w, side)]
    unique: dict[tuple[str, int], Origin] = {}
    for origin in found:
        unique.setdefault((origin.file, origin.line), origin)
    ordered = sorted(unique.values(), key=lambda origin: not origin.certain)
    if any(origin.certain for origin in ordered):
        ordered = [origin for origin in ordered if origin.certain]
    return tuple(ordered[:MOST]) or (_nowhere(survey, suspect, side),)


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
    ]


def _of_target(survey: Survey, wanted: Wanted, side: Side) -> list[Origin]:
    setting = [a for a in survey.of(wanted.target) if not _is_absence(a, wanted)]
    if not setting:
        return []
    matching = [a for a in setting if _agrees(a, wanted)]
    known = [a for a in matching if a.value is not None] or matching
    if not known:
        return []
    best = max(known, key=lambda a: (a.certain, a.when))
    later = [a for a in setting if a.when > best.when and a.certain and a is not best]
    return [_chosen(best, known, later, wanted, side)]


def _by_record(origin: Origin) -> Origin:
    note = "what decides such a value as far as its record says"
    return replace(origin, certain=False, note=f"{origin.note}; {note}" if origin.note else note)


def _chosen(
    best: Assignment,
    matching: Sequence[Assignment],
    later: Sequence[Assignment],
    wanted: Wanted,
    side: Side,
) -> Origin:
    origin = _origin(best, side)
    notes = [origin.note]
    certain = best.certain and best.value is not None
    if not wanted.values:
        notes.append("its value now is not known")
        certain = certain and not later
    elif later:
        other = later[-1]
        notes.append(
            f"{printable(other.line.where)} comes later and says "
            f"{printable(other.value or '?', 40)}, but that is not what it has"
        )
        certain = False
    also = [a for a in matching if a.line != best.line]
    if also:
        notes.append(f"{printable(also[-1].line.where)} says the same")
    if ANYTHING in best.target:
        notes.append("which file it is, is only known when it runs")
        certain = False
    return replace(origin, certain=certain, note="; ".join(note for note in notes if note))


def _is_absence(assignment: Assignment, wanted: Wanted) -> bool:
    """An option that is not set decides nothing, unless it was asked for by its value."""
    return not wanted.values and assignment.value == "n" and wanted.target.startswith("config:")


def _agrees(assignment: Assignment, wanted: Wanted) -> bool:
    if not wanted.values or assignment.value is None:
        return True
    return any(same(wanted.target, assignment.value, value) for value in wanted.values)


def _origin(assignment: Assignment, side: Side) -> Origin:
    return Origin(
        side,
        assignment.kind,
        printable(assignment.line.file, _SHOWN),
        assignment.line.number,
        Untrusted(assignment.text),
        assignment.certain,
        printable(assignment.note, _SHOWN),
    )


def _nowhere(survey: Survey, suspect: Suspect, side: Side) -> Origin:
    """What was searched, and what decides the value when no line sets it."""
    item = items_by_id().get(suspect.item)
    places = ", ".join(item.places) if item is not None else ""
    unread = f"; not readable: {', '.join(survey.unread[:5])}" if survey.unread else ""
    note = (
        f"no line of {survey.files} files sets it ({'; '.join(KINDS)} were searched{unread}): "
        "it is what the kernel or its driver begins with, or was set since the system started"
    )
    return Origin(
        side,
        NOT_FOUND,
        printable(places, 300) or "the running system",
        0,
        NO_TEXT,
        certain=False,
        note=printable(note, 900),
    )
