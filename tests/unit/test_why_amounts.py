"""Of what there is far more on one side: processes of a program, what fills a file system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from benchvise.state.model import Snapshot, StateEntry
from benchvise.why.model import Side
from benchvise.why.witness.amounts import amount_suspects
from benchvise.why.witness.model import CallsAbout, NeighbourActivity, Partner, SideWatch
from benchvise.why.witness.untouched import put_last

LISTS = CallsAbout("openat", "/proc/4711/stat", 1, 0, 0.0, 0.0)


def watches(good: int, bad: int, name: str = "defunct-child") -> dict[Side, SideWatch]:
    return {
        side: SideWatch(calls=(LISTS,), neighbours=(NeighbourActivity(name, 0.0, 1.0, 0, count),))
        for side, count in ((Side.GOOD, good), (Side.BAD, bad))
    }


def snapshot(**fills: Mapping[str, Any]) -> Snapshot:
    settings, observations = [], []
    for name, fill in fills.items():
        point = f"/{name}"
        whole = {"block_size": 1024, "size": 1000, **fill.get("whole", {})}
        settings.append(StateEntry("storage.file_systems", point, value=whole))
        room = {"free": fill["room"], "available": fill["room"], "files_free": fill["files"]}
        observations.append(StateEntry("storage.file_systems", f"{point} fill", value=room))
    return Snapshot(
        "board", "now", "", "root", settings=tuple(settings), observations=tuple(observations)
    )


@pytest.mark.parametrize(
    ("good", "bad", "name", "found"),
    [
        (3, 2000, "defunct-child", True),
        (2000, 3, "defunct-child", True),
        (3, 20, "defunct-child", False),
        (300, 500, "defunct-child", False),
        (3, 2000, "kworker/1:2", False),
    ],
)
def test_far_more_processes_of_a_program_are_a_suspect(
    good: int, bad: int, name: str, *, found: bool
) -> None:
    suspects = amount_suspects(watches(good, bad, name), dict.fromkeys(Side, snapshot()))
    assert [(s.id, s.good, s.bad) for s in suspects] == (
        [(f"program.processes:{name}", f"{good} processes", f"{bad} processes")] if found else []
    )


def gathered(descriptors: int, mb: float, *partners: str) -> SideWatch:
    activity = NeighbourActivity("hubd", 0.0, mb, 0, 1, 0.0, descriptors)
    talks_to = tuple(Partner(name, ("127.0.0.1:7760",)) for name in partners)
    return SideWatch(neighbours=(activity,), partners=talks_to)


@pytest.mark.parametrize(
    ("good", "bad", "found"),
    [
        (gathered(24, 9.0, "hubd"), gathered(3020, 9.0, "hubd"), ["program.descriptors:hubd"]),
        (gathered(24, 9.0), gathered(3020, 9.0), ["program.descriptors:hubd"]),
        (gathered(24, 9.0, "hubd"), gathered(60, 9.0, "hubd"), []),
        (gathered(0, 9.0, "hubd"), gathered(3020, 9.0, "hubd"), []),  # nobody may look there
        (gathered(24, 9.0, "hubd"), gathered(24, 90.0, "hubd"), ["program.memory:hubd"]),
        (gathered(24, 9.0, "hubd"), gathered(24, 14.0, "hubd"), []),
        (gathered(24, 9.0), gathered(24, 90.0), []),  # the command does not talk to it
    ],
)
def test_what_a_program_has_gathered_is_a_suspect(
    good: SideWatch, bad: SideWatch, found: list[str]
) -> None:
    sides = {Side.GOOD: good, Side.BAD: bad}
    suspects = amount_suspects(sides, dict.fromkeys(Side, snapshot()))
    assert [suspect.id for suspect in suspects] == found
    for suspect in suspects:
        talks = suspect.terms[0].reason.startswith("the command talks to hubd by")
        assert talks is bool(bad.partners)


EXT = {"inode_size": 256}


@pytest.mark.parametrize(
    ("good", "bad", "shown"),
    [
        ({"room": 500, "files": 9000}, {"room": 10, "files": 9000}, ("50% free", "1% free")),
        ({"room": 60, "files": 9000}, {"room": 10, "files": 9000}, None),
        ({"room": 10, "files": 9000}, {"room": 500, "files": 9000}, None),
        (
            {"room": 500, "files": 9000, "whole": EXT},
            {"room": 500, "files": 0, "whole": EXT},
            ("room for 9000 files", "room for 0 files"),
        ),
        ({"room": 500, "files": 0}, {"room": 500, "files": 0}, None),
    ],
)
def test_a_file_system_that_is_full_on_the_bad_side_is_a_suspect(
    good: dict[str, Any], bad: dict[str, Any], shown: tuple[str, str] | None
) -> None:
    boards = {Side.GOOD: snapshot(data=good), Side.BAD: snapshot(data=bad)}
    suspects = amount_suspects(watches(1, 1), boards)
    assert [(s.id, s.good, s.bad) for s in suspects] == (
        [("storage.fill:/data", *shown)] if shown else []
    )


def test_what_fills_a_file_system_that_nothing_touches_comes_last() -> None:
    boards = {
        Side.GOOD: snapshot(data={"room": 500, "files": 9000}, log={"room": 500, "files": 9000}),
        Side.BAD: snapshot(data={"room": 1, "files": 9000}, log={"room": 1, "files": 9000}),
    }
    suspects = amount_suspects(watches(1, 1), boards)
    ranked = put_last(suspects, boards, frozenset(["/log/messages"]))
    assert [suspect.id for suspect in ranked] == ["storage.fill:/log", "storage.fill:/data"]


def test_without_a_witness_nothing_is_counted() -> None:
    assert amount_suspects({}, dict.fromkeys(Side, snapshot())) == ()
