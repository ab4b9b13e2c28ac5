"""``benchvise health`` of this machine, and of a board over SSH as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from in_process import Ran, benchvise

SECTIONS = [
    *("kernel log", "disks", "file systems", "flash", "network", "memory", "buses", "sensors"),
    "clocks and supply",
]


def health(*words: str, **environment: str) -> Ran:
    return benchvise("health", *words, environment={**os.environ, **environment})


def test_health_of_this_machine() -> None:
    done = health("local", "--json")
    document = json.loads(done.out)
    assert document["kind"] == "health"
    data = document["data"]
    assert [section["name"] for section in data["sections"]] == SECTIONS
    assert done.code == (1 if data["verdict"] == "failing" else 0)
    assert data["uptime"] > 0 and data["boot_id"]
    assert data["log"]["source"] or data["log"]["missing"]
    for section in data["sections"]:
        assert section["summary"] or section["missing"], section


def test_the_page_fits_80_columns() -> None:
    done = health("local", COLUMNS="80", NO_COLOR="1")
    assert done.code in (0, 1), done.err
    assert all(len(line.rstrip()) <= 80 for line in done.out.splitlines())
    for name in SECTIONS:
        assert name in done.out


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
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert "sensors3.conf" in done.err
    assert says in done.err


def test_a_sensors_file_that_is_not_there() -> None:
    done = health("local", "--sensors", "/nowhere.conf")
    assert done.code == 2
    assert "/nowhere.conf: cannot be read" in done.err


SAVED = "[   12.500000] mmc0: error -84 whilst initialising SD card\n" * 3


def test_a_saved_log_is_judged_as_that_of_a_board(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(SAVED)
    done = health("--log", str(tmp_path / "log.txt"), "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["kind"] == "health"
    data = document["data"]
    assert (data["verdict"], data["privilege"], data["uptime"]) == ("warning", "", None)
    [section] = data["sections"]
    [remark] = section["remarks"]
    assert (remark["device"], remark["severity"]) == ("mmc0", "warning")
    assert "3 times, 12.5 s after boot" in remark["sentence"]
    [event] = data["log"]["events"]
    assert (event["rule"], event["count"], event["first"]) == ("mmc-crc", 3, 12.5)


def test_a_saved_log_comes_from_standard_input_and_fails_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchvise", "health", "--log", "-"],
        input="[   61.500000] EXT4-fs (sda1): Remounting filesystem read-only\n",
        capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.startswith("standard input: failing\n")
    assert "sda1" in done.stdout
    assert all(len(line.rstrip()) <= 80 for line in done.stdout.splitlines())


def test_a_saved_log_of_a_gigabyte_is_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.write(b"[    0.000000] Linux version 6.1.0\n" * 2000)
        file.truncate((1 << 30) - len(SAVED))  # a hole: it takes no room on the disk
        file.seek(0, os.SEEK_END)
        file.write(SAVED.encode())
    done = health("--log", str(path), COLUMNS="80", NO_COLOR="1")
    assert done.code == 0, done.err
    assert "only the newest 32 of 1024 MiB were read" in " ".join(done.out.split())
    assert "mmc0" in done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no board is named"),
        (("local", "--log", "x"), "--log reads a file, no board"),
        (("--sensors", "x", "--log", "x"), "--log reads a file, no board"),
        (("--log", "/nowhere.log"), "/nowhere.log: cannot be read (No such file or directory)"),
        (("--log", "/"), "/: cannot be read (Is a directory)"),
        (("--log", "/bin/sh"), "/bin/sh: it is no text"),
        (("--log", "/dev/null"), "/dev/null: it is empty"),
    ],
)
def test_what_cannot_be_judged_is_one_sentence(words: tuple[str, ...], says: str) -> None:
    done = health(*words)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert says in done.err
