"""The search comes to its end whatever the boards answer, and asks nothing again and again."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from why_bench import METRIC, MemoryBench, diagnose, losses

from benchvise.why.case import DiagnosisOptions
from benchvise.why.model import Arm, DiagnosisVerdict, ExperimentOutcome, Side, Trial

_EFFECTS = (0.0, 0.0, 0.1, 0.3, 0.6, 0.6)
"""What flipping any set of suspects leaves of a gap of 0.6."""


@dataclass
class ArbitraryBench(MemoryBench):
    """Each set of flipped suspects has an effect of its own, drawn at random, which is drawn anew
    after every ``lasting`` trials. Suspects become read-only with the probability ``wearing``."""

    seed: int = 0
    lasting: int = 1_000_000
    wearing: float = 0.0

    def measure(self, arm: Arm) -> Trial:
        chance = random.Random(f"{self.seed}/wearing/{self.done}")
        if arm.flipped and chance.random() < self.wearing:
            self.refused |= {chance.choice(arm.ids)}
        return super().measure(arm)

    def _trial(self, arm: Arm, number: int) -> Trial:
        loss = 0.6 if arm.side is Side.BAD else 0.0
        if arm.flipped:
            key = f"{self.seed}/{arm.side}/{sorted(arm.ids)}/{number // self.lasting}"
            loss = random.Random(key).choice(_EFFECTS)
        noise = random.Random(f"{self.seed}/{number}").gauss(0.0, 0.01)
        return replace(super()._trial(arm, number), value=METRIC.value(20.0 - loss + noise))


@settings(max_examples=settings().max_examples // 10)
@example(seed=14, count=2, layers=(), lasting=1_000_000, wearing=0.02)
@example(seed=130, count=6, layers=(), lasting=1_000_000, wearing=0.1)
@given(
    seed=st.integers(0, 1_000_000),
    count=st.integers(1, 7),
    layers=st.sampled_from([(), ("kernel", "userland")]),
    lasting=st.sampled_from([1, 7, 1_000_000]),
    wearing=st.sampled_from([0.0, 0.02, 0.1]),
)
def test_every_search_ends(
    seed: int, count: int, layers: tuple[str, ...], lasting: int, wearing: float
) -> None:
    names = tuple(f"knob{n}" for n in range(count))
    bench = ArbitraryBench(
        names, losses(), layer_names=layers, seed=seed, lasting=lasting, wearing=wearing
    )
    experiments = diagnose(bench).experiments
    assert len(experiments) <= 10 * (count + len(layers) + 2)
    repeats = Counter((e.question, e.side, e.flipped, e.context) for e in experiments)
    assert max(repeats.values(), default=0) <= 4


class BusyAtFirst(MemoryBench):
    """The good side is kept busy while the gap is measured, and no longer."""

    def _trial(self, arm: Arm, number: int) -> Trial:
        trial = super()._trial(arm, number)
        is_busy = number <= 12 and arm.side is Side.GOOD
        return replace(trial, value=METRIC.value(METRIC.goodness(trial.value) - 0.6 * is_busy))


def test_who_closes_more_than_a_gap_that_was_smaller_has_no_opposite() -> None:
    """Nothing else is looked for where a cause closes what its own blocks show."""
    names = ("one", "two", "cause", "three", "four")
    answer = diagnose(BusyAtFirst(names, losses(cause=2.8), noise=0.02))
    assert answer.verdict is DiagnosisVerdict.EXPLAINED
    assert [cause.name for cause in answer.causes] == ["cause"]
    last = max(n for n, e in enumerate(answer.experiments) if e.flipped == ("cause",))
    assert last == len(answer.experiments) - 1
    opposite = diagnose(MemoryBench(names, losses(cause=2.8, four=-0.6), noise=0.02))
    assert {cause.name for cause in opposite.causes} == {"cause", "four"}


class Brief(MemoryBench):
    """What is flipped closes the gap in the first experiment after the gap, and never again."""

    def _trial(self, arm: Arm, number: int) -> Trial:
        trial = super()._trial(arm, number)
        is_brief = 12 < number <= 18 and arm.side is Side.BAD and arm.flipped
        return replace(trial, value=2.0 * trial.value) if is_brief else trial


def test_a_single_suspect_that_is_refuted_alone_is_measured_again_once() -> None:
    answer = diagnose(Brief(("knob",), losses(), rest=0.69))
    assert answer.verdict is DiagnosisVerdict.UNEXPLAINED
    assert [e.outcome for e in answer.experiments] == [
        ExperimentOutcome.CLOSES,
        ExperimentOutcome.DOES_NOT,
        ExperimentOutcome.DOES_NOT,
    ]
    assert "measured again" in answer.experiments[-1].question


@pytest.mark.parametrize(("seed", "count", "wearing"), [(212, 5, 0.02), (509, 7, 0.1)])
def test_a_proven_cause_that_becomes_read_only_ends_no_search(
    seed: int, count: int, wearing: float
) -> None:
    names = tuple(f"knob{n}" for n in range(count))
    answer = diagnose(ArbitraryBench(names, losses(), seed=seed, wearing=wearing))
    proven = {s.id for cause in answer.causes for s in cause.suspects}
    assert any(name in sentence for name in proven for sentence in answer.needed)


@pytest.mark.parametrize("seed", [53, 64, 120])
def test_who_is_enough_alone_gets_no_partner_by_chance(seed: int) -> None:
    """On a busy machine a cause looked like nothing when it was tried alone, and a decoy was named
    with it: of two looks the worse one was believed."""
    names = tuple(f"knob{n:02}" for n in range(12))
    bench = MemoryBench(names, losses(knob07=0.5), noise=0.3)
    answer = diagnose(bench, options=DiagnosisOptions(seed=seed))
    assert [cause.name for cause in answer.causes] == ["knob07"]
