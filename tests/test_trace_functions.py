"""Times of kernel functions, against what the kernel itself printed of the same buffer."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import skips
from arrow_tables import arrow_table
from trace_data import recorded

from benchvise.trace import native
from benchvise.trace.analysis.functions import function_calls, functions
from benchvise.trace.analysis.model import Analysis, Loss, TraceSpan
from benchvise.trace.loaded import load_trace

skips.need_decoder()

DURATION = re.compile(
    r"\|\s*(?:[+!#*@$] )?\s*(?P<us>[\d.]+) us\s*\|\s*"
    r"(?:(?P<leaf>\S+)\(\);|\} /\* (?P<end>\S+?)(?: <.*>)? \*/)"
)


def test_every_call_takes_what_the_kernel_printed(tmp_path: Path) -> None:
    loaded = load_trace(recorded("guest-graph.dat", tmp_path), cache=False)
    calls = function_calls(loaded.analysis)
    assert calls is not None
    symbol = loaded.trace.source.symbol
    name = [(symbol(int(at) & (1 << 64) - 1) or "?").split("+")[0] for at in calls.function]
    ours = Counter((name[at], int(calls.duration[at])) for at in np.flatnonzero(calls.complete))
    text = recorded("guest-graph.txt", tmp_path).read_text()
    printed = Counter(
        (match["leaf"] or match["end"], round(float(match["us"]) * 1000))
        for match in DURATION.finditer(text)
    )
    # The kernel also prints calls that began before the buffer does.
    assert not ours - printed
    assert sum((printed - ours).values()) <= 12
    assert sum(ours.values()) > 600
    # All that is nested is in its parent, and self times add up to those of the outermost.
    inner = np.flatnonzero(calls.parent >= 0)
    outer = calls.parent[inner]
    assert inner.size > 500
    assert (calls.depth[inner] == calls.depth[outer] + 1).all()
    assert (calls.begin[inner] >= calls.begin[outer]).all()
    assert (calls.end[inner] <= calls.end[outer]).all()
    assert (calls.self_time[calls.complete] >= 0).all()
    [row] = [row for row in functions(loaded.analysis, symbol) if row.name == "__rcu_read_unlock"]
    by_hand = sum(us * n for (name, us), n in printed.items() if name == row.name)
    assert row.total is not None
    assert row.total.total == by_hand == row.self_time


def _analysis(
    entries: list[tuple[int, int, int, int]], exits: list[tuple[int, int, int, int]], *losses: Loss
) -> Analysis:
    """Entries and exits as time, thread, function, depth."""

    def table(rows: list[tuple[int, int, int, int]]) -> native.Table:
        columns = list(zip(*rows, strict=True))
        return arrow_table(
            {
                "time": pa.array(columns[0], pa.int64()),
                "cpu": pa.array([0] * len(rows), pa.uint16()),
                "common_pid": pa.array(columns[1], pa.int32()),
                "func": pa.array(columns[2], pa.uint64()),
                "depth": pa.array(columns[3], pa.int32()),
            }
        )

    tables = {"funcgraph_entry": table(entries), "funcgraph_exit": table(exits)}
    return Analysis({}, TraceSpan(0, 1000), losses, tables.get)


def test_self_time_is_without_what_was_called() -> None:
    analysis = _analysis(
        [(10, 1, 0xA, 0), (12, 1, 0xB, 1), (20, 1, 0xB, 1), (15, 2, 0xB, 0), (40, 1, 0xC, 0)],
        [(18, 1, 0xB, 1), (25, 1, 0xB, 1), (30, 1, 0xA, 0), (35, 2, 0xB, 0)],
    )
    rows = {row.name: row for row in functions(analysis, lambda at: f"{at:x}")}
    assert (rows["a"].calls, rows["a"].self_time) == (1, 20 - 6 - 5)
    assert (rows["b"].calls, rows["b"].self_time, rows["b"].incomplete) == (3, 6 + 5 + 20, 0)
    assert (rows["b"].worst_at, rows["b"].worst_cpu) == (15, 0)
    assert (rows["c"].calls, rows["c"].incomplete, rows["c"].total) == (1, 1, None)


def test_an_exit_with_the_stamp_of_the_next_entry_ends_the_call_before() -> None:
    analysis = _analysis([(10, 1, 0xA, 0), (20, 1, 0xA, 0)], [(20, 1, 0xA, 0), (25, 1, 0xA, 0)])
    calls = function_calls(analysis)
    assert calls is not None
    assert (calls.end - calls.begin).tolist() == [10, 5]
    assert calls.complete.all()


def test_calls_beside_lost_events_are_incomplete() -> None:
    # Between the entry and the exit there was an exit and another entry of the same function.
    analysis = _analysis(
        [(10, 1, 0xA, 0), (60, 1, 0xA, 0)],
        [(50, 1, 0xA, 0), (70, 1, 0xA, 0)],
        Loss(cpu=0, begin=20, end=40, count=None),
    )
    [row] = functions(analysis, lambda at: f"{at:x}")
    assert (row.calls, row.incomplete, row.self_time) == (2, 1, 10)
