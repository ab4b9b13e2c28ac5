"""Stacks of perf.data, of ftrace and of calls: functions, flame graphs, the difference of two."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import made_traces
import numpy as np
import pytest
import skips
from made_perf import KERNEL, USER, PerfData, eh_frame, elf
from trace_data import recorded

from benchvise.cli.main import run
from benchvise.errors import UsageError
from benchvise.trace.analysis.calls import Symbol
from benchvise.trace.analysis.flame.difference import (
    Basis,
    ComparedStacks,
    compared,
    tree_difference,
)
from benchvise.trace.analysis.flame.graph import StackFilter, folded, profile, tree
from benchvise.trace.analysis.flame.stacks import Stacks, TraceStacks
from benchvise.trace.analysis.functions import function_calls, functions
from benchvise.trace.event_listing import EventFilter, EventReader
from benchvise.trace.kernel_symbols import running_build_id
from benchvise.trace.loaded import LoadedTrace, load_trace
from benchvise.web.workspace.flame import KeptStacks, flame_graph
from benchvise.web.workspace.flame_difference import TraceWithStacks, flame_difference
from benchvise.web.workspace.query import TraceQuery

skips.need_decoder()

BUILD_ID = bytes(range(20))
BASE = 0x5555_0000_0000
MAIN, WORK = BASE + 0x10, BASE + 0x110
"""Within the functions of the file, which lie at 0x2000 in it and at address 0x402000."""

FUNCTIONS = {"main": (0x402000, 0x100), "_ZN3app4workEv": (0x402100, 0x80)}


def recording() -> PerfData:
    """Of process 7, which runs a program that forks process 8."""
    perf = PerfData({"/opt/app": BUILD_ID, "[kernel.kallsyms]": b"\1" * 20})
    perf.map_kernel("_text", 0xFFFF_FFFF_8100_0000)
    perf.comm(0, (7, 7), "sh")
    perf.comm(1_000, (7, 7), "app", executed=True)
    perf.map(1_100, 7, BASE, 0x1000, 0x2000, "/opt/app")
    perf.sample(2_000, [USER, WORK, MAIN])
    perf.sample(3_000, [USER, WORK, WORK, MAIN], period=3000)
    perf.sample(3_500, [KERNEL, 0xFFFF_FFFF_8100_0020, USER, MAIN], cpu=1)
    perf.sample(3_600, [USER, MAIN], event=2)
    perf.fork(4_000, (7, 7), (8, 8))
    perf.sample(5_000, [USER, MAIN], thread=(8, 8))
    return perf


def saved(directory: Path, perf: PerfData, build_id: bytes = BUILD_ID) -> Path:
    (directory / "symbols/opt").mkdir(parents=True, exist_ok=True)
    (directory / "symbols/opt/app").write_bytes(
        elf(FUNCTIONS, build_id, at=0x402000, offset=0x2000)
    )
    (directory / "symbols/kallsyms").write_text(
        "ffffffff81000000 T _text\nffffffff81000010 T do_work\nffffffff81000080 T other\n"
    )
    return perf.save(directory / "perf.data")


def stacks(path: Path, event: str | None = None, **words: Any) -> Stacks:
    return TraceStacks(load_trace(path)).of(event, **words)


def test_functions_are_named_by_the_files_of_the_recording(tmp_path: Path) -> None:
    own = stacks(saved(tmp_path, recording()))
    assert list(folded(own)) == [
        "app;main 1",
        "app;main;app::work() 1",
        "app;main;app::work();app::work() 1",
        "app;main;do_work 1",
    ]
    assert own.missing == ()
    assert own.others == (("page-faults", 1),)
    rows = {row.name: row for row in profile(own).functions}
    assert {name: (row.self_weight, row.total) for name, row in rows.items()} == {
        "app::work()": (2, 2),  # calls itself: once for each stack
        "main": (1, 4),
        "do_work": (1, 1),
    }
    assert (rows["main"].module, rows["do_work"].module) == ("app", "kernel")
    # The child has what its parent had mapped; periods weigh what they say.
    assert profile(stacks(tmp_path / "perf.data", periods=True)).weight == 6000


def test_copies_of_stacks_become_functions(tmp_path: Path) -> None:
    """By the rules of the program's file; where a chain ends early, a frame says so, and why."""
    perf = PerfData({"/opt/app": BUILD_ID}, copies=True)
    perf.map(1_100, 7, BASE, 0x1000, 0x2000, "/opt/app")
    back = struct.pack("<QQQQ", 1, MAIN + 1, 2, 3)
    perf.sample(2_000, [USER, WORK], place=WORK, stack=back)
    perf.sample(3_000, [KERNEL, 0xFFFF_FFFF_8100_0020], place=WORK, stack=back)
    perf.sample(4_000, [USER, WORK], place=WORK, stack=back[:8])
    path = saved(tmp_path, perf)
    main, work = FUNCTIONS["main"], FUNCTIONS["_ZN3app4workEv"]
    file = elf(
        FUNCTIONS, BUILD_ID, at=0x402000, offset=0x2000, frames=eh_frame({main: None, work: 1})
    )
    (tmp_path / "symbols/opt/app").write_bytes(file)
    own = stacks(path)
    assert list(folded(own)) == [
        ":7;[callers not known];app::work() 1",
        ":7;main;app::work() 1",
        ":7;main;app::work();[kernel] 1",
    ]
    [unknown] = [row for row in profile(own).functions if row.name == "[callers not known]"]
    assert unknown.total == 1
    assert "the copy of the stack ends" in unknown.module
    # What is not here is not unwound, and kept by no cache.
    (tmp_path / "symbols/opt/app").unlink()
    [unknown] = [row for row in profile(stacks(path)).functions if row.name[:8] == "[callers"]
    assert unknown.total == 3
    assert unknown.module.startswith("(/opt/app: no such file")


def test_listed_events_have_the_same_names(tmp_path: Path) -> None:
    """What has none stays an address, with its file where that is known."""
    path = saved(tmp_path, recording())
    texts = [event.text for event in EventReader(path).events(EventFilter(("cpu-clock",)))]
    stack = [text.partition(" <stack trace> => ")[2].split(" => ") for text in texts]
    assert stack == [
        ["app::work() (app)", "main (app)"],
        ["app::work() (app)", "app::work() (app)", "main (app)"],
        ["do_work", "main (app)"],
        ["main (app)"],
    ]
    (tmp_path / "symbols/opt/app").write_bytes(b"")
    (tmp_path / "symbols/kallsyms").unlink()
    third = list(EventReader(path).events(EventFilter(("cpu-clock",))))[2]
    assert third.text.endswith(f"=> 0xffffffff81000020 => 0x{MAIN:x} (app)")
    matching = EventFilter(text="app::work()")
    saved(tmp_path, recording())
    assert len(list(EventReader(path).events(matching))) == 2


_FIRST_PIDS = 0xEFFF_FFFC
"""What the kernel calls the process namespace that all others are in."""


def test_the_pid_of_a_tracepoint_is_not_whose_stack_it_is(tmp_path: Path) -> None:
    """That of sched_wakeup is the thread that is woken; the stack is the waker's."""
    skips.needs("perf")
    if Path("/proc/self/ns/pid").stat().st_ino != _FIRST_PIDS:
        skips.skip("perf events", "in a container, tracepoints number threads as outside of it")
    path = tmp_path / "wakeups.data"
    program = (
        "import threading\nfor _ in range(50):\n"
        "    one = threading.Thread(target=int)\n    one.start()\n    one.join()"
    )
    words = ["perf", "record", "-q", "-e", "sched:sched_wakeup", "-g", "-o", str(path)]
    done = subprocess.run([*words, "--", sys.executable, "-c", program], capture_output=True)
    if done.returncode != 0:
        skips.skip("perf events")
    own = stacks(path, "sched_wakeup")
    files = {own.names[frame].module for frame in own.frames.tolist()}
    maps = Path("/proc/self/maps").read_text().splitlines()
    libraries = {Path(line.split()[-1]).name for line in maps}
    assert files & libraries, files


def test_the_program_stands_below_the_kernel_where_registers_or_branches_tell_it(
    tmp_path: Path,
) -> None:
    """perf record --call-graph dwarf has no chain of programs, and --call-graph lbr branches."""
    perf = recording()
    perf.user_parts, perf.records = True, []
    perf.map_kernel("_text", 0xFFFF_FFFF_8100_0000)
    perf.comm(1_000, (7, 7), "app", executed=True)
    perf.map(1_100, 7, BASE, 0x1000, 0x2000, "/opt/app")
    kernel = [KERNEL, 0xFFFF_FFFF_8100_0020]
    inside = (0xFFFF_FFFF_8100_0014, 0xFFFF_FFFF_8100_0084)
    perf.sample(2_000, kernel, place=WORK)
    perf.sample(3_000, kernel, calls=[inside, (WORK, WORK), (MAIN, WORK)], place=WORK)
    perf.sample(4_000, kernel, calls=[(MAIN, WORK)])
    perf.sample(5_000, kernel)
    # A chain that is longer tells more than the branches.
    perf.sample(6_000, [USER, WORK, WORK, MAIN], calls=[(MAIN, WORK)], place=WORK)
    assert list(folded(stacks(saved(tmp_path, perf)))) == [
        "app;app::work();do_work 1",
        "app;do_work 1",
        "app;main;app::work();app::work() 1",
        "app;main;app::work();app::work();do_work 1",
        "app;main;app::work();do_work 1",
    ]


def test_code_that_was_made_at_run_time_has_the_names_that_were_told_of_it(tmp_path: Path) -> None:
    perf = recording()
    bpf, jit = 0xFFFF_FFFF_C000_0100, 0x7F00_0000_0000
    perf.made_code(bpf, 0x40, "bpf_prog_0123456789abcdef_count")
    perf.made_code(bpf + 0x40, 0x40, "bpf_trampoline_7", removed=True)
    perf.map(6_000, 7, jit, 0x1000, 0, "//anon")
    perf.sample(7_000, [KERNEL, bpf + 0x3F, USER, jit + 0x10, jit + 0x90, MAIN])
    perf.sample(7_100, [KERNEL, bpf + 0x40, USER, MAIN])
    path = saved(tmp_path, perf)
    stack = "app;main;[anon];[anon];bpf_prog_0123456789abcdef_count 1"
    assert stack in list(folded(stacks(path)))
    places = [tmp_path / "perf-7.map", tmp_path / "symbols/perf-7.map"]
    for number, place in enumerate(places):
        place.write_text(f"{jit:x} 40 old{number}\nno line\n{jit:x} 40 py::loop{number} (a)\n")
        own = stacks(path)
        stack = f"app;main;[anon];py::loop{number} (a);bpf_prog_0123456789abcdef_count 1"
        assert stack in list(folded(own))
    assert any("perf-PID.map" in entry.reason for entry in own.missing)


def test_a_part_is_of_threads_cpus_and_times(tmp_path: Path) -> None:
    path = saved(tmp_path, recording())
    own = stacks(path)
    assert StackFilter(cpus=(1,)).of(own).time.tolist() == [3_500]
    assert StackFilter(threads=("8",)).of(own).time.tolist() == [5_000]
    assert StackFilter(threads=("ap*",)).of(own).time.size == 4
    assert list(folded(stacks(path, "page-faults"))) == ["app;main 1"]
    with pytest.raises(UsageError, match="no stacks of cycles"):
        stacks(path, "cycles")


def test_another_file_under_the_name_gives_no_names(tmp_path: Path) -> None:
    own = stacks(saved(tmp_path, recording(), build_id=b"\2" * 20))
    assert "app;[app];[app] 1" in list(folded(own))
    [missing] = own.missing
    assert (missing.module, missing.frames) == ("/opt/app", 7)
    assert missing.reason == "the build-id of the file here differs"


@pytest.mark.parametrize("places", [("opt/app", "app"), ("app", "opt/app")])
def test_a_stripped_file_has_the_names_of_its_debugging_symbols(
    tmp_path: Path, places: tuple[str, str]
) -> None:
    path = saved(tmp_path, recording())
    exported = {"main": FUNCTIONS["main"]}
    stripped = elf(exported, BUILD_ID, at=0x402000, offset=0x2000)
    symbols = elf(FUNCTIONS, BUILD_ID, at=0x402000, offset=0, stored=0x40)
    for place, file in zip(places, (stripped, symbols), strict=True):
        (tmp_path / "symbols" / place).write_bytes(file)
    own = stacks(path)
    assert "app;main;app::work() 1" in list(folded(own)) and not own.missing


def test_a_kernel_that_lies_elsewhere_gives_no_names(tmp_path: Path) -> None:
    path = saved(tmp_path, recording())
    (tmp_path / "symbols/kallsyms").write_text("ffffffff82000000 T _text\n")
    [missing] = stacks(path).missing
    assert missing.module == "kernel"
    assert "symbols/kallsyms" in missing.reason


def test_what_is_mapped_later_takes_the_place_and_exec_clears_it(tmp_path: Path) -> None:
    perf = recording()
    perf.build_ids["/opt/other"] = b"\3" * 20
    perf.map(6_000, 7, BASE, 0x100, 0, "/opt/other")
    perf.sample(7_000, [USER, WORK, MAIN])
    perf.comm(8_000, (7, 7), "new", executed=True)
    perf.sample(9_000, [USER, MAIN])
    lines = list(folded(stacks(saved(tmp_path, perf))))
    # Of the old mapping the end is left; the child's is whole.
    assert "app;[other];app::work() 1" in lines
    assert "new;[no file] 1" in lines


def test_the_difference_of_two_says_what_grew(tmp_path: Path) -> None:
    a, b = (stacks(path) for path in two_recordings(tmp_path, (10, 40)))
    first, *_ = compared(ComparedStacks(a, b)).changes
    assert first.name == "app::work()"
    assert first.changed and first.interval and first.interval.low > 0.1
    assert first.change == pytest.approx(0.3, abs=0.01)
    assert not any(row.changed for row in compared(ComparedStacks(a, a)).changes)


def two_recordings(directory: Path, shares: tuple[int, int], samples: int = 400) -> list[Path]:
    """Two whose ``app::work()`` has these shares of the samples, in percent."""
    paths = []
    for name, share in zip("ab", shares, strict=True):
        perf = recording()
        for number in range(samples):
            chain = [USER, WORK, MAIN] if number % 100 < share else [USER, MAIN]
            perf.sample(10_000 + 1_000 * number, chain)
        (directory / name).mkdir()
        paths.append(saved(directory / name, perf))
    return paths


def test_the_tree_of_the_difference_has_the_stacks_of_both(tmp_path: Path) -> None:
    """Also what only one has, and what is left out weighs in its caller."""
    a, b = (stacks(path) for path in two_recordings(tmp_path, (0, 40)))
    # In B alone, the kernel's function does not occur; in A, work() only at first.
    b = b.chosen(b.time > 9_000)
    for most in (100, 3):
        graph = tree_difference(ComparedStacks(a, b), most)
        assert (int(graph.total_a[0]), int(graph.total_b[0])) == (404, 400)
        for total, own in ((graph.total_a, graph.self_a), (graph.total_b, graph.self_b)):
            below = np.bincount(graph.parent[1:], total[1:], total.size).astype(int)
            assert (own + below <= total).all()
            assert most < 100 or (own + below == total).all()
    graph = tree_difference(ComparedStacks(a, b), 100)
    names = [graph.names[at].name if at >= 0 else "all" for at in graph.frame.tolist()]
    paths = [names[graph.parent[at]] + ">" + name for at, name in enumerate(names)]
    assert graph.low is not None and graph.high is not None
    at = paths.index("main>app::work()")
    assert graph.low[at] > 0.2 and graph.high[at] < 0.6
    assert graph.low[paths.index("all>app")] == graph.high[paths.index("all>app")] == 0
    at = paths.index("main>do_work")
    assert (graph.total_a[at], graph.total_b[at]) == (1, 0)


def test_rates_are_of_the_time_and_not_of_the_other_samples(tmp_path: Path) -> None:
    """Twice as many samples in as long a time: the same shares, twice the rates."""
    [path] = two_recordings(tmp_path, (20, 20))[:1]
    loaded = load_trace(path)
    own = TraceStacks(loaded).of()
    twice = own.chosen(np.ones(own.time.size, dtype=np.bool_))
    half = own.chosen(np.arange(own.time.size) % 2 == 0)
    spans = loaded.analysis.span, loaded.analysis.span
    shares = compared(ComparedStacks(half, twice)).changes
    rates = compared(ComparedStacks(half, twice, Basis.RATE, spans)).changes
    main = {row.name: row for row in rates}["main"]
    seconds = (spans[0].end - spans[0].begin) / 1e9
    assert main.total_b == pytest.approx(404 / seconds)
    assert main.total_change == pytest.approx(202 / seconds)
    assert main.changed and main.total_interval and main.total_interval.low > 0
    assert not {row.name: row for row in shares}["main"].changed


def test_the_page_gets_the_difference_of_two_traces(tmp_path: Path) -> None:
    a, b = (
        TraceWithStacks(load_trace(path), KeptStacks())
        for path in two_recordings(tmp_path, (10, 40))
    )
    graph = flame_difference(a, b, TraceQuery({}))
    assert (graph.event, graph.basis, graph.blocks) == ("cpu-clock", "share", 40)
    assert (graph.a.stacks, graph.b.stacks) == (404, 404)
    assert [event.name for event in graph.events] == ["cpu-clock", "page-faults"]
    assert graph.changes[0].name == "app::work()" and graph.changes[0].changed
    assert len(graph.parent) == len(graph.total_b) == len(graph.low or ())
    assert graph.total_a[0] == graph.total_b[0] == 404
    # A part of each, and threads by name: numbers differ between recordings.
    words = {"end": "2600", "begin2": "7900", "end2": "17900", "name": "app", "basis": "rate"}
    part = flame_difference(a, b, TraceQuery(words))
    assert (part.a.stacks, part.b.stacks, part.blocks) == (3, 9, 3)
    assert part.threads[0].name == "app"
    assert flame_difference(a, b, TraceQuery({"name": "other"})).a.stacks == 0


def test_a_difference_takes_an_event_of_both(tmp_path: Path) -> None:
    [path] = two_recordings(tmp_path, (10, 10), 4)[:1]
    calls = load_trace(recorded("guest-graph.dat", tmp_path), cache=False)
    sides = [TraceWithStacks(trace, KeptStacks()) for trace in (load_trace(path), calls)]
    with pytest.raises(UsageError, match="no event of which both traces have stacks") as told:
        flame_difference(sides[0], sides[1], TraceQuery({}))
    assert "A has cpu-clock, page-faults, B has function calls" in told.value.remedy


def test_the_tree_weighs_what_its_stacks_weigh(tmp_path: Path) -> None:
    own = stacks(saved(tmp_path, recording()))
    graph = tree(own)
    assert int(graph.total[0]) == int(graph.self_weight.sum()) == 4
    for node in range(graph.parent.size):
        below = graph.total[graph.parent == node].sum()
        assert graph.total[node] == graph.self_weight[node] + below


def test_the_page_gets_the_tree_of_a_span_and_thread(tmp_path: Path) -> None:
    loaded = load_trace(saved(tmp_path, recording()))
    graph = flame_graph(loaded, TraceQuery({"thread": "7", "end": "2600"}), KeptStacks())
    names = [graph.names[at] if at >= 0 else "all" for at in graph.function]
    edges = zip(names, [names[max(at, 0)] for at in graph.parent], graph.total, strict=True)
    assert sorted(edges) == [
        ("all", "all", 3),
        ("app", "all", 3),
        ("app::work()", "app::work()", 1),
        ("app::work()", "main", 2),
        ("do_work", "main", 1),
        ("main", "app", 3),
    ]
    assert [(event.name, event.stacks) for event in graph.events] == [
        ("cpu-clock", 4),
        ("page-faults", 1),
    ]
    assert graph.left_out == 0


def test_the_command_prints_tables_folded_text_and_comparisons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(saved(tmp_path, recording()))
    for words, expected in (
        ((), "app::work()"),
        (("--total", "--periods"), "100.0 %"),
        (("--folded",), "app;main;do_work 1\n"),
        ((path,), "Change, points"),
        (("--json",), '"trace-flame"'),
        ((path, "--csv"), "self_share_a"),
    ):
        assert run(["trace", "flame", path, *words]) == 0
        assert expected in capsys.readouterr().out, words
    assert run(["trace", "flame", path, path, "--folded"]) != 0


def test_calls_of_functions_weigh_their_self_times(tmp_path: Path) -> None:
    loaded = load_trace(recorded("guest-graph.dat", tmp_path), cache=False)
    own = TraceStacks(loaded).of()
    calls = function_calls(loaded.analysis)
    assert calls is not None
    assert (own.event, own.unit) == ("function calls", "ns")
    whole = np.flatnonzero(calls.complete)
    assert int(tree(own).total[0]) == int(calls.self_time[whole].sum()) > 0
    depths = calls.depth[whole] - calls.depth.min() + 2  # with the thread's name
    assert np.diff(own.starts).max() <= depths.max()
    # What is called by nobody that was traced weighs what its calls took.
    rows = {row.name: row for row in profile(own).functions}
    by_self = {row.name: row.self_time for row in functions(loaded.analysis, symbol_of(loaded))}
    assert {name: row.self_weight for name, row in rows.items()} == {
        name: by_self[name] for name in rows
    }


def symbol_of(loaded: LoadedTrace) -> Symbol:
    return loaded.trace.source.symbol


_COMMON = b"""format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""


def test_stacks_of_ftrace_are_those_of_the_event_before(tmp_path: Path) -> None:
    recording = made_traces.read(recorded("guest-graph.dat", tmp_path))
    tick = b"name: tick\nID: 900\n" + _COMMON
    tick += b'\tfield:u32 n;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: "%u", REC->n\n'
    stack = b"name: kernel_stack\nID: 4\n" + _COMMON
    stack += b"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
    stack += b"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n"
    stack += b'\nprint fmt: ""\n'
    tock = tick.replace(b"tick", b"tock").replace(b"900", b"901")
    recording.formats = {"ftrace": [stack], "made": [tick, tock]}
    recording.kallsyms = b"ffffffff81000000 T inner\nffffffff81001000 T outer\n"
    recording.cmdlines = b"7 worker\n"
    inner, outer = 0xFFFF_FFFF_8100_0008, 0xFFFF_FFFF_8100_1008
    frames = struct.pack("<HBBiiI4Q", 4, 0, 0, 7, 4, 0, inner, outer, (1 << 64) - 1, inner)
    events = [struct.pack("<HBBiI", number, 0, 0, 7, 1) for number in (900, 901)]
    records = [events[0], frames, events[1], events[0], frames, events[1], frames]
    data = b"".join(struct.pack("<I", len(r) // 4 | 1000 << 5) + r for r in records)
    page = struct.pack("<QQ", 1_000_000, len(data)) + data
    recording.cpus = [[page.ljust(made_traces.PAGE, b"\0")]]
    path = recording.save(tmp_path / "stacks.dat")
    assert list(folded(stacks(path))) == ["worker;outer;inner 2"]
    assert TraceStacks(load_trace(path)).events() == {"tick": 2, "tock": 1}


def _script(path: Path) -> Counter[tuple[int, int, tuple[str, ...]]]:
    """Time, thread and names of functions, the innermost first, as perf script prints them."""
    words = ["perf", "script", "--ns", "-F", "tid,time,event,ip,sym", "-i", str(path)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    samples: Counter[tuple[int, int, tuple[str, ...]]] = Counter()
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        head = re.match(r"(\d+)\s+(\d+)\.(\d+):", lines[0].strip()) if lines else None
        if head:
            thread, seconds, rest = (int(part) for part in head.groups())
            names = tuple(line.split(maxsplit=1)[1] for line in lines[1:] if line.strip())
            samples[seconds * 10**9 + rest, thread, names] += 1
    return samples


def test_a_fresh_recording_agrees_with_perf_script(tmp_path: Path) -> None:
    skips.needs("perf")
    path = tmp_path / "fresh.data"
    loop = (
        "import time\nend = time.process_time() + 0.15\n"
        "while time.process_time() < end: open('/dev/null').close()"
    )
    words = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "2000", "-g", "-o", str(path)]
    recorded = subprocess.run(
        [*words, "--", sys.executable, "-c", loop], capture_output=True, check=False
    )
    if recorded.returncode != 0:
        skips.skip("perf events")
    own = stacks(path, "cpu-clock")
    expected = _script(path)
    assert sum(expected.values()) == own.time.size > 50
    if os.geteuid() != 0 or not running_build_id():
        return  # the kernel hides its symbols
    named = {(time, thread): names for time, thread, names in expected}
    lines = map(str.split, Path("/proc/kallsyms").read_text().splitlines())
    addresses = {words[2]: words[0] for words in lines}
    wrong: list[tuple[str, str]] = []
    for at in range(own.time.size):
        frames = own.frames[own.starts[at] + 1 : own.starts[at + 1]][::-1]
        ours = [own.names[int(frame)] for frame in frames]
        theirs = named[int(own.time[at]), int(own.thread[at])]
        assert len(ours) == len(theirs)
        pairs = zip(ours, theirs, strict=True)
        # perf also names the stubs of the linkage table, and what is no function.
        wrong += [
            (frame.name, name)
            for frame, name in pairs
            # Which of several names of an address is taken does not matter.
            if frame.module == "kernel" and addresses[frame.name] != addresses[name]
        ]
    assert not wrong
