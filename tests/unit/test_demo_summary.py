"""The closing lines of `make demo`."""

from __future__ import annotations

from typing import Any

from demo_summary import closing_lines


def change(key: str, p: float, *, stable: bool = True, verdict: str = "faster") -> dict[str, Any]:
    side = {"median": 2e-6, "stable": stable}
    ratio = {"ratio": 0.5, "low": 0.4, "high": 0.6, "p": p, "noise_floor": 0.5}
    return {"key": key, "unit": "s", "verdict": verdict, "base": side, "other": side, **ratio}


def test_what_is_shown_is_what_the_states_are_made_for() -> None:
    changes = [change("a", 1e-9), change("b", 0.2, stable=False, verdict="no difference shown")]
    measured, shown, sure = closing_lines(changes, "x", "y", "b")
    assert "2 series" in measured
    assert "b is" in shown and "the noise floor is 50%" in shown
    assert "1 of 2 series are unstable" in sure
    _, shown, _ = closing_lines(changes, "x", "y", "")
    assert "a is" in shown and "faster, a ratio of 0.40 to 0.60" in shown


def test_series_of_one_side_are_no_difference() -> None:
    lines = list(closing_lines([{"key": "a", "ratio": None}], "x", "y", ""))
    assert lines[0].startswith("Measured: 0 series")
