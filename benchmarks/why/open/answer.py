"""An answer of ``why``, read from its document: what it names, in which order, how sure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]

_MOST = 25.0
_EXCLUDES = ("does not close the gap", "widens the gap")


@dataclass(frozen=True, slots=True)
class Named:
    """Something that an answer names: what it calls it, whether as proven, with what share of the
    gap, and where the bad side sets it (``file:line``)."""

    said: str
    proven: bool
    share: float | None = None
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered; ``named`` has proven causes first, then what was not tried, by rank.
    ``excluded`` is what it calls those that an experiment has excluded."""

    verdict: str
    headline: str
    named: tuple[Named, ...]
    experiments: int
    minutes: float
    says_restored: bool
    written: frozenset[str]
    excluded: tuple[str, ...] = ()
    reach: float | None = None

    @property
    def proven(self) -> tuple[Named, ...]:
        """Those that it says are causes."""
        return tuple(one for one in self.named if one.proven)


def read(document: Document) -> Answer:
    """The answer in a document of ``why --json``."""
    return Answer(
        verdict=document["verdict"],
        headline=document["headline"],
        named=(*_causes(document), *_untested(document)),
        experiments=len(document["experiments"]),
        minutes=document["seconds"] / 60,
        says_restored=bool(document["restored"]),
        written=frozenset(str(write["path"]) for write in document["writes"]),
        excluded=tuple(
            _said(suspect)
            for suspect in document["suspects"]
            if suspect["id"] in _excluded(document) - _proven(document)
        ),
        reach=_reach(document),
    )


def _reach(document: Document) -> float | None:
    gap = document.get("gap")
    return math.exp(min(gap["goodness"]["high"], _MOST)) if gap else None


def _causes(document: Document) -> Iterator[Named]:
    for cause in document["causes"]:
        said = " + ".join(_said(suspect) for suspect in cause["suspects"])
        yield Named(said, True, cause["share"]["value"], _places(cause["origins"]))


def _untested(document: Document) -> Iterator[Named]:
    """What the answer lists as likeliest and not decided, in that order, then the other suspects by
    their rank; without those that are causes and those that an experiment has excluded."""
    done = _proven(document) | _excluded(document)
    listed = [str(difference["suspect"]) for difference in document.get("untested", ())]
    place = {name: number for number, name in enumerate(listed)}
    for suspect in sorted(document["suspects"], key=lambda s: place.get(s["id"], len(place))):
        if suspect["id"] not in done:
            yield Named(_said(suspect), False, None, _places(suspect.get("origins", ())))


def _proven(document: Document) -> set[str]:
    return {str(suspect["id"]) for cause in document["causes"] for suspect in cause["suspects"]}


def _excluded(document: Document) -> set[str]:
    return {
        str(name)
        for experiment in document["experiments"]
        if experiment["outcome"] in _EXCLUDES
        for name in experiment["flipped"]
    }


def _said(suspect: Mapping[str, Any]) -> str:
    """Without the paths among its members: files of a program that it is about, in which its line
    is looked for, are not named by it."""
    keys = ("id", "title", "item", "good", "bad")
    words = [str(suspect.get(key, "")) for key in keys]
    members = [str(member) for member in suspect.get("members", ())]
    return " | ".join([*words, *(member for member in members if not member.startswith("/"))])


def _places(origins: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(
        f"{origin['file']}:{origin['line']}" if origin.get("line") else str(origin["file"])
        for origin in origins
        if origin.get("side") == "bad" and origin.get("file")
    )
