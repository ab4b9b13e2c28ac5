"""Mechanism cards: what is known of why a setting changes a figure, read from the TOML files here.

A card is a unit of knowledge: which settings and benchmarks it is about, which value is the better
one, what can be counted that shows it at work, and what to do. ``mechanism`` picks the card of a
confirmed cause and holds it against what was counted.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from benchvise.state.catalogue import knobs
from benchvise.state.model import Family
from benchvise.state.roles import ROLES
from benchvise.why.model import LayerMeans, SettingMeans, Suspect

Sign = Literal["+", "-", "0"]

MORE = "more"
"""Stands in ``to`` for a good value that is the greater number."""


class CardError(Exception):
    """A card is wrong: a mistake in Benchvise, found by its tests."""


@dataclass(frozen=True, slots=True)
class CounterSign:
    """How a counter moves when the cause is repaired, in one unit of the same work.

    ``to`` are good values (or ``more``) that the sign holds for; where the repair goes the other
    way, the opposite one holds. Empty: it holds whichever value is repaired. A counter that
    ``decides`` contradicts the card also when it does not move at all.
    """

    name: str
    sign: Sign
    to: tuple[str, ...] = ()
    decides: bool = False


@dataclass(frozen=True, slots=True)
class Direction:
    """Which value is better for which benchmarks, as far as that is known before measuring.

    ``value`` is a word, several joined by `` > `` with the best first, ``higher``, ``lower``, or
    ``unknown`` where it depends on what ``reason`` says.
    """

    metrics: tuple[str, ...]
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class CardRemedy:
    """What to do that is not just to make the good value last; see ``model.Remedy``."""

    system: str
    text: str
    cost: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """One mechanism.

    What it belongs to: ``knobs`` are names of knobs, ``items`` of catalogue items or of entries
    (``net.offloads/* coalescing``), ``options`` of kernel configuration options, words of the
    command line and module parameters, ``layers`` of layers; all may hold wildcards. ``metrics``
    are the benchmarks that it can speak about, none for all. ``needs`` is a counter without which
    it does not apply.

    ``explanation`` and ``artefact`` may hold ``{metric}``, ``{good}``, ``{bad}`` and names of
    counters. ``artefact`` says that the metric does not measure what its name says. ``predict``
    names a function of ``predictions``. ``cost`` is what the good value costs in power, security
    or latency.
    """

    id: str
    title: str
    families: tuple[Family, ...]
    explanation: str
    cost: str
    literature: tuple[str, ...]
    knobs: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    needs: str = ""
    artefact: str = ""
    predict: str = ""
    better: tuple[Direction, ...] = ()
    counters: tuple[CounterSign, ...] = ()
    remedies: tuple[CardRemedy, ...] = ()


@cache
def load_cards() -> tuple[Card, ...]:
    """All cards, by their place in the files."""
    return tuple(
        _card(record, file.name)
        for file in sorted(files(__package__).iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
        for record in tomllib.loads(file.read_text(encoding="utf-8"))["card"]
    )


@cache
def cards_by_id() -> Mapping[str, Card]:
    """Every card by its id."""
    return {card.id: card for card in load_cards()}


def _card(record: Mapping[str, Any], file: str) -> Card:
    try:
        rest = _tuples(record)
        return Card(
            **{name: value for name, value in rest.items() if name not in _NESTED},
            families=tuple(Family(name) for name in record["families"]),
            better=tuple(Direction(**_tuples(direction)) for direction in record.get("better", ())),
            counters=tuple(_sign(direction) for direction in record.get("counter", ())),
            remedies=tuple(CardRemedy(**direction) for direction in record.get("remedy", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CardError(f"{file}: {record.get('id', record)}: {error!r}") from error


_NESTED = frozenset({"families", "better", "counter", "remedy"})


def _sign(record: Mapping[str, Any]) -> CounterSign:
    if record["sign"] not in get_args(Sign):
        raise ValueError(f"no sign: {record['sign']}")
    return CounterSign(**_tuples(record))


def _tuples(record: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}


# -- which card is about which suspect -------------------------------------------------------------

_OF_FILES = ("userland.file", "userland.database")
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
    if isinstance(means, LayerMeans) and means.service:
        return (suspect.id, "service.file")
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
    part of an id or of an entry. How a file is called says nothing of what it sets."""
    if isinstance(suspect.means, SettingMeans) or suspect.item in _OF_FILES:
        return ()
    texts = [suspect.id, suspect.title, suspect.good, suspect.bad, *suspect.members]
    texts += [part for text in texts for part in re.split(r"[/:,\s]+", text)]
    return tuple({text.partition("=")[0].removeprefix("CONFIG_") for text in texts if text})


def _any(patterns: Iterable[str], names: Iterable[str]) -> bool:
    values = tuple(names)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in values)
