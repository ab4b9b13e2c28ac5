"""What a difference in wall time is, and a difference in how often the command fails."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from why_bench import MemoryBench, diagnose, losses

from benchvise.errors import MeasurementError
from benchvise.measure.model import SeriesSpec
from benchvise.why.model import Arm, Diagnosis, DiagnosisVerdict, Finding, Metric, Side, Trial

TIME = Metric.of(SeriesSpec("command.time", (), "gzip"), "ns", "lower", command="gzip -k x")


@dataclass
class CommandBench(MemoryBench):
    """A command that takes 1 s on good; ``computing`` is its CPU time on each side, in seconds."""

    computing: tuple[float, float] = (0.9, 0.9)

    @property
    def metric(self) -> Metric:
        return TIME

    def _trial(self, arm: Arm, number: int) -> Trial:
        trial = super()._trial(arm, number)
        seconds = self.computing[arm.side is Side.BAD]
        counters = {"user_ns": 0.75e9 * seconds, "sys_ns": 0.25e9 * seconds}
        wall = 2.0 if arm.side is Side.BAD and not arm.flipped else 1.0
        noise = random.Random(f"{number}/wall").gauss(1.0, 0.01)
        return replace(trial, value=1e9 * wall * noise, counters=counters)


def spending(answer: Diagnosis) -> Finding | None:
    return next((f for f in answer.findings if f.rule == "waiting or computing"), None)


@pytest.mark.parametrize(
    ("computing", "sentence"),
    [
        ((0.9, 0.9), "100 % of the gap is waiting and 0 % is CPU time"),
        ((0.9, 1.9), "0 % of the gap is waiting and 100 % is CPU time"),
        ((0.5, 0.75), "75 % of the gap is waiting and 25 % is CPU time"),
    ],
)
def test_waiting_or_computing_is_one_sentence(
    computing: tuple[float, float], sentence: str
) -> None:
    finding = spending(diagnose(CommandBench(("knob",), losses(), computing=computing)))
    assert finding is not None
    ratio = [float(part.partition(" ")[0]) for part in finding.sentence.split(" and ")]
    wanted = [float(part.partition(" ")[0]) for part in sentence.split(" and ")]
    assert ratio == pytest.approx(wanted, abs=1.0)
    assert finding.sentence.split()[1:6] == sentence.split()[1:6]


def test_waiting_beside_other_programs_may_be_for_a_cpu() -> None:
    class Busy(CommandBench):
        def _trial(self, arm: Arm, number: int) -> Trial:
            return replace(super()._trial(arm, number), flags=("preempted",))

    finding = spending(diagnose(Busy(("knob",), losses())))
    assert finding is not None
    assert "% of the gap is waiting (for a CPU too: other programs ran) and" in finding.sentence


def test_a_command_on_several_cpus_is_not_split() -> None:
    assert spending(diagnose(CommandBench(("knob",), losses(), computing=(3.8, 7.5)))) is None


def test_other_metrics_are_not_split() -> None:
    assert spending(diagnose(MemoryBench(("knob",), losses(knob=0.5)))) is None


@dataclass
class FailingBench(MemoryBench):
    """The bad side's command fails as often as the good side's, or every other time."""

    rates: tuple[float, float] = (0.0, 0.0)

    def measure(self, arm: Arm) -> Trial:
        trial = super().measure(arm)
        rate = self.rates[arm.side is Side.BAD]
        if random.Random(f"{self.done}/failure").random() < rate:
            raise MeasurementError("the command ended with 1")
        return trial


def test_a_rate_of_failures_that_differs_is_in_the_answer() -> None:
    answer = diagnose(FailingBench(("knob",), losses(), rates=(0.0, 0.6)))
    assert answer.verdict is DiagnosisVerdict.NO_DIFFERENCE
    assert "; but one fails more often: 0 of " in answer.headline


def test_a_rate_of_failures_that_is_alike_is_none() -> None:
    answer = diagnose(FailingBench(("knob",), losses(), rates=(0.3, 0.3)))
    assert answer.verdict is DiagnosisVerdict.NO_DIFFERENCE
    assert "fails more often" not in answer.headline
