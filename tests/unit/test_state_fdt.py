"""Device trees: read, canonical, and without the numbers that the compiler gave out."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest
import skips
from hypothesis import given
from hypothesis import strategies as st

from benchvise.state.normalise import fdt

Tree = dict[str, "bytes | Tree"]


def blob(tree: Tree) -> bytes:
    """A flattened device tree, version 17: values of a mapping are properties, mappings nodes."""
    names = bytearray()
    structure = bytearray()

    def padded(data: bytes) -> bytes:
        return data + bytes(-len(data) % 4)

    def put(name: str, node: Tree) -> None:
        structure.extend(struct.pack(">I", 1) + padded(name.encode() + b"\0"))
        for key, value in node.items():
            if isinstance(value, bytes):
                structure.extend(struct.pack(">III", 3, len(value), len(names)) + padded(value))
                names.extend(key.encode() + b"\0")
        for key, child in node.items():
            if isinstance(child, dict):
                put(key, child)
        structure.extend(struct.pack(">I", 2))

    put("", tree)
    structure.extend(struct.pack(">I", 9))
    header = 40
    total = header + 16 + len(structure) + len(names)
    at = header + 16
    return (
        struct.pack(">10I", fdt.MAGIC, total, at, at + len(structure), header, 17, 16, 0,
                    len(names), len(structure))
        + bytes(16) + bytes(structure) + bytes(names)
    )  # fmt: skip


def cells(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}I", *numbers)


def board(clock: int, gpio: int, **more: bytes) -> Tree:
    """A small tree whose phandles are these."""
    return {
        "#address-cells": cells(1),
        "model": b"Example Board\0",
        "compatible": b"vendor,board\0vendor,soc\0",
        "chosen": {"bootargs": b"console=ttyS0\0", "kaslr-seed": cells(clock * 77, 5)},
        "clocks": {
            "phandle": cells(clock),
            "#clock-cells": cells(1),
            "clock-frequency": cells(24_000_000),
        },
        "gpio@10": {"phandle": cells(gpio), "#gpio-cells": cells(2), "gpio-controller": b""},
        "mmc@20": {
            "reg": cells(0x20, 0x10),
            "clocks": cells(clock, 7, clock, 8),
            "cd-gpios": cells(gpio, 3, 1),
            "bus-width": cells(4),
            "status": b"okay\0",
            **more,
        },
        "__symbols__": {"clk": b"/clocks\0"},
    }


def test_references_stand_by_path() -> None:
    tree = fdt.device_tree(blob(board(1, 2)))
    assert tree["/mmc@20/clocks"] == ["/clocks", 7, "/clocks", 8]
    assert tree["/mmc@20/cd-gpios"] == ["/gpio@10", 3, 1]
    assert tree["/mmc@20/bus-width"] == 4
    assert tree["/mmc@20/reg"] == [0x20, 0x10]
    assert tree["/compatible"] == ["vendor,board", "vendor,soc"]
    assert tree["/gpio@10/gpio-controller"] is True
    assert not any("phandle" in path or "__symbols__" in path or "seed" in path for path in tree)
    assert "/chosen/bootargs" not in tree  # the kernel's command line is an item of its own


def test_trees_that_differ_in_phandles_are_equal() -> None:
    assert fdt.device_tree(blob(board(1, 2))) == fdt.device_tree(blob(board(0x33, 0x21)))


def test_one_property_is_one_difference() -> None:
    a = fdt.device_tree(blob(board(1, 2)))
    b = fdt.device_tree(blob(board(9, 8, **{"no-1-8-v": b""})))
    assert {path: b[path] for path in b if a.get(path) != b[path]} == {"/mmc@20/no-1-8-v": True}
    assert a.keys() < b.keys()


def test_what_only_looks_like_a_reference_stays_a_number() -> None:
    tree = fdt.device_tree(blob({"x": {"clocks": cells(99, 1), "pinctrl-0": b"ab"}}))
    assert tree == {"/x/clocks": [99, 1], "/x/pinctrl-0": "6162"}


def test_live_and_flattened_tree_are_equal() -> None:
    """A plain user reads property by property what root reads as a whole."""
    files: dict[str, bytes] = {}

    def put(path: str, node: Tree) -> None:
        for name, value in node.items():
            if isinstance(value, bytes):
                files[f"{path}/{name}"] = value
            else:
                files[f"{path}/{name}/name"] = name.encode() + b"\0"
                put(f"{path}/{name}", value)

    tree = board(4, 5)
    put("/proc/device-tree", tree)
    live = fdt.flatten(fdt.from_files(files, "/proc/device-tree"))
    assert live == fdt.device_tree(blob(tree))


@pytest.mark.parametrize("cut", [0, 3, 16, 39, 60, 200])
def test_a_tree_that_is_cut_is_refused(cut: int) -> None:
    with pytest.raises(ValueError):
        fdt.device_tree(blob(board(1, 2))[:cut])


@given(st.integers(0, 400), st.binary(min_size=1, max_size=8))
def test_a_broken_tree_is_read_or_refused(at: int, change: bytes) -> None:
    data = bytearray(blob(board(1, 2)))
    data[at : at + len(change)] = change
    try:
        tree = fdt.device_tree(bytes(data))
    except ValueError:
        return
    assert isinstance(tree, dict)


def test_a_tree_without_end_is_refused() -> None:
    deep = struct.pack(">II", 1, 0) * 1000
    head = struct.pack(">10I", fdt.MAGIC, 40 + len(deep), 40, 40, 40, 17, 16, 0, 0, len(deep))
    with pytest.raises(ValueError, match="too large"):
        fdt.device_tree(head + deep)


SOURCE = """/dts-v1/;
/ {
    model = "Compiled";
    clk: clock { #clock-cells = <0>; };
    reg3v3: regulator { regulator-name = "3v3"; };
    device@1 { clocks = <&clk>; vcc-supply = <&reg3v3>; numbers = <1 2 3>; };
};
"""


def test_what_dtc_compiles_is_read(tmp_path: Path) -> None:
    skips.need("dtc")
    (tmp_path / "x.dts").write_text(SOURCE)
    source, compiled = str(tmp_path / "x.dts"), str(tmp_path / "x.dtb")
    command = ["dtc", "-q", "-@", "-O", "dtb", "-o", compiled, source]
    subprocess.run(command, check=True)
    tree = fdt.device_tree((tmp_path / "x.dtb").read_bytes())
    assert tree["/device@1/clocks"] == ["/clock"]
    assert tree["/device@1/vcc-supply"] == ["/regulator"]
    assert tree["/device@1/numbers"] == [1, 2, 3]
