"""Names that people know a setting by: the kernel's file, sysctl, a word of its command line."""

from __future__ import annotations

import re
from functools import cache

from benchvise.names import NamedEntry
from benchvise.state.catalogue import expand, knobs
from benchvise.state.model import Item, Knob

_COMMAND_LINE = "kernel command line: "
_SYSCTL = "/proc/sys/"
_WORD = re.compile(r"[\w.-]+(?==)")
_ROLE_OR_WILDCARD = re.compile(r"[{*?\[]")


def knob_entries() -> tuple[NamedEntry, ...]:
    """All knobs, as a search takes them."""
    return tuple(
        NamedEntry(
            "setting",
            name,
            knob.summary,
            f"benchvise knobs show {name}",
            aliases_of(item, knob),
            f"{item.title} {item.summary} {knob.path}",
        )
        for name, (item, knob) in knobs().items()
    )


def aliases_of(item: Item, knob: Knob) -> tuple[str, ...]:
    """Other names of a knob: its paths, the last part of its name and of its path, sysctl's name.

    Words of the kernel command line belong to the item: they name its first knob, or the knob
    with the same last part.
    """
    own = knob.name.rpartition(".")[2]
    paths = tuple(expand(knob.path))
    if knob.is_family:
        return (*paths, own)
    directory, _, file = knob.path.rpartition("/")
    aliases = [*paths, own, file]
    if knob.path.startswith(_SYSCTL):
        name = knob.path.removeprefix(_SYSCTL)
        aliases += [name, name.replace("/", ".")]
    if file in ("enabled", "mode", "control", "state"):  # alone they name nothing
        aliases.remove(file)
        aliases.append(directory.rpartition("/")[2])
    for place in item.places:
        if place.startswith(_COMMAND_LINE):
            place_words = _WORD.findall(place.removeprefix(_COMMAND_LINE))
            first = item.knobs[0].name == knob.name
            aliases += [word for word in place_words if first or word in (own, file)]
    return tuple(dict.fromkeys(alias for alias in aliases if alias and alias != knob.name))


def concrete_files(path: str) -> tuple[Knob, ...]:
    """The knobs whose pattern matches a file of one device or CPU, which each set more than it."""
    return tuple(
        knob
        for _, knob in knobs().values()
        if _ROLE_OR_WILDCARD.search(knob.path) and _expression(knob.path).fullmatch(path)
    )


@cache
def _expression(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\{[^{}]*\}|\*|\?|\[[^\]]*\])", path)
    return re.compile(
        "".join("[^/]*" if number % 2 else re.escape(part) for number, part in enumerate(parts))
    )
