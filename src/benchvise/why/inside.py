"""What differs inside a layer that is built from source: options of a kernel, nodes of a tree.

None of it can be flipped here, as that takes building the layer anew. So it is ranked: what to try
first when the layer is the cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchvise.state.normalise.fdt import device_tree
from benchvise.state.normalise.kernel import kernel_config
from benchvise.why.layer_ranking import option_terms
from benchvise.why.model import Layer, Suspect, Term
from benchvise.why.reduction import Reach

MOST = 30
"""Differences of a layer that are listed."""

_UNKNOWN = Term("nothing known", -2.0, "it is in no list of what matters")
_NOT_SET = "not set"
_SHOWN = 120  # characters of a value


def kernel_options(good: bytes, bad: bytes, reach: Reach) -> list[Suspect]:
    """The options in which two kernel configurations differ, best first.

    An option that can only be set because another one is, by its name, goes with that one. None
    where either image does not say how its kernel was built.
    """
    try:
        one, other = kernel_config(good), kernel_config(bad)
    except ValueError:
        return []
    names = {name for name in {*one, *other} if one.get(name) != other.get(name)}
    heads = _heads(names, one, other)
    return _best(
        Suspect(
            f"kernel:CONFIG_{head}",
            f"CONFIG_{head}" + (f" and {len(below)} options below it" if below else ""),
            Layer.KERNEL,
            "kernel",
            one.get(head, _NOT_SET)[:_SHOWN],
            other.get(head, _NOT_SET)[:_SHOWN],
            tuple(f"CONFIG_{name}" for name in (head, *below)),
            untestable=f"it takes a kernel built with CONFIG_{head} as on the other side",
            terms=option_terms("options", head, reach) or (_UNKNOWN,),
        )
        for head, below in heads.items()
    )


def tree_nodes(good: Mapping[str, bytes], bad: Mapping[str, bytes]) -> list[Suspect]:
    """The properties in which device trees differ; references stand by the node they mean.

    Trees of one name are compared, or the only one of each side.
    """
    pairs = [(name, good[name], bad[name]) for name in sorted({*good} & {*bad})]
    if not pairs and len(good) == len(bad) == 1:
        (name, one), (other,) = *good.items(), bad.values()
        pairs = [(name, one, other)]
    found: list[Suspect] = []
    for name, one, other in pairs:
        try:
            here, there = device_tree(one), device_tree(other)
        except ValueError:
            continue
        for path in sorted({*here, *there}):
            if here.get(path) != there.get(path):
                found.append(_property(name, path, here.get(path), there.get(path)))
    return _best(found)


def _property(name: str, path: str, one: Any, other: Any) -> Suspect:
    return Suspect(
        f"device-tree:{path}",
        f"{path} of {name}",
        Layer.DEVICE_TREE,
        "device-tree",
        "not there" if one is None else str(one)[:_SHOWN],
        "not there" if other is None else str(other)[:_SHOWN],
        untestable="it takes a device tree compiled with the other side's value",
        terms=(_UNKNOWN,),
    )


def _heads(
    names: set[str], one: Mapping[str, str], other: Mapping[str, str]
) -> dict[str, list[str]]:
    """The options that differ by themselves, each with those below it.

    Below is what is named after another one (NUMA_BALANCING after NUMA) and is missing where
    that one is not set.
    """
    heads: dict[str, list[str]] = {}
    for name in sorted(names):
        above = _above(name, names, one, other)
        if above is None:
            heads.setdefault(name, [])
        else:
            heads.setdefault(above, []).append(name)
    return heads


def _above(
    name: str, names: set[str], one: Mapping[str, str], other: Mapping[str, str]
) -> str | None:
    """The outermost option that takes this one with it."""
    words = name.split("_")
    for end in range(1, len(words)):
        head = "_".join(words[:end])
        if head in names and any(head not in side and name not in side for side in (one, other)):
            return head
    return None


def _best(suspects: Iterable[Suspect]) -> list[Suspect]:
    return sorted(suspects, key=lambda suspect: (-suspect.score, suspect.id))[:MOST]
