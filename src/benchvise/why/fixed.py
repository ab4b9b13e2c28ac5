"""Suspects that no setting covers: the kernel, its command line, the C library, the hardware, what
a process inherits. They say where they lie, so that layers reach them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchvise.state.diff import Difference, Kind, Part
from benchvise.state.model import Flip
from benchvise.text import printable
from benchvise.why.model import Layer, Suspect
from benchvise.why.reduction import layer_of

_SHOWN = 120
_NAMED = 3

# Items whose places are independent of each other: each is a suspect of its own.
_BY_PART = ("kernel.command_line/options", "process.environment/variables")

_REASONS = {
    Layer.PROCESS: "it belongs to the process, and nothing here gives it to one",
    Layer.USERLAND: "it takes the other side's user land",
    Layer.LIBC: "it takes the other side's C library",
    Layer.ROOT: "it takes the other side's root file system",
    Layer.INIT_SETTINGS: "it holds from the next boot on",
    Layer.COMMAND_LINE: "it takes a reboot with the other command line",
    Layer.KERNEL: "it takes the other side's kernel",
    Layer.DEVICE_TREE: "it takes a boot with the other device tree",
    Layer.BOOTLOADER: "it takes the other side's firmware",
    Layer.HARDWARE: "it is the hardware's",
}


def fixed_suspects(differences: Iterable[Difference]) -> Iterator[Suspect]:
    """One suspect for each item, or for each independent part of one, in the order given."""
    groups: dict[str, list[tuple[Difference, Part]]] = {}
    for difference in differences:
        for part in difference.parts:
            groups.setdefault(_id_of(difference, part), []).append((difference, part))
    for name, members in groups.items():
        yield _suspect(name, members)


def _id_of(difference: Difference, part: Part) -> str:
    entry = difference.entry
    if entry.name in _BY_PART:
        return f"{entry.item}:{printable(part.key, 60)}"
    if entry.item == "kernel.modules" and entry.key != "modules":
        return f"kernel.modules:{entry.key.partition('.')[0]}"
    if entry.item == "boot.init_settings":
        return f"{entry.item}:{printable(entry.key, 80)}"
    return entry.item


def _suspect(name: str, members: Sequence[tuple[Difference, Part]]) -> Suspect:
    first = members[0][0]
    item = first.item
    layer = layer_of(first.entry.item)
    labels = _labels(members)
    return Suspect(
        id=name,
        title=f"{item.title}: {item.summary}" if item is not None else first.entry.item,
        layer=layer,
        item=first.entry.item,
        good=_shown([(label, part.a) for label, (_, part) in zip(labels, members, strict=True)]),
        bad=_shown([(label, part.b) for label, (_, part) in zip(labels, members, strict=True)]),
        members=tuple(dict.fromkeys(difference.entry.name for difference, _ in members)),
        untestable=_why_not([difference for difference, _ in members], layer),
    )


def _why_not(differences: Sequence[Difference], layer: Layer) -> str:
    known = _REASONS.get(layer)
    if known is not None:
        return known
    if len({difference.kind for difference in differences}) == 1:
        if differences[0].kind is Kind.ONLY_A:
            return "the bad side does not have it"
        if differences[0].kind is Kind.ONLY_B:
            return "the good side does not have it"
    difference = differences[0]
    flips = difference.item.flips if difference.item is not None else ()
    if Flip.RUN_TIME in flips or Flip.RISKY in flips:
        return "it can be changed by hand, but is none of the settings that are made here"
    return "it can only be looked at"


def _labels(members: Sequence[tuple[Difference, Part]]) -> list[str]:
    """What tells the members apart: nothing for one alone."""
    if len(members) == 1:
        return [""]
    several = len({difference.entry.name for difference, _ in members}) > 1
    return [
        f"{difference.entry.key if several else ''} {part.key}".strip()
        for difference, part in members
    ]


def _shown(values: Sequence[tuple[str, Any]]) -> str:
    texts = [
        f"{label}={value_text(value)}" if label else value_text(value) for label, value in values
    ]
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return printable(", ".join(texts[:_NAMED]), 2 * _SHOWN) + more


def value_text(value: Any) -> str:
    """A value in one line."""
    if value is None:
        return "not there"
    if value is True:
        return "given"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return printable(text, _SHOWN) or "(empty)"
