"""Diagnoses on a bench in memory: each verdict, each shape of cause, each thing that goes wrong."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
from why_bench import Given, MemoryBench, Response, diagnose, losses, suspect

from benchvise.documents import encode
from benchvise.errors import BoardUnreachable, Interrupted, SettingError, UsageError
from benchvise.state.model import Snapshot
from benchvise.why import events, loop
from benchvise.why.bench import CrossCheck
from benchvise.why.case import DiagnosisOptions
from benchvise.why.experiments import partners
from benchvise.why.experiments.evidence import EvidenceLog
from benchvise.why.experiments.gap import LEAST_BOOT_FLOOR, PairedGap, Scale
from benchvise.why.experiments.question import NOTHING, Effect, ExperimentReading
from benchvise.why.experiments.search import Search
from benchvise.why.model import (
    Arm,
    Bounds,
    Diagnosis,
    DiagnosisVerdict,
    Finding,
    Grade,
    Metric,
    Purpose,
    Side,
    Stop,
    Trial,
)
from benchvise.why.plan import plan
from benchvise.why.suspects.find import SuspectSelection, needs_consent

FORTY = tuple(f"knob{n:02}" for n in range(40))


def test_one_cause_is_named_with_its_share_in_few_experiments() -> None:
    seen: list[events.Event] = []
    bench = MemoryBench(FORTY, losses(knob17=0.7))
    found = diagnose(bench, events=seen)
    assert found.verdict is DiagnosisVerdict.EXPLAINED
    (cause,) = found.causes
    assert cause.name == "knob17"
    assert cause.share.low <= 1.0 <= cause.share.high
    assert found.unexplained is not None
    assert found.unexplained.contains(0.0)
    assert cause.repair.p is not None and cause.repair.p < 0.01
    assert cause.breaking is not None and cause.breaking.side is Side.GOOD
    assert cause.breaking.p is not None and cause.breaking.p < 0.01
    assert cause.again is not None and cause.again.number == cause.repair.number
    assert [o.side for o in cause.origins] == [Side.BAD, Side.GOOD]
    assert cause.remedies[0].text == "knob17=on"
    assert found.headline == (
        "knob17, set by /etc/sysctl.d/9.conf:1, accounts for 100 % (98 to 103) of the difference."
    )
    assert len(found.experiments) <= 8  # none of the forty is likelier than another here
    assert [e.number for e in found.experiments] == list(range(1, len(found.experiments) + 1))
    assert [t.number for t in found.trials] == list(range(1, len(found.trials) + 1))
    kinds = [type(event) for event in seen]
    assert kinds.count(events.TrialTaken) == len(found.trials)
    assert kinds.count(events.ExperimentDecided) == len(found.experiments)
    assert kinds.count(events.CauseConfirmed) == 1
    assert found.simulated
    assert found.stopped is None


def test_a_likely_suspect_is_proven_at_once() -> None:
    bench = MemoryBench(FORTY, losses(knob30=0.5))
    found = diagnose(bench, points={"knob30": 6.0})
    assert [e.purpose for e in found.experiments] == [
        Purpose.ALL_IN,
        Purpose.REPAIR,
        Purpose.BREAK,
    ]


def test_two_causes_and_what_they_leave() -> None:
    bench = MemoryBench(FORTY, losses(knob05=0.6, knob31=0.3), rest=0.1)
    found = diagnose(bench)
    assert [cause.name for cause in found.causes] == ["knob05", "knob31"]
    shares = [cause.share for cause in found.causes]
    assert shares[0].contains(0.6)
    assert shares[1].contains(0.3)
    assert found.unexplained is not None
    assert found.unexplained.value == pytest.approx(0.1, abs=0.03)
    assert found.interaction is not None
    assert not found.interaction.shown
    assert found.experiments[-1].purpose is Purpose.TOGETHER


def test_what_only_both_together_repair_is_one_cause_of_two() -> None:
    def either(bad: frozenset[str]) -> float:
        return -0.6 if bad & {"knob04", "knob22"} else 0.0

    found = diagnose(MemoryBench(FORTY, either))
    (cause,) = found.causes
    assert cause.interacts
    assert {s.id for s in cause.suspects} == {"knob04", "knob22"}
    assert cause.share.contains(1.0)
    alone = [e for e in found.experiments if len(e.flipped) == 1 and not e.context]
    assert {name for e in alone for name in e.flipped} >= {"knob04", "knob22"}
    assert all(e.shift is not None and abs(e.shift.value) < 0.1 for e in alone)


def test_three_that_only_together_repair() -> None:
    def any_of_three(bad: frozenset[str]) -> float:
        return -0.8 if bad & {"knob04", "knob22", "knob37"} else 0.0

    found = diagnose(MemoryBench(FORTY, any_of_three))
    assert {s.id for s in found.causes[0].suspects} == {"knob04", "knob22", "knob37"}


def test_what_only_both_together_break_is_one_cause_of_two() -> None:
    def both(bad: frozenset[str]) -> float:
        return -0.6 if bad >= {"knob04", "knob22"} else 0.0

    found = diagnose(MemoryBench(FORTY, both))
    assert {s.id for s in found.causes[0].suspects} == {"knob04", "knob22"}
    assert found.verdict is DiagnosisVerdict.EXPLAINED


@pytest.mark.parametrize("first", [0.5, 2.0, 6.0])
def test_times_that_add_up_are_causes_of_their_own(first: float) -> None:
    """In logarithms each gains more once the other is repaired: that is no interaction."""
    costs = {"knob11": first, "knob29": first / 2}

    def slower(bad: frozenset[str]) -> float:
        return -math.log1p(sum(cost for name, cost in costs.items() if name in bad))

    found = diagnose(MemoryBench(FORTY, slower))
    assert [cause.name for cause in found.causes] == ["knob11", "knob29"]
    assert found.verdict is DiagnosisVerdict.EXPLAINED
    alone = math.log((1 + 1.5 * first) / (1 + 0.5 * first)) / math.log1p(1.5 * first)
    assert found.causes[0].share.contains(alone)


def test_a_time_hidden_behind_a_longer_one_is_found_beside_it() -> None:
    """Alone it closes 3 % of the gap, and once the other is repaired 25 %."""

    def slower(bad: frozenset[str]) -> float:
        return -math.log1p(12.0 * ("knob05" in bad) + 1.0 * ("knob02" in bad))

    found = diagnose(MemoryBench(FORTY, slower))
    large, hidden = found.causes
    assert (large.name, hidden.name) == ("knob05", "knob02")
    assert hidden.repair.context == ("knob05",)
    assert hidden.share.contains(math.log(2.0) / math.log(14.0))
    assert "and knob02, set by /etc/sysctl.d/9.conf:1, once that is repaired, for" in found.headline


def test_a_bottleneck_behind_a_bottleneck() -> None:
    def slower(bad: frozenset[str]) -> float:
        return min(-0.8 * ("knob09" in bad), -0.5 * ("knob02" in bad))

    found = diagnose(MemoryBench(FORTY, slower))
    assert {s.id for cause in found.causes for s in cause.suspects} == {"knob02", "knob09"}
    assert found.verdict is DiagnosisVerdict.EXPLAINED


def test_a_difference_that_hides_a_part_of_the_cause_is_named_with_a_negative_share() -> None:
    found = diagnose(MemoryBench(FORTY, losses(knob03=0.9, knob20=-0.4)))
    by_name = {cause.name: cause.share for cause in found.causes}
    assert by_name["knob03"].contains(0.9 / 0.5)
    assert by_name["knob20"].contains(-0.4 / 0.5)


def test_opposite_effects_that_hide_each_other_are_still_looked_for() -> None:
    bench = MemoryBench(FORTY, losses(knob03=0.5, knob30=-0.5), rest=0.5)
    found = diagnose(bench)
    assert "knob03" in [cause.name for cause in found.causes]


# -- the other verdicts ----------------------------------------------------------------------------


def test_no_difference() -> None:
    found = diagnose(MemoryBench(FORTY, losses()))
    assert found.verdict is DiagnosisVerdict.NO_DIFFERENCE
    assert found.experiments == ()
    assert found.gap is not None
    assert found.gap.goodness.contains(0.0)


def test_a_gap_within_the_noise_floor_is_none() -> None:
    found = diagnose(MemoryBench(FORTY, losses(knob01=0.0005), noise=0.0))
    assert found.verdict is DiagnosisVerdict.NO_DIFFERENCE


def test_reversed() -> None:
    found = diagnose(MemoryBench(FORTY, losses(knob01=-0.4)))
    assert found.verdict is DiagnosisVerdict.REVERSED
    assert found.experiments == ()
    assert found.needed == ("give the two sides the other way round",)


def test_unexplained_says_what_is_next() -> None:
    found = diagnose(MemoryBench(FORTY, losses(), rest=0.5))
    assert found.verdict is DiagnosisVerdict.UNEXPLAINED
    assert found.causes == ()
    assert len(found.experiments) == 2  # all at once, and the likelier half
    assert any("swap userland and kernel" in sentence for sentence in found.needed)


def test_partly_explained() -> None:
    found = diagnose(MemoryBench(FORTY, losses(knob08=0.6), rest=0.4))
    assert found.verdict is DiagnosisVerdict.PARTLY
    assert found.unexplained is not None
    assert found.unexplained.contains(0.4)


def test_not_admissible_stops_before_anything_is_measured() -> None:
    fewer = Finding("fewer-cpus", Grade.STOPS, "the bad side has 1 CPU, the good one 4")
    found = diagnose(MemoryBench(FORTY, losses(knob01=1.0)), says=(fewer,))
    assert found.verdict is DiagnosisVerdict.NOT_ADMISSIBLE
    assert found.headline == f"{fewer.sentence}."
    assert found.trials == ()


def test_nothing_differs_that_can_be_set() -> None:
    found = diagnose(MemoryBench((), losses(), rest=0.5))
    assert found.verdict is DiagnosisVerdict.UNEXPLAINED
    assert found.experiments == ()


# -- a recorded side -------------------------------------------------------------------------------


def test_a_recorded_run_is_broken_on_the_bad_side() -> None:
    found = diagnose(MemoryBench(FORTY, losses(knob12=0.5), good_recorded=12))
    (cause,) = found.causes
    assert cause.name == "knob12"
    assert cause.share.value == pytest.approx(1.0, abs=0.03)
    assert cause.breaking is not None and cause.breaking.side is Side.BAD
    assert cause.not_broken == "broken on the bad side, made like the good one: " + (
        "the good side is a record"
    )


def test_a_record_without_trials_takes_all_as_recorded_for_the_gap() -> None:
    found = diagnose(MemoryBench(FORTY, losses(knob12=0.5), good_recorded=0))
    assert [cause.name for cause in found.causes] == ["knob12"]
    assert found.gap is not None
    assert found.gap.goodness.contains(0.5)
    assert any("only what the record's settings change" in s for s in found.needed) or (
        found.verdict is DiagnosisVerdict.EXPLAINED
    )


def test_a_record_without_trials_that_changes_nothing() -> None:
    found = diagnose(MemoryBench(FORTY, losses(), good_recorded=0))
    assert found.verdict is DiagnosisVerdict.NO_DIFFERENCE
    assert "does not change" in found.headline


def test_what_two_boots_of_one_board_may_differ_by_is_no_gap() -> None:
    small = partial(MemoryBench, FORTY, losses(), noise=0.001, rest=0.011)
    assert diagnose(small()).verdict is DiagnosisVerdict.UNEXPLAINED
    found = diagnose(small(one_boot_each=True))
    assert found.verdict is DiagnosisVerdict.NO_DIFFERENCE
    assert found.gap is not None and found.gap.floor == LEAST_BOOT_FLOOR
    assert any("rebooted for each trial" in sentence for sentence in found.needed)


def test_intervals_hold_what_two_boots_may_differ_by() -> None:
    quiet = partial(MemoryBench, FORTY, losses(knob03=0.1), noise=0.0005)
    (sure,) = diagnose(quiet()).causes
    found = diagnose(quiet(one_boot_each=True))
    (cause,) = found.causes
    assert sure.share.high - sure.share.low < 0.05
    assert found.gap is not None
    gap = found.gap.goodness
    assert (gap.high - gap.low) / 2 == pytest.approx(LEAST_BOOT_FLOOR, rel=0.1)
    assert (cause.share.high - cause.share.low) / 2 == pytest.approx(
        LEAST_BOOT_FLOOR / 0.1, rel=0.1
    )


def test_images_that_are_alike_are_not_to_be_swapped() -> None:
    (next_step,) = [
        sentence
        for sentence in diagnose(MemoryBench(FORTY, losses(), rest=0.3, images=True)).needed
        if "not among the settings" in sentence
    ]
    assert "the two images do not differ: swap the boards" in next_step


@pytest.mark.parametrize(("good", "bad", "said"), [(1.0, 0.2, True), (1.0, 1.0, False)])
def test_a_side_that_was_disturbed_is_named(good: float, bad: float, said: bool) -> None:
    disturbed = {Side.GOOD: good, Side.BAD: bad}
    found = diagnose(MemoryBench(FORTY, losses(), good_recorded=12, disturbed=disturbed))
    sentences = [f.sentence for f in found.findings if f.rule == "disturbed"]
    assert sentences == ["the good one was measured while other programs ran there"] * said


def test_a_level_that_comes_and_goes_is_no_gap_to_a_record() -> None:
    class Drifting(MemoryBench):
        def _trial(self, arm: Arm, number: int) -> Trial:
            trial = super()._trial(arm, number)
            level = 0.1 * math.sin(max(number, 0) / 7) + 0.08 * (number > 0)
            return replace(trial, value=trial.value * math.exp(level))

    steady = MemoryBench(FORTY, losses(), rest=0.08, good_recorded=12, trial_seconds=0.2)
    assert diagnose(steady).verdict is DiagnosisVerdict.UNEXPLAINED
    found = diagnose(Drifting(FORTY, losses(), good_recorded=12, trial_seconds=0.2))
    assert found.verdict is DiagnosisVerdict.NO_DIFFERENCE
    assert found.gap is not None and found.gap.floor > 0.1


def test_what_scatters_too_much_rules_nothing_out() -> None:
    loud = MemoryBench(FORTY, losses(), noise=0.25, rest=0.4)
    said = diagnose(loud, options=DiagnosisOptions(seed=4)).needed
    assert "too much to rule the settings out" in said[0], said
    assert not any("not among the settings" in sentence for sentence in said), said
    said = diagnose(MemoryBench(FORTY, losses(), noise=0.02, rest=0.4)).needed
    assert any("not among the settings" in sentence for sentence in said), said


def test_the_bad_side_has_to_be_live() -> None:
    class Recorded(MemoryBench):
        def is_live(self, side: Side) -> bool:
            return side is Side.GOOD

    with pytest.raises(UsageError, match="is a record"):
        diagnose(Recorded(FORTY, losses()))


# -- what cannot be set or measured ----------------------------------------------------------------


@pytest.mark.parametrize("anonymous", [False, True])
def test_refused_suspects_are_left_out_and_named(anonymous: bool) -> None:
    bench = MemoryBench(
        FORTY,
        losses(knob17=0.5),
        rest=0.3,
        refused=frozenset({"knob03", "knob29"}),
        anonymous=anonymous,
    )
    found = diagnose(bench)
    assert [cause.name for cause in found.causes] == ["knob17"]
    assert "left out" in found.experiments[0].reason
    for name in ("knob03", "knob29"):
        assert any(name in s and "could not be set" in s for s in found.needed)


@pytest.mark.parametrize("after", range(6, 40, 3))
@pytest.mark.parametrize("other", [0.4, -0.5])
def test_what_cannot_be_flipped_any_more_is_left_out(after: int, other: float) -> None:
    """A setting may become read-only while the search is on."""
    gone = frozenset({"knob03", "knob09", "knob29"})

    class Wearing(MemoryBench):
        def measure(self, arm: Arm) -> Trial:
            if self.done >= after:
                self.refused = gone
            return super().measure(arm)

    found = diagnose(Wearing(FORTY, losses(knob12=0.5, knob31=other), rest=0.02))
    assert sorted(cause.name for cause in found.causes) == ["knob12", "knob31"]


def test_suspects_behind_those_that_are_left_out_move_up() -> None:
    """Whoever stays is searched on, and its prefix is taken for another's."""
    forty = [suspect(name) for name in FORTY]
    effects = {count: Effect(count / 100, 0.01) for count in (0, 10, 20, 30, 40)}
    search = Search(
        None,  # type: ignore[arg-type]
        Scale(0.6, 0.01, PairedGap(np.full(8, 0.6))),
        list(forty),
        0.6,
        _points={count: effects[count] for count in (0, 10, 30, 40)},
    )
    stay = [one for one in forty if one.id not in ("knob03", "knob09", "knob15")]
    flipped = tuple(one for one in stay if one in forty[:20])
    reading = ExperimentReading(None, flipped, effects[20], NOTHING, None)  # type: ignore[arg-type]
    with patch.object(Search, "_ask", lambda *_, **__: reading):
        search._measure(20, "the first half")
    assert search.suspects == stay
    assert search._points == {
        count - left_out: effects[count]
        for count, left_out in ((0, 0), (10, 2), (20, 3), (30, 3), (40, 3))
    }


def test_a_refused_culprit_is_named() -> None:
    found = diagnose(MemoryBench(FORTY, losses(knob17=0.5), refused=frozenset({"knob17"})))
    assert found.verdict is DiagnosisVerdict.UNEXPLAINED
    assert any("knob17 could not be set" in sentence for sentence in found.needed)


def test_a_suspect_with_which_the_metric_fails_is_left_out() -> None:
    bench = MemoryBench(FORTY, losses(knob17=0.5), fails=frozenset({"knob02"}))
    found = diagnose(bench)
    assert [cause.name for cause in found.causes] == ["knob17"]
    assert "the metric fails" in found.experiments[0].reason


def test_a_good_side_that_refuses_is_broken_on_the_bad_one() -> None:
    bench = MemoryBench(FORTY, losses(knob17=0.5), refused=frozenset({"good:knob17"}))
    (cause,) = diagnose(bench).causes
    assert cause.breaking is not None and cause.breaking.side is Side.BAD
    assert "read-only" in cause.not_broken


def test_a_metric_that_fails_on_a_side_is_said() -> None:
    class Failing(MemoryBench):
        def measure(self, arm):  # type: ignore[no-untyped-def]
            from benchvise.errors import MeasurementError

            raise MeasurementError("the command ended with 127")

    found = diagnose(Failing(FORTY, losses()))
    assert found.verdict is DiagnosisVerdict.INCOMPLETE
    assert found.stopped is Stop.FAILED
    assert "127" in found.reached


# -- the ends that come from outside ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "stop"),
    [
        (KeyboardInterrupt(), Stop.INTERRUPTED),
        (Interrupted("stopped"), Stop.INTERRUPTED),
        (BoardUnreachable("no answer from bad"), Stop.UNREACHABLE),
        (SettingError("knob01 is not put back"), Stop.NOT_PUT_BACK),
    ],
)
def test_each_end_gives_a_partial_answer(error: BaseException, stop: Stop) -> None:
    for trial in range(1, 70, 3):
        found = diagnose(MemoryBench(FORTY, losses(knob17=0.7), at={trial: error}))
        if found.verdict is DiagnosisVerdict.EXPLAINED:
            assert trial > len(found.trials)
            continue
        assert found.verdict is DiagnosisVerdict.INCOMPLETE
        assert found.stopped is stop
        assert found.reached
        assert found.restored or stop in (Stop.NOT_PUT_BACK, Stop.UNREACHABLE)
        assert len(found.trials) == trial - 1
        encode(found)


def test_an_interrupt_in_the_search_says_among_which_the_cause_lies() -> None:
    bench = MemoryBench(FORTY, losses(knob02=0.7), at={30: KeyboardInterrupt()})
    found = diagnose(bench)
    assert "a cause lies among" in found.reached
    assert "knob02" in found.reached


def test_a_proven_cause_survives_what_comes_later() -> None:
    whole = diagnose(MemoryBench(FORTY, losses(knob05=0.6, knob31=0.3)))
    first = next(e for e in whole.experiments if e.purpose is Purpose.BREAK)
    proven = whole.experiments[first.number - 2 : first.number]
    at = {max(n for e in proven for n in e.trials) + 1: KeyboardInterrupt()}
    found = diagnose(MemoryBench(FORTY, losses(knob05=0.6, knob31=0.3), at=at))
    assert [cause.name for cause in found.causes] == ["knob05"]
    assert found.verdict is DiagnosisVerdict.INCOMPLETE


def test_a_budget_is_kept_and_leaves_time_to_confirm() -> None:
    for minutes in (0.05, 0.2, 0.5, 0.8, 1.0, 1.3, 2.0):
        bench = MemoryBench(FORTY, losses(knob33=0.7))
        found = diagnose(bench, options=DiagnosisOptions(seed=3, budget=minutes))
        assert bench.clock <= 60 * minutes + 1
        assert found.stopped in (None, Stop.BUDGET)
        if found.stopped:
            assert found.verdict is DiagnosisVerdict.INCOMPLETE
            assert "the time budget does not allow" in found.reached
    assert found.verdict is DiagnosisVerdict.EXPLAINED


# -- layers ----------------------------------------------------------------------------------------


def test_a_layer_and_the_part_of_it() -> None:
    bench = MemoryBench(
        FORTY,
        losses(isolcpus=0.6),
        layer_names=("kernel", "command-line", "libc"),
        part_names={"command-line": ("quiet", "isolcpus", "mem")},
    )
    found = diagnose(bench)
    assert [cause.name for cause in found.causes] == ["isolcpus"]
    assert found.verdict is DiagnosisVerdict.EXPLAINED
    assert Purpose.LAYER in [e.purpose for e in found.experiments]
    assert "isolcpus" in [s.id for s in found.suspects]


def test_a_layer_whose_parts_cannot_be_swapped_is_the_cause() -> None:
    bench = MemoryBench(FORTY, losses(kernel=0.6), layer_names=("kernel", "libc"))
    assert [cause.name for cause in diagnose(bench).causes] == ["kernel"]


def test_without_layers_they_are_not_touched() -> None:
    bench = MemoryBench(FORTY, losses(kernel=0.6), layer_names=("kernel", "libc"))
    found = diagnose(bench, options=DiagnosisOptions(layers=False))
    assert found.verdict is DiagnosisVerdict.UNEXPLAINED
    assert any("--no-layers" in sentence for sentence in found.needed)


def test_a_setting_and_a_layer() -> None:
    bench = MemoryBench(FORTY, losses(kernel=0.4, knob11=0.6), layer_names=("kernel", "libc"))
    found = diagnose(bench)
    assert {cause.name for cause in found.causes} == {"knob11", "kernel"}
    assert found.verdict is DiagnosisVerdict.EXPLAINED


# -- noise -----------------------------------------------------------------------------------------


def outliers(size: float) -> Response:
    return losses(knob17=size)


@pytest.mark.parametrize("seed", range(6))
def test_outliers_and_two_modes_neither_hide_nor_invent_a_cause(seed: int) -> None:
    wild = MemoryBench(
        FORTY,
        losses(knob17=0.3),
        noise=0.03,
        scale=lambda rng: rng.gauss(0, 1) - 10 * (rng.random() < 0.04),
    )
    found = diagnose(wild, options=DiagnosisOptions(seed=seed))
    assert {cause.name for cause in found.causes} <= {"knob17"}
    jumping = MemoryBench(
        FORTY,
        losses(knob17=0.5),
        noise=0.03,
        scale=lambda rng: rng.gauss(0, 0.5) - 4 * (rng.random() < 0.3),
    )
    found = diagnose(jumping, options=DiagnosisOptions(seed=seed))
    assert [cause.name for cause in found.causes] == ["knob17"]


def test_a_metric_without_any_noise() -> None:
    found = diagnose(MemoryBench(FORTY, losses(knob17=0.3), noise=0.0))
    assert [cause.name for cause in found.causes] == ["knob17"]
    assert found.causes[0].share.value == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_answer() -> None:
    first, second = (encode(diagnose(MemoryBench(FORTY, losses(knob17=0.3)))) for _ in "12")
    assert first == second


def test_a_dry_run_says_what_would_be_done() -> None:
    bench = MemoryBench(FORTY, losses(knob17=0.3))
    planned = plan(bench, DiagnosisOptions(), Given(FORTY, {"knob09": 2.0}))
    assert planned.suspects[0].id == "knob09"
    assert bench.done == 0
    assert planned.effort.seconds == planned.effort.trials and planned.effort.boots == 0
    assert len(planned.flips) == 80  # each on both sides
    assert planned.layers == () and planned.effort_layers is None


def test_a_dry_run_has_the_layers_with_their_boots() -> None:
    bench = MemoryBench(FORTY, losses(kernel=0.3), layer_names=("kernel", "libc"))
    planned = plan(bench, DiagnosisOptions(), Given(FORTY, {}))
    assert {layer.id for layer in planned.layers} == {"kernel", "libc"}
    assert planned.effort_layers is not None
    # all settings at once, both layers at once, a third, and the proof on both sides
    assert (planned.effort_layers.experiments, planned.effort_layers.boots) == (5, 6 + 6 + 32)
    assert plan(bench, DiagnosisOptions(layers=False), Given(FORTY, {})).layers == ()


def test_a_diagnosis_is_a_document() -> None:
    found = diagnose(MemoryBench(FORTY, losses(knob17=0.3)))
    assert isinstance(found, Diagnosis)
    document = encode(found)
    assert document["stopped"] is None
    assert document["causes"][0]["suspects"][0]["id"] == suspect("knob17").id


def test_contact_lost_while_something_was_set_leaves_it_open_whether_it_is_put_back() -> None:
    lost = BoardUnreachable("no answer from bad")
    found = diagnose(MemoryBench(FORTY, losses(knob17=0.7), at={3: lost}))
    assert found.restored  # the gap sets nothing
    flipped = next(
        t.number for t in diagnose(MemoryBench(FORTY, losses(knob17=0.7))).trials if t.flipped
    )
    found = diagnose(MemoryBench(FORTY, losses(knob17=0.7), at={flipped: lost}))
    assert not found.restored


# -- as before once it is put back -----------------------------------------------------------------


class Lasting(MemoryBench):
    """The bad side is better by ``step`` after each repair by knob17 alone, and after the first
    ``rising`` of these worse again by as much."""

    step = 0.25
    rising = 100
    repairs = 0

    def measure(self, arm: Arm) -> Trial:
        trial = super().measure(arm)
        stays = self.step * (self.rising - abs(self.rising - self.repairs))
        if arm.side is Side.GOOD:
            return trial
        self.repairs += arm.ids == ("knob17",)
        return replace(trial, value=trial.value * math.exp(stays))


def test_what_stays_of_a_repair_when_it_is_undone_overturns_it() -> None:
    found = diagnose(Lasting(FORTY, losses(knob17=0.7)), points={"knob17": 6.0})
    assert found.causes == ()
    assert any("a part of the repair stays" in sentence for sentence in found.needed)


def test_a_drift_of_a_few_trials_does_not_overturn_what_is_proven_both_ways() -> None:
    bench = Lasting(FORTY, losses(knob17=0.7))
    bench.rising = 7
    found = diagnose(bench, points={"knob17": 6.0})
    (cause,) = found.causes
    assert cause.name == "knob17"
    assert cause.repair.blocks > 8  # it looked as if something stayed: more were taken


# -- what is not ruled out -------------------------------------------------------------------------


class Untested(Given):
    """Rules whose suspects cannot be tested, by name, for these reasons."""

    reasons: Mapping[str, str] = {}

    def find(
        self,
        good: Snapshot,
        bad: Snapshot,
        metric: Metric,
        *,
        may_set: Mapping[Side, bool],
        targets: Collection[str] = (),
    ) -> SuspectSelection:
        suspects = super().find(good, bad, metric, may_set=may_set).suspects
        why = self.reasons
        return SuspectSelection(
            tuple(
                replace(s, means=None, untestable=why[s.id]) if s.id in why else s for s in suspects
            ),
            {},
        )


def diagnose_untested(reasons: Mapping[str, str], *, root: bool) -> Diagnosis:
    given = Untested(FORTY)
    object.__setattr__(given, "reasons", reasons)
    return loop.diagnose(
        MemoryBench(FORTY, losses(), rest=0.5),
        DiagnosisOptions(seed=3, may_set={Side.GOOD: root, Side.BAD: root}),
        EvidenceLog.in_memory(),
        lambda _: None,
        given,
    )


def test_settings_that_were_not_tested_are_not_ruled_out() -> None:
    some = {"knob03": "the bad side may not be set", "knob04": needs_consent(["knob04"])}
    found = diagnose_untested(some, root=False)
    said = " / ".join(found.needed)
    assert "root on the bad one, to test a setting that may be the cause" in said
    assert "--allow knob04, to test a setting that may be the cause" in said
    assert "the cause is not among the settings that were tested" in said
    assert "that can be changed at run time" not in said


def test_where_nothing_could_be_tested_nothing_is_ruled_out() -> None:
    found = diagnose_untested(dict.fromkeys(FORTY, "the bad side may not be set"), root=False)
    said = " / ".join(found.needed)
    assert "root on the bad one, to test 40 settings" in said
    assert "no setting that differs could be tested; next: swap userland" in said


def test_a_refused_setting_is_not_ruled_out() -> None:
    found = diagnose(MemoryBench(FORTY, losses(knob17=0.5), refused=frozenset({"knob17"})))
    assert any("the cause is not among the settings that were tested" in s for s in found.needed)


def test_settings_that_close_the_gap_together_are_not_ruled_out() -> None:
    # Any ten of the forty do: no single one is needed, and no two nor four of them are enough.
    found = diagnose(MemoryBench(FORTY, lambda bad: -0.5 * (len(bad) > 30)))
    assert found.verdict is DiagnosisVerdict.UNEXPLAINED
    said = " / ".join(found.needed)
    assert "all settings at once close" in said
    assert "the cause is not among the settings" not in said


# -- verdicts at their limits ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "verdict"),
    [
        (Bounds(0.19, -0.03, 0.33), DiagnosisVerdict.PARTLY),
        (Bounds(0.09, 0.02, 0.16), DiagnosisVerdict.EXPLAINED),
        (Bounds(-0.2, -0.4, 0.05), DiagnosisVerdict.EXPLAINED),
        (Bounds(-0.3, -0.4, -0.2), DiagnosisVerdict.PARTLY),
    ],
)
def test_explained_leaves_little_by_its_estimate(left: Bounds, verdict: DiagnosisVerdict) -> None:
    with patch("benchvise.why.experiments.confirm.by_sum", return_value=left):
        found = diagnose(MemoryBench(FORTY, losses(knob17=0.7)), points={"knob17": 6.0})
    assert found.unexplained == left
    assert found.verdict is verdict


def test_two_sides_too_unsteady_to_tell_are_not_called_alike() -> None:
    # Now one side, now the other is in a mode that is far worse. Neighbours in time do not tell,
    # for the modes last a while.
    class Modes(MemoryBench):
        def measure(self, arm: Arm) -> Trial:
            trial = super().measure(arm)
            slow = (arm.side is Side.BAD) == (self.done % 16 > 7)
            return replace(trial, value=trial.value * (0.4 if slow else 1.0))

    found = diagnose(Modes(FORTY, losses(), noise=0.02))
    assert found.verdict is DiagnosisVerdict.NO_DIFFERENCE
    assert found.gap is not None
    assert "the values scatter too much to tell (95 %: from" in found.headline
    assert "noise floor" not in found.headline
    (advice,) = found.needed
    assert "apart on the good one, up to 2." in advice
    assert "repeat while nothing else runs" in advice


# -- partners --------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", range(6))
def test_a_wrong_answer_on_the_way_to_a_partner_is_noticed(wrong: int) -> None:
    def either(flipped: frozenset[str]) -> float:
        return 0.6 * (flipped >= {"knob04", "knob22"})

    asked: list[int] = []

    def ask(_lab, _scale, _words, flipped, context, _middle, *, care=False):  # type: ignore[no-untyped-def]
        names = frozenset(s.id for s in (*flipped, *context))
        value = either(names) - either(frozenset(s.id for s in context))
        asked.append(len(context))
        lies = len(asked) - 2 == wrong and len(context) > 0 and not care
        return Effect(0.6 - value if lies else value, 0.05)

    forty = [suspect(name) for name in FORTY]
    scale = Scale(0.6, 0.01, PairedGap(np.full(8, 0.6)))
    with patch("benchvise.why.experiments.partners._ask", ask):
        group = partners.find(
            None,  # type: ignore[arg-type]
            scale,
            forty[22],
            tuple(forty[:22]),
            Effect(0.0, 0.05),
            0.6,
            (),
        )
    assert group is not None
    assert {s.id for s in group.suspects} == {"knob04", "knob22"}


def test_benchmarks_of_the_probe_are_spared_where_the_first_suspect_is_clear() -> None:
    """They took half a minute of a busy board where the order could not have been another."""
    asked: list[Sequence[str]] = []

    class Asked(MemoryBench):
        def cross_check(self, keys: Sequence[str]) -> Sequence[CrossCheck]:
            asked.append(keys)
            return super().cross_check(keys)

    options = DiagnosisOptions(seed=3, cross_checks=("cpu.clock",))
    names = ("memory.thp", "vm.swappiness", "kernel.randomize_va_space", "memory.ksm")
    for points, number in (({"memory.thp": 3.0}, 0), ({}, 1)):
        found = diagnose(
            Asked(names, losses(**{"memory.thp": 0.5})), options=options, points=points
        )
        assert found.causes[0].name == "memory.thp"
        assert len(asked) == number
