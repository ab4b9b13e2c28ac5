"""The frame for causes planted for real: files that are put back, and the score of an answer."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.why import places, real, report
from benchmarks.why.plants import PLANTS, Plant, Scene, bench, prefix
from benchmarks.why.virtual_plants import VIRTUAL
from benchvise.errors import UsageError

LARGE = real.PlantedEffect(0.5, 0.02)
SMALL = real.PlantedEffect(0.05, 0.02)
PLANT = Plant("p", bench("os.syscall"), prefix(), ("memory.thp",))


def document(*causes: str, verdict: str = "explained", **changes: Any) -> Mapping[str, Any]:
    return {
        "verdict": verdict,
        "causes": [{"suspects": [{"id": name}]} for name in causes],
        "suspects": [{"testable": True}, {"testable": False}],
        "gap": {"goodness": {"value": 0.5}, "floor": 0.02},
        "experiments": [{}] * 5,
        "trials": [{}] * 40,
        "writes": [],
        "seconds": 60.0,
        "restored": True,
        **changes,
    }


def test_a_hit_a_miss_and_a_false_attribution() -> None:
    right = real.judge(PLANT, document("memory.thp"), [], 70.0, LARGE)
    assert (right.hit, right.false, right.is_right, right.problems) == (True, 0, True, ())
    assert (right.suspects, right.experiments, right.trials, right.minutes) == (1, 5, 40, 1.0)
    wrong = real.judge(PLANT, document("vm.swappiness"), [], 70.0, LARGE)
    assert (wrong.hit, wrong.false) == (False, 1)
    assert "named vm.swappiness instead of memory.thp" in wrong.problems
    nothing = real.judge(PLANT, document(verdict="unexplained"), [], 70.0, LARGE)
    assert (nothing.hit, nothing.false, nothing.is_right) == (False, 0, False)


def test_what_is_not_beyond_three_floors_does_not_count() -> None:
    none = document(verdict="no difference shown", gap=None)
    result = real.judge(PLANT, none, [], 1.0, SMALL)
    assert "its effect is 0.050" in result.left_out
    false = real.judge(PLANT, document("vm.swappiness"), [], 1.0, SMALL)
    assert not false.left_out
    assert false.false == 1


@pytest.mark.parametrize("verdict", ["not admissible", "incomplete", "no difference shown"])
def test_an_answer_without_a_gap_is_a_miss_where_the_plant_counts(verdict: str) -> None:
    """Whether a plant counts is measured beforehand: no answer can talk it away."""
    result = real.judge(PLANT, document(verdict=verdict, gap=None), [], 1.0, LARGE)
    assert (result.hit, result.left_out, result.is_right) == (False, "", False)
    held = {bar.name: bar.held for bar in report.bars([result])}
    assert held["top-1 hits beyond three floors"] is False


def test_the_effect_of_a_plant_is_that_of_its_processes() -> None:
    good, bad = [10.0, 10.1, 9.9, 10.0], [20.0, 20.3, 19.8, 20.1]
    effect = real.effect_of(good, bad)
    assert effect.size == pytest.approx(math.log(2.005), abs=0.01)
    assert effect.counts
    assert not real.effect_of(good, [10.0, 10.2, 9.8, 10.1]).counts
    assert not real.effect_of([5.0, 20.0, 9.0], [9.0, 31.0, 12.0]).counts


def test_a_score_of_nothing_holds_no_bar() -> None:
    console = Console(file=io.StringIO())
    assert not report.show([], console)
    left = real.judge(PLANT, document(verdict="unexplained"), [], 1.0, SMALL)
    assert not report.show([left], console)


def test_what_is_not_put_back_is_seen() -> None:
    left = real.judge(PLANT, document("memory.thp"), ["/proc/sys/x: 1 instead of 0"], 1.0, LARGE)
    assert not left.is_restored
    admitted = real.judge(PLANT, document("memory.thp", restored=False), [], 1.0, LARGE)
    assert not admitted.is_restored


def test_the_control_is_right_with_no_difference_and_no_cause() -> None:
    control = Plant("nothing", bench("os.syscall"), prefix(), (), ("no difference shown",))
    none = document(verdict="no difference shown", gap=None)
    result = real.judge(control, none, [], 1.0, real.PlantedEffect(0.0, 0.02))
    assert (result.kind, result.hit, result.is_right) == ("no difference", None, True)


def test_files_are_put_back_and_refusals_are_told(tmp_path: Path) -> None:
    one, marked = tmp_path / "one", tmp_path / "marked"
    one.write_text("10\t20\n")
    marked.write_text("always [madvise] never\n")
    assert places.chosen(marked.read_text()) == "madvise"
    with places.files_set({str(one): "1 2"}):
        assert one.read_text() == "1 2\n"
    assert one.read_text() == "10 20\n"
    with (
        pytest.raises(places.NotHere, match="missing does not take"),
        places.files_set({str(one): "3", str(tmp_path / "missing"): "1"}),
    ):
        pass
    assert one.read_text() == "10 20\n"
    with places.kept(str(one)):
        one.write_text("5\n")
    assert one.read_text() == "10 20\n"


def test_plants_have_names_of_their_own_and_are_enough() -> None:
    names = [plant.name for plant in PLANTS]
    assert len(names) == len(set(names)) >= 25
    assert [plant.name for plant in real.named(["nice", "mtu"])] == ["nice", "mtu"]
    with pytest.raises(UsageError, match="there is no plant x"):
        real.named(["x"])


def test_plants_on_simulated_boards_are_asked_for_by_a_word_of_their_own() -> None:
    names = [plant.name for plant in (*PLANTS, *VIRTUAL)]
    assert len(set(names)) == len(names)
    assert len(VIRTUAL) >= 9
    assert not {*VIRTUAL} & {*real.named([])}
    assert real.named([], here=False, virtual=True) == list(VIRTUAL)
    assert [plant.name for plant in real.named(["virtual-libc"])] == ["virtual-libc"]


def test_a_plant_that_cannot_be_made_here_is_left_out() -> None:
    def scene() -> Any:
        raise places.NotHere("no such disk")

    result = real.run(Plant("p", scene, prefix(), ("x",)))
    assert (result.left_out, result.hit, result.ended) == ("no such disk", None, False)


def test_words_of_a_prefix_go_before_the_command() -> None:
    with prefix("nice", "-n", "19")(Scene(("--bench", "os.syscall"))) as words:
        assert words == ("nice", "-n", "19")
