"""Files that the command opens, and that are not the same on both sides.

A file that only one side has, or that holds something else there, is a difference that no list of
settings names: a start-up hook of an interpreter, a wrapper before a program, a plug-in, a
configuration. Only files that the command was seen to open are compared, by their checksums.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchvise.text import Untrusted
from benchvise.why.model import Layer, Origin, Side, Suspect, Term
from benchvise.why.witness.compare import opened_in
from benchvise.why.witness.model import SideWatch

OPENED_FILE = "userland.file:"
"""What begins the id of such a suspect."""

MOST = 600
"""So many files are compared at most."""

UNTESTABLE = "it takes the other side's file"
NOT_THERE = "not there"

_DIGITS = 12
_ONE_SIDE = Term("file", 0.5, "only one side has it, and the command opens it there")
_DIFFERS = Term("file", -1.5, "the command opens it, and it is not the same")
_IS_DATA = Term("file", -4.0, "it is data, a cache or a log, which differ by themselves")
_DATA = re.compile(
    r"/(tmp|var/(tmp|log|cache|lib)|run|home|root|data|srv|mnt|media|dev|proc|sys)/|"
    r"/etc/ld\.so\.cache$"
)


def opened_files(watches: Iterable[SideWatch]) -> tuple[str, ...]:
    """The files that the runs opened or executed, each once."""
    paths = dict.fromkeys(path for watch in watches for path in opened_in(watch.calls))
    return tuple(path for path in paths if path.startswith("/"))[:MOST]


def file_suspects(
    watches: Mapping[Side, SideWatch],
    digests: Mapping[Side, Mapping[str, str]],
    others: Sequence[Suspect],
) -> tuple[Suspect, ...]:
    """A suspect for each file that is not the same, without those that ``others`` are about.

    ``digests`` lead from a file to its checksum; a file that is not there has none.
    """
    told = "\n".join(
        text for s in others for text in (s.id, s.title, s.good, s.bad, *s.members)
    ).split()
    known = {word.strip(",;\"'[]") for word in told} | {word.partition(":")[2] for word in told}
    suspects = []
    for path in opened_files(watches.values()):
        good, bad = (digests[side].get(path, "") for side in (Side.GOOD, Side.BAD))
        if good != bad and path not in known:
            suspects.append(_suspect(path, good, bad))
    return tuple(suspects)


def origins_of_file(side: Side, suspect: Suspect) -> tuple[Origin, ...]:
    """The file itself, where a side has it."""
    digest = suspect.good if side is Side.GOOD else suspect.bad
    if digest == NOT_THERE:
        return ()
    path = suspect.id.removeprefix(OPENED_FILE)
    return (Origin(side, "file", Untrusted(path), 0, Untrusted(f"SHA-256 {digest}…")),)


def without_swapped(suspects: Sequence[Suspect], layers: Sequence[Suspect]) -> tuple[Suspect, ...]:
    """Without the files that layers or parts of them are about, which can be swapped."""
    swapped = set(_words_of(layers))
    return tuple(
        s
        for s in suspects
        if not (s.id.startswith(OPENED_FILE) and s.id.removeprefix(OPENED_FILE) in swapped)
    )


def _words_of(suspects: Sequence[Suspect]) -> Iterator[str]:
    for suspect in suspects:
        yield from suspect.good.split()
        yield from suspect.bad.split()


def _suspect(path: str, good: str, bad: str) -> Suspect:
    term = _DIFFERS if good and bad else _ONE_SIDE
    if _DATA.match(path):
        term = _IS_DATA
    return Suspect(
        f"{OPENED_FILE}{path}",
        f"the file {path}, which the command opens",
        Layer.USERLAND,
        "userland.file",
        good[:_DIGITS] or NOT_THERE,
        bad[:_DIGITS] or NOT_THERE,
        (f"{OPENED_FILE}{path}",),
        untestable=UNTESTABLE,
        terms=(term,),
    )
