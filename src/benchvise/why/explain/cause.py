"""What is known of a confirmed cause when its mechanism is asked for, and what follows from it.

In all sentences "here" is the bad side and "there" the good one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from benchvise.quantities import size_or_none
from benchvise.state.model import Snapshot
from benchvise.why.model import Metric, SettingMeans, Side, Suspect

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class ConfirmedCause:
    """A confirmed cause on one side.

    ``without`` and ``repaired`` are what was counted on ``side`` with the bad and with the good
    values of the suspects.
    """

    metric: Metric
    suspects: tuple[Suspect, ...]
    snapshots: Mapping[Side, Snapshot]
    side: Side = Side.BAD
    without: Mapping[str, float] = field(default_factory=dict)
    repaired: Mapping[str, float] = field(default_factory=dict)

    @property
    def good(self) -> str:
        """The good values, as shown."""
        return " and ".join(suspect.good for suspect in self.suspects)

    @property
    def bad(self) -> str:
        """The bad values, as shown."""
        return " and ".join(suspect.bad for suspect in self.suspects)

    def entry(self, side: Side, name: str) -> Any:
        """The value of the snapshot entry that matches ``name`` (wildcards), None without one."""
        snapshot = self.snapshots.get(side)
        for entry in snapshot.entries() if snapshot is not None else ():
            if entry.missing is None and fnmatchcase(entry.name, name):
                return entry.value
        return None

    def at(self, side: Side, path: str) -> Any:
        """The value of the entry that was read from a file, None without one."""
        snapshot = self.snapshots.get(side)
        for entry in snapshot.entries() if snapshot is not None else ():
            if entry.missing is None and entry.path == path:
                return entry.value
        return None

    def here(self, name: str) -> Any:
        """The entry of the side that was worked on: what it is made of, not what it is set to."""
        return self.entry(self.side, name)

    def setting(self, side: Side, *names: str) -> str | None:
        """The value that a knob of these names (wildcards) has on a side, by the suspects."""
        for suspect in self.suspects:
            means = suspect.means
            for setting in means.towards(side) if isinstance(means, SettingMeans) else ():
                if any(fnmatchcase(setting.knob.name, name) for name in names):
                    return setting.value
            if any(fnmatchcase(suspect.id, name) for name in names):
                return suspect.good if side is Side.GOOD else suspect.bad
        return None

    def values_of(self, side: Side) -> str:
        """The values of a side, as shown."""
        return self.good if side is Side.GOOD else self.bad

    def number(self, side: Side, knob: str, entry: str = "") -> float | None:
        """The number that a knob has on a side: by the suspects, else by the snapshot's entry."""
        value = self.setting(side, knob)
        return number(value if value is not None else self.entry(side, entry) if entry else None)

    def param(self, name: str) -> str | None:
        """A parameter of the metric."""
        return self.metric.params.get(name)

    def size(self, *names: str) -> int | None:
        """The first of these parameters of the metric that is a size, in bytes."""
        sizes = (size_or_none(self.param(name) or "") for name in names)
        return next((size for size in sizes if size is not None), None)


Bound = Literal["", "at most", "at least"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What follows from a case.

    ``ratio`` is the factor by which the metric gets better when the cause is repaired, exact or
    as a ``bound``; None where none can be had.
    """

    sentence: str
    ratio: float | None = None
    bound: Bound = ""


def number(value: object) -> float | None:
    """A number, or the first one in a text; None where there is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, list | tuple):
        return number(value[0]) if value else None
    match = _NUMBER.search(str(value))
    return float(match[0]) if match else None


def proportional(values: Mapping[Side, float | None], template: str, scale: float) -> Prediction:
    """At most the ratio of what the sides have."""
    here, there = values[Side.BAD], values[Side.GOOD]
    if not here or not there:
        return Prediction("not available: one of the two sides does not tell its value")
    text = template.format(f"{here * scale:g}", f"{there * scale:g}")
    return Prediction(text, there / here, "at most")
