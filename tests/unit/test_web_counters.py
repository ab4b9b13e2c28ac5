"""What is drawn of a counter shows each of its values, and none that it did not have."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from arrow_tables import arrow_table
from trace_tables import Builder

from benchvise.errors import UsageError
from benchvise.trace.analysis.counters import counter_names, counters
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.counters import KeptSteps, counter_table, counter_track
from benchvise.web.workspace.query import TraceQuery

ORIGIN = 1000


def loaded(tables: dict[str, Any], end: int = ORIGIN + 4096) -> LoadedTrace:
    analysis = Builder().analysis(ORIGIN, end, events=tables)
    object.__setattr__(analysis, "event_names", list(tables))
    trace = SimpleNamespace(damage=[], counts={"sched_switch": 1}, remarks=[])
    return LoadedTrace(Path("t"), trace, analysis)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_a_pixel_has_the_least_and_greatest_of_its_values(seed: int) -> None:
    choose = random.Random(seed)
    times = sorted(choose.sample(range(ORIGIN + 50, ORIGIN + 4096), 300))
    values = [choose.randint(-5, 50) for _ in times]
    trace = loaded({"load": arrow_table({"time": times, "cpu": [0] * 300, "value": values})})
    for begin, end, width in ((0, 4097, 64), (700, 1900, 100), (100, 140, 500)):
        query = f"counter=load.value&begin={begin}&end={end}&width={width}"
        words = dict(part.split("=") for part in query.split("&"))
        track = counter_track(trace, TraceQuery(words), KeptSteps())
        assert (track.minimum, track.maximum) == (min(values), max(values))
        assert len(track.begin) <= 2 * 2 * width + 2
        lines = list(zip(track.begin, track.end, track.low, track.high, strict=True))
        held = dict.fromkeys(range(max(begin, times[0] - ORIGIN), min(end, 4097)), 0)
        for ns in held:
            held[ns] = max(
                (at, value) for at, value in zip(times, values, strict=True) if at <= ns + ORIGIN
            )[1]
        for ns, value in held.items():
            assert any(at <= ns < until and low <= value <= high for at, until, low, high in lines)
        pixel = max(1, 1 << (max(1, (end - begin) // width).bit_length() - 1))
        for at, until, low, high in lines:
            first, last = at // pixel * pixel, -(-until // pixel) * pixel
            seen = {held[ns] for ns in range(first, last) if ns in held}
            if begin <= first and last <= end:
                assert {low, high} <= seen


def test_idle_states_and_names() -> None:
    idle = {"time": [1010, 1020], "cpu": [0, 0], "state": pa.array([2, 2**32 - 1], pa.uint32())}
    trace = loaded(
        {
            "cpu_idle": arrow_table({**idle, "cpu_id": [0, 0], "text": ["a", "b"]}),
            "none": arrow_table({"time": pa.array([], pa.int64()), "n": pa.array([], pa.int64())}),
        }
    )
    assert counter_names(trace.analysis) == ["cpu_idle.state", "cpu_idle.cpu_id"]
    [one] = counters(trace.analysis, ["cpu_idle.state"])
    assert (one.minimum, one.maximum) == (-1, 2)
    table = counter_table(trace, TraceQuery({}))
    assert [counter.name for counter in table.counters] == ["cpu_idle.state"]
    with pytest.raises(UsageError, match="no value of cpu_idle"):
        counter_track(trace, TraceQuery({"counter": "cpu_idle.state", "cpu": "7"}), KeptSteps())
    with pytest.raises(UsageError, match="no event nothing"):
        counter_track(trace, TraceQuery({"counter": "nothing.x"}), KeptSteps())
