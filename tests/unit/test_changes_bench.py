"""What the bench of change points counts, and what it plants."""

from __future__ import annotations

import itertools
import statistics

from benchmarks.changes.__main__ import Score, score
from benchmarks.changes.planted import APART, KINDS, planted
from benchvise.measure.changepoints import change_points


def test_a_shift_and_a_change_belong_to_one_another_once() -> None:
    assert score([10, 30], [11, 12, 33]) == Score(2, 3, 1)
    assert score([10, 13], [12]) == Score(2, 1, 1)
    assert score([10, 13], [12, 11]) == Score(2, 2, 2)
    assert score([], [4]) == Score(0, 1, 0)
    assert score([10], [10]) + score([5], []) == Score(2, 1, 1)


def test_shifts_are_where_they_are_said_to_be() -> None:
    for kind in KINDS:
        flat = planted(3, kind, 0.0)
        assert flat.shifts == [] and all(value > 0 for value in flat.values)
        steps = planted(3, kind, 50.0)
        ends = [0, *steps.shifts, len(steps.values)]
        assert all(b - a >= APART for a, b in itertools.pairwise(ends))
        levels = [statistics.median(steps.values[a:b]) for a, b in itertools.pairwise(ends)]
        assert all(abs(a / b - 1) > 0.1 for a, b in itertools.pairwise(levels))
    assert planted(3, "normal", 2.0) == planted(3, "normal", 2.0) != planted(4, "normal", 2.0)


def test_a_change_of_many_times_the_noise_is_found_where_it_is() -> None:
    one = planted(5, "normal", 20.0)
    found = [point.at for point in change_points(one.values)]
    assert score(one.shifts, found).right == len(one.shifts) == len(found)
