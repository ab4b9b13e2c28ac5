"""The simulator of the planted-cause bench: its physics, its faults, and what it scores."""

from __future__ import annotations

import math
import os
import random
import signal
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.why import classes, report, simulated, values
from benchmarks.why.bench import SimBench, open_boards
from benchmarks.why.board import Quirk, SimBoard, SimFiles
from benchmarks.why.draft import Draft
from benchmarks.why.metrics import METRICS
from benchmarks.why.noise import Noise
from benchmarks.why.response import Condition, Effect, Graded, Response
from benchmarks.why.scenario import Fault, Flips, Scenario, differing
from benchmarks.why.score import score
from benchvise.errors import BoardUnreachable
from benchvise.state import journal
from benchvise.state.catalogue import knobs
from benchvise.state.diff import diff_snapshots
from benchvise.state.intervention import NotMade, intervening
from benchvise.state.knobs import Setting
from benchvise.why.bench import ArmRefused, Bench
from benchvise.why.model import (
    Arm,
    Bounds,
    Cause,
    Diagnosis,
    DiagnosisVerdict,
    Experiment,
    ExperimentOutcome,
    Layer,
    LayerMeans,
    Purpose,
    SettingMeans,
    Side,
    Suspect,
)

QUIET = Noise(0.001)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(journal.DIRECTORY_VARIABLE, str(tmp_path / "state"))


def setting(name: str, value: str) -> Setting:
    return Setting(knobs()[name][1], value)


def board(**quirks: Quirk) -> SimBoard:
    by_path = {values.paths_of(name.replace("__", "."))[0]: q for name, q in quirks.items()}
    return SimBoard("sim:bad", values.default_files(), quirks=by_path)


def value(of: SimBoard, name: str) -> str:
    return of.value(values.paths_of(name)[0])


def suspect(scenario: Scenario, name: str) -> Suspect:
    """A suspect made by hand: a knob with the values that the two boards have."""
    path = values.paths_of(name)[0]
    good, bad = (SimBoard("x", scenario.files[side]).value(path) for side in Side)
    means = SettingMeans((setting(name, good),), (setting(name, bad),))
    return Suspect(name, name, Layer.RUN_TIME, name, good, bad, means=means)


def bare(kind: str = "one", seed: int = 1, **changes: object) -> Scenario:
    return replace(classes.draw(classes.kind_of(kind), seed), noise=QUIET, **changes)  # type: ignore[arg-type]


# -- the board -------------------------------------------------------------------------------------


def test_every_value_of_the_board_is_one_that_its_knob_takes() -> None:
    for name, known in values.VALUES.items():
        for wanted in known:
            fresh = board()
            path = values.paths_of(name)[0]
            error = fresh.write(path, wanted)
            assert error == "", (name, wanted, error)
            assert value(fresh, name) == values.shown(name, wanted)


def test_the_kernel_ties_settings_to_each_other() -> None:
    kernel = board()
    (enabled,) = values.paths_of("memory.thp")
    for mode in ("never", "always"):
        assert kernel.write(enabled, mode) == ""
    assert "[always]" in kernel.files[enabled]
    assert int(value(kernel, "vm.min_free_kbytes")) > 16384
    (governor,) = values.paths_of("cpu.governor")
    kernel.write(governor, "performance")
    assert values.paths_of("cpu.schedutil_rate_limit_us")[0] not in kernel.files
    kernel.write(governor, "schedutil")
    assert value(kernel, "cpu.schedutil_rate_limit_us") == "2000"
    (lowest,) = values.paths_of("cpu.min_freq")
    assert kernel.write(lowest, "1900000") == "EINVAL"
    kernel.write(values.paths_of("vm.dirty_bytes")[0], "1048576")
    assert value(kernel, "vm.dirty_ratio") == "0"


def test_whatever_is_set_through_an_intervention_is_put_back() -> None:
    for name, known in values.VALUES.items():
        kernel = board()
        files = SimFiles(kernel)
        with intervening("sim:bad", files, files.again, values.ROLES) as intervention:
            intervention.apply([setting(name, known[-1])])
            assert value(kernel, name) == values.shown(name, known[-1])
        assert kernel.files == dict(kernel.at_boot), name


def test_writes_are_refused_clamped_not_kept_and_bring_others_along() -> None:
    (ahead,) = values.paths_of("block.read_ahead_kb")
    (other,) = values.paths_of("net.tcp_fastopen")
    kernel = board(block__read_ahead_kb=Quirk(error="EINVAL"))
    assert kernel.write(ahead, "4") == "EINVAL"
    kernel = board(block__read_ahead_kb=Quirk(highest=256))
    assert (kernel.write(ahead, "512"), kernel.value(ahead)) == ("", "256")
    kernel = board(block__read_ahead_kb=Quirk(resets={other: "3\n"}))
    assert (kernel.write(ahead, "512"), kernel.value(other)) == ("", "3")
    kernel = board(block__read_ahead_kb=Quirk(does_not_hold=True))
    kernel.write(ahead, "512")
    assert kernel.value(ahead) == "512"
    kernel.settle()
    assert kernel.value(ahead) == "128"


def test_a_side_effect_is_undone_also_where_another_setting_is_refused() -> None:
    (other,) = values.paths_of("net.tcp_fastopen")
    kernel = board(
        block__read_ahead_kb=Quirk(resets={other: "3\n"}), vm__swappiness=Quirk(error="EINVAL")
    )
    files = SimFiles(kernel)
    wanted = [setting("block.read_ahead_kb", "512"), setting("vm.swappiness", "1")]
    with (
        pytest.raises(NotMade),
        intervening("sim:bad", files, files.again, values.ROLES) as intervention,
    ):
        intervention.apply(wanted)
    assert kernel.files == dict(kernel.at_boot)


def test_a_boot_undoes_what_was_set_and_ends_connections() -> None:
    kernel = board()
    files = SimFiles(kernel)
    files.write(values.paths_of("vm.swappiness")[0], "1")
    before = kernel.boot_id
    kernel.reboot()
    assert value(kernel, "vm.swappiness") == "60"
    assert kernel.boot_id != before
    with pytest.raises(BoardUnreachable):
        files.read(["/proc/sys/vm/swappiness"])
    assert not files.is_open


def test_a_board_outlives_the_process_that_set_it(tmp_path: Path) -> None:
    log = tmp_path / "bad.log"
    kernel = SimBoard("sim:bad", values.default_files(), log=log)
    kernel.write(values.paths_of("cpu.governor")[0], "performance")
    again = SimBoard("sim:bad", values.default_files(), log=log)
    assert again.files == kernel.files != dict(kernel.at_boot)
    kernel.reboot()
    assert SimBoard("sim:bad", values.default_files(), log=log).boot_id == kernel.boot_id


# -- responses and noise ---------------------------------------------------------------------------


def test_effects_add_up_meet_and_grow() -> None:
    files = {"a": "1", "b": "2", "c": "900"}
    a, b = Condition("a", "is", "1"), Condition("b", "below", "2")
    assert Effect((a,), 0.2).of(files.__getitem__) == 0.2
    assert Effect((a, b), 0.2).of(files.__getitem__) == 0.0
    assert Effect((a, b), 0.2, any_of=True).of(files.__getitem__) == 0.2
    assert Graded("c", 999, 99, 0.4).of(lambda _: "99") == pytest.approx(0.4)
    assert Graded("c", 999, 99, 0.4).of(lambda _: "999") == 0.0
    assert 0.0 < Graded("c", 999, 99, 0.4).of(files.__getitem__) < 0.1


def test_noise_has_the_spread_and_the_modes_that_it_says() -> None:
    noise = Noise(cv=0.02, modes=0.5, mode_size=0.08)
    rng = random.Random(1)
    drawn = [noise.of_process(rng, 0.0) for _ in range(4000)]
    assert statistics.stdev(drawn) == pytest.approx(noise.deviation, rel=0.05)
    assert statistics.mean(drawn) == pytest.approx(0.0, abs=0.003)


# -- scenarios -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind.name for kind in classes.KINDS])
def test_a_scenario_is_the_same_each_time_and_true_to_its_class(kind: str) -> None:
    for seed in range(20):
        one, again = (classes.draw(classes.kind_of(kind), seed) for _ in range(2))
        assert one == again
        assert one.truth.verdicts
        assert len(differing(one)) >= 5
        if one.truth.demanding and one.truth.causes:
            assert one.truth.gap > 3 * one.truth.floor * 0.5


def test_the_shares_of_two_causes_and_of_an_interaction() -> None:
    for seed in range(10):
        two = classes.draw(classes.kind_of("two"), seed).truth
        assert [round(cause.share, 3) for cause in two.causes] == [0.6, 0.3]
        both = classes.draw(classes.kind_of("needs both"), seed)
        (pair,) = both.truth.causes
        assert (round(pair.share, 3), len(pair.suspects)) == (1.0, 2)
        for files in pair.suspects:
            repaired = both.goodness(Side.BAD, Flips(files))
            assert repaired == pytest.approx(both.goodness(Side.BAD))


def test_costs_add_up_in_time_and_their_shares_do_not() -> None:
    draft = Draft.begin(1, "two costs")
    draft.noise = QUIET
    cost = draft.cost(least=14)
    operation = draft.metric.operation_ns
    files = [draft.plant_cost(draft.culprit(), part * cost) for part in (0.6, 0.3)]
    draft.rest_ns[Side.BAD] = 0.1 * cost
    scenario = draft.finish(DiagnosisVerdict.PARTLY, causes=[(each,) for each in files])

    def seconds(lost: float) -> float:
        return operation + lost * cost

    gap = math.log(seconds(1.0) / seconds(0.0))
    assert scenario.truth.gap == pytest.approx(gap)
    by_files = {cause.suspects[0]: cause for cause in scenario.truth.causes}
    for each, part in zip(files, (0.6, 0.3), strict=True):
        repaired = math.log(seconds(1.0) / seconds(1.0 - part)) / gap
        assert by_files[each].share == pytest.approx(repaired)
        assert by_files[each].broken == pytest.approx(math.log(seconds(part) / operation) / gap)
    # What one closes once the other is repaired, and both: more than their shares.
    first, second = (Flips(each) for each in files)
    beside = math.log(seconds(0.4) / seconds(0.1)) / gap
    assert scenario.share(second, first) == pytest.approx(beside)
    both = math.log(seconds(1.0) / seconds(0.1)) / gap
    assert scenario.share(first | second) == pytest.approx(both)
    assert both > sum(cause.share for cause in scenario.truth.causes)


def test_the_same_cost_is_more_where_an_operation_takes_less() -> None:
    shares = set()
    for metric in METRICS:
        response = Response(0.0, (), rest_ns={Side.BAD: 300.0}, operation_ns=metric.operation_ns)
        shares.add(round(-response.goodness(Side.BAD, str), 6))
    assert max(shares) > 0.8  # a system call, or a load from memory
    assert min(shares) < 0.001  # a command that takes a second


def test_every_class_has_its_share_of_the_scenarios() -> None:
    chosen = classes.scenarios(300, 7)
    assert len(chosen) == 300
    assert {kind.name for kind, _ in chosen} == {kind.name for kind in classes.KINDS}
    assert chosen[0][1] == 7


def test_the_culprit_is_not_always_a_likely_one() -> None:
    drafts = [Draft.begin(seed, "one") for seed in range(200)]
    likely = [draft.culprit() in draft.metric.likely for draft in drafts]
    assert 0.6 < statistics.mean(likely) < 0.98


# -- the bench -------------------------------------------------------------------------------------


def test_a_trial_with_the_cause_repaired_is_as_good_as_the_good_side() -> None:
    scenario = bare()
    name = _culprit(scenario)
    bench = SimBench(scenario, open_boards(scenario))
    good, bad = (bench.measure(Arm(side)).value for side in Side)
    repaired = bench.measure(Arm(Side.BAD, (suspect(scenario, name),)))
    metric = bench.metric
    assert metric.goodness(good) - metric.goodness(bad) == pytest.approx(
        scenario.truth.gap, abs=0.02
    )
    assert metric.goodness(repaired.value) == pytest.approx(metric.goodness(good), abs=0.02)
    assert repaired.flipped == (name,)
    assert repaired.seconds >= scenario.metric.seconds
    assert bench.now() > repaired.started
    first, last = bench.writes()[0], bench.writes()[-1]
    assert (first.knob, first.undone, last.undone) == (name, False, True)
    bench.close()
    assert all(b.files == dict(b.at_boot) for b in bench.boards.values())


@pytest.mark.parametrize("how", ["EACCES", "EINVAL", "clamped", "resets", "does not hold"])
def test_what_is_refused_names_its_suspect_and_is_put_back(how: str) -> None:
    draft = Draft.begin(3, "refused")
    name = "block.read_ahead_kb"
    draft.give(name, "512", "16")
    scenario = draft.finish(DiagnosisVerdict.NO_DIFFERENCE)
    (path, *_) = values.paths_of(name)
    (other,) = values.paths_of("net.tcp_fastopen")
    quirk = {
        "EACCES": Quirk(error="EACCES"),
        "EINVAL": Quirk(error="EINVAL"),
        "clamped": Quirk(highest=64),
        "resets": Quirk(resets={other: "3\n"}),
        "does not hold": Quirk(does_not_hold=True),
    }[how]
    scenario = replace(scenario, quirks={Side.BAD: {path: quirk}})
    bench = SimBench(scenario, open_boards(scenario))
    with pytest.raises(ArmRefused) as refused:
        bench.measure(Arm(Side.BAD, (suspect(scenario, name),)))
    assert refused.value.suspects == (name,)
    assert bench.boards[Side.BAD].files == dict(bench.boards[Side.BAD].at_boot)


@pytest.mark.parametrize("phase", ["apply", "measure", "undo"])
@pytest.mark.parametrize("kind", ["lost", "reboot", "gone"])
def test_contact_that_is_lost(kind: str, phase: str) -> None:
    scenario = bare(faults=(Fault(kind, 2, phase, 3),))
    bench = SimBench(scenario, open_boards(scenario))
    flipped = Arm(Side.BAD, (suspect(scenario, _culprit(scenario)),))
    bench.measure(Arm(Side.BAD))
    before = bench.boards[Side.BAD].boot_id
    if kind == "gone":
        with pytest.raises(BoardUnreachable):
            bench.measure(flipped)
            bench.measure(Arm(Side.BAD))
        simulated._restore(bench.boards)
    else:
        bench.measure(flipped)
        assert bench.measure(flipped).value > 0
        assert (bench.boards[Side.BAD].boot_id != before) == (kind == "reboot")
        assert bool(bench.findings()) == (kind == "reboot")
    assert bench.boards[Side.BAD].files == dict(bench.boards[Side.BAD].at_boot)
    assert not any(session.is_due for session in journal.sessions())


def test_a_layer_is_swapped_by_a_boot_and_carries_its_loss() -> None:
    scenario = bare("layer", 2)
    (planted,) = scenario.truth.causes
    bench = SimBench(scenario, open_boards(scenario))
    by_name = {s.means.layer: s for s in bench.layers() if isinstance(s.means, LayerMeans)}
    guilty = by_name.pop(planted.layer)
    swap = Arm(Side.BAD, (guilty,))
    assert bench.seconds(swap, None) > 100 > bench.seconds(Arm(Side.BAD), None)
    gained = bench.metric.goodness(bench.measure(swap).value)
    assert bench.seconds(swap, swap) < 100
    assert gained == pytest.approx(scenario.goodness(Side.GOOD), abs=0.02)
    for innocent in by_name.values():
        same = bench.metric.goodness(bench.measure(Arm(Side.BAD, (innocent,))).value)
        assert same == pytest.approx(scenario.goodness(Side.BAD), abs=0.02)
    ids = {part.means.part for part in bench.parts(guilty) if isinstance(part.means, LayerMeans)}
    layer = next(one for one in scenario.layers if one.name == planted.layer)
    assert ids == set(layer.buildable)


def _levels(bench: SimBench, arm: Arm, count: int) -> list[float]:
    return [bench.metric.goodness(bench.measure(arm).value) for _ in range(count)]


def test_a_boot_has_a_level_that_lasts_until_the_next_one() -> None:
    noise = Noise(0.0, boot=0.03)
    scenario = replace(classes.draw(classes.kind_of("boot luck alone"), 1), noise=noise)
    bench = SimBench(scenario, open_boards(scenario))
    first = _levels(bench, Arm(Side.BAD), 3)
    assert len({round(level, 12) for level in first}) == 1
    assert bench.is_one_boot_each()
    bench.boards[Side.BAD].reboot()
    again = _levels(bench, Arm(Side.BAD), 2)[1]
    assert again != first[0]
    drawn = [noise.of_boot(f"board/{number}") for number in range(2000)]
    assert statistics.stdev(drawn) == pytest.approx(0.03, rel=0.05)
    assert noise.of_boot("board/1") == drawn[1]


@pytest.mark.parametrize("one_board", [True, False])
def test_where_layers_are_swapped_each_value_has_a_boot_of_its_own(one_board: bool) -> None:
    noise = Noise(0.0, boot=0.03, boots_repeated=one_board)
    scenario = classes.draw(classes.kind_of("boot luck, layer"), 2)
    scenario = replace(scenario, noise=noise, one_board=one_board)
    bench = SimBench(scenario, open_boards(scenario))
    assert bench.is_one_boot_each() is not one_board
    plain, swapped = Arm(Side.BAD), Arm(Side.BAD, (bench.layers()[0],))
    assert not bench.boots(plain, None)
    assert bench.boots(swapped, plain)
    assert bench.boots(Arm(Side.GOOD), plain) is one_board
    levels = [_levels(bench, arm, 1)[0] for arm in (plain, swapped, plain, plain, swapped)]
    assert len(set(levels)) == 5  # also of the two that follow each other
    bench.close()
    assert all(image.swapped == frozenset() for image in bench._booted.values())


def test_snapshots_differ_where_the_boards_do_and_nowhere_else() -> None:
    scenario = bare("no difference", 5)
    bench = SimBench(scenario, open_boards(scenario))
    good, bad = (bench.snapshot(side) for side in Side)
    found = diff_snapshots(good, bad).differences
    items = {knobs()[name][0].id for name in differing(scenario)}
    assert items <= {difference.entry.item for difference in found}
    assert not diff_snapshots(bad, bench.snapshot(Side.BAD)).differences
    assert good.privilege == "root"
    assert good.roles["root_disk"] == "mmcblk0"


# -- running and scoring ---------------------------------------------------------------------------


def _culprit(scenario: Scenario) -> str:
    owner = values.owner(min(scenario.truth.causes[0].suspects[0]))
    assert owner is not None
    return owner.name


def _answer(scenario: Scenario, names: Sequence[str], **changes: object) -> Diagnosis:
    """A diagnosis that names these knobs."""
    found = tuple(suspect(scenario, name) for name in names)
    bounds = Bounds(1.0, 0.9, 1.1)
    repair = Experiment(
        1,
        Purpose.REPAIR,
        "",
        Side.BAD,
        tuple(names),
        (),
        ExperimentOutcome.CLOSES,
        None,
        bounds,
        0.001,
        8,
        (),
        1.0,
    )
    causes = (Cause(found, bounds, repair, None, None),) if names else ()
    answer = Diagnosis(
        scenario.metric.metric,
        "good",
        "bad",
        DiagnosisVerdict.EXPLAINED,
        "",
        causes=causes,
        suspects=found,
    )
    return replace(answer, **changes)  # type: ignore[arg-type]


def test_a_share_is_held_against_what_was_repaired_beside_it() -> None:
    scenario = classes.draw(classes.kind_of("two costs"), 1)
    first, second = scenario.truth.causes
    names = [owner.name for c in (first, second) if (owner := values.owner(min(c.suspects[0])))]
    answer = _answer(scenario, names[1:])
    (cause,) = answer.causes
    beside = replace(cause.repair, context=(names[0],))
    suspects = tuple(suspect(scenario, name) for name in names)
    changed = replace(answer, causes=(replace(cause, repair=beside),), suspects=suspects)
    alone, conditional = (score(scenario, one).intervals[0].truth for one in (answer, changed))
    assert alone == pytest.approx(second.share)
    assert conditional == pytest.approx(scenario.share(second.flips, first.flips))
    assert conditional > alone


def test_the_score_of_hits_and_of_false_attributions() -> None:
    scenario = bare()
    right = score(scenario, _answer(scenario, [_culprit(scenario)]))
    assert (right.hit, right.false, right.is_right, right.problems) == (True, 0, True, ())
    assert [(i.what, i.side) for i in right.intervals] == [("share", "in")]
    wrong = next(name for name in differing(scenario) if name != _culprit(scenario))
    missed = score(scenario, _answer(scenario, [wrong]))
    assert (missed.hit, missed.false) == (False, 1)
    too_many = score(scenario, _answer(scenario, [_culprit(scenario), wrong]))
    assert (too_many.hit, too_many.false) == (False, 1)
    nothing = score(scenario, None, error="it fell over")
    assert (nothing.hit, nothing.is_right, nothing.problems) == (False, False, ("it fell over",))


def test_the_score_of_other_answers() -> None:
    none = bare("no difference", 2)
    nothing_shown = _answer(none, [], verdict=DiagnosisVerdict.NO_DIFFERENCE)
    assert score(none, nothing_shown).is_right
    assert not score(none, replace(nothing_shown, verdict=DiagnosisVerdict.UNEXPLAINED)).is_right
    refused = bare("refused", 2)
    silent = _answer(refused, [], verdict=DiagnosisVerdict.UNEXPLAINED)
    assert not score(refused, silent).is_right
    named = replace(
        silent,
        needed=(f"set {_culprit(refused)}",),
        suspects=(suspect(refused, _culprit(refused)),),
    )
    assert score(refused, named).is_right
    lies = score(none, nothing_shown, still_set=True)
    assert not lies.is_restored
    assert "restored=True" in lies.problems[0]


def _repairs_the_culprit(bench: Bench, log: Path, seed: int, resumed: bool) -> Diagnosis:
    """Stands in for the loop: it knows the culprit, and does what takes writes and time."""
    assert isinstance(bench, SimBench)
    scenario = bench.scenario
    name = _culprit(scenario)
    (log / f"life-{resumed}").touch()
    for _ in range(6):
        bench.measure(Arm(Side.BAD, (suspect(scenario, name),)))
    return _answer(scenario, [name])


def test_a_diagnosis_is_run_and_scored(tmp_path: Path) -> None:
    result = simulated.run(bare(), _repairs_the_culprit, tmp_path)
    assert (result.hit, result.is_restored, result.problems) == (True, True, ())
    assert (tmp_path / "life-False").exists()


@pytest.mark.parametrize("request_number", [1, 4, 9, 14, 20])
@pytest.mark.parametrize("phase", ["apply", "measure", "undo"])
def test_a_killed_diagnosis_leaves_the_board_as_before(
    tmp_path: Path, phase: str, request_number: int
) -> None:
    scenario = bare("killed", 1, faults=(Fault("kill", 3, phase, request_number),))
    result = simulated.run(scenario, _repairs_the_culprit, tmp_path)
    assert result.problems == ()
    assert result.is_restored
    assert (tmp_path / "life-True").exists(), "it was not killed"


def test_ctrl_c_ends_a_trial_with_everything_put_back(tmp_path: Path) -> None:
    scenario = bare("interrupted", 1, faults=(Fault("interrupt", 3, "measure", 1),))
    result = simulated.run(scenario, _repairs_the_culprit, tmp_path)
    assert "KeyboardInterrupt" in result.problems[0]
    assert result.is_restored


def test_what_falls_over_is_a_miss_and_not_the_end(tmp_path: Path) -> None:
    def falls(bench: Bench, _log: Path, _seed: int, _resumed: bool) -> Diagnosis:
        raise ValueError("no")

    result = simulated.run(bare(), falls, tmp_path)
    assert result.hit is False
    assert "ValueError: no" in result.problems[0]


def test_signals_and_state_are_as_before(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT), os.environ[journal.DIRECTORY_VARIABLE]
    simulated.run(bare(), _repairs_the_culprit, tmp_path)
    assert (signal.getsignal(signal.SIGINT), os.environ[journal.DIRECTORY_VARIABLE]) == before


# -- the report ------------------------------------------------------------------------------------


def test_bars_are_held_or_not() -> None:
    scenario = bare()
    right = score(scenario, _answer(scenario, [_culprit(scenario)]))
    held = {bar.name: bar.held for bar in report.bars([right] * 30)}
    assert held["top-1 hits beyond three floors"] is True
    assert held["no difference shown, rightly"] is None
    wrong = score(scenario, _answer(scenario, []))
    missed = {bar.name: bar.held for bar in report.bars([right] * 28 + [wrong] * 2)}
    assert missed["top-1 hits beyond three floors"] is False


def test_coverage_is_missed_only_beyond_chance() -> None:
    scenario = bare()
    inside = score(scenario, _answer(scenario, [_culprit(scenario)]))
    outside = replace(inside, intervals=tuple(replace(i, truth=2.0) for i in inside.intervals))
    few = report.bars([inside] * 190 + [outside] * 10)[-1]
    many = report.bars([inside] * 140 + [outside] * 60)[-1]
    assert (few.held, many.held) == (True, False)
    assert report.wilson(190, 200) == pytest.approx((0.910, 0.973), abs=0.002)
