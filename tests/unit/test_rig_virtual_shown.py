"""What `benchvise rig virtual status` shows of what the bench says of itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchvise.documents import encode
from benchvise.rig.virtual import bench as bench
from benchvise.rig.virtual import standard_bench
from benchvise.rig.virtual.messages import BenchStatus, VirtualBoardStatus

BOARD = VirtualBoardStatus(
    index=0,
    name="arm64-1",
    kind="arm64-uboot",
    arch="aarch64",
    simulated=True,
    relay=1,
    on_for_s=1.0,
    running=True,
    pid=1,
    ended="",
    mux="dut",
    card_bytes=1 << 20,
    console_port=4001,
    console_readers=0,
    console_overrun_bytes=0,
    console_log_lost_bytes=0,
    ssh_port=4002,
    faults={"serial-drop": 0.01},
)


@pytest.mark.parametrize(
    ("changes", "power"),
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
    changes: dict[str, Any], power: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = BenchStatus(True, 1, str(tmp_path), (replace(BOARD, **changes),))
    monkeypatch.setattr(bench, "status", lambda directory: now)
    (board,) = standard_bench.status(tmp_path).boards
    shown = encode(standard_bench.board_document(board))
    columns = ("name", "kind", "power", "mux", "console", "ssh", "faults")
    assert [shown[column] for column in columns] == [
        "arm64-1",
        "arm64-uboot",
        power,
        "dut",
        4001,
        4002,
        "serial-drop=0.01",
    ]
