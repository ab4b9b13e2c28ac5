"""Whole files of each format: what is damaged afterwards."""

from __future__ import annotations

import gzip
import json
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchvise.signal.capture import Capture, SignalLine, clock_of_rate
from benchvise.signal.readers.sigrok import write_session

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "tests/data/traces/small.dat"


def traces() -> Mapping[str, bytes]:
    """By name: a trace.dat, and a perf.data with tracepoints, and one with stacks from a pipe."""
    return {
        "trace.dat": TRACE.read_bytes(),
        "perf.data": _perf_data(),
        "stacks.data": _piped_stacks(),
    }


def ctf() -> Mapping[str, bytes]:
    """The files of a directory with a CTF trace, by name."""
    with tempfile.TemporaryDirectory() as place:
        program = str(ROOT / "tests/story_traces.py")
        subprocess.run([sys.executable, program, place, "0.5"], check=True)
        return {file.name: file.read_bytes() for file in Path(place, "before").iterdir()}


def captures() -> Mapping[str, bytes]:
    """By name: a sigrok session, a value change dump, a table, a list of response times."""
    times = np.cumsum(np.tile([100, 37, 800, 63], 60))
    lines = (SignalLine("A", False, times), SignalLine("B", True, times + 9))
    length = int(times[-1]) + 100
    with tempfile.TemporaryDirectory() as place:
        session = Path(place, "whole.sr")
        write_session(Capture(session, "made", clock_of_rate(1_000_000), length, lines), session)
        of_sigrok = session.read_bytes()
    changes = "".join(f"#{at}\n{number % 2}!\n" for number, at in enumerate(times))
    rows = "".join(f"{at / 1e6:.6f},{n % 2},{n % 3 % 2}\n" for n, at in enumerate(times))
    return {
        "session.sr": of_sigrok,
        "dump.vcd": (
            "$timescale 1 us $end\n$scope module top $end\n$var wire 1 ! A $end\n$upscope $end\n"
            f"$enddefinitions $end\n{changes}"
        ).encode(),
        "table.csv": f"Time [s],A,B\n{rows}".encode(),
        "list.out": "".join(f"{n}\t{9e-6 + n * 1e-9}\n" for n in range(50)).encode(),
    }


def others() -> Mapping[str, bytes]:
    """By name, what only commands read: a store, a snapshot, a rig file, a suite, answers of the
    probe."""
    return {
        "store.db": _store(),
        "snapshot.json": snapshot(),
        "rig.yaml": (ROOT / "examples/rigs/six-boards.yaml").read_bytes(),
        "suite.toml": (ROOT / "suites/quick.toml").read_bytes(),
        "answers.jsonl": _answers(),
    }


def snapshot() -> bytes:
    """A snapshot that is whole."""
    kept = ROOT / "tests/data/snapshots/arm64-debian12.json.gz"
    return gzip.decompress(kept.read_bytes())


def _store() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        with sqlite3.connect(Path(place, "store.db")) as connection:
            connection.executescript(
                (ROOT / "tests/data/store-of-six-migrations.sql").read_text(encoding="utf-8")
            )
        connection.close()
        return Path(place, "store.db").read_bytes()


def _answers() -> bytes:
    """What the probe says to one request."""
    messages: list[dict[str, object]] = [
        {"type": "ready", "protocol": 1, "probe": "made", "arch": "none"},
        {"type": "begin", "benchmark": "os.syscall", "params": {"call": "read"}, "caveats": []},
        *({"type": "sample", "index": n, "value": 12.5 + n, "flags": []} for n in range(20)),
        {"type": "done", "request": 1, "exit": 0},
    ]
    return "".join(json.dumps(message) + "\n" for message in messages).encode()


# -- perf.data -------------------------------------------------------------------------------------

_PAGE = """\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
"""
_TICK = """name: tick
ID: 100
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u32 number;\toffset:8;\tsize:4;\tsigned:0;

print fmt: "%u", REC->number
"""
_FORM = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 16
"""A sample has: ip, tid, time, cpu, period, raw data, identifier."""
_HEAD, _ATTRIBUTE = 104, 112
_SAMPLES = 200


def _perf_data() -> bytes:
    """Ticks of two CPUs, as ``perf record`` has them."""
    records = b"".join(map(_sample, range(_SAMPLES)))
    attributes = _HEAD + 8  # after the one id
    data = attributes + _ATTRIBUTE + 16
    sections = struct.pack(
        "<8sQQQQQQQQ", b"PERFILE2", _HEAD, _ATTRIBUTE + 16, attributes, _ATTRIBUTE + 16, data,
        len(records), 0, 0,
    )  # fmt: skip
    features = struct.pack("<QQQQ", 1 << 1, 0, 0, 0)
    attribute = struct.pack("<IIQQQQQ", 2, _ATTRIBUTE, 100, 1, _FORM, 0, 1 << 18)
    ids = struct.pack("<QQ", _HEAD, 8)
    tracing = _tracing_data()
    place = struct.pack("<QQ", data + len(records) + 16, len(tracing))
    head = sections + features + struct.pack("<Q", 100)
    return head + attribute.ljust(_ATTRIBUTE, b"\0") + ids + records + place + tracing


def _sample(number: int) -> bytes:
    raw = struct.pack("<HBBiI", 100, 0, 0, 1, number)
    body = struct.pack("<QQIIQIIQI", 100, 0xDEAD, 1, 1, 50 + number, number % 2, 0, 1, len(raw))
    return struct.pack("<IHH", 9, 0, 8 + len(body + raw)) + body + raw


def _tracing_data() -> bytes:
    tick, page = _TICK.encode(), _PAGE.encode()
    return b"".join(
        (
            b"\x17\x08\x44tracing0.6\0\0\x08",
            struct.pack("<I", 4096),
            b"header_page\0" + struct.pack("<Q", len(page)) + page,
            b"header_event\0" + struct.pack("<Q", 0),
            struct.pack("<I", 0),
            struct.pack("<I", 1) + b"made\0" + struct.pack("<I", 1),
            struct.pack("<Q", len(tick)) + tick,
            struct.pack("<I", 0),
        )
    )


_STACK_FORM = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 8
"""A sample has: ip, tid, time, call chain, period."""


def _piped_stacks() -> bytes:
    """Samples of cpu-clock with their stacks, as ``perf record -g -o -`` writes them."""

    def record(kind: int, flags: int, body: bytes) -> bytes:
        return struct.pack("<IHH", kind, flags, 8 + len(body)) + body

    def trailer(time: int) -> bytes:
        return struct.pack("<IIQ", 7, 7, time)

    attribute = struct.pack("<IIQQQQQ", 1, _ATTRIBUTE, 0, 1000, _STACK_FORM, 0, 1 << 18)
    place = struct.pack("<IIQQQQQQII", 7, 7, 0x400000, 0x2000, 0, 0, 0, 0, 5, 2)
    records = [
        record(64, 0, attribute.ljust(_ATTRIBUTE, b"\0") + struct.pack("<Q", 1)),
        record(80, 0, struct.pack("<QI", 3, 8) + b"board\0\0\0"),
        record(3, 1 << 13, struct.pack("<II", 7, 7) + b"app\0\0\0\0\0" + trailer(5)),
        record(10, 2, place + b"/bin/app".ljust(16, b"\0") + trailer(6)),
        record(7, 0, struct.pack("<IIIIQ", 8, 7, 8, 7, 40) + trailer(40)),
    ]
    kernel, user = (1 << 64) - 128, (1 << 64) - 512
    for number in range(_SAMPLES):
        chain = [user, 0x400100 + number % 5, 0x400800]
        if number % 3 == 0:
            chain = [kernel, 0xFFFF_FFFF_8100_0000 + number, *chain]
        body = struct.pack("<QIIQQQ", chain[1], 7, 7 + number % 2, 50 + number, 1000, len(chain))
        records.append(record(9, 1, body + struct.pack(f"<{len(chain)}Q", *chain)))
    return b"PERFILE2" + struct.pack("<Q", 16) + b"".join(records)
