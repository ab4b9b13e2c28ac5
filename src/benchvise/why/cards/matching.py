"""Which card is about which suspect: by its knob, its option, its entry, its item or its layer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache

from benchvise.state.catalogue import knobs
from benchvise.state.roles import ROLES
from benchvise.why.cards import Card
from benchvise.why.model import SettingMeans, Suspect

_POINTS = {"knob": 4.0, "option": 4.0, "entry": 3.0, "item": 2.0, "layer": 1.0}
_SYSCTL = "/proc/sys/"


def named(card: Card, suspect: Suspect) -> float:
    """Points for how closely a card names a suspect; 0 when it does not."""
    entries = (suspect.item, suspect.id, *suspect.members)
    points = {
        "knob": _any(card.knobs, knobs_of(suspect)),
        "option": _any(card.options, _options(suspect)),
        "entry": _any((item for item in card.items if "/" in item), entries),
        "item": _any(card.items, (entry.partition("/")[0] for entry in entries)),
        "layer": str(suspect.layer) in card.layers,
    }
    return max((_POINTS[how] for how, is_so in points.items() if is_so), default=0.0)


def knobs_of(suspect: Suspect) -> tuple[str, ...]:
    """Names of the knobs that a suspect is about: those that it sets, and those whose files or
    sysctls stand in its text (a line of an init script)."""
    means = suspect.means
    if isinstance(means, SettingMeans):
        return (suspect.id, *(setting.knob.name for setting in means.to_good))
    text = "\n".join((suspect.title, suspect.good, suspect.bad))
    return (suspect.id, *(name for name, pattern in _files() if pattern.search(text)))


@cache
def _files() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each knob with what its file looks like in a script or a configuration."""
    paths = []
    for name, (_, knob) in knobs().items():
        pattern = re.escape(knob.path).replace(r"\*", r"[^/\s]*").replace(r"\[1\-9\]", "[1-9]")
        for role in ROLES:
            pattern = pattern.replace(re.escape(f"{{{role}}}"), r"[^\s]*")
        if knob.path.startswith(_SYSCTL):
            key = knob.path.removeprefix(_SYSCTL)
            pattern += "|" + re.escape(key) + "|" + re.escape(key.replace("/", "."))
        paths.append((name, re.compile(rf"(?<![\w.])(?:{pattern})(?![\w.-])")))
    return tuple(paths)


def _options(suspect: Suspect) -> tuple[str, ...]:
    """Names of options in what is no setting: ``CONFIG_HZ_250=y``, ``mitigations=off``, the last
    part of an id or of an entry."""
    if isinstance(suspect.means, SettingMeans):
        return ()
    texts = [suspect.id, suspect.title, suspect.good, suspect.bad, *suspect.members]
    texts += [part for text in texts for part in re.split(r"[/:,\s]+", text)]
    return tuple({text.partition("=")[0].removeprefix("CONFIG_") for text in texts if text})


def _any(patterns: Iterable[str], names: Iterable[str]) -> bool:
    values = tuple(names)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in values)
