"""Directories of which the command goes through far more on one side, and names that it looks for.

Objects that nobody packed, a mailbox with a directory for each letter, a cache spread over hundreds
of directories: none of these is large by itself, and on the other side most of them are not there.
And a name that a command only looks for, such as a flag of a start script, decides by being there.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.witness.kinds import NAME_CALLS
from benchvise.why.witness.layout import BELOW, FAR_APART, OF_ENTRIES
from benchvise.why.witness.model import CallsAbout, SideWatch

_LEAST = 100
_MOST_OF_IT = 0.8
_AS_MANY = 1.25
_LISTS = re.compile(r"getdents(?:64)?")
_LOOKS = re.compile(r"l?stat(?:64)?|statx|fstatat64|newfstatat|f?access(?:at2?)?|readlink(?:at)?")
_MAKES = re.compile(r"mkdir(?:at)?|(?:sym)?link(?:at)?")
_OPENS = re.compile(r"open(?:at2?)?|creat|execve(?:at)?")
_NOT_MEANT = re.compile(r"/(?:proc|sys|dev|usr|lib\w*|bin|sbin)(?:/|$)")
_SHARED = ("/", "/var", "/home", "/srv", "/opt", "/mnt", "/media", "/run")
_MOST_LOOKED = 60


def tree_keys(watches: Mapping[Side, SideWatch]) -> tuple[str, ...]:
    """What is to be compared of these directories: how many files each side has in them."""
    return tuple(f"{BELOW}{path}" for path, _, _ in _trees(watches))


def _trees(watches: Mapping[Side, SideWatch]) -> Iterator[tuple[str, Side, Mapping[Side, int]]]:
    """A directory, the side on which the command was about far more names below it, and how many
    these were on each."""
    seen = {side: _below(watches[side].calls) for side in Side if side in watches}
    if len(seen) < len(Side):
        return
    for more, fewer in ((Side.BAD, Side.GOOD), (Side.GOOD, Side.BAD)):
        path = _deepest(seen[more], seen[fewer])
        if path not in _SHARED:
            yield path, more, {side: seen[side][path] for side in Side}


def _are_as_many(path: str, digests: Mapping[Side, Mapping[str, str]]) -> bool:
    """Whether both sides have as many files there: then it is something else that has the command
    go through them on one side alone."""
    texts = [digests[side].get(f"{BELOW}{path}", "") for side in Side if side in digests]
    counts = [int(text) for text in texts if text.isdecimal()]
    return len(counts) == len(Side) and max(counts) <= _AS_MANY * min(counts)


def tree_suspects(
    watches: Mapping[Side, SideWatch], prefix: str, digests: Mapping[Side, Mapping[str, str]]
) -> Iterator[Suspect]:
    """The directory, called by ``prefix`` and its path, below which the command was about far more
    names on one side than on the other; none where there is none, or both sides have as many files
    in it."""
    for path, more, counts in _trees(watches):
        if _are_as_many(path, digests):
            continue
        texts = {side: f"{counts[side]} names seen below it" for side in Side}
        yield Suspect(
            f"{prefix}{path}",
            f"the directory {path} and all below it, which the command goes through",
            Layer.USERLAND,
            "userland.file",
            texts[Side.GOOD],
            texts[Side.BAD],
            (f"{prefix}{path}",),
            untestable=OF_ENTRIES,
            terms=(Term("file", 0.5 if more is Side.BAD else -1.0, _reason(counts)),),
        )


def _reason(counts: Mapping[Side, int]) -> str:
    good, bad = counts[Side.GOOD], counts[Side.BAD]
    return f"the command goes through {good} names below it on good and {bad} on bad"


def _below(calls: Iterable[CallsAbout]) -> Counter[str]:
    """So many different names lie below each directory, of those that calls were about."""
    names = {
        call.target.rstrip("/")
        for call in calls
        if call.target.startswith("/")
        and call.count > call.errors
        and (NAME_CALLS.fullmatch(call.name) or _LISTS.fullmatch(call.name))
        and not _NOT_MEANT.match(call.target)
    }
    below: Counter[str] = Counter()
    for name in names:
        while name not in ("", "/"):
            name = posixpath.dirname(name)
            below[name] += 1
    return below


def _deepest(more: Counter[str], fewer: Counter[str]) -> str:
    """The deepest directory that still has most of what is below the root on one side alone; the
    root where that is not far more."""
    excess = {path: count - fewer[path] for path, count in more.items()}
    whole = excess.get("/", 0)
    path = "/"
    if whole < _LEAST or more["/"] < FAR_APART * fewer["/"]:
        # elsewhere both do much alike: the place has to stand out by itself
        apart = [p for p in excess if excess[p] >= _LEAST and more[p] >= FAR_APART * fewer[p]]
        if not apart:
            return path
        path = max(apart, key=lambda p: (excess[p], -len(p)))
        whole = excess[path]
    children = True
    while children:
        inside = [p for p in excess if posixpath.dirname(p) == path and p != path]
        best = max(inside, key=lambda p: excess[p], default="")
        children = bool(best) and excess[best] >= _MOST_OF_IT * whole
        path = best if children else path
    return path


def looked_for(watches: Mapping[Side, SideWatch]) -> tuple[str, ...]:
    """The names that the command looked for, or made, on both sides, that were there on one alone,
    and that it opened on none."""
    if any(side not in watches for side in Side):
        return ()
    opened: set[str] = set()
    asked: dict[Side, dict[str, bool]] = {}
    for side in Side:
        of_side = asked.setdefault(side, {})
        for call in watches[side].calls:
            if _OPENS.fullmatch(call.name):
                opened.add(call.target)
            elif call.target.startswith("/") and _LOOKS.fullmatch(call.name):
                is_there = call.count > call.errors
                of_side[call.target] = of_side.get(call.target, False) or is_there
            elif call.target.startswith("/") and _MAKES.fullmatch(call.name):
                # who makes a directory or a link as a lock fails where there is one
                of_side.setdefault(call.target, call.errors > 0)
    good, bad = asked[Side.GOOD], asked[Side.BAD]
    differing = [p for p in bad if p in good and good[p] != bad[p] and p not in opened]
    return tuple(p for p in differing if not p.startswith(("/proc/", "/sys/")))[:_MOST_LOOKED]
