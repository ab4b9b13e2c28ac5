"""Directories with recordings of several boards, and what a hostile one does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchvise.errors import TraceError, UsageError
from benchvise.flows.recordings import _file_names
from benchvise.trace.clock_alignment import ClockAlignment, Knot, Mark
from benchvise.trace.decoder import open_native
from benchvise.trace.recording_set import (
    SET_FILE,
    RecordingSet,
    SetMember,
    is_set,
    member_of,
    named_recordings,
    read_set,
    set_of,
)
from benchvise.trace.time_shift import add_time_shift

CLOCK = ClockAlignment(5, 6, 40_000, 1.5, 7.0, 20, 90_000)
MEMBER = SetMember("local", "local.dat", 7, 0, "time", "", 3, (), 1, 2, CLOCK, "", (Mark(1, 2, 3),))
SET = RecordingSet("0x1f", 10**18, (MEMBER, replace(MEMBER, board="ssh://b", file="b.dat")))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert not is_set(tmp_path)
    SET.write(tmp_path)
    assert is_set(tmp_path)
    assert read_set(tmp_path) == SET
    assert SET.uncertainty_ns == 80_000
    assert member_of(tmp_path / "b.dat") == SET.members[1]
    assert member_of(tmp_path / "c.dat") is None
    assert named_recordings([tmp_path]) == [
        ("local", tmp_path / "local.dat"),
        ("ssh://b", tmp_path / "b.dat"),
    ]
    assert named_recordings([tmp_path / "b.dat", Path("other.dat")]) == [
        ("ssh://b", tmp_path / "b.dat"),
        ("other.dat", Path("other.dat")),
    ]
    assert set_of([tmp_path / "b.dat", tmp_path / "local.dat"]) == SET
    assert set_of([tmp_path / "b.dat", Path("other.dat")]) is None


def test_one_that_was_not_lined_up_makes_all_incomplete() -> None:
    other = replace(MEMBER, clock=None, not_lined_up="it holds no event")
    assert replace(SET, members=(MEMBER, other)).uncertainty_ns is None


def test_traces_of_one_name_have_their_paths() -> None:
    paths = [Path("a/trace.dat"), Path("b/trace.dat")]
    assert [name for name, _ in named_recordings(paths)] == ["a/trace.dat", "b/trace.dat"]


def test_a_set_is_no_trace_and_says_which_are(tmp_path: Path) -> None:
    SET.write(tmp_path)
    with pytest.raises(UsageError, match="recordings of 2 boards") as raised:
        open_native(tmp_path)
    assert str(tmp_path / "b.dat") in raised.value.remedy


@pytest.mark.parametrize(
    "change",
    [
        {"members": [{"file": "../../etc/passwd"}]},
        {"members": []},
        {"format": 9},
        {"members": 5},
    ],
)
def test_a_list_that_is_none_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    SET.write(tmp_path)
    document = json.loads((tmp_path / SET_FILE).read_text())
    member = document["members"][0]
    if isinstance(change.get("members"), list):
        change = {"members": [{**member, **each} for each in change["members"]]}
    (tmp_path / SET_FILE).write_text(json.dumps({**document, **change}))
    with pytest.raises(TraceError, match="is not a list of recordings"):
        read_set(tmp_path)
    assert member_of(tmp_path / "local.dat") is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x17\x08\x44tracing6\0\0\x08" + bytes(30),
        b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\0\0" + bytes(8),
        b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\0\0\x20" + bytes(7),
        b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none",
    ],
)
def test_a_file_that_takes_no_option_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.dat"
    path.write_bytes(content)
    with pytest.raises(TraceError, match="cannot be lined up"):
        add_time_shift(path, 1, [Knot(0, 0)], 1, 0)
    assert path.read_bytes() == content


def test_files_are_called_as_people_call_the_boards() -> None:
    names = ["local", "ssh://root@10.0.0.7", "rig:zero", "ssh://me@h:2222", "ssh://x@10.0.0.7", "/"]
    assert _file_names(names) == [
        *("local.dat", "10.0.0.7.dat", "zero.dat", "h-2222.dat", "10.0.0.7-2.dat", "board.dat")
    ]
