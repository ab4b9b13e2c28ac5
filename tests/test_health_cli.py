"""``benchvise health`` of this machine, and of a board over SSH as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

SECTIONS = [
    *("kernel log", "disks", "file systems", "flash", "network", "memory", "buses", "sensors"),
    "clocks and supply",
]


def health(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchvise", "health", *words],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_health_of_this_machine() -> None:
    done = health("local", "--json")
    document = json.loads(done.stdout)
    assert document["kind"] == "health"
    data = document["data"]
    assert [section["name"] for section in data["sections"]] == SECTIONS
    assert done.returncode == (1 if data["verdict"] == "failing" else 0)
    assert data["uptime"] > 0 and data["boot_id"]
    assert data["log"]["source"] or data["log"]["missing"]
    for section in data["sections"]:
        assert section["summary"] or section["missing"], section


def test_the_page_fits_80_columns() -> None:
    done = health("local", COLUMNS="80", NO_COLOR="1")
    assert done.returncode in (0, 1), done.stderr
    assert all(len(line.rstrip()) <= 80 for line in done.stdout.splitlines())
    for name in SECTIONS:
        assert name in done.stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('chip "a-*"\ncompute in1 @*\n', "line 2"),
        ("label in1 x\n", "stands before any chip"),
        ('chip "a-*"\n\0\xff x\n', "is no statement"),
    ],
)
def test_a_wrong_sensors_file_is_one_line(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "sensors3.conf").write_text(content)
    done = health("local", "--sensors", str(tmp_path / "sensors3.conf"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "sensors3.conf" in done.stderr
    assert says in done.stderr


def test_a_sensors_file_that_is_not_there() -> None:
    done = health("local", "--sensors", "/nowhere.conf")
    assert done.returncode == 2
    assert "/nowhere.conf: cannot be read" in done.stderr
