"""Modes of response time, and what distinguishes them: on tables made by hand and on story 11's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import skips
import story_traces
from trace_tables import Builder

from benchvise.errors import UsageError
from benchvise.trace.analysis.mode_splits import split_into_modes
from benchvise.trace.analysis.modes import ActivationModes, activation_modes

US = 1_000


def spikes() -> ActivationModes:
    """A driver's thread that takes 350 us, 450 us on CPU 1, and 550 us where it is preempted."""
    chance = np.random.default_rng(7)
    b = Builder()
    driver = b.actor("task", "driver", tid=10)
    hog = b.actor("task", "hog", tid=11)
    idle = b.actor("idle", "swapper/0", cpu=0)
    line = b.actor("irq", "gpio", number=5)
    at = 10_000 * US
    for number in range(120):
        kind = number % 3
        cpu = 1 if kind == 1 else 0
        length = int((350 + 100 * kind) * US * (1 + chance.normal(0, 0.01)))
        cause = b.instance(line, at - 20 * US, at - 10 * US, cpu=cpu)
        b.instance(idle, at - 1000 * US, at, cpu=cpu)
        parts = [(at, at + length)]
        if kind == 2:
            parts = [(at, at + 100 * US), (at + 300 * US, at + length)]
            b.instance(hog, at + 100 * US, at + 300 * US, cpu=cpu)
        b.instance(driver, at, at + length, cpu=cpu, parts=parts, ready=at - 15 * US, cause=cause)
        at += 80_000 * US
    analysis = b.analysis(0, at)
    return activation_modes(analysis, [actor for actor in analysis.actors if actor.id == driver])


def test_spikes_at_350_450_and_550_us_are_three_modes_each_with_its_reason() -> None:
    answer = spikes()
    assert (answer.actor, answer.count, answer.incomplete) == ("task:driver/10", 120, 0)
    assert [mode.count for mode in answer.modes] == [40, 40, 40]
    medians = [mode.median / US for mode in answer.modes]
    assert medians == pytest.approx([365, 465, 565], rel=0.01)
    traits = [{(t.kind, t.what): (t.share, t.elsewhere) for t in m.traits} for m in answer.modes]
    assert traits[1]["on CPU", "1"] == (1.0, 0.0)
    assert traits[2]["preempted by", "task:hog"] == (1.0, 0.0)
    assert traits[1]["preempted by", "task:hog"] == (0.0, 0.5)
    for mode in answer.modes:
        assert mode.low <= mode.median <= mode.high
    assert answer.modes[2].suspended == 200 * US
    assert answer.modes[0].latency == 15 * US


def test_who_has_no_activations_is_told() -> None:
    b = Builder()
    task = b.actor("task", "sleeps", tid=1)
    analysis = b.analysis(0, 100)
    with pytest.raises(UsageError, match="no complete activation"):
        activation_modes(analysis, [analysis.actors[task]])


def test_shapes_with_one_mode_are_rarely_divided() -> None:
    chance = np.random.default_rng(3)
    shapes = (
        lambda n: chance.normal(1e5, 5e3, n),
        lambda n: np.exp(chance.normal(9, 0.5, n)),
        lambda n: chance.exponential(1e5, n),
        lambda n: chance.uniform(1e5, 2e5, n),
        lambda n: 1e4 * (chance.pareto(1.5, n) + 1),
        lambda n: chance.gamma(3, 1e4, n),
        lambda n: np.full(n, 5000.0),
    )
    divided = sum(
        len(split_into_modes(np.sort(shape(size)))) > 1
        for shape in shapes
        for size in (3, 12, 30, 300, 2000)
        for _ in range(8)
    )
    assert divided <= 2


def test_rare_modes_far_from_the_bulk_are_found() -> None:
    chance = np.random.default_rng(5)
    bulk = 14_000 * (1 + np.abs(chance.normal(0, 0.05, 3000)))
    rare = [at * (1 + chance.normal(0, 0.02, 30)) for at in (350_000, 450_000, 550_000)]
    values = np.sort(np.concatenate([bulk, *rare]))
    assert split_into_modes(values) == [0, 3000, 3030, 3060]


def test_the_handler_that_prints_is_why_iperf_is_late_in_story_11(tmp_path: Path) -> None:
    skips.need_decoder()
    from benchvise.trace.loaded import load_trace

    board = story_traces.record(6.0, printing=True, seed=12)
    loaded = load_trace(story_traces.write(board, tmp_path / "after"), cache=False)
    answer = activation_modes(loaded.analysis, loaded.choose(["task:iperf3"]))
    assert len(answer.modes) >= 2
    slowest = answer.modes[-1]
    assert slowest.median > 3_000 * US
    assert ("interrupted by", "irq:sensor") in {(t.kind, t.what) for t in slowest.traits}
    longest = loaded.analysis.instances["begin"] == slowest.longest_at
    assert longest.any()
