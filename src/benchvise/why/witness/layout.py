"""How files and directories lie on the disk, where that is not the same on both sides.

Content and names tell nothing of it: a directory that once had many entries keeps their room and is
read through to its end, a file that was written bit by bit lies in a thousand pieces, one with
holes is filled when it is written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from benchvise.quantities import format_value
from benchvise.why.model import Layer, Side, Suspect, Term

LAYOUT = "layout "
"""What comes before a path as the key of its size, what is allocated for it, and in how many
pieces: ``1048576 4096 1``, the last 0 where nobody tells."""

OF_LAYOUT = "file.layout:"
"""What begins the id of a suspect about it."""

BELOW = "below "
"""What comes before the path of a directory where the number of files in it and below is asked."""

DIRECTORY = "directory"
"""What begins the value of a directory: the number of its entries and its own size in bytes
follow."""

OF_ENTRIES = "it holds other files, and who reads it reads all of its entries"
_LIES_THERE = "it is how the file was written there: write it anew"
_MANY_ENTRIES = 500
FAR_APART = 4.0
LARGE = 64 << 10
"""Sizes in bytes below this do not matter."""

_MANY_PIECES = 100
_OF_SYSTEM = re.compile(r"/(?:usr|lib\w*|bin|sbin|etc)/")
_MUCH = 0.25  # of a file's size


def directory_suspects(
    path: str, good: str, bad: str, file_id: str, who: str = "the command opens"
) -> list[Suspect]:
    """A directory in which one side has many more entries than the other one, or that is itself far
    larger there, as a suspect called ``file_id``; none otherwise. ``who`` says what opens it."""
    counts, sizes = zip(*(_numbers(value) for value in (good, bad)), strict=True)
    if _is_apart(counts, _MANY_ENTRIES):
        good_text, bad_text = (f"{count} entries" for count in counts)
        reason = f"it has {counts[0]} entries on good and {counts[1]} on bad, and {who} it"
    elif _is_apart(sizes, LARGE) and all(sizes):
        good_text, bad_text = (f"{_size(size)} of its own" for size in sizes)
        reason = f"who reads it reads {good_text} on good and {bad_text} on bad, and {who} it"
    else:
        return []
    return [
        Suspect(
            file_id,
            f"the directory {path}, which {who}",
            Layer.USERLAND,
            "userland.file",
            good_text,
            bad_text,
            (file_id,),
            untestable=OF_ENTRIES,
            terms=(Term("file", 0.5, reason),),
        )
    ]


def _numbers(directory: str) -> tuple[int, int]:
    """Entries and own size of a directory, 0 for what is not known."""
    word, *values = directory.split() or [""]
    numbers = [int(value) for value in values] if word == DIRECTORY else []
    entries, size = (*numbers, 0, 0)[:2]
    return entries, size


def _is_apart(numbers: Sequence[int], least: int) -> bool:
    return max(numbers) >= max(least, FAR_APART * min(numbers))


def _size(size: int) -> str:
    return format_value(float(size), "B")


def layout_suspects(path: str, digests: Mapping[Side, Mapping[str, str]]) -> Iterator[Suspect]:
    """A file that lies in many more pieces on one side, or for most of which that side alone has
    no room allocated."""
    texts = [digests[side].get(f"{LAYOUT}{path}", "") for side in (Side.GOOD, Side.BAD)]
    if not all(texts) or _OF_SYSTEM.match(path):
        return  # what a system came with lies as its image has it
    (size, room, pieces), (other_size, other_room, other_pieces) = (
        (int(word) for word in text.split()) for text in texts
    )
    shares = [
        min(1.0, r / s) if s >= LARGE else 1.0 for r, s in ((room, size), (other_room, other_size))
    ]
    known = min(pieces, other_pieces) > 0
    if known and _is_apart((pieces, other_pieces), _MANY_PIECES):
        good, bad = f"{pieces} pieces", f"{other_pieces} pieces"
        points = 0.5
    elif abs(shares[0] - shares[1]) >= _MUCH and size == other_size:
        good, bad = (
            f"{_size(r)} of {_size(s)} allocated"
            for r, s in ((room, size), (other_room, other_size))
        )
        points = -1.0
    else:
        return
    yield Suspect(
        f"{OF_LAYOUT}{path}",
        f"how {path} lies on the disk, which the command opens",
        Layer.USERLAND,
        "file.layout",
        good,
        bad,
        (f"{OF_LAYOUT}{path}",),
        untestable=_LIES_THERE,
        terms=(Term("file", points, "the command opens it, and it lies otherwise on the disk"),),
    )


def written_anew(suspect: Suspect) -> str:
    """The line of shell that writes a file or directory anew, so that it lies as a new one does;
    empty for others."""
    if suspect.id.startswith(OF_LAYOUT):
        path = suspect.id.removeprefix(OF_LAYOUT)
    elif suspect.untestable == OF_ENTRIES and suspect.bad.endswith(_OWN):
        path = suspect.id.partition(":")[2]
    else:
        return ""
    names = [shlex.quote(f"{path}{end}") for end in ("", ".new", ".away")]
    old, new, away = names
    return f"cp -a -- {old} {new} && mv -- {old} {away} && mv -- {new} {old}"


_OWN = " of its own"
