"""What programs tell of themselves (Chrome's JSON, Perfetto), and kernel events in Perfetto."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import skips

from benchvise.cli.main import run
from benchvise.trace.analysis.functions import functions, slice_calls
from benchvise.trace.loaded import LoadedTrace, load_trace
from benchvise.web.workspace.calls import SLICES, KeptCalls, calling_threads, shown_calls
from benchvise.web.workspace.modes import function_table
from benchvise.web.workspace.query import TraceQuery

skips.need_decoder()

SMALL = Path(__file__).parent / "data/traces/small.dat"

Event = dict[str, Any]


def event(phase: str, ts: object, name: str = "", thread: object = 9, **more: object) -> Event:
    return {"ph": phase, "ts": ts, "name": name, "pid": 7, "tid": thread, **more}


EVENTS = [
    event("M", 0, "process_name", args={"name": "browser"}),
    event("M", 0, "thread_name", args={"name": "main"}),
    event("M", 0, "thread_name", thread="io", args={"name": "I/O"}),
    # Out of order, as programs write them: what is complete when it has ended.
    event("X", 2, "inner", dur=0.75, args={"n": [1, {"m": ']}"'}]}),
    event("B", 1.5, "outer", cat="a,b"),
    event("X", 4, "inner", dur=1),
    event("E", "12.25", "outer", args={"done": True}),
    event("B", 20, "never ends"),
    event("E", 30, "was never begun"),
    # Overlaps without nesting.
    event("X", 1, "first", thread="io", dur=5),
    event("X", 3, "second", thread="io", dur=5),
    event("i", 5, "mark", s="t", args={"why": "x"}),
    # Two requests at once, a third when these have ended.
    event("b", 1, "GET", cat="net", id="0x1"),
    event("b", 2, "GET", cat="net", id="0x2"),
    event("b", 2.5, "parse", cat="net", id="0x2"),
    event("e", 3, "parse", cat="net", id="0x2"),
    event("e", 4, "GET", cat="net", id="0x2"),
    event("e", 6, "GET", cat="net", id="0x1"),
    event("b", 7, "GET", cat="net", id2={"local": "0x3"}),
    event("e", 9, "GET", cat="net", id2={"local": "0x3"}),
    event("s", 2, "flow", id=5),
    event("f", 5, "flow", thread="io", id=5),
    event("C", 1, "heap", args={"used": 10, "free": 0.5}),
    event("C", 2, "heap", args={"used": 12}),
    event("O", 3, "object", id=1, args={"snapshot": {}}),
]


def chrome(path: Path, events: list[Event] = EVENTS) -> Path:
    path.write_text(json.dumps({"traceEvents": events, "otherData": {"version": "9"}}))
    return path


def rows(loaded: LoadedTrace, event: str) -> list[Event]:
    return list(loaded.trace.tables[event].to_pylist())


def test_chromes_slices_nest_by_their_threads(tmp_path: Path) -> None:
    loaded = load_trace(chrome(tmp_path / "a.json"), cache=False)
    assert loaded.trace.outline["format"] == "Chrome JSON"
    slices = rows(loaded, "slice_begin")
    main = [
        (row["time"], row["depth"], row["duration"], row["name"])
        for row in slices
        if row["common_pid"] == 9
    ]
    assert main == [
        (1500, 0, 10_750, "outer"),
        (2000, 1, 750, "inner"),
        (4000, 1, 1000, "inner"),
        (20_000, 0, None, "never ends"),
    ]
    inner = next(row for row in slices if row["time"] == 2000 and row["common_pid"] == 9)
    assert json.loads(inner["args"]) == {"n": [1, {"m": ']}"'}]}
    assert (inner["process"], inner["category"]) == (7, "")
    ends = {row["slice"]: row for row in rows(loaded, "slice_end")}
    outer = next(row for row in slices if row["name"] == "outer")
    assert ends[outer["slice"]]["time"] == 12_250
    assert json.loads(ends[outer["slice"]]["args"]) == {"done": True}
    [orphan] = [row for row in ends.values() if row["time"] == 30_000]
    assert (orphan["name"], orphan["depth"]) == ("", 0)
    assert any("1 ends of slices that nothing began" in note for note in loaded.trace.notes)


def test_an_array_may_have_empty_objects(tmp_path: Path) -> None:
    # As in empty_event.json of Trace Compass's tests.
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{}, event("X", 2, "one", dur=1), {}, event("X", 4, "two", dur=1)]))
    loaded = load_trace(path, cache=False)
    assert [row["name"] for row in rows(loaded, "slice_begin")] == ["one", "two"]


def test_what_overlaps_has_tracks_of_its_own(tmp_path: Path) -> None:
    loaded = load_trace(chrome(tmp_path / "a.json"), cache=False)
    names = dict(loaded.trace.description["tasks"])
    assert names[9] == "main"
    by_track: dict[str, list[tuple[int, int, str]]] = {}
    for row in rows(loaded, "slice_begin"):
        key = f"{names[row['common_pid']]} {row['common_pid']}"
        by_track.setdefault(key, []).append((row["time"], row["depth"], row["name"]))
    tracks = {name.rsplit(" ", 1)[0]: found for name, found in by_track.items()}
    assert tracks["I/O (browser)"] == [(1000, 0, "first")]
    assert tracks["I/O (browser), overlapping"] == [(3000, 0, "second")]
    requests = [found for name, found in by_track.items() if name.startswith("GET (browser)")]
    assert sorted(requests) == [
        [(1000, 0, "GET"), (7000, 0, "GET")],
        [(2000, 0, "GET"), (2500, 1, "parse")],
    ]


def test_instants_flows_and_counters(tmp_path: Path) -> None:
    loaded = load_trace(chrome(tmp_path / "a.json"), cache=False)
    snapshot, mark = rows(loaded, "instant")
    assert (snapshot["phase"], snapshot["name"]) == ("O", "object")
    assert (mark["time"], mark["phase"], mark["name"]) == (5000, "i", "mark")
    assert mark["args"] == '{"why": "x"}'
    flows = [(row["time"], row["id"], row["step"]) for row in rows(loaded, "flow")]
    assert flows == [(2000, "5", "begin"), (5000, "5", "end")]
    heap = [(row["time"], row["used"], row["free"]) for row in rows(loaded, "counter:heap")]
    assert heap == [(1000, 10.0, 0.5), (2000, 12.0, None)]


def test_times_of_slices(tmp_path: Path) -> None:
    loaded = load_trace(chrome(tmp_path / "a.json"), cache=False)
    found = {row.name: row for row in functions(loaded.analysis, lambda at: None)}
    outer, inner = found["outer"], found["inner"]
    assert (outer.calls, outer.self_time) == (1, 10_750 - 1750)
    assert (inner.calls, inner.self_time, inner.deepest) == (2, 1750, 1)
    assert inner.worst_cpu is None
    assert (found["never ends"].incomplete, found["never ends"].total) == (1, None)
    kept = KeptCalls()
    threads = {thread.name for thread in calling_threads(loaded, TraceQuery({}), kept).threads}
    assert {"main 9", "I/O (browser)", "GET (browser)"} <= threads
    query = TraceQuery({"thread": str(SLICES + 9), "width": "1000"})
    drawn = shown_calls(loaded, query, kept)
    assert drawn["complete"].to_pylist() == [1, 0, 1, 1]
    begin = loaded.analysis.whole.begin
    part = function_table(
        loaded, TraceQuery({"begin": str(1900 - begin), "end": str(9000 - begin)})
    )
    listed = {row.name: (row.calls, row.self_time, row.worst_at) for row in part.functions}
    assert listed["inner"] == (2, 1750, 4000 - begin)
    assert "outer" not in listed


@pytest.mark.parametrize("packed", [False, True])
def test_an_array_without_its_end_opens(packed: bool, tmp_path: Path) -> None:
    text = json.dumps(EVENTS)[:-1] + ",\n"
    path = tmp_path / ("a.json.gz" if packed else "a.json")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    loaded = load_trace(path, cache=False)
    whole = load_trace(chrome(tmp_path / "b.json"), cache=False)
    assert loaded.trace.counts == whole.trace.counts
    assert loaded.trace.damage == []


def test_what_precedes_a_cut_is_there(tmp_path: Path) -> None:
    path = chrome(tmp_path / "a.json")
    text = path.read_bytes()
    path.write_bytes(text[: text.index(b'"never ends"')])
    loaded = load_trace(path, cache=False)
    [damage] = loaded.trace.damage
    assert "the file ends within this event" in damage["what"]
    assert [row["name"] for row in rows(loaded, "slice_begin")] == ["outer", "inner", "inner"]


def test_commands_take_chromes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(chrome(tmp_path / "a.json"))
    for words in (["info"], ["functions"], ["events", "--limit", "3"]):
        assert run(["trace", words[0], path, *words[1:]]) == 0
    assert run(["trace", "query", path, "SELECT name, sum(duration) FROM slice_begin "
                "GROUP BY name ORDER BY 2 DESC NULLS LAST LIMIT 1"]) == 0  # fmt: skip
    shown = capsys.readouterr().out
    assert "Chrome JSON" in shown
    assert "outer" in shown


# -- Perfetto --------------------------------------------------------------------------------------
def test_what_was_exported_for_perfetto_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    assert run(["trace", "export", str(SMALL), "--to", "perfetto", "-o", str(path)]) == 0
    before, after = load_trace(SMALL, cache=False), load_trace(path, cache=False)
    assert after.trace.outline["format"] == "Perfetto"
    assert after.trace.counts == before.trace.counts
    compared = 0
    for name in before.trace.counts:
        ours, theirs = (pa.table(of.trace.tables[name]) for of in (after, before))
        order = [("time", "ascending"), ("cpu", "ascending"), ("common_pid", "ascending")]
        ours, theirs = ours.sort_by(order), theirs.sort_by(order)
        for column in set(ours.column_names) & set(theirs.column_names) - {"common_flags"}:
            if pa.types.is_integer(theirs[column].type) or column.endswith("comm"):
                assert ours[column].to_pylist() == theirs[column].to_pylist(), (name, column)
                compared += 1
    assert compared > 50
    mine, other = before.analysis.tables["instances"], after.analysis.tables["instances"]
    for column in ("begin", "end", "actor"):
        assert mine[column].to_pylist() == other[column].to_pylist()


def number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value & (1 << 64) - 1)


def text(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def test_columns_of_switches_are_events_again(tmp_path: Path) -> None:
    compact = (
        text(5, b"idle") + text(5, b"work")
        + text(1, _varint(1000) + _varint(50)) + text(2, _varint(0) + _varint(1))
        + text(3, _varint(7) + _varint(0)) + text(4, _varint(98) + _varint(120))
        + text(6, _varint(1) + _varint(0))
        + text(7, _varint(990) + _varint(30)) + text(8, _varint(7) + _varint(8))
        + text(9, _varint(3) + _varint(3)) + text(10, _varint(98) + _varint(98))
        + text(11, _varint(1) + _varint(1))
    )  # fmt: skip
    path = tmp_path / "a.pftrace"
    path.write_bytes(text(1, text(1, number(1, 3) + text(4, compact))))
    loaded = load_trace(path, cache=False)
    # Who ran before a CPU's first switch is not told: that is a type of its own.
    [first] = rows(loaded, "sched_switch_of_unknown")
    assert (first["time"], first["cpu"], first["next_pid"]) == (1000, 3, 7)
    [switch] = rows(loaded, "sched_switch")
    assert (switch["time"], switch["prev_pid"], switch["prev_comm"]) == (1050, 7, "work")
    assert (switch["prev_state"], switch["next_pid"], switch["next_comm"]) == (1, 0, "idle")
    [waking] = rows(loaded, "sched_waking")
    assert (waking["time"], waking["common_pid"], waking["pid"]) == (1020, 7, 8)
    [early] = rows(loaded, "sched_waking_by_unknown")
    assert (early["time"], early["pid"], early["target_cpu"]) == (990, 7, 3)


def test_track_events_take_texts_and_clocks_of_their_writer(tmp_path: Path) -> None:
    def event(of: int, after: int, *more: bytes) -> bytes:
        body = number(9, of) + number(11, 42) + b"".join(more)
        return number(8, after) + number(58, 64) + number(10, 3) + text(11, body)

    interned = text(2, number(1, 1) + text(2, b"work")) + text(3, number(1, 1) + text(2, b"n"))
    clock = number(1, 64) + number(2, 0) + number(3, 1) + number(4, 1000)
    worker = number(1, 7) + number(2, 8) + text(5, b"worker")
    packets = [
        number(10, 3) + number(13, 1) + text(12, interned),
        number(10, 3) + text(6, text(1, number(1, 6) + number(2, 5_000_000)) + text(1, clock)),
        number(10, 3) + text(60, number(1, 42) + text(4, worker)),
        event(1, 10, number(10, 1), text(4, number(1, 1) + number(4, -1))),
        event(1, 5, text(23, b"inner")),
        event(2, 5),
        event(2, 20),
        number(10, 3) + text(60, number(1, 43) + number(5, 42) + text(2, b"queue") + text(8, b"")),
        number(8, 5_000_500) + text(11, number(9, 4) + number(11, 43) + number(30, 17)),
        # A writer whose texts are not known.
        number(8, 1) + number(10, 9) + number(13, 2) + text(11, number(9, 1) + number(10, 1)),
    ]  # fmt: skip
    path = tmp_path / "a.pftrace"
    path.write_bytes(b"".join(text(1, packet) for packet in packets))
    loaded = load_trace(path, cache=False)
    slices = [
        (row["time"], row["common_pid"], row["depth"], row["name"], row["duration"], row["args"])
        for row in rows(loaded, "slice_begin")
    ]
    assert slices == [
        (5_010_000, 8, 0, "work", 30_000, '{"n":-1}'),
        (5_015_000, 8, 1, "inner", 5000, None),
    ]
    [queue] = rows(loaded, "counter:queue")
    assert (queue["time"], queue["value"], queue["process"]) == (5_000_500, 17, 7)
    assert any("1 track events are left out" in note for note in loaded.trace.notes)
    calls = slice_calls(loaded.analysis)
    assert calls is not None
    assert calls.complete.all()


def packet(time: int, *fields: bytes) -> bytes:
    return text(1, number(8, time) + number(10, 2) + b"".join(fields))


def test_an_incremental_counter_is_added_up_by_writer_until_it_starts_anew(tmp_path: Path) -> None:
    # Of Perfetto's own tests: incremental_counter_sequences.textproto, with a restart at its end.
    def written(writer: int, time: int, *fields: bytes) -> bytes:
        return text(1, number(8, time) + number(10, writer) + b"".join(fields))

    def counted(value: int) -> bytes:
        return number(13, 2) + text(11, number(9, 4) + number(11, 10) + number(30, value))

    described = text(60, number(1, 10) + text(2, b"queue") + text(8, number(5, 1)))
    begun = number(41, 1) + described
    told = [(1, 100, 100), (2, 150, 50), (1, 200, 10), (2, 250, 5)]
    path = tmp_path / "a.pftrace"
    path.write_bytes(
        written(1, 0, begun)
        + written(2, 0, begun)
        + b"".join(written(writer, time, counted(value)) for writer, time, value in told)
        + written(1, 300, begun)
        + written(1, 350, counted(7))
    )
    values = [row["value"] for row in rows(load_trace(path, cache=False), "counter:queue")]
    assert values == [100, 50, 110, 55, 7]


def test_slices_of_android_stand_beneath_their_threads(tmp_path: Path) -> None:
    """A thread is of one process before it tells which, too."""

    def bundle(cpu: int, *marks: tuple[int, int, bytes]) -> bytes:
        events = [
            text(2, number(1, time) + number(2, thread) + text(3, text(2, mark + b"\n")))
            for time, thread, mark in marks
        ]
        return text(1, text(1, number(1, cpu) + b"".join(events)))

    path = tmp_path / "android.pftrace"
    path.write_bytes(
        bundle(1, (40, 8, b"E|7"), (50, 9, b"F|7|load|3"))
        + bundle(
            0, (10, 8, b"B|0|early"), (15, 8, b"E"), (20, 8, b"B|7|draw"), (25, 8, b"S|7|load|3")
        )
    )
    slices = rows(load_trace(path), "slice_begin")
    found = [tuple(row[name] for name in ("time", "duration", "name", "process")) for row in slices]
    assert found == [(10, 5, "early", 7), (20, 20, "draw", 7), (25, 25, "load", 7)]
    assert [row["common_pid"] for row in slices[:2]] == [8, 8]


def test_what_is_polled_of_processes_is_a_counter_of_each(tmp_path: Path) -> None:
    # Of Perfetto's own tests: android_auto_multiuser.textproto.
    told = [
        (3_000_000_001, 10, 1000), (3_000_000_002, 10, 2000), (3_000_000_001, 11, 1000),
        (3_000_000_002, 11, 2000), (5_000_000_002, 11, 3000),
    ]  # fmt: skip
    path = tmp_path / "a.pftrace"
    path.write_bytes(
        b"".join(
            packet(time, text(9, text(1, number(1, process) + number(3, kb))))
            for time, process, kb in told
        )
        # A field that no table has, a process without values, and one whose score is negative.
        + packet(6, text(9, text(1, number(1, 12) + number(99, 1)) + text(1, number(1, 13))))
        + packet(7, text(9, text(1, number(1, 14) + number(10, -800))))
    )
    loaded = load_trace(path, cache=False)
    found = [
        (row["time"], row["process"], row["vm_rss_kb"])
        for name in ("counter:process_stats", "counter:process_stats 11")
        for row in rows(loaded, name)
    ]
    assert sorted(found) == sorted(told)
    assert [row["oom_score_adj"] for row in rows(loaded, "counter:process_stats 14")] == [-800]
    assert len(loaded.trace.counts) == 3


def test_what_is_polled_of_the_system_is_counters(tmp_path: Path) -> None:
    # Of Perfetto's own tests: tests_sys_stats.py.
    def idle(us: int) -> bytes:
        return text(16, number(1, 0) + text(2, text(1, b"C8") + number(2, us)))

    def zone(temperature: int) -> bytes:
        name, kind = text(1, b"thermal_zone0"), text(3, b"x86_pkg_temp")
        return text(15, name + number(2, temperature) + kind)

    def disk(name: bytes, *values: int) -> bytes:
        fields = (number(2 + at, value) for at, value in enumerate(values))
        return text(13, text(1, name) + b"".join(fields))

    path = tmp_path / "a.pftrace"
    path.write_bytes(
        packet(1000, text(7, idle(486_626_084) + zone(29) + number(17, 300)))
        + packet(2000, text(7, idle(486_636_254) + zone(31) + number(17, 350)))
        + packet(2500, text(7, disk(b"sda", 100, 100, 200, 200, 10, 50, 5, 25)))
        + packet(
            3000,
            text(
                7,
                # MemFree, a number that no table has, nr_free_pages.
                text(1, number(1, 2) + number(2, 4096))
                + text(1, number(1, 7000) + number(2, 1))
                + text(2, number(1, 1) + number(2, 77))
                + text(3, number(1, 1) + number(2, 10) + number(9, 2))
                + number(4, 12)
                + text(6, number(1, 27) + number(2, 5))
                # Packed, and one by one.
                + text(11, _varint(1_800_000) + _varint(0))
                + number(11, 600_000)
                + text(14, number(1, 3) + number(2, 9000))
                + text(12, text(1, b"0")),
            ),
        )
        + text(1, text(7, number(4, 1)))
    )
    loaded = load_trace(path, cache=False)

    def values(counter: str, series: str) -> list[tuple[int, object]]:
        return [
            (row["time"], row[series])
            for row in rows(loaded, f"counter:{counter}")
            if row[series] is not None
        ]

    assert values("cpuidle_us 0", "C8") == [(1000, 486_626_084), (2000, 486_636_254)]
    assert values("thermal_zone", "thermal_zone0 x86_pkg_temp") == [(1000, 29), (2000, 31)]
    assert values("gpufreq_mhz", "gpu 0") == [(1000, 300), (2000, 350)]
    assert values("disk_stat sda", "write_time_ms") == [(2500, 200)]
    assert values("disk_stat sda", "flush_count") == [(2500, 5)]
    assert values("meminfo", "MemFree") == [(3000, 4096)]
    assert values("meminfo", "meminfo 7000") == [(3000, 1)]
    assert values("vmstat", "nr_free_pages") == [(3000, 77)]
    assert values("cpu_stat 1", "steal_ns") == [(3000, 2)]
    assert values("sys_stats", "num_forks") == [(3000, 12)]
    assert values("num_irq", "irq 27") == [(3000, 5)]
    assert [values("cpufreq_khz", f"cpu {cpu}")[0][1] for cpu in range(3)] == [
        1_800_000,
        0,
        600_000,
    ]
    assert values("pressure_ns", "io_some") == [(3000, 9000)]
    notes = " ".join(loaded.trace.notes)
    assert "1 lists of free pages and slabs" in notes
    assert "1 packets of polled values have no time" in notes


def test_a_track_may_be_described_after_its_first_event(tmp_path: Path) -> None:
    def event(of: int, time: int, *more: bytes) -> bytes:
        return packet(time, text(11, number(9, of) + number(11, 42) + b"".join(more)))

    named = text(23, b"work")
    late = text(1, text(60, number(1, 42) + text(4, number(1, 7) + number(2, 8) + text(5, b"io"))))
    events = [event(1, 10, named), event(2, 20), event(1, 30, named), event(2, 40)]
    found = []
    for at in range(len(events) + 1):
        path = tmp_path / f"{at}.pftrace"
        path.write_bytes(b"".join([*events[:at], late, *events[at:]]))
        loaded = load_trace(path, cache=False)
        found.append(rows(loaded, "slice_begin"))
        assert dict(loaded.trace.description["tasks"]) == {8: "io"}
    assert found.count(found[0]) == len(found)
    assert [(row["time"], row["common_pid"], row["process"]) for row in found[0]] == [
        (10, 8, 7),
        (30, 8, 7),
    ]


def test_a_cut_packet_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    assert run(["trace", "export", str(SMALL), "--to", "perfetto", "-o", str(path)]) == 0
    whole = load_trace(path, cache=False).trace.events
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])
    loaded = load_trace(path, cache=False)
    assert 0 < loaded.trace.events < whole
    [damage] = loaded.trace.damage
    assert "ends within a packet" in damage["what"]
