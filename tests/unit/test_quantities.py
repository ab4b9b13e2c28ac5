"""Numbers as people read and write them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchvise import quantities

# The page's script is tested with the same cases, so that both write numbers alike.
CASES = json.loads(
    (Path(__file__).parents[2] / "web" / "src" / "base" / "units.cases.json").read_text()
)


@pytest.mark.parametrize(("value", "unit", "text"), CASES["value"])
def test_values(value: float, unit: str, text: str) -> None:
    assert quantities.format_value(value, unit) == text


@pytest.mark.parametrize(("size", "text"), CASES["size"])
def test_sizes(size: int, text: str) -> None:
    assert quantities.format_size(size) == text


@pytest.mark.parametrize(("ratio", "text"), CASES["ratio"])
def test_ratios(ratio: float, text: str) -> None:
    assert quantities.format_ratio(ratio) == text


@pytest.mark.parametrize(("ratio", "text"), CASES["change"])
def test_changes(ratio: float, text: str) -> None:
    assert quantities.format_change(ratio) == text


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_no_number_is_a_dash(value: float | None) -> None:
    dash = quantities.ABSENT
    assert quantities.format_value(value, "ns") == dash
    assert quantities.format_ratio(value) == quantities.format_change(value) == dash
    assert quantities.format_percent(value) == dash


@given(st.floats(min_value=1e-3, max_value=1e15), st.sampled_from(["B/s", "ns", "Hz", "1/s"]))
def test_a_written_value_is_true_to_half_a_percent(value: float, unit: str) -> None:
    number, name = quantities.split_value(value, unit)
    factor = next(f for f, n in quantities._SCALES[unit] if n == name)
    assert float(number) * factor == pytest.approx(value, rel=0.005)


def test_a_range_has_its_unit_once_where_it_can() -> None:
    assert quantities.format_range(20.9e9, 21.6e9, "B/s") == "20.9 to 21.6 GB/s"
    assert quantities.format_range(980, 1020, "ns") == "980.0 ns to 1.02 us"


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("64K", 65536), ("1G", 1 << 30), ("huge", None), ("", None)]
)
def test_sizes_of_parameters(text: str, size: int | None) -> None:
    assert quantities.size_or_none(text) == size


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.0149, "1.5 %"), (0.166, "17 %"), (0.0, "0.0 %"), (1.66, "166 %")]
)
def test_percents(fraction: float, text: str) -> None:
    assert quantities.format_percent(fraction) == text


def test_times() -> None:
    assert quantities.format_time("2026-03-14T09:26:53+00:00") == "2026-03-14 09:26 UTC"
    assert quantities.format_time("yesterday") == "yesterday"
    assert quantities.format_time(None) == quantities.ABSENT


@pytest.mark.parametrize(
    ("finished", "text"),
    [
        ("2026-03-14T09:26:59", "6 s"),
        ("2026-03-14T09:33:05", "6 min 12 s"),
        ("2026-03-14T11:27:53", "2 h 1 min"),
        ("2026-03-14T09:00:00", quantities.ABSENT),
        ("2026-03-14T09:33:05+00:00", quantities.ABSENT),
        ("", quantities.ABSENT),
        (None, quantities.ABSENT),
    ],
)
def test_durations(finished: str | None, text: str) -> None:
    assert quantities.format_elapsed("2026-03-14T09:26:53", finished) == text


def test_short_durations_have_a_digit_behind_the_point() -> None:
    texts = [quantities.format_duration(s) for s in (0, 0.26, 3, 9.9, 9.96, 59.6, 3661)]
    assert texts == ["0 s", "0.3 s", "3 s", "9.9 s", "10 s", "1 min 0 s", "1 h 1 min"]


@pytest.mark.parametrize("value", [True, "1", None, math.nan, math.inf, 10**400, [1], {}])
def test_what_json_holds_besides_numbers_is_none(value: object) -> None:
    assert not quantities.is_number(value)
    assert quantities.number_or_none(value) is None


@given(st.sets(st.integers(0, 200)))
def test_a_mask_and_a_list_of_the_same_cpus_are_equal(cpus: set[int]) -> None:
    assert quantities.parse_cpu_mask(f"{sum(1 << cpu for cpu in cpus):x}") == cpus
    assert quantities.parse_cpus(quantities.format_cpus(cpus)) == cpus


def test_times_of_a_trace_keep_every_digit() -> None:
    assert quantities.format_clock(12_000_345_678) == "12.000345678"
    assert quantities.format_clock(-1) == "-0.000000001"
