"""Instrumented functions of programs: pairs of entry and exit, and where names come from."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import skips
from arrow_tables import arrow_table

from benchvise.trace import native
from benchvise.trace.analysis.functions import functions
from benchvise.trace.analysis.loaded_modules import AddressNames
from benchvise.trace.analysis.model import Analysis, Ints, Loss, TraceSpan
from benchvise.trace.analysis.user_functions import user_calls
from benchvise.trace.symbol_files import ModuleFile, SymbolFiles


def _libc() -> Path | None:
    """The C library of this process, where it is one with a name of its own."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return next((Path(line.split()[-1]) for line in lines if "/libc.so" in line), None)


LIBC = _libc()
END = 10_000


def told(rows: list[tuple[int, int, int]], *, thread: str = "vtid") -> native.Table:
    """Entries or exits as time, thread, address."""
    times, threads, addresses = zip(*rows, strict=True)
    return arrow_table(
        {
            "time": pa.array(times, pa.int64()),
            "cpu": pa.array([0] * len(rows), pa.uint16()),
            thread: pa.array(threads, pa.int32()),
            "addr": pa.array(addresses, pa.uint64()),
        }
    )


def without(table: native.Table, *names: str) -> native.Table:
    return table.select([name for name in table.column_names if name not in names])


def traced(tables: dict[str, native.Table], *losses: Loss) -> Analysis:
    analysis = Analysis({}, TraceSpan(0, END), losses, tables.get, tuple(tables))
    object.__setattr__(analysis, "actors", ())
    return analysis


def cyg(entries: native.Table, exits: native.Table, *losses: Loss, fast: bool = False) -> Analysis:
    provider = "lttng_ust_cyg_profile" + ("_fast" if fast else "")
    if fast:
        exits = without(exits, "addr")
    return traced({f"{provider}:func_entry": entries, f"{provider}:func_exit": exits}, *losses)


def calls(analysis: Analysis) -> list[tuple[int, int, int, bool]]:
    """Address, begin, end and whether it is whole, of each call."""
    user = user_calls(analysis, Path("/nowhere/trace"))
    assert user is not None and user.table is not None
    table = user.table
    rows = zip(table.function, table.begin, table.end, table.complete, strict=True)
    return [(int(table.names[f], 16), int(b), int(e), bool(c)) for f, b, e, c in rows]


A, B, C = 0xA0, 0xB0, 0xFFFF_FFFF_8000_00C0


def test_what_was_called_before_the_trace_and_what_goes_on_behind_it() -> None:
    # A was called before: its exit pairs with nothing, and what is called then is less deep.
    entries = told([(10, 7, B), (40, 7, C), (50, 8, A)])
    exits = told([(20, 7, B), (30, 7, A)])
    assert calls(cyg(entries, exits)) == [
        (B, 10, 20, True),
        (C, 40, END, False),
        (A, 50, END, False),
    ]


def test_nothing_is_paired_across_a_loss() -> None:
    # In the loss B ended and was called again; the fast variant's exits do not say so.
    entries = told([(10, 7, A), (20, 7, B), (60, 7, C)])
    exits = told([(65, 7, C), (70, 7, B), (80, 7, A)])
    loss = Loss(None, 30, 50, 4)
    for fast in (False, True):
        whole = [call for call in calls(cyg(entries, exits, loss, fast=fast)) if call[3]]
        assert whole == [(C, 60, 65, True)]


def test_exits_of_functions_that_longjmp_left() -> None:
    entries = told([(10, 7, A), (20, 7, B), (30, 7, C), (50, 7, C)])
    exits = told([(55, 7, C), (60, 7, A)])
    # Of which call of C the exit is, is the latest; what has no exit had ended with A.
    assert calls(cyg(entries, exits)) == [
        (A, 10, 60, False),
        (B, 20, 60, False),
        (C, 30, 60, False),
        (C, 50, 55, True),
    ]


def test_without_threads_there_are_counts_only() -> None:
    entries = told([(10, 7, A), (20, 7, B), (30, 7, B)], thread="other")
    exits = told([(40, 7, B)], thread="other")
    analysis = cyg(entries, exits)
    user = user_calls(analysis, Path("/nowhere/trace"))
    rows = functions(analysis, lambda _: None, user)
    assert [(row.name, row.calls, row.total) for row in rows] == [
        (f"0x{B:x}", 2, None),
        (f"0x{A:x}", 1, None),
    ]


def loaded_at(rows: Iterable[tuple[int, int, int, int, str]]) -> native.Table:
    """Modules as time, process, base, size, path."""
    times, processes, bases, sizes, paths = zip(*rows, strict=True)
    return arrow_table(
        {
            "time": pa.array(times, pa.int64()),
            "cpu": pa.array([0] * len(times), pa.uint16()),
            "vpid": pa.array(processes, pa.int32()),
            "baddr": pa.array(bases, pa.uint64()),
            "memsz": pa.array(sizes, pa.uint64()),
            "path": pa.array(paths),
        }
    )


def named(analysis: Analysis, rows: list[tuple[int, int, int]]) -> list[str]:
    """The names of addresses, given as process, address, time."""

    def column(at: int, kind: pa.DataType) -> Ints:
        return arrow_table({"it": pa.array([row[at] for row in rows], kind)})["it"].integers()

    columns = column(0, pa.int32()), column(1, pa.uint64()), column(2, pa.int64())
    codes, names = AddressNames(analysis, Path("/nowhere/trace")).coded(*columns)
    return [names[code] for code in codes]


def test_modules_come_and_go() -> None:
    high = 0xFFFF_8000_0000_0000
    dumped = loaded_at(
        [
            (100, 1, 0x1000, 0x100, "/bin/app"),
            (101, 2, 0x1000, 0x100, "/bin/other"),
            # Process 1 executes another program.
            (501, 1, 0x4000, 0x100, "/bin/next"),
            (502, 1, high, 0x100, "/lib/high.so"),
        ]
    )
    opened = loaded_at([(200, 2, 0x8000, 0x100, "/lib/a.so"), (400, 2, 0x8000, 0x200, "/lib/b.so")])
    closed = without(loaded_at([(300, 2, 0x8000, 0, "")]), "memsz", "path")
    starts = loaded_at([(99, 1, 0, 0, ""), (100, 2, 0, 0, ""), (500, 1, 0, 0, "")])
    analysis = traced(
        {
            "lttng_ust_statedump:start": without(starts, "baddr", "memsz", "path"),
            "lttng_ust_statedump:bin_info": dumped,
            "lttng_ust_dl:dlopen": opened,
            "lttng_ust_dl:dlclose": closed,
        }
    )
    # A program runs before its state dump ends.
    assert named(analysis, [(1, 0x1010, 50), (2, 0x1010, 50)]) == ["app+0x10", "other+0x10"]
    assert named(analysis, [(1, 0x1010, 600), (1, 0x4010, 600)]) == ["0x1010", "next+0x10"]
    assert named(analysis, [(1, high + 1, 600)]) == ["high.so+0x1"]
    assert named(analysis, [(2, 0x8010, 150)]) == ["0x8010"]
    assert named(analysis, [(2, 0x8010, 250)]) == ["a.so+0x10"]
    assert named(analysis, [(2, 0x8010, 450)]) == ["b.so+0x10"]
    # Which of the two it is called in cannot be said for both together.
    assert named(analysis, [(2, 0x8010, 250), (2, 0x8010, 450)]) == ["0x8010", "0x8010"]


@skips.needs("nm", "readelf")
def test_functions_of_a_library_are_those_that_nm_lists(tmp_path: Path) -> None:
    assert LIBC is not None
    notes = subprocess.run(
        ["readelf", "-nW", str(LIBC)], capture_output=True, text=True, check=True
    ).stdout
    build_id = bytes.fromhex(notes.split("Build ID: ")[1].split()[0])
    module = ModuleFile(str(LIBC), 0, build_id)
    found = SymbolFiles(tmp_path).functions(module)
    assert found is not None
    command = ["nm", "-D", "--defined-only", str(LIBC)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    begins: dict[int, set[str]] = {}
    for line in listed.splitlines():
        match re.split(r"\s+", line):
            case [address, kind, symbol] if kind in "TtWi":
                begins.setdefault(int(address, 16), set()).add(symbol.split("@")[0])
    assert len(begins) > 1000
    for begin, names in begins.items():
        name = found.name(begin)
        assert name is not None and name[1] == 0 and name[0] in names, (hex(begin), name)
        inside = found.name(begin + 1)
        assert inside is None or inside[1] == 1 or inside[0] not in names
    # What comes from a board, in a directory beside a session.
    (tmp_path / "symbols").mkdir()
    (tmp_path / "symbols" / "app").write_bytes(LIBC.read_bytes())
    trace = tmp_path / "session" / "ust" / "uid" / "0" / "64-bit"
    trace.mkdir(parents=True)
    assert SymbolFiles(trace).functions(ModuleFile("/opt/app", 0, build_id)) is not None


def test_files_that_a_trace_names_are_not_trusted(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    files = SymbolFiles(trace)
    fifo, other = tmp_path / "fifo", tmp_path / "program"
    os.mkfifo(fifo)
    other.write_bytes(b"\x7fELF" + bytes(60))
    for path in (fifo, other, tmp_path, Path("/dev/zero"), tmp_path / "none", Path("relative")):
        assert files.functions(ModuleFile(str(path), 4096, b"\1" * 20)) is None
    if LIBC is None:
        return
    # What is another build, or only a file of that name, is not taken for it.
    (trace / "symbols").mkdir()
    (trace / "symbols" / "app").write_bytes(LIBC.read_bytes())
    assert files.functions(ModuleFile("/opt/app", 4096, b"\1" * 20)) is None
    assert files.functions(ModuleFile("/opt/app", 4096, b"")) is None
    assert files.functions(ModuleFile(f"/opt/../{LIBC}", 4096, b"")) is None
    for length in range(0, 4096, 64):
        (trace / "symbols" / "cut").write_bytes(LIBC.read_bytes()[:length])
        assert SymbolFiles(trace).functions(ModuleFile("/x/cut", length, b"")) is None
