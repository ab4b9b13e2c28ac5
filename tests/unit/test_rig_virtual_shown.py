"""What `benchvise rig virtual status` shows of what the bench says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchvise.rig.virtual import bench as bench
from benchvise.rig.virtual import standard_bench

BOARD = {
    "name": "arm64-1",
    "kind": "arm64-uboot",
    "relay": 1,
    "running": True,
    "ended": None,
    "mux": "dut",
    "console_port": 4001,
    "ssh_port": 4002,
    "faults": {"serial-drop": 0.01},
}


@pytest.mark.parametrize(
    ("said", "power"),
    [
        ({}, "on"),
        ({"relay": 0, "running": False}, "off"),
        (
            {"running": False, "ended": "the card was pulled"},
            "on, but its machine has ended (the card was pulled)",
        ),
    ],
)
def test_every_column_has_something_to_show(
    said: dict[str, Any], power: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "status", lambda directory: {"boards": [{**BOARD, **said}]})
    (shown,) = standard_bench.status(tmp_path).boards
    assert [shown[column] for column in standard_bench.COLUMNS] == [
        "arm64-1",
        "arm64-uboot",
        power,
        "dut",
        4001,
        4002,
        "serial-drop=0.01",
    ]
