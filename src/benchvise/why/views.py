"""What a snapshot says of the settings that may be made: their files and values, as they are
written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchvise.state import places
from benchvise.state.catalogue import knobs
from benchvise.state.globs import ByPath
from benchvise.state.knobs import marked_choices, present_value
from benchvise.state.model import Entry, Knob, Snapshot
from benchvise.state.roles import Names


@dataclass(frozen=True, slots=True)
class KnobFile:
    """A file of a knob in a snapshot.

    ``name`` is the entry's, by which it is matched across boards; ``value`` is in the spelling that
    can be written; ``offered`` are the values that the board lists for it, none where it lists
    none.
    """

    name: str
    path: str
    value: str
    offered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A snapshot by its knobs. ``by_knob`` has the files of each knob by the entries' names."""

    by_knob: Mapping[str, Mapping[str, KnobFile]] = field(default_factory=dict)
    entries_at: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot) -> View:
        """The view of a snapshot; an entry that was taken twice counts by its first item."""
        at: dict[str, list[Entry]] = defaultdict(list)
        for entry in snapshot.settings:
            if entry.missing is None and entry.path:
                at[entry.path].append(entry)
        entries = {path: tuple(found) for path, found in at.items()}
        files, names = ByPath(entries), Names(roles=snapshot.roles)
        by_knob = {}
        for knob_name, (_, knob) in knobs().items():
            glob = names.fill(knob.path)
            found = files.matching(glob) if glob is not None else ()
            by_knob[knob_name] = {
                group[0].name: _knob_file(knob, group[0], entries) for _, _, group in found
            }
        return cls(by_knob, entries)

    def names_at(self, path: str) -> tuple[str, ...]:
        """The names of all entries that were read from a file."""
        return tuple(entry.name for entry in self.entries_at.get(path, ()))


def _knob_file(knob: Knob, entry: Entry, entries: Mapping[str, tuple[Entry, ...]]) -> KnobFile:
    text = text_of(entry)
    offered = marked_choices(entry.path, text) if knob.kind == "choice" else ()
    beside = entries.get(places.list_beside(entry.path), ())
    if not offered and beside:
        offered = tuple(text_of(beside[0]).split())
    return KnobFile(entry.name, entry.path, present_value(knob, entry.path, text), offered)


def text_of(entry: Entry) -> str:
    """The text of a file, as far as its entry kept it."""
    if entry.raw is not None:
        return entry.raw
    if isinstance(entry.value, list):
        return " ".join(map(str, entry.value))
    return str(entry.value)
