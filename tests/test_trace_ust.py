"""Traces of user space (LTTng-UST): a real recording in the repository, and one made here."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import skips
from trace_data import recorded_directory

from benchvise.trace.analysis.functions import functions
from benchvise.trace.analysis.model import Analysis, Rows
from benchvise.trace.analysis.user_functions import user_calls
from benchvise.trace.decoder import decoder
from benchvise.trace.event_listing import EventFilter, EventReader
from benchvise.trace.loaded import LoadedTrace, load_trace
from benchvise.web.workspace.calls import KeptCalls, calling_threads, shown_calls
from benchvise.web.workspace.query import TraceQuery

skips.need_decoder()

SOURCES = Path(__file__).parent / "data" / "ust"
PROVIDER = "lttng_ust_cyg_profile"

# What meter.c calls: fibonacci(4) are nine calls, and each of two threads has three rounds.
CALLS = {"channel": 2, "fibonacci": 9, "give_up": 1, "main": 1, "sample": 6, "spin": 12}

RECORD = """
set -e
mount -t tmpfs none /run
export LTTNG_HOME="$1" HOME="$1"
lttng-sessiond --daemonize --no-kernel
lttng create meter --output="$1/trace"
lttng enable-channel -u -s meter --buffers-pid --subbuf-size=16k all
lttng enable-event -u -a -s meter -c all
lttng add-context -u -t vpid -t vtid -t procname -t ip -s meter -c all
lttng start meter
LD_PRELOAD="liblttng-ust-libc-wrapper.so liblttng-ust-cyg-profile.so" "$1/meter"
"$1/meter"
lttng destroy meter
"""


def by_a_stack(analysis: Analysis) -> tuple[Counter[tuple[int, int]], int]:
    """Address and total time of each whole call, and how many have no exit; one event after the
    other, as the programs called."""
    events = []
    for name, enters in (("func_entry", True), ("func_exit", False)):
        table = analysis.events(f"{PROVIDER}:{name}")
        assert table is not None
        rows = Rows(table)
        columns = (rows["time"].tolist(), rows["vtid"].tolist(), rows["addr"].tolist())
        events += [(*row, enters) for row in zip(*columns, strict=True)]
    stacks: dict[int, list[tuple[int, int]]] = defaultdict(list)
    whole: Counter[tuple[int, int]] = Counter()
    without = 0
    for time, thread, address, enters in sorted(events):
        if enters:
            stacks[thread].append((address, time))
            continue
        while stacks[thread]:
            called, since = stacks[thread].pop()
            if called == address:
                whole[(address, time - since)] += 1
                break
            without += 1
    return whole, without + sum(map(len, stacks.values()))


def check_calls(loaded: LoadedTrace) -> None:
    whole, without = by_a_stack(loaded.analysis)
    user = user_calls(loaded.analysis, loaded.path)
    assert user is not None and user.table is not None
    calls = user.table
    table = loaded.analysis.events(f"{PROVIDER}:func_entry")
    assert table is not None
    addresses = {
        (time, thread): address
        for time, thread, address in zip(
            *(Rows(table)[name].tolist() for name in ("time", "vtid", "addr")), strict=True
        )
    }
    ours: Counter[tuple[int, int]] = Counter()
    open_calls = 0
    rows = zip(calls.begin, calls.thread, calls.duration, calls.complete, strict=True)
    for begin, thread, duration, complete in rows:
        address = addresses.get((int(begin), int(thread)))
        if address is not None and complete:
            ours[(address, int(duration))] += 1
        elif address is not None:
            open_calls += 1
    # give_up() is left by longjmp; main(), which called it, has a total time and no self time.
    assert without == 1 and open_calls == 2
    assert not ours - whole and sum((whole - ours).values()) == 1
    inner = calls.parent >= 0
    outer = calls.parent[inner]
    assert (calls.depth[inner] == calls.depth[outer] + 1).all()
    assert (calls.begin[inner] >= calls.begin[outer]).all()
    assert (calls.end[inner] <= calls.end[outer]).all()
    assert (calls.self_time[calls.complete] >= 0).all()


def test_instrumented_functions_nest_as_the_programs_called(tmp_path: Path) -> None:
    loaded = load_trace(recorded_directory("ust-meter", tmp_path), cache=False)
    check_calls(loaded)
    user = user_calls(loaded.analysis, loaded.path)
    rows = functions(loaded.analysis, loaded.trace.source.symbol, user)
    # The program is not here: where in it a function begins. Two runs, one of the fast variant.
    assert all(re.fullmatch(r"meter\+0x[0-9a-f]+", row.name) for row in rows)
    assert sorted(row.calls for row in rows) == sorted(2 * n for n in CALLS.values())
    assert user is not None and {name for _, name in user.threads} == {"meter"}
    assert "trace functions" in loaded.cautions[0]


def test_the_timeline_has_a_lane_for_each_depth_of_each_thread(tmp_path: Path) -> None:
    loaded = load_trace(recorded_directory("ust-meter", tmp_path), cache=False)
    kept = KeptCalls()
    calling = calling_threads(loaded, TraceQuery({}), kept)
    assert {(one.kind, one.name) for one in calling.threads} == {
        ("user function", f"meter {one.thread}") for one in calling.threads
    }
    assert sorted(one.lanes for one in calling.threads) == [3, 3, 3, 3, 6, 6]
    assert sum(one.calls for one in calling.threads) == 2 * sum(CALLS.values())
    for one in calling.threads:
        asked = TraceQuery({"thread": str(one.key), "width": "1"})
        drawn = shown_calls(loaded, asked, kept)
        # All that was called on the one pixel is there, in the lanes that the thread has.
        assert sum(drawn.column("count").to_pylist()) == one.calls
        assert set(drawn.column("lane").to_pylist()) == set(range(one.lanes))


def test_names_come_from_a_directory_beside_the_trace(tmp_path: Path) -> None:
    """What was recorded on a board: its programs are not on this machine."""
    skips.need("nm")
    trace = recorded_directory("ust-meter", tmp_path)
    loaded = load_trace(trace, cache=False)
    table = loaded.analysis.events("lttng_ust_statedump:bin_info")
    assert table is not None
    [libc] = {
        path for path in table.column("path").to_pylist() if Path(path).name.startswith("libc.so")
    }
    # Another file of that name is not taken for the board's.
    (trace / "symbols").mkdir()
    shutil.copy(shutil.which("nm") or "", trace / "symbols" / "meter")
    shutil.copy(shutil.which("nm") or "", trace / "symbols" / Path(libc).name)
    user = user_calls(loaded.analysis, trace)
    assert user is not None and user.table is not None
    assert all(name.startswith("meter+0x") for name in user.table.names)


@pytest.fixture(scope="module")
def recorded_here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace that this machine's LTTng records: of two processes, each with buffers of its own."""
    skips.need("lttng", "lttng-sessiond", "lttng-gen-tp", "gcc", "unshare")
    skips.need_root("a session daemon of its own, in namespaces")
    skips.need_namespaces("--mount", "--pid", "--fork")
    directory = tmp_path_factory.mktemp("ust")
    program = directory / "meter"
    (directory / "events.c").write_text(
        "#define LTTNG_UST_TRACEPOINT_CREATE_PROBES\n#define LTTNG_UST_TRACEPOINT_DEFINE\n"
        '#include "meter_events.h"\n'
    )
    compiler = ["gcc", "-O1", f"-I{SOURCES}"]
    events = ["-c", "-o", str(directory / "events.o"), str(directory / "events.c")]
    subprocess.run([*compiler, *events], check=True)
    whole = ["-fno-inline", "-finstrument-functions", "-o", str(program), str(SOURCES / "meter.c")]
    linked = [str(directory / "events.o"), "-llttng-ust", "-ldl", "-lpthread"]
    subprocess.run([*compiler, *whole, *linked], check=True)
    inside = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", RECORD, "sh"]
    done = subprocess.run([*inside, directory], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr
    return directory / "trace"


def test_a_recording_made_here_has_every_call_by_its_name(recorded_here: Path) -> None:
    loaded = load_trace(recorded_here, cache=False)
    check_calls(loaded)
    user = user_calls(loaded.analysis, loaded.path)
    rows = functions(loaded.analysis, loaded.trace.source.symbol, user)
    assert {row.name: row.calls for row in rows} == CALLS


_FIELD = re.compile(r'(\w+) = (-?\d+|0x[0-9A-F]+|"(?:[^"\\]|\\.)*")(?=[ ,])')
_LINE = re.compile(
    r"\[(?P<time>\d+)\] (?:\S+ )?(?P<name>\S+): \{ cpu_id = (?P<cpu>\d+) \}, (?P<fields>.*)"
)


def test_every_event_is_what_babeltrace2_prints(recorded_here: Path) -> None:
    """Both processes together, numbers and texts of each event."""
    skips.need("babeltrace2")
    command = ["babeltrace2", "--clock-cycles", "--no-delta", str(recorded_here)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    theirs: Counter[tuple[object, ...]] = Counter()
    for line in printed.splitlines():
        match = _LINE.fullmatch(line)
        assert match, line
        # Elements of arrays have no names; labels of enumerations stand around their values.
        fields = _FIELD.findall(match["fields"] + " ")
        values = tuple(
            sorted(_value(text) for name, text in fields if name not in ("container", "half"))
        )
        theirs[(int(match["time"]), match["name"], int(match["cpu"]), values)] += 1
    loaded = load_trace(recorded_here, cache=False)
    ours: Counter[tuple[object, ...]] = Counter()
    for name in loaded.analysis.event_names:
        table = loaded.analysis.events(name)
        assert table is not None
        for row in table.to_pylist():
            time, cpu = row.pop("time"), row.pop("cpu")
            row.pop("parity", None)
            row.pop("half", None)
            plain = (value for value in row.values() if isinstance(value, int | str))
            values = tuple(sorted(map(str, plain)))
            ours[(time, name, cpu, values)] += 1
    assert sum(theirs.values()) > 200
    assert ours == theirs
    readings = loaded.analysis.events("meter:reading")
    assert readings is not None
    assert sorted(readings.column("half").to_pylist()) == [
        0,
        0,
        0,
        0,
        0.5,
        0.5,
        0.5,
        0.5,
        1,
        1,
        1,
        1,
    ]
    assert readings.column("volts").to_pylist()[0] == [0x3FC00000, 0x40200000]


def _value(text: str) -> str:
    if text.startswith('"'):
        return text[1:-1].replace('\\"', '"').replace("\\n", "\n")
    return str(int(text, 16) if text.startswith("0x") else int(text))


def test_a_session_of_the_kernel_and_of_user_space_is_one_trace(tmp_path: Path) -> None:
    """Both domains of one real session: every event as babeltrace2 prints it, by the one clock.

    babeltrace2 orders by dates, and each trace says of its own when the clock began: by them, the
    order is another one where the two differ.
    """
    skips.need("babeltrace2")
    trace = recorded_directory("cat-kernel-ust", tmp_path)
    command = ["babeltrace2", "--clock-cycles", "--no-delta", str(trace)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    matches = [_LINE.fullmatch(line) for line in printed.splitlines()]
    theirs = sorted((int(m["time"]), m["name"]) for m in matches if m)
    assert len(theirs) == len(matches) == 6135
    loaded = load_trace(trace, cache=False)
    names = loaded.trace.outline["events"]
    index = loaded.trace.index
    times, events = index["time"].to_pylist(), index["event"].to_pylist()
    assert times == sorted(times)
    assert sorted((time, names[event]) for time, event in zip(times, events, strict=True)) == theirs
    # The programs' events do not tell their threads: the kernel's say who ran.
    calls = EventFilter(events=(f"{PROVIDER}:*",))
    listed = list(EventReader(trace).events(calls))
    assert {(event.task, event.cpu) for event in listed} == {("cat", 7)}


def test_threads_have_the_names_that_their_events_tell(tmp_path: Path) -> None:
    trace = recorded_directory("ust-meter", tmp_path)
    listed = list(EventReader(trace).events(EventFilter()))
    assert {event.task for event in listed} == {"meter", "meter-ust"}
    told = {text.partition('procname="')[2].partition('"')[0] for text in (e.text for e in listed)}
    assert told == {"meter", "meter-ust"}
    daemons = list(EventReader(trace).events(EventFilter(processes=("meter-*",))))
    assert daemons == [event for event in listed if event.task == "meter-ust"]


KERNEL = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := text;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; };
env { domain = "kernel"; tracer_name = "lttng-modules"; tracer_major = 2; tracer_minor = 13; };
CLOCK
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp;
stream {
	packet.context := struct { u64 content_size; u64 packet_size; u32 cpu_id; };
	event.header := struct { stamp timestamp; };
};
event {
	name = "sched_switch"; id = 0;
	fields := struct {
		text _prev_comm[16]; s32 _prev_tid; s32 _prev_prio; u64 _prev_state;
		text _next_comm[16]; s32 _next_tid; s32 _next_prio;
	};
};
"""


def test_functions_stand_below_their_threads_in_a_session_with_the_kernels_trace(
    tmp_path: Path,
) -> None:
    """What programs told is real, what the kernel told is made of it: one clock, one CPU, on which
    a thread runs from its first event to its last."""
    user = recorded_directory("ust-meter", tmp_path)
    metadata = next(user.rglob("metadata"))
    clock = re.search(rb"^clock \{.*?^\};", metadata.read_bytes(), re.MULTILINE | re.DOTALL)
    assert clock is not None
    alone = list(EventReader(user).events(EventFilter()))
    offset = int(re.findall(rb"offset = (\d+)", clock[0])[0])
    spans: dict[int, tuple[int, int]] = {}
    for event in alone:
        assert event.tid is not None
        spans[event.tid] = (spans.get(event.tid, (event.time, 0))[0], event.time)
    switches = sorted(
        (time - shift, *pair)
        for tid, (first, last) in spans.items()
        for time, shift, pair in ((first, 1, (0, tid)), (last, -1, (tid, 0)))
    )
    events = b"".join(
        struct.pack("<Q16siiQ16sii", time, *side(old), 20, 1, *side(new), 20)
        for time, old, new in switches
    )
    size = 8 * (24 + len(events))
    kernel = user / "kernel"
    kernel.mkdir()
    (kernel / "metadata").write_text(KERNEL.replace("CLOCK", clock[0].decode()))
    (kernel / "channel0_0").write_bytes(struct.pack("<IQQI", 0xC1FC1FC1, size, size, 0) + events)
    loaded = load_trace(user, cache=False)
    assert offset > 0 and "sched_switch" in loaded.analysis.event_names
    threads = {actor.tid: actor.name for actor in loaded.analysis.actors if actor.kind == "task"}
    calling = calling_threads(loaded, TraceQuery({}), KeptCalls())
    assert {one.thread for one in calling.threads} <= threads.keys() == spans.keys()
    listed = list(EventReader(user).events(EventFilter()))
    assert [event.time for event in listed] == sorted(event.time for event in listed)
    assert {event.task for event in listed if event.event == "sched_switch"} <= {
        "<idle>", "kernel-name", "meter", "meter-ust",
    }  # fmt: skip
    assert sum(event.event != "sched_switch" for event in listed) == len(alone)


def side(tid: int) -> tuple[bytes, int]:
    return (b"swapper/0" if tid == 0 else b"kernel-name", tid)


# Of the tests of GNU libiberty and of the RFC of Rust's names (2603), with what they stand for.
SOURCE_NAMES = {
    "_ZN5boost3fooEi": "boost::foo(int)",
    "_ZSt5state": "std::state",
    "_ZN1fIiE1gEv": "f<int>::g()",
    "_ZNK3Bar3bazERKSt6vectorIiSaIiEE": (
        "Bar::baz(std::vector<int, std::allocator<int> > const&) const"
    ),
    "_Z3fooi.part.0": "foo(int) [clone .part.0]",
    "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE": "core::fmt::Formatter::pad",
    "_RNvCskwGfYPst2Cb_3foo16example_function": "foo::example_function",
    "main": "main",
    "sys_read": "sys_read",
    "_Z": "_Z",
    "_ZN": "_ZN",
    "_R": "_R",
    "": "",
    "grüße": "grüße",
}


@pytest.mark.parametrize(("symbol", "name"), SOURCE_NAMES.items())
def test_functions_have_the_names_of_their_sources(symbol: str, name: str) -> None:
    assert decoder().demangle(symbol) == name


def test_a_symbol_that_stands_for_an_endless_name_stays_as_it_is() -> None:
    """Each part repeats the ones before it twice."""
    parts = "".join(
        f"4pairIS{'' if n == 0 else '0123456789ABCDEFGHIJ'[n - 1]}_S_E" for n in range(20)
    )
    for symbol in (f"_Z1fI1a{parts}Ev", f"_Z{'N' * 3000}", f"_Z1f{'P' * 4000}i", "_ZN" + "9" * 200):
        made = decoder().demangle(symbol)
        assert made == symbol or len(made) < 2 * len(symbol)


def test_names_of_this_machines_libraries_are_those_of_its_tools() -> None:
    skips.need("nm", "c++filt", "gcc")
    printed = ["gcc", "-print-file-name=libstdc++.so.6"]
    library = Path(
        subprocess.run(printed, capture_output=True, text=True, check=True).stdout.strip()
    )
    command = ["nm", "-D", "--defined-only", "--format=just-symbols", str(library)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    # Not those with short names of std::string and its like, which c++filt writes out, nor tables.
    names = {name.partition("@")[0] for name in printed if name.startswith("_Z")}
    symbols = sorted(name for name in names if not re.search(r"S[absiod]|^_ZT", name))
    filtered = subprocess.run(
        ["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True
    )
    theirs = filtered.stdout.splitlines()
    ours = [_spelt_alike(decoder().demangle(symbol)) for symbol in symbols]
    differing = [
        pair for pair in zip(ours, map(_spelt_alike, theirs), strict=True) if pair[0] != pair[1]
    ]
    # cpp_demangle puts the & of a nested type at its wrong end, and forgets a repeated parameter.
    assert len(symbols) > 500 and len(differing) <= len(symbols) / 200, differing[:9]


def _spelt_alike(name: str) -> str:
    """Numbers of templates without their types, which are written in two ways."""
    name = re.sub(r"\((?:unsigned )?(?:int|long|char)\)(?=\d)", "", name)
    name = re.sub(r"(?<=[<, ])(\d+)u?l?(?=[,>])", r"\1", name)
    return name.replace("decltype(nullptr)", "std::nullptr_t")
