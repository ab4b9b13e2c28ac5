"""Files and directories that a server has open far longer on the bad side, and that differ there.

What a server reads need be in no configuration: time zones, templates, segments of a log, the files
of a spool. Where it goes through more of them, it is found there again and again while the command
runs (``witness.started``). That alone is no cause: only what is not the same on both sides may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchvise.why.model import Layer, Side, Suspect, Term
from benchvise.why.witness.layout import BELOW, DIRECTORY
from benchvise.why.witness.model import Partner
from benchvise.why.witness.opened import NOT_THERE, OPENED_FILE

_LEAST = 0.25  # of the time in which the server works
_AS_MUCH = 0.8
_APART = 1.25
_POINTS = 3.0
_DIGITS = 12
_MOST = 30
_UNTESTABLE = "it is what {name} reads there, and others may read it too: make it so on both sides"


def held_places(partner: Partner) -> tuple[str, ...]:
    """The keys of what it has open for a large part of its work, to be compared by their digests:
    each by its path, and by ``BELOW``."""
    held = [path for path, part in partner.held.items() if part >= _LEAST][:_MOST]
    return tuple(key for path in held for key in (path, f"{BELOW}{path}"))


def held_suspects(
    good: Partner, bad: Partner, digests: Mapping[Side, Mapping[str, str]], term: Term
) -> Iterator[Suspect]:
    """A suspect for each of these that the bad side has open for much more of the time and that is
    not the same there: of directories those that lie deepest. ``term`` is what the program counts.
    """
    longer = {
        path: part - good.held.get(path, 0.0)
        for path, part in bad.held.items()
        if part - good.held.get(path, 0.0) >= _LEAST
    }
    values = {path: _values(path, digests) for path in longer}
    apart = {path: excess for path, excess in longer.items() if values[path]}
    for path, excess in apart.items():
        inside = [other for other in apart if other.startswith(f"{path}/")]
        if any(apart[other] >= _AS_MUCH * excess for other in inside):
            continue  # it is there that it is longer
        reason = (
            f"{bad.name} has something open there in {good.held.get(path, 0.0):.0%} of the time on "
            f"good and in {bad.held[path]:.0%} on bad"
        ).replace("%", " %")
        of_good, of_bad = values[path]
        yield Suspect(
            f"{OPENED_FILE}{path}",
            f"{path}, which {bad.name} reads for the command",
            Layer.USERLAND,
            "userland.file",
            of_good,
            of_bad,
            members=(f"{OPENED_FILE}{path}",),
            untestable=_UNTESTABLE.format(name=bad.name),
            terms=(term, Term("held", _POINTS * excess, reason)),
        )


def _values(path: str, digests: Mapping[Side, Mapping[str, str]]) -> tuple[str, ...]:
    """What differs, as the two sides have it; nothing where it is the same or hardly differs."""
    states = [digests[side].get(path, "") for side in (Side.GOOD, Side.BAD)]
    counts = [digests[side].get(f"{BELOW}{path}", "") for side in (Side.GOOD, Side.BAD)]
    if any(counts):
        numbers = [int(count or 0) for count in counts]
        if max(numbers) < _APART * min(numbers) or max(numbers) == min(numbers):
            return ()
        return tuple(f"{count} files below it" if count else NOT_THERE for count in counts)
    sums = [state.partition(" ")[0] for state in states]
    if DIRECTORY in sums or sums[0] == sums[1]:
        return ()
    return tuple(digest[:_DIGITS] or NOT_THERE for digest in sums)
