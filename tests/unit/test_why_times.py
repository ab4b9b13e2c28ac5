"""A file that is newer than another one on one side alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchvise.board.local import LocalBoard
from benchvise.why.benches.file_digests import digests_on
from benchvise.why.model import Side
from benchvise.why.witness.times import MODIFIED, time_as_on_good, time_suspects

FILES = ("/srv/app/main.c", "/srv/app/util.c", "/srv/app/main.o", "/srv/app/util.o")


def digests(*times: int, contents: str = "aaaa") -> dict[str, str]:
    named = dict(zip(FILES, times, strict=True))
    contents_of = {path: f"{letter * 4} 9" for path, letter in zip(FILES, contents, strict=True)}
    return contents_of | {f"{MODIFIED}{path}": str(time) for path, time in named.items()}


@pytest.mark.parametrize(
    ("bad", "suspect"),
    [
        ((10, 11, 20, 21), None),
        # installed at another time, in the same order
        ((510, 511, 520, 521), None),
        # one source that looks newer than what was made of all
        ((99, 11, 20, 21), ("/srv/app/main.c", "older than", "newer than")),
        ((10, 11, 5, 21), ("/srv/app/main.o", "newer than", "older than")),
        # two boards that were installed otherwise: nothing by itself tells
        ((21, 20, 11, 10), None),
    ],
)
def test_one_file_that_is_out_of_order_is_a_suspect(
    bad: tuple[int, ...], suspect: tuple[str, str, str] | None
) -> None:
    both = {Side.GOOD: digests(10, 11, 20, 21), Side.BAD: digests(*bad)}
    found = [
        (s.id.removeprefix("file.time:"), s.good.rpartition(" ")[0], s.bad.rpartition(" ")[0])
        for s in time_suspects(FILES, both)
    ]
    assert found == ([suspect] if suspect else [])


def test_a_file_of_other_contents_is_a_suspect_by_these() -> None:
    both = {Side.GOOD: digests(10, 11, 20, 21), Side.BAD: digests(99, 11, 20, 21, contents="baaa")}
    assert not list(time_suspects(FILES, both))


def test_times_are_read_and_given_back(tmp_path: Path) -> None:
    files = [tmp_path / "main.c", tmp_path / "main.o"]
    both = {}
    for side, times in ((Side.GOOD, (10, 20)), (Side.BAD, (30, 20))):
        for path, time in zip(files, times, strict=True):
            path.write_text("the same")
            os.utime(path, (time, time))
        both[side] = digests_on(LocalBoard(), [str(path) for path in files])
    (suspect,) = time_suspects([str(path) for path in files], both)
    assert suspect.id == f"file.time:{files[0]}"
    subprocess.run(["sh", "-c", time_as_on_good(suspect)], check=True)
    assert files[0].stat().st_mtime == 20
