"""Values of many groups at once: against what NumPy says of each group by itself."""

from __future__ import annotations

import numpy as np
import pytest
import skips

from benchvise.trace.analysis.distributions import Groups, distribution
from benchvise.trace.analysis.model import NONE, Ints
from benchvise.trace.decoder import decoder

skips.need_decoder()


def _random(rows: int, count: int, seed: int) -> tuple[Ints, Ints]:
    """Groups of very different sizes, some of them empty, and values of which some are unknown."""
    chance = np.random.default_rng(seed)
    groups = (count * chance.random(rows) ** 6).astype(np.int64) // 2 * 2
    values = chance.integers(0, 1000, rows) * chance.integers(1, 10**6, rows)
    return groups, np.where(chance.random(rows) < 0.1, NONE, values)


@pytest.mark.parametrize(("rows", "count"), [(0, 0), (0, 3), (1, 1), (5_000, 70_000), (300_000, 9)])
def test_each_group_is_as_if_it_were_alone(rows: int, count: int) -> None:
    groups, values = _random(rows, count, seed=rows)
    grouped = Groups(groups, count)
    ordered, largest = grouped.sorted(values), grouped.largest(values)
    assert len(ordered) == count == len(largest)
    for group in {*groups.tolist(), *range(min(count, 4))}:
        rows_of_group = np.flatnonzero(groups == group)
        mine = values[rows_of_group]
        assert np.array_equal(ordered[group], np.sort(mine[mine != NONE]))
        expected = rows_of_group[np.argmax(mine)] if mine.size else -1
        assert largest[group] == expected
        assert grouped.rows(group).tolist() == rows_of_group.tolist()


@pytest.mark.parametrize(
    "starts", [[0, 2, 1, 3], [0, 4], [0, 2], [-1, 3], []], ids=lambda starts: str(starts)
)
def test_places_that_are_none_are_refused(starts: list[int]) -> None:
    with pytest.raises(ValueError, match="one behind another"):
        decoder().sort_groups(np.array([3, 1, 2]), np.array(starts, dtype=np.int64))


def test_intervals_are_those_of_all_values() -> None:
    values = np.sort(np.random.default_rng(5).integers(0, 10**9, 20_001))
    found = distribution(values)
    assert found is not None and found.interval is not None and found.p99_interval is not None
    # Binomial: the ranks of the median are 10001 +- 1.96 * sqrt(20001) / 2.
    assert (found.interval.low, found.interval.high) == (values[9861], values[10139])
    assert found.p99_interval.low <= found.p99 <= found.p99_interval.high
    below = np.searchsorted(values, [found.p99_interval.low, found.p99_interval.high])
    assert below.tolist() == pytest.approx([20_001 * 0.99 - 27.6, 20_001 * 0.99 + 27.6], abs=2)
