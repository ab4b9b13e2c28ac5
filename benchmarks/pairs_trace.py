"""Decoding traces beside the tools that read them: events a second, the same file, in turn.

Ours is the whole way to Arrow tables in this program: opening the file, then every field of every
event (*all*), or the fields by which scheduling and interrupts are analysed, with all such events
(*sched*); with the index of all events in time. The references' rate is the number of events by the
time of the whole process, as they print nothing else, so at the small end their start counts; the
traces are large enough for it not to matter. Pages are warm on both sides.

What Pairs cannot show, as nobody else has it, comes in a table of its own: CPU time beside wall
time, anonymous memory an event, the analyses, and opening again from the cache.
"""

from __future__ import annotations

import functools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.pairs import HERE, Pair

LEAST = (1.0, math.inf)
SYSTEM_PYTHON = "/usr/bin/python3"
"""python3-bt2 is a package of the distribution, for its own Python."""

# The fields that the analyses need, for ftrace and LTTng alike; what a trace does not have is
# passed over.
_FIELDS = {
    "sched_switch": "prev_comm prev_pid prev_tid prev_prio prev_state"
    " next_comm next_pid next_tid next_prio",
    "sched_wakeup": "comm pid tid prio target_cpu",
    "sched_waking": "comm pid tid prio target_cpu",
    "sched_wakeup_new": "comm pid tid prio target_cpu",
    "sched_migrate_task": "pid tid orig_cpu dest_cpu",
    "irq_handler_entry": "irq name",
    "irq_handler_exit": "irq ret",
    "softirq_raise": "vec",
    "softirq_entry": "vec",
    "softirq_exit": "vec",
    "irq_softirq_raise": "vec",
    "irq_softirq_entry": "vec",
    "irq_softirq_exit": "vec",
}
SCHED = {event: fields.split() for event, fields in _FIELDS.items()}

# Run in a process of its own, so that its peak is its own.
_PROGRAM = """
import json, resource, sys, threading, time
from pathlib import Path
import pyarrow
from benchvise.trace import native
path, chosen, what = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]

def anonymous():
    return int(Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0]) * 1024

def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime

before, peak, done = anonymous(), 0, threading.Event()

def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, anonymous())

thread = threading.Thread(target=watch)
if what == "memory":
    thread.start()
begin, used = time.monotonic(), cpu()
decoded = native.open(path).decode(chosen)
seconds, used = time.monotonic() - begin, cpu() - used
done.set()
columns = sum(decoded.table(name).nbytes for name in decoded.counts)
peak = max(peak, anonymous()) - before
print(json.dumps({
    "events": decoded.events, "rows": decoded.index.num_rows, "seconds": seconds, "cpu": used,
    "peak": peak, "columns": columns, "index": decoded.index.nbytes,
}))
"""


@functools.cache
def trace(name: str) -> Path | None:
    """Where a trace lies, unpacked if need be; None when it cannot be had."""
    program = HERE.parent / "tests" / "trace_data.py"
    said = subprocess.run(
        [sys.executable, program, name], capture_output=True, text=True, check=True
    ).stdout.strip()
    return Path(said) / _WHERE[name] if said else None


_WHERE = {"f10m": "f10m.dat", "vm-huge": "huge/kernel"}


def decoded(path: Path, chosen: dict[str, list[str]] | None, what: str = "time") -> dict[str, Any]:
    """What one run of ours took."""
    words = [sys.executable, "-c", _PROGRAM, str(path), json.dumps(chosen), what]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _ours(path: Path, chosen: dict[str, list[str]] | None) -> Callable[[], float]:
    def run() -> float:
        found = decoded(path, chosen)
        return float(found["events"] / found["seconds"])

    return run


# bash's own stopwatch: the reference tools print no time, and the pairs' reader sees standard
# output only.
_TIMED = "TIMEFORMAT='seconds %R cpu %U %S'; time {} > /dev/null 2> /dev/null"


def _pair(name: str, path: Path, chosen: dict[str, list[str]] | None, command: str) -> Pair:
    events = _events(path)

    def read(text: str) -> float:
        return events / float(text.split("seconds ")[1].split()[0])

    timed = ("bash", "-c", f"exec 2>&1; {_TIMED.format(command)}")
    return Pair(name, _ours(path, chosen), timed, read, 0.1, bounds=LEAST)


@functools.cache
def _events(path: Path) -> int:
    return int(decoded(path, {})["events"])


_BT2 = (
    "import bt2, sys; "
    "n = sum(1 for m in bt2.TraceCollectionMessageIterator(sys.argv[1]) "
    "if type(m) is bt2._EventMessageConst and m.event.name)"
)


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each tool or trace that cannot."""
    found: list[Pair] = []
    missing: list[str] = []
    dat, ctf = trace("f10m"), trace("vm-huge")
    if dat is None or ctf is None:
        return [], ["there is no ../shared/data/traces: decoding traces is left out"]
    if shutil.which("trace-cmd"):
        report = f"trace-cmd report {dat}"
        found += [
            _pair("trace.dat all : trace-cmd report", dat, None, report),
            _pair("trace.dat sched : trace-cmd report", dat, SCHED, report),
        ]
    else:
        missing.append("trace-cmd is not installed: its pairs are left out")
    if shutil.which("babeltrace2"):
        dummy = f"babeltrace2 {ctf} -c sink.utils.dummy"
        found += [
            _pair("CTF all : babeltrace2 dummy", ctf, None, dummy),
            _pair("CTF sched : babeltrace2 dummy", ctf, SCHED, dummy),
            _pair("CTF all : babeltrace2 text", ctf, None, f"babeltrace2 {ctf}"),
        ]
    else:
        missing.append("babeltrace2 is not installed: its pairs are left out")
    probed = subprocess.run([SYSTEM_PYTHON, "-c", "import bt2"], capture_output=True, check=False)
    if probed.returncode == 0:
        command = f"{SYSTEM_PYTHON} -c '{_BT2}' {ctf}"
        found.append(_pair("CTF all : Python bt2, names only", ctf, None, command))
    else:
        missing.append("python3-bt2 is not installed: its pair is left out")
    return found, missing


# What is asked of two CPUs with warm pages, in million events a second and in seconds.
_ASKED = {
    ("f10m", "all fields"): 15,
    ("f10m", "sched fields"): 40,
    ("vm-huge", "all fields"): 10,
    ("vm-huge", "sched fields"): 25,
}
_AT_MOST = {"all analyses": "≤ 1 s", "open again": "≤ 0.1 s"}


def costs(rounds: int) -> Table:
    """What decoding, analysing and opening again take here, medians of the rounds."""
    table = Table(title=f"Traces, {rounds} rounds, medians", title_justify="left")
    for heading in ("what", "wall s", "CPU s", "M events/s", "asked", "B/event beyond columns"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name in ("f10m", "vm-huge"):
        path = trace(name)
        if path is None:
            continue
        for label, chosen in (("all fields", None), ("sched fields", SCHED)):
            runs = [decoded(path, chosen) for _ in range(rounds)]
            events = runs[0]["events"]
            wall = statistics.median(run["seconds"] for run in runs)
            used = statistics.median(run["cpu"] for run in runs)
            peak = decoded(path, chosen, "memory")
            beyond = (peak["peak"] - peak["columns"]) / events
            table.add_row(
                f"{name}: {label}",
                f"{wall:.3f}",
                f"{used:.3f}",
                f"{events / wall / 1e6:.1f}",
                f"≥ {_ASKED[name, label]}",
                f"{beyond:.1f}",
            )
        for label, seconds, cpu in _reopening(path, rounds):
            most = _AT_MOST.get(label, "")
            table.add_row(f"{name}: {label}", f"{seconds:.3f}", f"{cpu:.3f}", "", most, "")
    return table


_AGAIN = """
import json, resource, sys, time
from pathlib import Path
from benchvise.trace import native
from benchvise.trace.opening import open_trace

def clock():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.monotonic(), used.ru_utime + used.ru_stime

a = clock()
trace = open_trace(Path(sys.argv[1]))
b = clock()
events = trace.decoded()
found = events.scheduling()
events.syscalls(found["actors"], found["fragments"])
events.devices()
c = clock()
kept = dict(trace.analysis)
d = clock()
times = [later - sooner for sooner, later in zip(a + b + c, b + c + d)]
print(json.dumps([trace.keeping.reused, *times]))
"""


def _reopening(path: Path, rounds: int) -> list[tuple[str, float, float]]:
    """Analysing, and opening again what is kept: (what, wall s, CPU s)."""
    firsts: list[list[float]] = []
    agains: list[list[float]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="bench-") as own:
            # A link would be followed; a second name of the same files is a trace of its own.
            if path.is_dir():
                link = Path(own, "trace")
                shutil.copytree(path, link, copy_function=os.link)
            else:
                link = Path(own, path.name)
                os.link(path, link)
            for results in (firsts, agains):
                said = subprocess.run(
                    [sys.executable, "-c", _AGAIN, str(link)],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                results.append(json.loads(said.stdout))
    assert all(run[0] for run in agains) and not any(run[0] for run in firsts)

    def median(runs: list[list[float]], at: int) -> float:
        return statistics.median(run[at] for run in runs)

    return [
        ("open, decode, keep", median(firsts, 1), median(firsts, 2)),
        ("all analyses", median(firsts, 3), median(firsts, 4)),
        ("open again", median(agains, 1), median(agains, 2)),
        ("open kept analyses", median(agains, 5), median(agains, 6)),
    ]
