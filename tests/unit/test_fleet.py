"""Many boards: which are measured at once, which in turn, and how all of them are interrupted."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE

from benchvise import interruption
from benchvise.board import process
from benchvise.errors import BoardUnreachable, UsageError
from benchvise.flows.run import each_lane
from benchvise.interruption import Interruption, heeding
from benchvise.rig import lanes
from benchvise.rig.environment import Rig, load_rig
from benchvise.rig.lanes import FleetPlan, Lane, grouped, lanes_of, plan_fleet
from benchvise.state.interrupts import deferred, let_through

RIG = """
targets:
  pi:
    resources: {NetworkService: {address: 198.51.100.1}}
    drivers: {CardStrategy: {watts: 10}}
  beagle:
    resources: {NetworkService: {address: 198.51.100.2}}
    drivers: {CardStrategy: {watts: 10}}
  twin: {resources: {NetworkService: {address: 198.51.100.2, port: 2022}}}
  here: {resources: {NetworkService: {address: 127.0.0.1}}, drivers: [SSHDriver: {}]}
  virtual: {features: [simulated], drivers: {CardStrategy: {}}}
  left: {options: {benchvise: {shares: [hub]}}, drivers: {CardStrategy: {}}}
  right: {options: {benchvise: {shares: [hub]}}, drivers: {CardStrategy: {}}}
  alone: {resources: {NetworkService: {address: 127.0.0.2}}, options: {benchvise: {shares: []}}}
options: {benchvise: {budget_w: BUDGET}}
"""


def named(directory: Path, budget: int = 100, *boards: str) -> tuple[tuple[str, ...], Rig]:
    """Names of boards, all of the rig unless some are given, and the rig."""
    file = directory / "rig.yaml"
    file.write_text(RIG.replace("BUDGET", str(budget)))
    rig = load_rig(file)
    return boards or tuple(f"rig:{name}" for name in rig.names), rig


def boards_of(lanes: list[Lane]) -> list[str]:
    return [" ".join(name.removeprefix("rig:") for name in lane.boards) for lane in lanes]


def test_boards_share_a_host_this_machine_a_budget_or_what_is_declared(tmp_path: Path) -> None:
    names, rig = named(tmp_path)
    assert [rig.targets[name].is_switched for name in ("pi", "twin", "here", "alone")] == [
        *(True, False, False, False)
    ]  # fmt: skip
    rig_lanes = lanes_of(names, rig)
    assert boards_of(rig_lanes) == ["pi", "beagle twin", "here virtual", "left right", "alone"]
    assert [lane.shared for lane in rig_lanes] == [
        *((), ("the host 198.51.100.2",), ("this machine",), ("hub",), ()),
    ]
    # What a third one joins is one lane, and boards of a small budget are not on together.
    rig_lanes = lanes_of(*named(tmp_path, 15))
    assert boards_of(rig_lanes)[0] == "pi beagle twin"
    assert rig_lanes[0].blocks == (("rig:pi",), ("rig:beagle", "rig:twin"))
    assert "the power budget of 15 W" in rig_lanes[0].shared
    assert boards_of(lanes_of(*named(tmp_path, 100, "local", "rig:pi", "rig:here"))) == [
        "local here",
        "pi",
    ]


def test_lanes_join_in_whatever_order_their_boards_come() -> None:
    things = {"a": "1", "b": "2", "c": "3", "d": "12", "e": "23", "f": ""}
    for names in (list(things), list(reversed(things))):
        joined = grouped(names, {name: frozenset(things[name]) for name in names})
        assert sorted(map(sorted, (lane.boards for lane in joined))) == [
            ["a", "b", "c", "d", "e"],
            ["f"],
        ]
    many = [f"b{number}" for number in range(20)]
    (lane,) = grouped(many, dict.fromkeys(many, frozenset({"one"})))
    assert [len(block) for block in lane.blocks] == [8, 8, 4]


def test_how_many_at_once_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names, rig = named(tmp_path)
    assert plan_fleet(names, rig, "2").at_once == 2
    assert plan_fleet(names, rig, "none").lanes[0].boards == names
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(lanes, "_free_bytes", lambda: 4 << 30)
    assert plan_fleet(names, rig, "auto").at_once == 5
    monkeypatch.setattr(lanes, "_free_bytes", lambda: 128 << 20)
    small = plan_fleet(names, rig, "auto")
    assert (small.at_once, small.reason) == (2, "memory of this machine")
    said = list(small.sentences())
    assert said[0] == "5 lanes, 2 at once (memory of this machine)"
    assert "in turn: rig:left, rig:right (hub)" in said
    for wrong in ("0", "-1", "many", "1.5"):
        with pytest.raises(UsageError, match="--parallel"):
            plan_fleet(names, rig, wrong)


def test_a_target_says_wrongly_what_it_shares(tmp_path: Path) -> None:
    for options, said in (("{share: []}", "share is not known"), ("{shares: hub}", "no list")):
        (tmp_path / "r.yaml").write_text(f"targets: {{a: {{options: {{benchvise: {options}}}}}}}")
        with pytest.raises(UsageError, match=f"a: options: benchvise: .*{said}"):
            load_rig(tmp_path / "r.yaml")


LANES = tuple(Lane(((name,),)) for name in ("one", "two", "three"))


def test_lanes_go_on_at_the_same_time_and_keep_their_order() -> None:
    together = threading.Barrier(3)

    def work(lane: Lane) -> str:
        together.wait(PATIENCE)  # none ends before all have begun
        return lane.boards[0]

    assert each_lane(FleetPlan(LANES, 3, ""), work) == ["one", "two", "three"]


@pytest.mark.parametrize("how", ["error", "signal"])
def test_what_waits_for_a_process_is_interrupted_and_cleans_up(how: str) -> None:
    """Two wait for processes that never end, one fails (or Ctrl-C comes); nothing is left."""
    begun, cleaned = threading.Barrier(3), []

    def work(lane: Lane) -> None:
        with deferred():
            child = process.spawn(["sleep", "1000"])
            try:
                begun.wait(PATIENCE)
                with let_through():
                    if lane is LANES[0]:
                        raise BoardUnreachable("lost") if how == "error" else KeyboardInterrupt
                    process.Pipes(child).pump(1000)
            finally:
                process.end(child)
                cleaned.append((lane.boards[0], child.returncode))

    error = BoardUnreachable if how == "error" else KeyboardInterrupt
    with pytest.raises(error):
        each_lane(FleetPlan(LANES, 3, ""), work)
    assert sorted(cleaned) == [("one", -9), ("three", -9), ("two", -9)]


def heeds(work: Callable[[Interruption], Any]) -> Any:
    """What the work returns in a thread that heeds an interruption, which it is given."""
    ended: list[Any] = []
    one = Interruption()

    def run() -> None:
        with heeding(one):
            ended.append(work(one))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    one.close()
    return ended[0]


def test_it_is_raised_once_and_not_while_it_is_held_back() -> None:
    def work(one: Interruption) -> list[str]:
        steps = []
        try:
            with deferred():
                one.set()
                interruption.sleep(0)
                steps.append("held back")
                try:
                    with let_through():
                        steps.append("not reached")
                except KeyboardInterrupt:
                    steps.append("raised")
                with let_through():
                    interruption.sleep(0)
                steps.append("cleaned up")
        except KeyboardInterrupt:
            steps.append("twice")
        return steps

    assert heeds(work) == ["held back", "raised", "cleaned up"]
    interruption.raise_if_set()  # this thread heeds none


def test_it_comes_at_the_end_where_nothing_let_it_through() -> None:
    def work(one: Interruption) -> str:
        try:
            with deferred():
                one.set()
        except KeyboardInterrupt:
            return "raised"
        return "lost"

    assert heeds(work) == "raised"


def test_whoever_is_woken_finds_it_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the one chance of a thread to be interrupted is gone, and it waits to its end."""
    one, woken = Interruption(), threading.Event()
    close = os.close

    def slow_close(descriptor: int) -> None:
        close(descriptor)
        woken.wait(PATIENCE)  # the other thread goes on before the one that closes does

    def work() -> None:
        with heeding(one):
            try:
                interruption.sleep(PATIENCE)
            except KeyboardInterrupt:
                raised.append(True)
            woken.set()

    raised: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    monkeypatch.setattr(os, "close", slow_close)
    one.set()
    one.set()  # does nothing
    thread.join()
    monkeypatch.undo()
    one.close()
    assert raised == [True]
