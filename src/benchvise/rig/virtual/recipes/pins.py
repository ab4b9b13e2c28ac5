"""The versions of Debian packages that boards are made of, with the checksum of each.

They are listed in ``packages.json``, so that everybody's boards are the same; ``make pins`` lists
what Debian has now. A version that mirrors no longer have is in Debian's archive of the past, as it
was at the time of the list.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from benchvise.documents import decode

LIST = Path(str(resources.files(__package__) / "packages.json"))


@dataclass(frozen=True, slots=True)
class Pin:
    """A version of a package. ``sha256`` is that of its file."""

    name: str
    version: str
    architecture: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PinnedSet:
    """What a request for packages comes to: those ``alone``, and ``whole`` with dependencies."""

    archive: str
    alone: tuple[str, ...]
    whole: tuple[str, ...]
    packages: tuple[Pin, ...]


@dataclass(frozen=True, slots=True)
class PinList:
    """``time`` is when Debian had them all, such as ``20261122T000000Z``."""

    time: str
    sets: tuple[PinnedSet, ...]

    def of(self, archive: str, alone: Sequence[str], whole: Sequence[str]) -> tuple[Pin, ...]:
        """The packages of a request; none where it is not in the list."""
        wanted = (archive, tuple(alone), tuple(whole))
        for packages in self.sets:
            if (packages.archive, packages.alone, packages.whole) == wanted:
                return packages.packages
        return ()


@cache
def pin_list() -> PinList:
    """The list that this version of Benchvise has."""
    return decode(PinList, json.loads(LIST.read_text()))
