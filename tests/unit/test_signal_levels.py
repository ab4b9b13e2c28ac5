"""What of a line is seen at a zoom: exact where it can be, and never more than buckets."""

from __future__ import annotations

import numpy as np
import pytest

from benchvise.signal.capture import SignalLine
from benchvise.signal.levels import LineState, Spans, density, items, span_items


def line(*edges: int, high: bool = False) -> SignalLine:
    return SignalLine("D0", high, np.array(edges, dtype=np.int64))


def told(found: object) -> list[tuple[float, float, int, int]]:
    columns = [getattr(found, name).tolist() for name in ("begin", "end")]
    columns += [
        (found.state if hasattr(found, "state") else found.text).tolist(),  # type: ignore[attr-defined]
        found.count.tolist(),  # type: ignore[attr-defined]
    ]
    return list(zip(*columns, strict=True))


def test_each_level_is_told_exactly_where_there_is_room() -> None:
    assert told(items(line(10, 15, 60), 100, 0, 100, 50)) == [
        (0, 10, LineState.LOW, 1),
        (10, 15, LineState.HIGH, 1),
        (15, 60, LineState.LOW, 1),
        (60, 100, LineState.HIGH, 1),
    ]
    assert told(items(line(high=True), 100, 20, 30, 5)) == [(0, 100, LineState.HIGH, 1)]


def test_what_reaches_into_the_span_and_out_of_it_keeps_its_ends() -> None:
    found = items(line(10, 40, 60, 90), 100, 45, 55, 10)
    assert told(found) == [(40, 60, LineState.LOW, 1)]


def test_where_it_changes_often_it_is_one_item_with_a_count() -> None:
    busy = line(*range(30, 50), 80)
    assert told(items(busy, 100, 0, 100, 10)) == [
        (0, 30, LineState.LOW, 1),
        (30, 50, LineState.CHANGES, 20),
        (50, 80, LineState.LOW, 1),
        (80, 100, LineState.HIGH, 1),
    ]


def test_a_glitch_is_seen_at_any_zoom() -> None:
    found = told(items(line(500_000, 500_001), 1_000_000, 0, 1_000_000, 1000))
    assert [state for _, _, state, _ in found] == [LineState.LOW, LineState.CHANGES, LineState.LOW]
    assert found[1] == (500_000, 501_000, LineState.CHANGES, 2)


def test_an_edge_right_behind_many_is_told_with_them() -> None:
    found = told(items(line(10, 11, 22, 50), 100, 0, 100, 10))
    assert found == [
        (0, 10, LineState.LOW, 1),
        (10, 30, LineState.CHANGES, 3),
        (30, 50, LineState.HIGH, 1),
        (50, 100, LineState.LOW, 1),
    ]


@pytest.mark.parametrize("span", [(-50.0, 0.0), (100.0, 150.0), (-30.0, -10.0)])
def test_beside_the_capture_there_is_nothing(span: tuple[float, float]) -> None:
    assert told(items(line(10), 100, *span, 10)) == []


@pytest.mark.parametrize("seed", range(6))
def test_never_more_than_a_bucket_each_and_always_the_right_level(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ticks = 20_000
    edges = np.unique(rng.integers(1, ticks, size=rng.integers(1, 4000)))
    wave = SignalLine("D0", bool(seed % 2), edges.astype(np.int64))
    for _ in range(60):
        begin = float(rng.uniform(-500, ticks))
        end = begin + float(rng.uniform(0.5, ticks))
        buckets = int(rng.integers(1, 300))
        found = items(wave, ticks, begin, end, buckets)
        step = (end - begin) / buckets
        inside = found.begin[found.begin > max(begin, 0.0)]  # without what reaches in
        places = np.floor((inside - begin) / step + 1e-9)
        assert np.unique(places).size == places.size
        assert (found.begin[1:] == found.end[:-1]).all()
        if found.begin.size:
            assert found.begin[0] <= max(begin, 0.0) + step
            assert found.end[-1] >= min(end, ticks) - step
        for first, last, state in zip(found.begin, found.end, found.state, strict=True):
            tick = np.ceil([first]).astype(np.int64)
            if state != LineState.CHANGES and tick[0] < last:
                assert wave.is_high(tick)[0] == (state == LineState.HIGH)


def test_spans_that_begin_in_one_bucket_are_one() -> None:
    spans = Spans(
        np.array([0, 10, 12, 50], dtype=np.int64),
        np.array([8, 12, 20, 90], dtype=np.int64),
        np.array([3, 1, 2, 0], dtype=np.int32),
    )
    assert told(span_items(spans, 0, 100, 100)) == [
        (0, 8, 3, 1),
        (10, 12, 1, 1),
        (12, 20, 2, 1),
        (50, 90, 0, 1),
    ]
    assert told(span_items(spans, 5, 105, 10)) == [(0, 8, 3, 1), (10, 20, -1, 2), (50, 90, 0, 1)]


def test_density_counts_all_edges_once() -> None:
    counts = density(np.arange(1, 1000, dtype=np.int64), 1000, 64)
    assert counts.sum() == 999 and counts.min() >= 15


@pytest.mark.parametrize(("end", "buckets"), [(0.0, 10), (10.0, 0)])
def test_a_span_without_length_is_none(end: float, buckets: int) -> None:
    with pytest.raises(ValueError, match="no span"):
        items(line(1), 10, 0.0, end, buckets)
    with pytest.raises(ValueError, match="no span"):
        span_items(Spans(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32)),
                   0.0, end, buckets)  # fmt: skip
