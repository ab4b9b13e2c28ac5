"""What is drawn of calls of functions: each pixel with a call, no other, and each call once."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from arrow_tables import arrow_table

from benchvise.errors import UsageError
from benchvise.trace import native
from benchvise.trace.analysis.functions import functions
from benchvise.trace.analysis.model import Analysis, Loss, TraceSpan
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.calls import (
    SLICES,
    KeptCalls,
    call_details,
    calling_threads,
    shown_calls,
)
from benchvise.web.workspace.query import TraceQuery

ORIGIN = 1000
END = ORIGIN + 100_000

Call = tuple[int, int, int, int, int]
"""Thread, depth, function, begin, end; an end below 0 is not in the trace."""


def loaded(calls: list[Call], *losses: Loss, slices: native.Table | None = None) -> LoadedTrace:
    """A trace with these calls, each by its two events."""
    exits = [call for call in calls if call[4] >= 0]

    def table(rows: list[Call], at: int) -> native.Table:
        rows = sorted(rows, key=lambda call: call[at])
        return arrow_table(
            {
                "time": pa.array([call[at] for call in rows], pa.int64()),
                "cpu": pa.array([0] * len(rows), pa.uint16()),
                "common_pid": pa.array([call[0] for call in rows], pa.int32()),
                "func": pa.array([call[2] for call in rows], pa.uint64()),
                "depth": pa.array([call[1] for call in rows], pa.int32()),
            }
        )

    tables = {
        "actors": arrow_table({"tid": pa.array([], pa.int32())}),
        "funcgraph_entry": table(calls, 3),
        "funcgraph_exit": table(exits, 4),
        "slice_begin": slices,
    }
    analysis = Analysis({}, TraceSpan(ORIGIN, END), losses, tables.get)
    object.__setattr__(analysis, "actors", ())
    source = SimpleNamespace(symbol=lambda at: f"<f{at}>+0x0")
    trace = SimpleNamespace(source=source, description={"tasks": []})
    loaded = LoadedTrace(Path("t"), trace, analysis)  # type: ignore[arg-type]
    object.__setattr__(loaded, "cautions", ())
    return loaded


def query(**words: object) -> TraceQuery:
    return TraceQuery({name: str(value) for name, value in words.items()})


def nested(choose: random.Random, thread: int, depth: int, begin: int, end: int) -> list[Call]:
    """Calls within a span, one after the other, each with others within."""
    calls: list[Call] = []
    at = begin + choose.randint(1, 40)
    while depth < 5 and at < end - 20:
        until = min(end - 2, at + choose.choice((2, 5, 60, 900, 9000)))
        calls.append((thread, depth, choose.randint(1, 9), at, until))
        calls += nested(choose, thread, depth + 1, at, until)
        at = until + choose.choice((1, 3, 50, 2000))
    return calls


@pytest.mark.parametrize("seed", range(4))
def test_each_pixel_with_a_call_is_drawn_and_no_other(seed: int) -> None:
    choose = random.Random(seed)
    # Stamps of one thread differ, as a kernel's do.
    calls = nested(choose, 7, 3, ORIGIN + 10, END - 10) + nested(choose, 8, 0, ORIGIN, END - 5000)
    trace, kept = loaded(calls), KeptCalls()
    threads = calling_threads(trace, query(), kept)
    assert {thread.key: thread.calls for thread in threads.threads} == {
        key: sum(call[0] == key for call in calls) for key in (7, 8)
    }
    assert max(thread.lanes for thread in threads.threads) <= 5
    for begin, end, width in ((0, 100_001, 50), (20_000, 61_000, 300), (500, 900, 1000)):
        table = shown_calls(trace, query(thread=7, begin=begin, end=end, width=width), kept)
        pixel = max(1, 1 << (max(1, (end - begin) // width).bit_length() - 1))
        lanes = 2  # depths 3 and 4
        assert table.num_rows <= lanes * 2 * (2 * width + 2)
        shown = list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
        for lane in range(lanes):
            own = [c for c in calls if c[0] == 7 and c[1] - 3 == lane]
            own = [c for c in own if c[4] - ORIGIN >= begin and c[3] - ORIGIN < end]
            mine = [item for item in shown if item[0] == lane]
            assert sum(item[4] for item in mine) == len(own)
            wanted, seen = set[int](), set[int]()
            for _, _, _, since, until in own:
                wanted |= set(range((since - ORIGIN) // pixel, (until - 1 - ORIGIN) // pixel + 1))
            for _, since, until, _, count, complete in mine:
                pixels = range(int(since) // pixel, (int(until) - 1) // pixel + 1)
                assert complete == 1 and (count == 1 or len(pixels) == 1)
                seen |= set(pixels)
            assert seen == wanted


def test_of_several_calls_on_a_pixel_the_longest_is_named() -> None:
    calls = [(7, 0, 1, 2000, 2010), (7, 0, 2, 2020, 2060), (7, 0, 3, 2070, 2071)]
    trace, kept = loaded(calls), KeptCalls()
    table = shown_calls(trace, query(thread=7, begin=0, end=100_001, width=10), kept)
    assert table["count"].to_pylist() == [3]
    names = calling_threads(trace, query(), kept).functions
    assert names[table["function"][0]] == "<f2>"
    assert (table["begin"][0], table["end"][0]) == (1000, 1071)
    assert shown_calls(trace, query(thread=9, begin=0, end=9, width=9), kept).num_rows == 0


def test_a_call_says_its_times_what_is_around_it_and_what_it_called() -> None:
    calls = [
        (7, 2, 1, 2000, 3000),
        (7, 3, 2, 2100, 2300),
        (7, 3, 2, 2400, 2450),
        (7, 4, 3, 2110, 2120),
        (8, 0, 4, 2100, 2200),
    ]
    trace, kept = loaded(calls), KeptCalls()
    outer = call_details(trace, query(thread=7, lane=0, t=1900), kept)
    assert (outer.name, outer.begin, outer.end) == ("<f1>", 1000, 2000)
    assert (outer.total, outer.self_time, outer.around) == (1000, 750, ())
    assert [(one.name, one.calls, one.total) for one in outer.within] == [("<f2>", 2, 250)]
    inner = call_details(trace, query(thread=7, lane=2, t=1115), kept)
    assert [(one.name, one.lane) for one in inner.around] == [("<f1>", 0), ("<f2>", 1)]
    assert (inner.total, inner.self_time, inner.within) == (10, 10, ())
    with pytest.raises(UsageError, match="no call"):
        call_details(trace, query(thread=7, lane=1, t=1350), kept)


def test_a_call_without_an_end_is_incomplete_and_drawn_to_the_next_one_at_most() -> None:
    calls = [(7, 1, 1, 2000, -1), (7, 2, 2, 2100, 2200), (7, 0, 3, 5000, 6000), (7, 0, 4, 9000, -1)]
    trace, kept = loaded(calls), KeptCalls()
    table = shown_calls(trace, query(thread=7, begin=0, end=100_001, width=8192), kept)
    drawn = {
        int(begin): (int(end), whole)
        for begin, end, whole in zip(*(table[n].to_pylist() for n in ("begin", "end", "complete")),
                                     strict=True)
    }  # fmt: skip
    assert drawn == {1000: (4000, 0), 1100: (1200, 1), 4000: (5000, 1), 8000: (END - ORIGIN, 0)}
    details = call_details(trace, query(thread=7, lane=1, t=1500), kept)
    assert (details.end, details.total, details.self_time) == (4000, None, None)


def test_idle_tasks_are_told_apart_by_their_cpu() -> None:
    trace = loaded([(0, 0, 1, 2000, 2100)])
    (thread,) = calling_threads(trace, query(), KeptCalls()).threads
    assert (thread.key, thread.cpu, thread.name) == (-1, 0, "idle, CPU 0")


def test_functions_and_slices_of_one_thread_stand_side_by_side() -> None:
    slices = arrow_table(
        {
            "time": pa.array([2000, 2200, 5000], pa.int64()),
            "common_pid": pa.array([7, 7, 1 << 22], pa.int32()),
            "name": ["draw", "clear", "GET"],
            "duration": pa.array([1000, 100, None], pa.int64()),
            "depth": pa.array([0, 1, 0], pa.int32()),
        }
    )
    trace = loaded([(7, 0, 1, 2100, 2300), (7, 1, 2, 2150, 2250)], slices=slices)
    kept = KeptCalls()
    calling = calling_threads(trace, query(), kept)
    assert [(one.kind, one.thread, one.key, one.lanes) for one in calling.threads] == [
        ("function", 7, 7, 2),
        ("slice", 7, SLICES + 7, 2),
        ("slice", 1 << 22, SLICES + (1 << 22), 1),
    ]
    named = {
        key: [calling.functions[at] for at in table["function"].to_pylist()]
        for key in (7, SLICES + 7)
        for table in [shown_calls(trace, query(thread=key, width=9000), kept)]
    }
    assert named == {7: ["<f1>", "<f2>"], SLICES + 7: ["draw", "clear"]}
    function = call_details(trace, query(thread=7, lane=0, t=1150), kept)
    drawn = call_details(trace, query(thread=SLICES + 7, lane=0, t=1150), kept)
    assert (function.kind, function.total, function.self_time) == ("function", 200, 100)
    assert (drawn.kind, drawn.total, drawn.self_time) == ("slice", 1000, 900)
    assert [one.name for one in drawn.within] == ["clear"]
    rows = {row.name: row.self_time for row in functions(trace.analysis, trace.trace.source.symbol)}
    assert rows == {"draw": 900, "<f1>": 100, "<f2>": 100, "clear": 100, "GET": 0}
    without = loaded([], slices=slices)
    with pytest.raises(UsageError, match="no such calls"):
        shown_calls(without, query(thread=7, width=9), KeptCalls())
