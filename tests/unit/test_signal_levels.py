"""What of a line is seen at a zoom: exact where it can be, and never more than buckets."""

from __future__ import annotations

from itertools import pairwise

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


def test_where_it_changes_often_it_is_one_item_a_bucket_with_a_count() -> None:
    busy = line(*range(30, 50), 80)
    assert told(items(busy, 100, 0, 100, 10)) == [
        (0, 30, LineState.LOW, 1),
        (30, 39, LineState.CHANGES, 10),
        (39, 40, LineState.LOW, 1),
        (40, 49, LineState.CHANGES, 10),
        (49, 80, LineState.LOW, 1),
        (80, 100, LineState.HIGH, 1),
    ]


def test_a_glitch_is_seen_at_any_zoom_and_only_where_it_was() -> None:
    found = told(items(line(500_000, 500_001), 1_000_000, 0, 1_000_000, 1000))
    assert [state for _, _, state, _ in found] == [LineState.LOW, LineState.CHANGES, LineState.LOW]
    assert found[1] == (500_000, 500_001, LineState.CHANGES, 2)


def test_an_edge_right_behind_many_is_told_by_itself() -> None:
    found = told(items(line(10, 11, 22, 50), 100, 0, 100, 10))
    assert found == [
        (0, 10, LineState.LOW, 1),
        (10, 11, LineState.CHANGES, 2),
        (11, 22, LineState.LOW, 1),
        (22, 50, LineState.HIGH, 1),
        (50, 100, LineState.LOW, 1),
    ]


@pytest.mark.parametrize("span", [(-50.0, 0.0), (100.0, 150.0), (-30.0, -10.0)])
def test_beside_the_capture_there_is_nothing(span: tuple[float, float]) -> None:
    assert told(items(line(10), 100, *span, 10)) == []


@pytest.mark.parametrize("seed", range(6))
def test_never_more_than_two_a_bucket_and_always_the_right_level(seed: int) -> None:
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
        assert places.size == 0 or np.unique(places, return_counts=True)[1].max() <= 2
        assert (found.begin[1:] == found.end[:-1]).all()
        if found.begin.size:
            assert found.begin[0] <= max(begin, 0.0) + step
            assert found.end[-1] >= min(end, ticks) - step
        for first, last, state in zip(found.begin, found.end, found.state, strict=True):
            tick = np.ceil([first]).astype(np.int64)
            if state != LineState.CHANGES and tick[0] < last:
                assert wave.is_high(tick)[0] == (state == LineState.HIGH)


def pixels(begins: np.ndarray, ends: np.ndarray, edges: np.ndarray) -> list[set[int]]:
    """The places of the spans that have a part in each pixel, looked up one by one."""
    return [
        {
            at
            for at, (begin, end) in enumerate(zip(begins, ends, strict=True))
            if (begin < right and end > left) or left <= begin == end < right
        }
        for left, right in pairwise(edges)
    ]


def a_view(rng: np.random.Generator, ticks: int) -> tuple[float, float, int, np.ndarray]:
    """Begin, end and number of buckets of a tile, and the borders of pixels that are longer."""
    begin, length = float(rng.uniform(-50, ticks)), float(ticks * 2 ** -rng.uniform(0, 8))
    buckets = int(rng.integers(20, 120))
    pixel = length / buckets * float(rng.uniform(1, 2))
    edges = begin + pixel * np.arange(int(length / pixel))
    return begin, begin + length, buckets, edges


@pytest.mark.parametrize("seed", range(8))
def test_a_pixel_shows_a_change_where_there_is_one_and_nowhere_else(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    ticks = 20_000
    bursts = rng.integers(1, ticks, size=12)[:, None] + rng.integers(0, 200, size=(12, 60))
    edges = np.unique(bursts[bursts < ticks]).astype(np.int64)
    wave = SignalLine("D0", bool(seed % 2), edges)
    for _ in range(15):
        begin, end, buckets, borders = a_view(rng, ticks)
        found = items(wave, ticks, begin, end, buckets)
        changes = found.state == LineState.CHANGES
        # The level of an item begins with an edge, except the one with which the capture begins.
        begun = found.begin[~changes & (found.begin > 0)]
        for left, right in pairwise(borders):
            shown = ((found.begin < right) & (found.end > left) & changes).any() or (
                (begun >= left) & (begun < right)
            ).any()
            assert shown == ((edges >= left) & (edges < right)).any(), (begin, end, left, right)


@pytest.mark.parametrize("seed", range(4))
def test_a_pixel_shows_decoded_text_where_there_is_one_and_nowhere_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bounds = np.unique(rng.integers(0, 20_000, size=600))
    spans = Spans(bounds[:-1:2], bounds[1::2], np.arange(bounds.size // 2, dtype=np.int32))
    for _ in range(15):
        begin, end, buckets, borders = a_view(rng, 20_000)
        found = span_items(spans, begin, end, buckets)
        exact = pixels(spans.begin, spans.end, borders)
        shown = pixels(found.begin, found.end, borders)
        assert [bool(each) for each in shown] == [bool(each) for each in exact]
        for here, those in zip(shown, exact, strict=True):
            texts = {int(found.text[at]) for at in here} - {-1}
            assert texts <= {int(spans.text[at]) for at in those}


def test_spans_that_begin_in_one_bucket_are_one_but_for_what_goes_on() -> None:
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
    assert told(span_items(spans, 5, 105, 10)) == [
        (0, 8, 3, 1),
        (10, 12, 1, 1),
        (12, 20, 2, 1),
        (50, 90, 0, 1),
    ]
    assert told(span_items(spans, 0, 100, 4)) == [(0, 20, -1, 3), (50, 90, 0, 1)]


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
