"""Rare late responses beside each other (findings of October, signals, second wish in the list of
what is missing: "6 of 1000 beyond 9.2 us, none when masked")."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest

from benchvise.cli.main import run
from benchvise.tails import CountedTimes, TailDifference, TailThreshold, fisher_exact
from benchvise.tails import tail_differences as counted_differences


def exact(a: int, n: int, b: int, m: int) -> Fraction:
    """Fisher's test in whole numbers."""
    weights = {
        i: comb(n, i) * comb(m, a + b - i) for i in range(max(0, a + b - m), min(n, a + b) + 1)
    }
    return Fraction(sum(w for w in weights.values() if w <= weights[a]), comb(n + m, a + b))


def tail_differences(times: np.ndarray, reference: np.ndarray) -> tuple[TailDifference, ...]:
    return counted_differences(CountedTimes.of(times), CountedTimes.of(reference))


@pytest.mark.parametrize(
    "table", [(6, 1000, 0, 1000), (1, 20, 7, 30), (0, 5, 0, 5), (5, 5, 0, 5), (3, 900, 12, 1100)]
)
def test_fishers_p_is_that_of_whole_numbers(table: tuple[int, int, int, int]) -> None:
    assert fisher_exact(*table) == pytest.approx(float(exact(*table)), rel=1e-9)


def test_six_late_of_a_thousand_and_none_of_the_other() -> None:
    random = np.random.default_rng(1)
    masked = random.uniform(7e-6, 9.2e-6, 1000)
    masked[17] = 9.2e-6
    busy = random.uniform(7e-6, 9.19e-6, 1000)
    busy[::170] = 11e-6
    by_maximum, by_quantile = tail_differences(busy, masked)
    assert by_maximum.chosen is TailThreshold.MAXIMUM
    assert by_maximum.threshold == 9.2e-6
    assert (by_maximum.beyond, by_maximum.reference_beyond) == (6, 0)
    # Two-sided, and one of two tests.
    assert by_maximum.p == pytest.approx(4 * comb(1000, 6) / comb(2000, 6), rel=1e-9)
    assert not by_maximum.significant  # 0.06: six are few
    busy[::100] = 11e-6
    assert tail_differences(busy, masked)[0].significant
    # The other way round it is the same.
    assert tail_differences(masked, busy)[0].p == tail_differences(busy, masked)[0].p
    assert by_quantile.chosen is TailThreshold.QUANTILE


def test_equal_tails_are_shown_to_differ_as_rarely_as_said() -> None:
    random = np.random.default_rng(2)
    wrong = 0
    for _ in range(1500):
        one, other = random.lognormal(size=300), random.lognormal(size=500)
        wrong += any(tail.p < 0.05 for tail in tail_differences(one, other))
    assert wrong <= 95  # 75 expected at most; five times in a thousand more than this


def test_ties_and_equal_values_show_nothing() -> None:
    same = np.full(100, 1e-6)
    assert all(tail.p == 1.0 and tail.beyond == 0 for tail in tail_differences(same, same))


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(3)
    for name, late in (("masked", 0), ("busy", 12)):
        seconds = random.uniform(7e-6, 9e-6, 1000)
        seconds[:late] = 15e-6
        text = "".join(f"{shot}\t{value:.9e}\n" for shot, value in enumerate(seconds))
        (tmp_path / f"{name}.out").write_text(text)
    files = [str(tmp_path / "masked.out"), str(tmp_path / "busy.out")]
    assert run(["signal", "response", *files]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "12 of 1000 none of 1000" in shown
    assert "times the 2 tests made" in shown
    assert run(["signal", "response", *files, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    first, second = data["configurations"]
    assert first["tails"] == []
    assert [tail["shown"] for tail in second["tails"]] == [
        True,
        False,
    ]  # 16 to 4 beyond the quantile
    assert second["tails"][0]["beyond"] == 12
