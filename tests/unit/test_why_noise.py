"""Bursts of noise and load that comes and goes: measured again, waited for, never an exclusion.

The burst is that of a machine shared with others: all trials in it scatter by a factor, and the
probe flags them. On the search as it was, one of ten diagnoses in such a burst ended unexplained.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

import pytest
from why_bench import MemoryBench, diagnose, losses

from benchvise.why.case import DiagnosisOptions
from benchvise.why.experiments.evidence import EvidenceLog
from benchvise.why.experiments.question import Effect, weighted
from benchvise.why.model import Arm, Diagnosis, DiagnosisVerdict, Trial

FORTY = tuple(f"knob{n:02}" for n in range(40))


@dataclass
class BurstBench(MemoryBench):
    """From ``begin`` to ``end``, in seconds, values scatter by ``size`` in goodness. ``flagged`` is
    whether the probe sees why."""

    begin: float = 14.0
    end: float = 40.0
    size: float = 0.5
    flagged: bool = True
    lasts: bool = False
    seed: int = 0

    def _trial(self, arm: Arm, number: int) -> Trial:
        trial = super()._trial(arm, number)
        busy = self.begin <= self.clock < self.end
        if busy:
            scatter = self.size * random.Random(f"{self.seed}/{number}").gauss(0.0, 1.0)
            trial = replace(trial, value=trial.value * math.exp(scatter))
        flags = ("preempted",) if self.flagged and (busy or self.lasts) else ()
        return replace(trial, flags=flags)


def excludes(answer: Diagnosis) -> bool:
    return any("not among the settings" in sentence for sentence in answer.needed)


# These ended unexplained, one of them with the cause ruled out.
@pytest.mark.parametrize(
    ("begin", "end", "seed"),
    [(14, 24, 5), (14, 40, 10), (20, 45, 2), (30, 60, 16), (14, 80, 34)],
)
def test_a_burst_of_noise_ends_no_diagnosis(begin: float, end: float, seed: int) -> None:
    bench = BurstBench(FORTY, losses(knob17=0.4), noise=0.02, begin=begin, end=end, seed=seed)
    answer = diagnose(bench, options=DiagnosisOptions(seed=seed))
    assert [cause.name for cause in answer.causes] == ["knob17"]


@pytest.mark.parametrize(("begin", "end", "seed"), [(14, 80, 33), (14, 1000, 1), (14, 1000, 2)])
def test_a_burst_of_noise_excludes_nothing(begin: float, end: float, seed: int) -> None:
    bench = BurstBench(FORTY, losses(knob17=0.4), noise=0.02, begin=begin, end=end, seed=seed)
    answer = diagnose(bench, options=DiagnosisOptions(seed=seed))
    assert not excludes(answer)
    assert {cause.name for cause in answer.causes} <= {"knob17"}


def test_of_many_searches_in_bursts_of_noise_few_end_without_the_cause() -> None:
    """400 draws of when a burst begins, how long and loud it is, and how large gap and noise are.
    On the search as it was, 35 of them ended without the cause, and one named another."""
    few = FORTY[:12]
    missed = []
    for seed in range(400):
        rng = random.Random(f"bursts/{seed}")
        begin, length = rng.uniform(0.0, 60.0), rng.choice((5.0, 10.0, 20.0, 40.0, 80.0))
        bench = BurstBench(
            few,
            losses(knob07=rng.choice((0.3, 0.5, 1.0))),
            noise=rng.choice((0.01, 0.03, 0.06)),
            begin=begin,
            end=begin + length,
            size=rng.choice((0.2, 0.4, 0.8)),
            flagged=rng.random() < 0.5,
            seed=seed,
        )
        points = {name: rng.gauss(0.0, 1.0) for name in few}
        answer = diagnose(bench, options=DiagnosisOptions(seed=seed), points=points)
        names = [cause.name for cause in answer.causes]
        assert names in ([], ["knob07"])
        assert names or not excludes(answer), seed
        missed += [seed] if not names else []
    assert len(missed) <= 12, missed


def test_load_that_comes_and_goes_is_waited_for() -> None:
    bench = BurstBench(FORTY, losses(knob17=0.4), noise=0.02)
    answer = diagnose(bench)
    assert answer.verdict is DiagnosisVerdict.EXPLAINED
    assert [cause.name for cause in answer.causes] == ["knob17"]
    assert 0.0 < bench.waited <= 120.0


def test_load_that_lasts_is_not_waited_for() -> None:
    bench = BurstBench(FORTY, losses(knob17=0.4), noise=0.02, lasts=True)
    diagnose(bench)
    assert bench.waited == 0.0


def test_noise_without_load_is_not_waited_for() -> None:
    bench = BurstBench(FORTY, losses(knob17=0.4), noise=0.02, flagged=False)
    diagnose(bench)
    assert bench.waited == 0.0


def test_a_wait_takes_no_more_than_a_quarter_of_the_time() -> None:
    bench = BurstBench(FORTY, losses(knob17=0.4), noise=0.02)
    diagnose(bench, options=DiagnosisOptions(seed=3, budget=0.5))
    assert bench.waited <= 30.0 / 4.0


def test_a_wait_is_not_repeated_when_the_evidence_is_read_again(tmp_path) -> None:  # type: ignore[no-untyped-def]
    bench = BurstBench(FORTY, losses(knob17=0.4), noise=0.02)
    log = EvidenceLog.create(tmp_path)
    answer = diagnose(bench, log=log)
    log.close()
    again = BurstBench(FORTY, losses(knob17=0.4), noise=0.02)
    log = EvidenceLog.resume(tmp_path)
    assert diagnose(again, log=log).causes == answer.causes
    log.close()
    assert again.waited == 0.0 and again.done == 0


def test_what_noise_hides_ends_the_search_with_a_reason() -> None:
    """After the first cause a tenth of the gap is left, and every trial scatters by twice that."""

    class Louder(MemoryBench):
        def _trial(self, arm: Arm, number: int) -> Trial:
            trial = super()._trial(arm, number)
            noise = random.Random(f"louder/{number}").gauss(0.0, 0.6) if number > 14 else 0.0
            return replace(trial, value=trial.value * math.exp(noise))

    answer = diagnose(Louder(FORTY, losses(knob17=0.4), noise=0.01))
    assert any("do not resolve in this noise" in sentence for sentence in answer.needed)
    assert not excludes(answer)


def test_repeats_of_one_question_are_weighted_by_their_errors() -> None:
    sharp, blunt = Effect(0.4, 0.1), Effect(1.0, 0.3)
    mean = weighted([sharp, blunt])
    assert mean.value == pytest.approx(0.46)
    assert mean.error == pytest.approx(1 / math.sqrt(1 / 0.01 + 1 / 0.09))
    assert weighted([Effect(0.25, 0.0), Effect(0.5, 0.0)]) == Effect(0.375, 0.0)
