"""Files and start files that name, in lines that differ, what the command waits for or opens.

A table of neighbours, a list of servers, a mount: what a script read from its file when the board
booted is seen nowhere in the command, but that file names the very address or directory on which
the command loses its time. And a configuration that both sides have names the module which one of
them loads, or the directory in which one of them finds its hooks. Only a checksum of such lines is
read, as they may hold secrets.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchvise.why.model import Side, Suspect
from benchvise.why.witness.model import Activity, Witness, WitnessPart
from benchvise.why.witness.opened import OPENED_FILE, is_cache
from benchvise.why.witness.stores import is_of_store

NAMING = "naming "
"""What comes before a word and a path as the key of the lines of the file that have the word."""

_LEAST_SHARE = 0.25
_LEAST_DEPTH = 2
_SHORTEST = 4
_LONG = 6  # characters of a name that is a word of its own
_MOST_WORDS = 10
_MOST_FILES = 25
_MOST_DIRECTORIES = 3
_EVERYWHERE = ("__init__", "index", "config", "main", "default", "common")
_OF_LANGUAGE = re.compile(r"/usr/(?:share/(?:zoneinfo|locale|i18n)|lib/locale)/|/etc/localtime$")
_NO_TEXT = re.compile(r"\.so(?:\.[0-9.]+)?$|\.py[co]$|/s?bin/[^/.]+$|/objects/[0-9a-f]{2}/")
_START_FILES = "boot.init_settings"
_OF_NETWORK = (Activity.NETWORK, Activity.RESOLVER)
_ADDRESS = re.compile(r"\[?([0-9a-fA-F.:]+?)\]?:\d+")
_COMMON = re.compile(r"127\.|::1$|0\.0\.0\.0$|/(?:usr|lib\w*|bin|sbin|proc|sys|dev|etc|tmp)(?:/|$)")
_STANDARD = re.compile(
    r"/(?:usr/(?:local/)?)?(?:s?bin|lib(?:32|64|x32|exec)?|share|include|etc)(?:/[^/]*linux[^/]*)?|"
    r"(?:/.*)?/(?:python[\d.]*|perl[\d.]*|site-packages|dist-packages|gconv|locale|zoneinfo)(?:/.*)?|"
    r"/(?:proc|sys|dev|tmp|run|var/(?:lib|log|cache|run|tmp)|home/[^/]+|root)"
)
_TOO_WIDE = re.compile(r"/(?:var/(?:lib|log|cache|run|tmp)|run/lock)$")


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A word that a suspect names in a line that differs, and why that speaks for it. ``waits``:
    the command loses its time there; else it only opens that on the bad side alone."""

    word: str
    reason: str
    waits: bool


def places_of(witness: Witness | None) -> tuple[NamedPlace, ...]:
    """The addresses, files and directories that the command waits for on the bad side, or is busy
    with there alone, and the names of files that it opens there alone."""
    if witness is None:
        return ()
    waited = [
        NamedPlace(word, part.text, waits=True)
        for part in witness.parts
        if part.share >= _LEAST_SHARE
        for word in words_in(part)
    ]
    busy = [
        NamedPlace(call.target, f"{call.name} {call.bad} times on bad, never on good", waits=True)
        for call in witness.calls
        if call.is_much_more and not call.good and _is_own_place(call.target)
    ]
    opened = [
        NamedPlace(stem, f"only the bad side opens {path}", waits=False)
        for path in witness.bad_files
        if not _OF_LANGUAGE.match(path) and len(stem := _stem(path)) >= _SHORTEST
    ]
    around = Counter(
        directory
        for path in witness.bad_files
        if not _OF_LANGUAGE.match(path) and _is_told_of(directory := posixpath.dirname(path))
    )
    places = [
        NamedPlace(directory, f"only the bad side opens what is in it ({count} files)", waits=False)
        for directory, count in around.most_common(_MOST_DIRECTORIES)
    ]
    by_word: dict[str, NamedPlace] = {}
    for place in (*waited, *busy[:_MOST_WORDS], *places, *opened[:_MOST_WORDS]):
        by_word.setdefault(place.word, place)
    return tuple(by_word.values())[:_MOST_WORDS]


def _is_told_of(directory: str) -> bool:
    """Whether a program has to be told of a directory: not where all programs look for files."""
    is_deep = directory.count("/") >= _LEAST_DEPTH and " " not in directory
    return is_deep and not _STANDARD.fullmatch(directory)


def _is_own_place(path: str) -> bool:
    is_deep = path.startswith("/") and path.count("/") >= _LEAST_DEPTH and " " not in path
    if is_of_store(path):
        return False  # nobody writes their names into a setting
    return is_deep and not _COMMON.match(path) and not _TOO_WIDE.match(path)


def _stem(path: str) -> str:
    """The name of a file, a long one without what tells its kind or version; empty for those that
    have blanks or are called as thousands are."""
    name = posixpath.basename(path)
    stem = name.partition(".")[0]
    if " " in name or stem in _EVERYWHERE:
        return ""
    return stem if len(stem) >= _LONG else name


def words_in(part: WitnessPart) -> Iterator[str]:
    """What a part of the gap is about: addresses, paths and the directories around these."""
    for target in part.target.split(", "):
        match = _ADDRESS.fullmatch(target) if part.activity in _OF_NETWORK else None
        if match is not None and not _COMMON.match(match[1]):
            yield match[1]
        path = target.rstrip("/")
        while path.startswith("/") and path.count("/") >= _LEAST_DEPTH:
            if _is_own_place(path):
                yield path
            path = posixpath.dirname(path)


def naming_keys(suspects: Sequence[Suspect], places: Sequence[NamedPlace]) -> tuple[str, ...]:
    """What is to be asked of both sides: which lines of differing files have one of the words."""
    paths = [s.id.removeprefix(OPENED_FILE) for s in suspects if s.id.startswith(OPENED_FILE)]
    of_files = [path for path in paths if not (_NO_TEXT.search(path) or _is_made(path))]
    return tuple(f"{NAMING}{p.word} {path}" for path in of_files[:_MOST_FILES] for p in places)


def _is_made(path: str) -> bool:
    """Whether a program made the file for itself: what such a one names nobody wrote there."""
    return is_cache(path) or is_of_store(path)


def named_places(
    suspects: Sequence[Suspect],
    places: Sequence[NamedPlace],
    digests: Mapping[Side, Mapping[str, str]],
) -> dict[str, NamedPlace]:
    """The first of the places that each suspect names in lines which differ, by its id."""
    named: dict[str, NamedPlace] = {}
    for suspect in suspects:
        place = next((place for place in places if _names(suspect, place.word, digests)), None)
        if place is not None:
            named[suspect.id] = place
    return named


def _names(suspect: Suspect, word: str, digests: Mapping[Side, Mapping[str, str]]) -> bool:
    if suspect.id.startswith(OPENED_FILE):
        path = suspect.id.removeprefix(OPENED_FILE)
        lines = [
            digests[side].get(f"{NAMING}{word} {path}", "") for side in Side if side in digests
        ]
        return len(set(lines)) > 1
    if suspect.item != _START_FILES:
        return False
    pattern = re.compile(rf"(?<![\w.]){re.escape(word)}(?![\w])")
    return any(pattern.search(text) for text in (suspect.good, suspect.bad))
