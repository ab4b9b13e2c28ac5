"""Search by name: what people call a setting, a benchmark or an analysis, and what we call it.

A query is a name, a part of one, a file of the kernel or a few words. The best matches come first:
the name or an alias itself, a part of these, words of the description, names spelled alike.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PART = re.compile(r"[a-z0-9]+")

_EXACT, _PART_OF_NAME, _IN_TEXT, _ALIKE = range(4)


@dataclass(frozen=True, slots=True)
class NamedEntry:
    """Something with a name.

    ``kind`` is ``setting``, ``benchmark``, ``suite``, ``analysis``, ``events``, ``state``,
    ``command`` or ``tool`` (of others). ``aliases`` are other names for the same: files, words of
    the kernel command line, other programs' names.
    ``text`` describes it; it is searched and not shown. ``command`` shows it or uses it.
    """

    kind: str
    name: str
    summary: str
    command: str
    aliases: tuple[str, ...] = ()
    text: str = ""


def search(query: str, entries: Iterable[NamedEntry], limit: int = 12) -> list[NamedEntry]:
    """The entries that a query may mean, the best first; none where nothing is like it."""
    ranked = []
    for number, entry in enumerate(entries):
        rank = _rank(query.strip().lower(), entry)
        if rank is not None:
            ranked.append((rank, number, entry))
    ranked.sort(key=lambda match: match[:2])
    if ranked and ranked[0][0] < _ALIKE:  # names that are only alike would be noise beside these
        ranked = [match for match in ranked if match[0] < _ALIKE]
    return [entry for _, _, entry in ranked[:limit]]


def exact_matches(query: str, entries: Sequence[NamedEntry]) -> list[NamedEntry]:
    """Those whose name or alias is the query, in any case of letters."""
    name = query.strip().lower()
    return [entry for entry in entries if name in _names(entry)]


def _names(entry: NamedEntry) -> list[str]:
    return [name.lower() for name in (entry.name, *entry.aliases)]


def _rank(query: str, entry: NamedEntry) -> int | None:
    names = _names(entry)
    if query in names:
        return _EXACT
    wanted = _PART.findall(query)
    if not wanted:
        return None
    parts = [part for name in names for part in _PART.findall(name)]
    text = f"{entry.summary} {entry.text}".lower()
    if all(any(part.startswith(word) for part in parts) for word in wanted):
        return _PART_OF_NAME
    if len(wanted) > 1 and query in text:
        return _PART_OF_NAME
    described = _PART.findall(text)
    if all(any(part.startswith(word) for part in (*parts, *described)) for word in wanted):
        return _IN_TEXT
    return _ALIKE if difflib.get_close_matches(query, names, n=1, cutoff=0.75) else None
