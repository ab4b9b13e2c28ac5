"""A flattened device tree as a table: path of each property to its value, without phandles.

Nodes refer to each other by numbers (phandles) that the compiler gave out, so two trees from one
source may differ in all of them. Here a reference stands by the path of the node that it means.
The format is that of the Devicetree Specification, chapter 5; which properties refer to others,
and which of a provider's properties says how many numbers follow, is that of its chapter 2 and of
the kernel's bindings.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MAGIC = 0xD00DFEED
NODES = 20000
DEPTH = 32

Value = str | int | bool | list[str] | list[int] | list[int | str]

_BEGIN, _END, _PROPERTY, _NOTHING, _LAST = 1, 2, 3, 4, 9

# What differs from board to board of one kind, from boot to boot, or by the compiler.
_LEFT_OUT = re.compile(
    r"phandle|linux,phandle|name|kaslr-seed|rng-seed|serial-number|local-mac-address|mac-address|"
    r"bootargs|linux,initrd-(?:start|end)|linux,usable-memory-range|linux,uefi-.*|"
    r"linux,elfcorehdr|bluetooth-address|local-bd-address|asset-tag"
)
_NODES_LEFT_OUT = frozenset({"__symbols__", "__fixups__", "__local_fixups__", "__overrides__"})

# Properties that hold references, and which property of what they refer to says how many numbers
# follow each; none do where that is empty.
_REFERENCES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), cells)
    for pattern, cells in (
        (r"clocks|assigned-clocks|assigned-clock-parents", "#clock-cells"),
        (r"interrupts-extended", "#interrupt-cells"),
        (r"resets", "#reset-cells"),
        (r"power-domains", "#power-domain-cells"),
        (r"(?:.*-)?gpios?", "#gpio-cells"),
        (r"dmas", "#dma-cells"),
        (r"phys", "#phy-cells"),
        (r"pwms", "#pwm-cells"),
        (r"iommus", "#iommu-cells"),
        (r"mboxes", "#mbox-cells"),
        (r"thermal-sensors", "#thermal-sensor-cells"),
        (r"cooling-device", "#cooling-cells"),
        (r"io-channels", "#io-channel-cells"),
        (r"interconnects", "#interconnect-cells"),
        (r"sound-dai", "#sound-dai-cells"),
        (r"hwlocks", "#hwlock-cells"),
        (r"nvmem-cells", "#nvmem-cell-cells"),
        (r"msi-parent", "#msi-cells"),
        (
            r"interrupt-parent|.*-supply|pinctrl-\d+|memory-region|cpu-idle-states|cpu|trip|"
            r"domain-idle-states|operating-points-v2|required-opps|next-level-cache|l2-cache|"
            r"remote-endpoint|phy-handle|mmc-pwrseq|interrupt-affinity|affinity|backlight|panel|"
            r".*,grf|.*,pmu|.*,pmugrf|.*,syscon",
            "",
        ),
    )
)


@dataclass(slots=True)
class Node:
    """A node of the tree: its properties as bytes, and its children by name."""

    properties: dict[str, bytes] = field(default_factory=dict)
    children: dict[str, Node] = field(default_factory=dict)


def device_tree(data: bytes) -> dict[str, Value]:
    """Path of each property to its value; ValueError when it is no device tree."""
    return flatten(parse(data))


def parse(data: bytes) -> Node:
    """The root of a flattened device tree."""
    try:
        magic, total, structure, strings = struct.unpack_from(">4I", data)
    except struct.error:
        raise ValueError("no device tree: it is too short") from None
    if magic != MAGIC:
        raise ValueError("no device tree: another magic number")
    if total > len(data):
        raise ValueError("the device tree is cut")
    try:
        return _Reader(data, structure, strings).read()
    except (struct.error, IndexError):
        raise ValueError("the device tree leads beyond its end") from None


class _Reader:
    """Walks the words of the structure block."""

    def __init__(self, data: bytes, structure: int, strings: int) -> None:
        self._data = data
        self._at = structure
        self._strings = strings

    def read(self) -> Node:
        holder = Node()
        open_nodes = [holder]
        nodes = 0
        while (token := self._word()) != _LAST:
            if token == _BEGIN:
                nodes += 1
                node, name = Node(), self._text(self._at)
                self._at = _aligned(self._at + len(name) + 1)
                if nodes > NODES or len(open_nodes) > DEPTH:
                    raise ValueError("the device tree is too large")
                open_nodes[-1].children[name.decode("utf-8", "replace")] = node
                open_nodes.append(node)
            elif token == _END and len(open_nodes) > 1:
                open_nodes.pop()
            elif token == _PROPERTY:
                length, name_at = self._word(), self._word()
                name = self._text(self._strings + name_at)
                value = self._data[self._at : self._at + length]
                open_nodes[-1].properties[name.decode("utf-8", "replace")] = value
                self._at = _aligned(self._at + length)
            elif token != _NOTHING:
                raise ValueError("the device tree is broken")
        if "" not in holder.children:
            raise ValueError("the device tree has no root")
        return holder.children[""]

    def _word(self) -> int:
        self._at += 4
        return int(struct.unpack_from(">I", self._data, self._at - 4)[0])

    def _text(self, at: int) -> bytes:
        end = self._data.find(b"\0", at)
        if end < 0 or at > len(self._data):
            raise IndexError
        return self._data[at:end]


def _aligned(offset: int) -> int:
    return (offset + 3) & ~3


def from_files(files: Mapping[str, bytes], root: str) -> Node:
    """The tree of /proc/device-tree, from paths of properties below ``root``."""
    tree = Node()
    for path, value in files.items():
        *parents, name = path.removeprefix(root).strip("/").split("/")
        node = tree
        for parent in parents[:DEPTH]:
            node = node.children.setdefault(parent, Node())
        node.properties[name] = value
    return tree


def flatten(root: Node) -> dict[str, Value]:
    """Path of each property to its value, sorted; a node without properties is True itself."""
    phandles = dict(_phandles(root, ""))
    return dict(sorted(_flat(root, "", phandles)))


def _phandles(node: Node, path: str) -> Iterator[tuple[int, tuple[str, Node]]]:
    for key in ("phandle", "linux,phandle"):
        value = node.properties.get(key, b"")
        if len(value) == 4:
            yield int.from_bytes(value, "big"), (path or "/", node)
    for name, child in node.children.items():
        if name not in _NODES_LEFT_OUT:
            yield from _phandles(child, f"{path}/{name}")


def _flat(
    node: Node, path: str, phandles: Mapping[int, tuple[str, Node]]
) -> Iterator[tuple[str, Value]]:
    kept = {k: v for k, v in node.properties.items() if not _LEFT_OUT.fullmatch(k)}
    if not kept and not node.children:
        yield path or "/", True
    for name, value in kept.items():
        decoded = _decoded(name, value, phandles)
        if not (name == "status" and decoded in ("okay", "ok")):  # the same as not saying it
            yield f"{path}/{name}", decoded
    for name, child in node.children.items():
        if name not in _NODES_LEFT_OUT:
            yield from _flat(child, f"{path}/{name}", phandles)


def _decoded(name: str, value: bytes, phandles: Mapping[int, tuple[str, Node]]) -> Value:
    for pattern, cells in _REFERENCES:
        if pattern.fullmatch(name):
            references = _references(value, cells, phandles)
            if references is not None:
                return references
    if not value:
        return True
    texts = _texts(value)
    if texts is not None:
        return texts[0] if len(texts) == 1 else texts
    if len(value) % 4:
        return value.hex()
    numbers = [number for (number,) in struct.iter_unpack(">I", value)]
    return numbers[0] if len(numbers) == 1 else numbers


def _references(
    value: bytes, cells: str, phandles: Mapping[int, tuple[str, Node]]
) -> list[int | str] | None:
    """Paths, each with the numbers that follow it; None when that is not how the value reads."""
    if not value or len(value) % 4:
        return None
    numbers = [number for (number,) in struct.iter_unpack(">I", value)]
    references: list[int | str] = []
    at = 0
    while at < len(numbers):
        if numbers[at] == 0:  # a place left empty
            references.append(0)
            at += 1
            continue
        if numbers[at] not in phandles:
            return None
        path, node = phandles[numbers[at]]
        count = int.from_bytes(node.properties.get(cells, b"\0\0\0\0")[:4], "big") if cells else 0
        if count > len(numbers) - at - 1:
            return None
        references += [path, *numbers[at + 1 : at + 1 + count]]
        at += 1 + count
    return references


def _texts(value: bytes) -> list[str] | None:
    """Text, or several ended by NULs; None when it is something else."""
    if not value.endswith(b"\0"):
        return None
    parts = value[:-1].split(b"\0")
    if not all(part and all(0x20 <= byte < 0x7F for byte in part) for part in parts):
        return None
    return [part.decode("ascii") for part in parts]
