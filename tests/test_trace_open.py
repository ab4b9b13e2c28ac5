"""Opening real traces: counts of an independent decoder, the cache, and what may happen to it."""

from __future__ import annotations

import json
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from trace_data import expected, trace

from benchvise.errors import TraceError, UsageError
from benchvise.trace import cache, native
from benchvise.trace.analysis.stats import stats, usage_of
from benchvise.trace.catalogue.info import summarise
from benchvise.trace.loaded import load_trace
from benchvise.trace.opening import OpenTrace, open_on_demand, open_trace

TRACES = (
    "f100k",
    "f100k-v6",
    "f100k-zstd",
    "f1m",
    "many-threads",
    "lttng-tracefile-rotation",
    "ros2",
    "dpdk_service_cores",
    "vm-small",
    "vm-big",
)
NANOSECONDS = 1_000_000_000


@pytest.fixture(autouse=True)
def own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A trace in a directory of the test's own."""
    path = tmp_path / "here" / "trace.dat"
    path.parent.mkdir()
    shutil.copy(trace("f100k"), path)
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Likewise, of a few thousand events."""
    path = tmp_path / "here" / "trace.dat"
    path.parent.mkdir()
    shutil.copy(Path(__file__).parent / "data" / "traces" / "small.dat", path)
    return path


def stamp(text: str) -> int:
    whole, _, rest = text.partition(".")
    return int(whole) * NANOSECONDS + int(rest.ljust(9, "0"))


@pytest.mark.parametrize("name", TRACES)
def test_counts_are_those_of_an_independent_decoder(name: str) -> None:
    path = trace(name)
    said = expected("f100k" if name.startswith("f100k") else name)
    summary = summarise(path, use_cache=False)
    assert summary.events == said["events"]
    assert {kind.name: kind.count for kind in summary.types} == said["counts"]
    if name != "dpdk_service_cores":  # the other decoder does not know this trace's CPUs
        assert {s.cpu: s.events for s in summary.streams} == {
            int(cpu): count for cpu, count in said["per_cpu"].items()
        }
    offset = summary.clock["epoch_offset_ns"] or 0
    assert summary.first is not None and summary.last is not None
    times = (summary.first + offset, summary.last + offset)
    assert times == (stamp(said["first_s"]), stamp(said["last_s"]))
    assert summary.damage == []


def same(a: OpenTrace, b: OpenTrace) -> bool:
    return (
        pa.table(a.index).equals(pa.table(b.index))
        and set(a.tables) == set(b.tables)
        and all(pa.table(a.tables[name]).equals(pa.table(b.tables[name])) for name in a.tables)
        and (a.losses, a.damage, a.events, a.span) == (b.losses, b.damage, b.events, b.span)
        and a.description == b.description
    )


def test_what_is_kept_is_what_was_decoded(copied: Path) -> None:
    plain = open_trace(copied, use_cache=False)
    assert not copied.with_name("trace.dat.benchvise-cache").exists()
    first = open_trace(copied)
    again = open_trace(copied)
    assert (first.keeping.reused, again.keeping.reused) == (False, True)
    assert again.keeping.directory == copied.with_name("trace.dat.benchvise-cache")
    assert same(plain, first) and same(plain, again)
    assert again.tables["sched_switch"].column("next_pid").to_pylist() == (
        plain.tables["sched_switch"].column("next_pid").to_pylist()
    )
    once = {name: table.num_rows for name, table in first.analysis.items()}
    assert once["instances"] > 0
    assert {name: table.num_rows for name, table in open_trace(copied).analysis.items()} == once


@pytest.mark.parametrize("name", ["f100k", "many-threads", "vm-small"])
def test_what_is_kept_is_analysed_like_what_was_decoded(name: str, tmp_path: Path) -> None:
    """Of what is kept only those columns go to the analyses that these read."""
    path = tmp_path / "t.dat"
    given = trace(name)
    (shutil.copytree if given.is_dir() else shutil.copy)(given, path)
    plain = open_trace(path, use_cache=False).analysis
    demanded = open_on_demand(path, use_cache=False)
    assert all(pa.table(demanded.analysis[table]).equals(pa.table(plain[table])) for table in plain)
    open_trace(path)
    again = open_trace(path)
    assert again.keeping.reused
    assert all(pa.table(again.analysis[table]).equals(pa.table(plain[table])) for table in plain)
    assert {part.name for part in again.keeping.directory.iterdir()} == {  # type: ignore[union-attr]
        "decoded",
        "scheduling",
        "syscalls",
        "devices",
        "usage",
    }
    # What adds up is a few rows of its own.
    loaded = load_trace(path)
    by_sums = usage_of(loaded.analysis)
    assert loaded.analysis.usage() is not None
    chosen = loaded.choose((), idle=True)
    answer, cautions = stats(loaded.analysis, chosen, by_sums), loaded.cautions
    by_tables = replace(loaded, analysis=replace(loaded.analysis, usage=lambda: None))
    assert answer.actors and answer == stats(by_tables.analysis, chosen)
    assert by_tables.cautions == cautions


@pytest.mark.parametrize("analysed", [False, True])
def test_what_is_decoded_on_demand_is_the_same_and_not_kept(copied: Path, analysed: bool) -> None:
    """In a process of its own that is all that most commands do."""
    demanded, plain = open_on_demand(copied, analysed=analysed), open_trace(copied, use_cache=False)
    assert (demanded.counts, demanded.events, demanded.span) == (
        *(plain.counts, plain.events, plain.span),
    )
    assert pa.table(demanded.index).equals(pa.table(plain.index)) and list(demanded.tables) == list(
        plain.tables
    )
    some = ["sched_switch", "softirq_entry", "sched_process_fork", "xdp_exception"]
    assert all(
        pa.table(demanded.tables[name]).equals(pa.table(plain.tables[name])) for name in some
    )
    assert not copied.with_name("trace.dat.benchvise-cache").exists()
    open_trace(copied)
    again = open_on_demand(copied)
    assert again.keeping.reused and again.analysis["instances"].num_rows
    parts = copied.with_name("trace.dat.benchvise-cache").iterdir()
    assert [path.name for path in parts] == ["decoded"]


def test_nothing_is_written_before_it_is_to_be(copied: Path) -> None:
    opened = open_trace(copied, keep_later=True)
    once = {name: table.num_rows for name, table in opened.analysis.items()}
    cache_directory = copied.with_name("trace.dat.benchvise-cache")
    assert not cache_directory.exists()
    assert opened.keep()
    assert {name: table.num_rows for name, table in open_trace(copied).analysis.items()} == once
    assert {part.name for part in cache_directory.iterdir()} >= {"decoded", "scheduling"}


def test_what_is_kept_is_mapped_not_read(copied: Path) -> None:
    open_trace(copied)
    again = open_trace(copied)
    assert again.index.nbytes > 500_000
    files = [line for line in Path("/proc/self/smaps").read_text().splitlines() if "/" in line]
    mapped = [int(line.split("-")[0], 16) for line in files if "benchvise-cache" in line]
    ends = [int(line.split()[0].split("-")[1], 16) for line in files if "benchvise-cache" in line]
    at = again.index.column("time").integers().__array_interface__["data"][0]
    assert any(begin <= at < end for begin, end in zip(mapped, ends, strict=True))


def test_a_trace_that_was_touched_is_not_decoded_again_but_one_that_changed_is(
    copied: Path,
) -> None:
    open_trace(copied)
    os.utime(copied)
    assert open_trace(copied).keeping.reused
    content = bytearray(copied.read_bytes())
    content[-1] ^= 1
    copied.write_bytes(content)
    assert not open_trace(copied).keeping.reused


@pytest.mark.parametrize("what", ["cut", "written over", "removed", "manifest", "seal", "schema"])
def test_a_damaged_cache_is_made_anew(small: Path, what: str) -> None:
    plain = open_trace(small, use_cache=False)
    open_trace(small)
    part = small.with_name("trace.dat.benchvise-cache") / "decoded"
    largest = max(part.glob("*.arrow"), key=lambda path: path.stat().st_size)
    manifest = part / "manifest"
    match what:
        case "cut":
            os.truncate(largest, largest.stat().st_size // 2)
        case "written over":
            with largest.open("r+b") as file:
                file.write(bytes(4096))
        case "removed":
            largest.unlink()
        case "manifest":
            os.truncate(manifest, 100)
        case "seal":  # as in a cache that somebody else made
            (Path(os.environ["XDG_STATE_HOME"]) / "benchvise" / "trace-cache.key").unlink()
        case "schema":
            seal, _, body = manifest.read_bytes().partition(b"\n")
            manifest.write_bytes(seal + b"\n" + body.replace(b'"events"', b'"evants"'))
    again = open_trace(small)
    assert not again.keeping.reused
    assert same(plain, again)
    assert open_trace(small).keeping.reused


def test_another_decoder_does_not_take_it(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_trace(copied)
    monkeypatch.setattr(native, "VERSION", "another")
    assert not open_trace(copied).keeping.reused


def test_a_read_only_directory_is_kept_elsewhere(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = copied.with_name("trace.dat.benchvise-cache")
    beside.write_text("")  # root may write everywhere, but not below a file
    assert open_trace(copied).keeping.directory is not None
    again = open_trace(copied)
    assert again.keeping.reused and again.keeping.directory is not None
    assert again.keeping.directory.parent == tmp_path / "cache" / "benchvise" / "traces"
    (tmp_path / "cache").rename(tmp_path / "gone")
    (tmp_path / "cache").write_text("")
    without = open_trace(copied)
    assert not without.keeping.reused and "nothing is kept" in without.remarks[0]


def test_a_full_disk_is_said_and_does_no_harm(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(copied)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    opened = open_trace(copied)
    assert "MB are needed, 0 MB are free" in opened.remarks[0]
    assert opened.events == expected("f100k")["events"]
    assert not list(copied.parent.rglob("*.arrow"))


def test_a_trace_that_grows_is_noticed_and_not_kept(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = native.open

    def grows(path: str) -> native.Trace:
        opened = real(path)
        with copied.open("ab") as file:
            file.write(bytes(4096))
        os.utime(copied, ns=(1, 1))
        return opened

    monkeypatch.setattr(native, "open", grows)
    from benchvise.trace import opening

    taken = iter([[("", 1, 1, 1)], [("", 2, 1, 1)]])
    monkeypatch.setattr(opening, "signature_now", lambda path: next(taken))
    opened = open_trace(copied)
    assert opened.remarks == ["the trace is being written to: this is what it held when opened"]
    assert not copied.with_name("trace.dat.benchvise-cache").exists()


def test_two_programs_at_once_both_succeed(copied: Path) -> None:
    results: list[OpenTrace] = []
    threads = [
        threading.Thread(target=lambda: results.append(open_trace(copied))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(same(results[0], other) for other in results)
    assert open_trace(copied).keeping.reused
    left = copied.with_name("trace.dat.benchvise-cache").iterdir()
    assert [path.name for path in left] == ["decoded"]


def test_counting_keeps_nothing(copied: Path) -> None:
    assert summarise(copied).cached is None
    assert not copied.with_name("trace.dat.benchvise-cache").exists()
    open_trace(copied)
    counted = summarise(copied)
    assert counted.cached is not None and counted.cached > 1_000_000
    assert counted.types == summarise(copied, use_cache=False).types


def test_what_is_no_trace_is_named(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("no trace")
    with pytest.raises(UsageError, match=r"note\.txt is not a trace"):
        open_trace(tmp_path / "note.txt")
    with pytest.raises(UsageError, match=r"none\.dat"):
        open_trace(tmp_path / "none.dat")


def test_a_head_that_is_cut_is_an_error_of_the_trace(copied: Path) -> None:
    os.truncate(copied, 5000)
    with pytest.raises(TraceError, match=r"trace\.dat is damaged at byte"):
        open_trace(copied)


# -- the extension module --------------------------------------------------------------------------


def test_chosen_events_and_fields_only() -> None:
    opened = native.open(str(trace("f100k")))
    decoded = opened.decode({"sched_switch": ["next_pid"], "none": None}, index=False)
    assert decoded.index is None
    assert list(decoded.counts) == ["sched_switch"]
    assert decoded.table("sched_switch").column_names == ["time", "cpu", "next_pid"]
    assert decoded.events == expected("f100k")["events"]
    described = json.loads(opened.info())
    assert described["format"] == "trace.dat 7"


def test_streaming_gives_the_same_rows() -> None:
    opened = native.open(str(trace("f100k")))
    batches: dict[str, list[native.Table]] = {}
    streamed = opened.stream(
        None, 100_000, lambda name, batch: batches.setdefault(name, []).append(batch)
    )
    decoded = opened.decode(index=False)
    assert streamed.events == decoded.events
    for name, parts in batches.items():
        together = pa.concat_tables(map(pa.table, parts)).combine_chunks()
        assert together.equals(pa.table(decoded.table(name)).combine_chunks())


def test_an_exception_of_the_receiver_comes_through() -> None:
    def refuse(name: str, batch: native.Table) -> None:
        raise ZeroDivisionError(name)

    with pytest.raises(ZeroDivisionError):
        native.open(str(trace("f100k"))).stream(None, 1 << 20, refuse)


def test_other_threads_go_on_while_it_decodes() -> None:
    opened = native.open(str(trace("f1m")))
    steps, stop = 0, threading.Event()

    def count() -> None:
        nonlocal steps
        while not stop.is_set():
            steps += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = steps
    opened.decode()
    during = steps - before
    stop.set()
    thread.join()
    assert during > 0


def test_every_kind_of_error_is_one_exception() -> None:
    kinds = {
        native.Unreadable,
        native.NotATrace,
        native.Unsupported,
        native.Damaged,
        native.UnknownName,
        native.TooMuch,
    }
    assert set(native.TraceError.__subclasses__()) == kinds


def test_a_cache_does_not_name_its_trace_by_a_link(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "link.dat").symlink_to(copied)
    open_trace(copied)
    assert open_trace(tmp_path / "link.dat").keeping.reused
    assert cache.load(copied, "decoded") is not None
