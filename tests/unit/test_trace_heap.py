"""Memory that programs have allocated and not freed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
import skips
from arrow_tables import arrow_table
from trace_data import recorded_directory

from benchvise.trace.analysis.counters import counter_names, counter_steps, counters
from benchvise.trace.analysis.model import Analysis, Loss, TraceSpan
from benchvise.trace.loaded import load_trace

END = 1000


def analysis(events: dict[str, list[dict[str, int]]], *losses: Loss) -> Analysis:
    """Events of the wrapper as rows; ``vpid`` is 7 where a row has none."""
    tables = {}
    for name, rows in events.items():
        columns: dict[str, pa.Array] = {
            field: pa.array(
                [row[field] for row in rows],
                pa.int64() if field == "time" else pa.uint64(),
            )
            for field in rows[0]
            if field != "vpid"
        }
        columns["vpid"] = pa.array([row.get("vpid", 7) for row in rows], pa.int32())
        tables[f"lttng_ust_libc:{name}"] = arrow_table(columns)
    whole = Analysis({}, TraceSpan(0, END), losses, tables.get, tuple(tables))
    object.__setattr__(whole, "cpus", [])
    return whole


def values(whole: Analysis, name: str = "heap") -> list[tuple[int, int]]:
    """Time and bytes of each value."""
    [steps] = counter_steps(whole, name)
    return list(zip(steps.time.tolist(), steps.value.tolist(), strict=True))


HIGH = 0xFFFF_8000_0000_0010


def test_allocations_end_with_what_frees_them() -> None:
    whole = analysis(
        {
            "malloc": [
                {"time": 10, "size": 100, "ptr": 1},
                {"time": 20, "size": 5, "ptr": HIGH},
                {"time": 90, "size": 3, "ptr": 0},  # there was no memory
            ],
            "calloc": [{"time": 30, "nmemb": 3, "size": 4, "ptr": 2}],
            "realloc": [
                {"time": 40, "in_ptr": 1, "size": 150, "ptr": 1},
                {"time": 50, "in_ptr": 2, "size": 1 << 60, "ptr": 0},  # the old memory stays
                {"time": 60, "in_ptr": 2, "size": 20, "ptr": 3},
            ],
            "posix_memalign": [{"time": 70, "out_ptr": 4, "alignment": 64, "size": 64}],
            "free": [
                {"time": 5, "ptr": 9},  # allocated before the trace
                {"time": 80, "ptr": HIGH},
                {"time": 85, "ptr": 0},
            ],
        }
    )
    assert counter_names(whole)[0] == "heap"
    expected = [(10, 100), (20, 105), (30, 117), (40, 167), (60, 175), (70, 239), (80, 234)]
    assert values(whole) == expected
    [row] = [row for row in counters(whole, ["heap"]) if row.name == "heap"]
    assert (row.minimum, row.maximum, row.maximum_at) == (100, 239, 70)


def test_an_address_that_is_had_again_was_freed() -> None:
    """The wrapper tells a realloc after it: another thread may have had the address by then."""
    rows = [{"time": 10, "size": 100, "ptr": 1}, {"time": 20, "size": 30, "ptr": 1}]
    assert values(analysis({"malloc": rows})) == [(10, 100), (20, 30)]


def test_processes_are_told_apart() -> None:
    rows = [
        {"time": 10, "size": 100, "ptr": 1, "vpid": 7},
        {"time": 20, "size": 30, "ptr": 1, "vpid": 8},
    ]
    whole = analysis({"malloc": rows})
    assert counter_names(whole)[:2] == ["heap.7", "heap.8"]
    assert values(whole, "heap.7") == [(10, 100)]
    assert values(whole, "heap.8") == [(20, 30)]
    assert [row.name for row in counters(whole, ["heap"])] == ["heap.7", "heap.8"]


@pytest.mark.parametrize("begin", [None, 15])
def test_nothing_is_known_behind_lost_events(begin: int | None) -> None:
    rows = [{"time": 10, "size": 100, "ptr": 1}, {"time": 20, "size": 30, "ptr": 2}]
    steps = counter_steps(analysis({"malloc": rows}, Loss(0, begin, 18, 1)), "heap")
    known = [(one.time.tolist(), one.until.tolist()) for one in steps]
    assert known == ([] if begin is None else [([10], [15])])


def test_a_real_recording_is_what_a_dictionary_of_addresses_has(tmp_path: Path) -> None:
    skips.need_decoder()
    loaded = load_trace(recorded_directory("ust-meter", tmp_path), cache=False)
    told = []
    for name in ("malloc", "calloc", "realloc", "posix_memalign", "free"):
        table = loaded.analysis.events(f"lttng_ust_libc:{name}")
        assert table is not None
        told += [(row["time"], name, row) for row in table.to_pylist()]
    live: dict[int, int] = {}
    seen = []
    for time, name, row in sorted(told, key=lambda event: event[0]):
        if name in ("free", "realloc"):
            live.pop(row["ptr" if name == "free" else "in_ptr"], None)
        if name != "free":
            size = row["size"] * row.get("nmemb", 1)
            live[row["out_ptr" if name == "posix_memalign" else "ptr"]] = size
        seen.append((time, sum(live.values())))
    ours = dict(values(loaded.analysis))
    assert len(ours) > 80 and max(ours.values()) == 11760
    assert [pair for pair in seen if pair[0] in ours] == list(ours.items())
