"""Boards that are free, chosen by features: all or none, in the order in which commands came."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchvise.errors import UsageError
from benchvise.rig.environment import BoardRequest, NetworkService, Rig, RigTarget
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold.choice import Hold, choose, release
from benchvise.rig.hold.messages import BoardEvent

FEATURES = {"a": {"x", "z"}, "b": {"x", "z"}, "c": {"x", "y"}, "d": {"x", "y"}}
PATIENT = 60.0


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setenv("BENCHVISE_LOCK_DIR", str(tmp_path / "locks"))
    targets = {
        name: RigTarget(is_switched=False, service=NetworkService(f"198.51.100.{number}"))
        for number, name in enumerate(FEATURES)
    }
    features = {name: frozenset(tags) for name, tags in FEATURES.items()}
    yield Rig(tmp_path / "rig.yaml", features, targets=targets)


def take(rig: Rig, text: str) -> list[Hold]:
    request = BoardRequest.parse(text)
    assert request is not None
    return choose(rig, request, f"wants {text}")


def names(holds: list[Hold]) -> list[str]:
    return [hold.name for hold in holds]


def test_those_that_are_free_are_taken_or_none(rig: Rig) -> None:
    first = take(rig, "any=x,y")
    assert names(first) == ["c"]
    two = take(rig, "2=x")
    assert names(two) == ["a", "b"]
    with pytest.raises(RigError, match="rig:2=y: 1 of 2 boards that fit are free, 2 are") as busy:
        take(rig, "2=y")
    assert busy.value.fault is Fault.BUSY
    last = take(rig, "any=y")
    assert names(last) == ["d"]  # nothing was kept of what was too little
    release([*first, *two, *last])
    assert names(take(rig, "4=")) == ["a", "b", "c", "d"]


def test_who_came_first_is_first_at_all_boards(rig: Rig) -> None:
    """One waits for three of four; who comes later for two gets them only after it."""
    held = take(rig, "3=x")
    order: list[str] = []
    threads = []
    for text in ("3=x", "2=x", "2=y"):
        waits = threading.Event()
        thread = threading.Thread(target=wait, args=(rig, text, waits, order))
        thread.start()
        threads.append(thread)
        assert waits.wait(PATIENT)
        # In the queue once it has told that it waits: the next one comes later.
        assert order == []
    with pytest.raises(RigError, match="0 of 4"):
        take(rig, "any=x")  # d is free, and kept for those who wait
    release(held)
    for thread in threads:
        thread.join(PATIENT)
    assert order[0] == "3=x"
    assert sorted(order[1:]) == ["2=x", "2=y"]


def wait(rig: Rig, text: str, waits: threading.Event, order: list[str]) -> None:
    def observe(_name: str, _event: BoardEvent) -> None:
        waits.set()

    request = BoardRequest.parse(text)
    assert request is not None
    holds = choose(replace(rig, wait_s=PATIENT), request, text, observe)
    order.append(text)
    release(holds)


@pytest.mark.parametrize(
    ("text", "count", "features"),
    [
        ("any=arm,usb", 1, {"arm", "usb"}),
        ("12=arm", 12, {"arm"}),
        ("any=", 1, set()),
    ],
)
def test_requests(text: str, count: int, features: set[str]) -> None:
    request = BoardRequest.parse(text)
    assert request is not None
    assert request.count == count
    assert set(request.features) == features


def test_what_is_no_request_or_can_never_be(rig: Rig) -> None:
    assert all(BoardRequest.parse(text) is None for text in ("pi4", "all", "tag=x", "3", "any"))
    with pytest.raises(UsageError, match="no board is asked for"):
        BoardRequest.parse("0=x")
    with pytest.raises(UsageError, match="2 boards fit rig:3=y, 3 are needed"):
        take(rig, "3=y")
    with pytest.raises(UsageError, match="'any=x' chooses a board that is free"):
        rig.select(["any=x"])
