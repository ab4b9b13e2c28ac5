"""Whether there is a gap at all: what chance shows is not believed, what is there is seen."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from why_bench import MemoryBench, losses

from benchvise.why.experiments.evidence import EvidenceLog
from benchvise.why.experiments.gap import FIRST, MeasuredGap, Scale, measure_gap
from benchvise.why.experiments.laboratory import Budget, Laboratory
from benchvise.why.model import Arm, Metric, Side, Trial


@dataclass
class SteppingBench(MemoryBench):
    """The bad side loses ``step`` in its trials up to ``until``, as in a load that goes."""

    step: float = 0.0
    until: int = 0
    seen: dict[Side, int] = field(default_factory=dict)
    seed: int = 0

    def _trial(self, arm: Arm, number: int) -> Trial:
        self.seen[arm.side] = self.seen.get(arm.side, 0) + 1
        self.rest = self.step if self.seen[arm.side] <= self.until else 0.0
        return super()._trial(arm, number + 1000 * self.seed)


class CommandBench(MemoryBench):
    """Its metric is a user's command."""

    @property
    def metric(self) -> Metric:
        return replace(super().metric, command="make")


def measured(bench: MemoryBench) -> MeasuredGap:
    lab = Laboratory(bench, EvidenceLog.in_memory(), lambda _: None, Budget.of(None), 1)
    gap = measure_gap(lab)
    assert gap is not None
    return gap


def test_a_gap_that_is_gone_in_fresh_pairs_is_none() -> None:
    """Six pairs under load showed 1.34 times between equal sides."""
    for step in (0.1, -0.1):
        gap = measured(SteppingBench(("k",), losses(), noise=0.03, step=step, until=FIRST))
        assert gap.gap.blocks > FIRST
        assert not gap.shown


def test_a_clear_gap_takes_no_fresh_pairs_and_an_unexpected_one_does() -> None:
    clear = measured(MemoryBench(("k",), losses(k=0.5), noise=0.01))
    assert (clear.shown, clear.gap.blocks) == (True, FIRST)
    other = measured(MemoryBench(("k",), losses(k=-0.5), noise=0.01))
    assert (other.reversed, other.gap.blocks) == (True, 2 * FIRST)


def test_a_gap_of_a_command_that_its_layout_may_make_is_none() -> None:
    """A longer language moved a command by 2 %, and would have been its proven cause."""
    small = MemoryBench(("k",), losses(k=0.02), noise=0.001)
    assert measured(small).shown
    for loss, is_shown in ((0.02, False), (0.04, True)):
        command = CommandBench(("k",), losses(k=loss), noise=0.001)
        assert measured(command).shown is is_shown


def test_equal_sides_are_seldom_apart_and_small_gaps_are_seen() -> None:
    def share(loss: float, is_right: Callable[[MeasuredGap], bool]) -> float:
        made = (
            measured(SteppingBench(("k",), losses(k=loss), 0.02, seed=seed, scale=scattered))
            for seed in range(40)
        )
        return sum(map(is_right, made)) / 40

    assert share(0.0, lambda gap: not gap.shown) >= 0.95
    assert share(0.06, lambda gap: gap.shown and not gap.reversed) >= 0.9


def scattered(rng: random.Random) -> float:
    """Normal, but for one trial in ten."""
    return rng.gauss(0.0, 1.0) * (3.0 if rng.random() < 0.1 else 1.0)


def test_an_effect_that_noise_hides_is_not_told_to_close_nothing() -> None:
    scale = Scale.of(measured(MemoryBench(("knob01",), losses(knob01=0.5))))
    gap = scale.gap
    for effect, error, outcome in (
        (0.0, 0.1, "does not close the gap"),
        (0.2, 0.1, "closes a part of the gap"),
        (0.0, 0.3, "scatters too much to tell"),
        (0.39, 5.0, "scatters too much to tell"),
        (-0.5, 0.4, "does not close the gap"),
        (1.0, 0.1, "closes the gap"),
        (-1.0, 0.1, "widens the gap"),
    ):
        assert scale.outcome(effect * gap, error * gap) == outcome, (effect, error)
