"""Numbers and texts as reports show them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchvise.report import units
from benchvise.report.text import clean

# The page's script is tested with the same cases, so that both write numbers alike.
CASES = json.loads(
    (Path(__file__).parents[2] / "web" / "src" / "base" / "units.cases.json").read_text()
)


@pytest.mark.parametrize(("value", "unit", "text"), CASES["value"])
def test_values(value: float, unit: str, text: str) -> None:
    assert units.format_value(value, unit) == text


@pytest.mark.parametrize(("size", "text"), CASES["size"])
def test_sizes(size: int, text: str) -> None:
    assert units.format_size(size) == text


@pytest.mark.parametrize(("ratio", "text"), CASES["ratio"])
def test_ratios(ratio: float, text: str) -> None:
    assert units.format_ratio(ratio) == text


@pytest.mark.parametrize(("ratio", "text"), CASES["change"])
def test_changes(ratio: float, text: str) -> None:
    assert units.format_change(ratio) == text


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_no_number_is_a_dash(value: float | None) -> None:
    dash = units.ABSENT
    assert units.format_value(value, "ns") == dash
    assert units.format_ratio(value) == units.format_change(value) == dash
    assert units.format_percent(value) == dash


@given(st.floats(min_value=1e-3, max_value=1e15), st.sampled_from(["B/s", "ns", "Hz", "1/s"]))
def test_a_written_value_is_true_to_half_a_percent(value: float, unit: str) -> None:
    number, name = units.split_value(value, unit)
    factor = next(f for f, n in units._SCALES[unit] if n == name)
    assert float(number) * factor == pytest.approx(value, rel=0.005)


def test_a_range_has_its_unit_once_where_it_can() -> None:
    assert units.format_range(20.9e9, 21.6e9, "B/s") == "20.9 to 21.6 GB/s"
    assert units.format_range(980, 1020, "ns") == "980.0 ns to 1.02 us"


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("64K", 65536), ("1G", 1 << 30), ("huge", None), ("", None)]
)
def test_sizes_of_parameters(text: str, size: int | None) -> None:
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.0149, "1.5 %"), (0.166, "17 %"), (0.0, "0.0 %"), (1.66, "166 %")]
)
def test_percents(fraction: float, text: str) -> None:
    assert units.format_percent(fraction) == text


def test_times() -> None:
    assert units.format_time("2026-03-14T09:26:53+00:00") == "2026-03-14 09:26 UTC"
    assert units.format_time("yesterday") == "yesterday"
    assert units.format_time(None) == units.ABSENT


@pytest.mark.parametrize(
    ("finished", "text"),
    [
        ("2026-03-14T09:26:59", "6 s"),
        ("2026-03-14T09:33:05", "6 min 12 s"),
        ("2026-03-14T11:27:53", "2 h 1 min"),
        ("2026-03-14T09:00:00", units.ABSENT),
        ("2026-03-14T09:33:05+00:00", units.ABSENT),
        ("", units.ABSENT),
        (None, units.ABSENT),
    ],
)
def test_durations(finished: str | None, text: str) -> None:
    assert units.format_duration("2026-03-14T09:26:53", finished) == text


def test_clean_text_has_nothing_that_acts() -> None:
    assert clean("bench\x1b[31m-07\x07") == "bench\ufffd[31m-07\ufffd"
    assert clean("a\r\nb\tc  d") == "a b c d"
    assert clean("abc\u202egpj.exe") == "abc\ufffdgpj.exe"
    assert clean("lone \ud800 surrogate") == "lone \ufffd surrogate"
    assert clean("<b>&amp;</b> ümläut 漢字") == "<b>&amp;</b> ümläut 漢字"


def test_clean_text_is_bounded() -> None:
    assert len(clean("x" * 10_000)) == 160
    assert clean("x" * 10_000, 5) == "xxxx…"
    assert clean(" " * 10_000 + "x", 5) == "…"


@given(st.text(max_size=400), st.integers(min_value=1, max_value=200))
def test_clean_text_is_one_short_printable_line(text: str, limit: int) -> None:
    shown = clean(text, limit)
    assert len(shown) <= limit
    assert shown.splitlines() in ([], [shown])
    assert clean(shown, limit) == shown
    shown.encode()
