"""How likely a layer of an image, or a part of one, is the cause: data in ``layers.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from benchvise.rig.compose.layers.layer import LayerPart
from benchvise.state.catalogue import knobs
from benchvise.state.model import Family, Knob
from benchvise.why.model import Term
from benchvise.why.reduction import Reach

_NEAR = 2.0
_FAR = 0.5
_OUT = -1.0

_WILD = re.compile(r"\{[^}]*\}|\*|\[[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Rule:
    """Options that ``option`` matches weigh on what is touched by these families."""

    option: re.Pattern[str]
    families: frozenset[Family]
    points: float
    reason: str


def layer_terms(layer: str, reach: Reach) -> tuple[Term, ...]:
    """The terms of a whole layer."""
    table = _data()["layers"][layer]
    terms = [Term("layer", float(table["points"]), str(table["reason"]))]
    near = sorted(reach.near & {Family(name) for name in table.get("families", ())})
    if near:
        terms.append(Term("family", _FAR, f"it often matters to {', '.join(near)}"))
    return tuple(terms)


def part_terms(layer: str, part: LayerPart, reach: Reach) -> tuple[Term, ...]:
    """The terms of a part: a word that is known, or a line that sets a knob of the catalogue."""
    if layer == "command-line":
        found = option_terms("words", part.name, reach)
    else:
        found = tuple(_knob_terms(f"{part.one}\n{part.other}", reach))
    return found or (Term("nothing known", 0.0, "it is in no list of what matters"),)


def option_terms(kind: str, name: str, reach: Reach) -> tuple[Term, ...]:
    """The terms of a word of the command line (``words``) or of a kernel option (``options``)."""
    found = [rule for rule in _rules(kind) if rule.option.fullmatch(name)]
    for families, factor in ((reach.near, 1.0), (reach.far, 0.5)):
        holding = [rule for rule in found if rule.families & families]
        if holding:
            best = max(holding, key=lambda rule: rule.points)
            return (Term("option", best.points * factor, best.reason),)
    if found:
        return (Term("option", _OUT, f"{found[0].reason}; that hardly touches what is measured"),)
    return ()


def _knob_terms(text: str, reach: Reach) -> Iterator[Term]:
    """Which knobs a text sets, and what they touch."""
    found = {
        name: set(item.families) for name, (item, knob) in knobs().items() if _sets(knob, text)
    }
    touched: set[Family] = set().union(*found.values())
    names = ", ".join(list(found)[:3])
    if touched & reach.near:
        yield Term("knob", _NEAR, f"it sets {names}, of the family that is measured")
    elif touched & reach.far:
        yield Term("knob", _FAR, f"it sets {names}, which can reach what is measured")
    elif found:
        yield Term("knob", _OUT, f"it sets {names}, which hardly touches what is measured")


def _sets(knob: Knob, text: str) -> bool:
    return any(pattern.search(text) for pattern in _spellings(knob.path))


@cache
def _spellings(path: str) -> tuple[re.Pattern[str], ...]:
    """A knob's file as scripts and as sysctl files spell it; roles and wildcards stand for any."""
    names = [path]
    if path.startswith("/proc/sys/"):
        key = path.removeprefix("/proc/sys/")
        names += [key, key.replace("/", ".")]
    return tuple(
        re.compile(
            r"(?<![\w./-])" + r"[^/\s]+".join(map(re.escape, _WILD.split(n))) + r"(?![\w/-])"
        )
        for n in names
    )


@cache
def _rules(kind: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            re.compile(str(rule["option"])),
            frozenset(map(Family, rule["families"])),
            float(rule["points"]),
            str(rule["reason"]),
        )
        for rule in _data()[kind]
    )


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("layers.toml").read_text("utf-8"))
