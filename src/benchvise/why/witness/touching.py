"""Suspects that touch what a command does otherwise come first (``touches.toml``)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from benchvise.why.model import Suspect, Term
from benchvise.why.witness.model import Activity, Witness, WitnessPart

NAME = "witness"
"""Of the term."""

_FILE_POINTS = 6.0
_PART_POINTS = 5.0
_LEAST_SHARE = 0.25
_SHORTEST = 4  # characters of a name of a file that a suspect's text is searched for
_VERSION = re.compile(r"\.so(?:\.[0-9.]+)?$")


@dataclass(frozen=True, slots=True)
class Touch:
    """Suspects with these names can change what these activities take.

    ``calls``, where there are any, are those that it is about.
    """

    activities: tuple[Activity, ...]
    names: tuple[str, ...]
    why: str
    calls: tuple[str, ...] = ()

    def touches(self, suspect: Suspect, part: WitnessPart) -> bool:
        """Whether a suspect is one that can change a part."""
        names = (suspect.id, suspect.item)
        return (
            part.activity in self.activities
            and (not self.calls or any(fnmatchcase(part.call, call) for call in self.calls))
            and any(fnmatchcase(name, pattern) for name in names for pattern in self.names)
        )


@cache
def touches() -> tuple[Touch, ...]:
    """The table."""
    text = (files(__package__) / "touches.toml").read_text(encoding="utf-8")
    return tuple(
        Touch(
            tuple(Activity[name] for name in record["activities"]),
            tuple(record["names"]),
            record["why"],
            tuple(record.get("calls", ())),
        )
        for record in tomllib.loads(text)["touch"]
    )


def put_first(suspects: Sequence[Suspect], witness: Witness | None) -> tuple[Suspect, ...]:
    """The suspects with a term for what they touch, in their new order."""
    if witness is None or not (witness.parts or witness.bad_files or witness.good_files):
        return tuple(suspects)
    scored = []
    for suspect in suspects:
        terms = [*_of_files(suspect, witness), *_of_parts(suspect, witness)]
        best = max(terms, key=lambda term: term.points, default=None)
        more = () if best is None else (best,)
        scored.append(replace(suspect, terms=(*suspect.terms, *more)))
    return tuple(sorted(scored, key=lambda s: (s.means is None, -s.log_odds)))


def _of_parts(suspect: Suspect, witness: Witness) -> Iterator[Term]:
    for part in witness.parts:
        if part.share < _LEAST_SHARE:
            continue
        for touch in touches():
            if touch.touches(suspect, part):
                reason = f"{touch.why}: {part.text} is {part.share:.0%} of the gap"
                yield Term(NAME, _PART_POINTS * min(1.0, part.share), reason.replace("%", " %"))
        if part.target.startswith("/") and _is_below(part.target, suspect):
            reason = f"it is about {part.target}: {part.text}"
            yield Term(NAME, _FILE_POINTS * min(1.0, part.share), reason)


def _of_files(suspect: Suspect, witness: Witness) -> Iterator[Term]:
    """A suspect that names a file which only one side opens."""
    text = "\n".join((suspect.id, suspect.title, suspect.good, suspect.bad, *suspect.members))
    for side, opened in (("bad", witness.bad_files), ("good", witness.good_files)):
        for file in opened:
            name = _VERSION.sub("", file.rpartition("/")[2])
            is_named = len(name) >= _SHORTEST and re.search(
                rf"(?<![\w-]){re.escape(name)}(?![\w-])", text
            )
            if file in text or is_named:
                yield Term(NAME, _FILE_POINTS, f"only the {side} side opens {file}")
                return


_PLACE = re.compile(r"/[\w./-]+")


def _is_below(path: str, suspect: Suspect) -> bool:
    """Whether a path lies in a place that a suspect is called by: a mount point."""
    places = _PLACE.findall(" ".join((suspect.id, suspect.title, *suspect.members)))
    return any(path == place or path.startswith(f"{place.rstrip('/')}/") for place in places if
               len(place) > 1)  # fmt: skip
