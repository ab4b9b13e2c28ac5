"""Files and start files that name, in lines that differ, what the command waits for.

A table of neighbours, a list of servers, a mount: what a script read from its file when the board
booted is seen nowhere in the command, but that file names the very address or directory on which
the command loses its time. Only a checksum of such lines is read, as they may hold secrets.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from benchvise.why.model import Side, Suspect
from benchvise.why.witness.model import Activity, Witness, WitnessPart
from benchvise.why.witness.opened import OPENED_FILE

NAMING = "naming "
"""What comes before a word and a path as the key of the lines of the file that have the word."""

_LEAST_SHARE = 0.25
_LEAST_DEPTH = 2
_MOST_WORDS = 8
_MOST_FILES = 40
_START_FILES = "boot.init_settings"
_OF_NETWORK = (Activity.NETWORK, Activity.RESOLVER)
_ADDRESS = re.compile(r"\[?([0-9a-fA-F.:]+?)\]?:\d+")
_COMMON = re.compile(r"127\.|::1$|0\.0\.0\.0$|/(?:usr|lib\w*|bin|sbin|proc|sys|dev|etc|tmp)(?:/|$)")
_TOO_WIDE = re.compile(r"/(?:var/(?:lib|log|cache|run|tmp)|run/lock)$")


def words_of(witness: Witness | None) -> tuple[str, ...]:
    """The addresses, files and directories that the command waits for on the bad side."""
    parts = witness.parts if witness is not None else ()
    words = [word for part in parts if part.share >= _LEAST_SHARE for word in words_in(part)]
    return tuple(dict.fromkeys(words))[:_MOST_WORDS]


def words_in(part: WitnessPart) -> Iterator[str]:
    """What a part of the gap is about: addresses, paths and the directories around these."""
    for target in part.target.split(", "):
        match = _ADDRESS.fullmatch(target) if part.activity in _OF_NETWORK else None
        if match is not None and not _COMMON.match(match[1]):
            yield match[1]
        path = target.rstrip("/")
        while path.startswith("/") and path.count("/") >= _LEAST_DEPTH:
            if not _COMMON.match(path) and not _TOO_WIDE.match(path) and " " not in path:
                yield path
            path = posixpath.dirname(path)


def naming_keys(suspects: Sequence[Suspect], words: Sequence[str]) -> tuple[str, ...]:
    """What is to be asked of both sides: which lines of differing files have one of the words."""
    paths = [s.id.removeprefix(OPENED_FILE) for s in suspects if s.id.startswith(OPENED_FILE)]
    return tuple(f"{NAMING}{word} {path}" for path in paths[:_MOST_FILES] for word in words)


def named_places(
    suspects: Sequence[Suspect],
    words: Sequence[str],
    digests: Mapping[Side, Mapping[str, str]],
) -> dict[str, str]:
    """The first of the words that each suspect names in lines which differ, by its id."""
    named: dict[str, str] = {}
    for suspect in suspects:
        for word in words:
            if word not in named.get(suspect.id, "") and _names(suspect, word, digests):
                named.setdefault(suspect.id, word)
    return named


def _names(suspect: Suspect, word: str, digests: Mapping[Side, Mapping[str, str]]) -> bool:
    if suspect.id.startswith(OPENED_FILE):
        key = f"{NAMING}{word} {suspect.id.removeprefix(OPENED_FILE)}"
        lines = [digests[side].get(key, "") for side in Side if side in digests]
        return len(set(lines)) > 1
    if suspect.item != _START_FILES:
        return False
    pattern = re.compile(rf"(?<![\w.]){re.escape(word)}(?![\w])")
    return any(pattern.search(text) for text in (suspect.good, suspect.bad))
