"""Decoding traces beside the tools that read them: events a second, the same file, in turn.

Both sides are whole processes, start-up included, and pages are warm: ours goes from the file to
Arrow tables that can be used, of every field of every event (*all*), or of the events and fields
by which scheduling and interrupts are analysed (*selected*). A rate is that of the events that
are decoded, the same on both sides: trace-cmd is given a filter of names (``-F``) for the selected
ones, and babeltrace2, whose command line has none, a sink of ours that reads just these
(``references/bt2_select.c``); its dummy sink is its best where all events are asked for. Each
pair is there once with all CPUs and once with both sides on one CPU.

Claims are goals of ours, set before they were measured.

What Pairs cannot show, as nobody else has it, comes in a table of its own: decoding in a process
that has started, memory an event, the analyses, and opening again from the cache.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.pairs import BUILD, HERE, Pair, measured_cpu


def at_least(ratio: float) -> tuple[float, float]:
    """The bounds of a goal."""
    return ratio, math.inf


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
tables = {name: decoded.table(name) for name in decoded.counts}
seconds, used = time.monotonic() - begin, cpu() - used
done.set()
columns = sum(table.nbytes for table in tables.values())
peak = max(peak, anonymous()) - before
print(json.dumps({
    "events": decoded.events if chosen is None else sum(map(len, tables.values())),
    "seconds": seconds, "cpu": used, "peak": peak, "columns": columns,
}))
"""


@cache
def trace(name: str) -> Path | None:
    """Where a trace lies, unpacked if need be; None when it cannot be had."""
    program = HERE.parent / "tests" / "trace_data.py"
    directory = subprocess.run(
        [sys.executable, program, name], capture_output=True, text=True, check=True
    ).stdout.strip()
    return Path(directory) / _WHERE[name] if directory else None


_WHERE = {"f10m": "f10m.dat", "vm-huge": "huge/kernel"}


def decoded(path: Path, chosen: dict[str, list[str]] | None, what: str = "time") -> dict[str, Any]:
    """What one run of ours took."""
    command = [sys.executable, "-c", _PROGRAM, str(path), json.dumps(chosen), what]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


_BT2 = (
    "import bt2, sys; "
    "n = sum(1 for m in bt2.TraceCollectionMessageIterator(sys.argv[1]) "
    "if type(m) is bt2._EventMessageConst and m.event.name)"
)


def _both(
    name: str,
    path: Path,
    chosen: dict[str, list[str]] | None,
    reference: tuple[str, ...],
    goals: tuple[float, float],
) -> Iterator[Pair]:
    """The pair with all CPUs, and with both sides on one; ``goals`` are their least ratios."""
    command = (sys.executable, "-c", _PROGRAM, str(path), json.dumps(chosen), "time")
    events = decoded(path, chosen)["events"]
    yield Pair(name, command, reference, bounds=at_least(goals[0]), work=events)
    pin = ("taskset", "-c", str(measured_cpu()))
    yield Pair(
        f"{name}, one CPU",
        (*pin, *command),
        (*pin, *reference),
        bounds=at_least(goals[1]),
        work=events,
    )


def _selecting_sink() -> Path | None:
    """The directory of the plugin that lets babeltrace2 select; None where it cannot be built."""
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "babeltrace2"],
        capture_output=True,
        text=True,
        check=False,
    )
    if flags.returncode or shutil.which("gcc") is None:
        return None
    directory = BUILD / "plugins"
    directory.mkdir(parents=True, exist_ok=True)
    plugin = directory / "babeltrace-plugin-select.so"
    source = HERE / "references" / "bt2_select.c"
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(plugin), str(source)]
    subprocess.run([*command, *flags.stdout.split()], check=True)
    return directory


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each tool or trace that cannot."""
    found: list[Pair] = []
    missing: list[str] = []
    dat, ctf = trace("f10m"), trace("vm-huge")
    if dat is None or ctf is None:
        return [], ["there is no ../shared/data/traces: decoding traces is left out"]
    if shutil.which("trace-cmd"):
        report = ("trace-cmd", "report", str(dat))
        filters = tuple(word for event in SCHED for word in ("-F", event))
        found += _both("trace.dat all : trace-cmd report", dat, None, report, (10, 5))
        found += _both(
            "trace.dat selected : trace-cmd report -F", dat, SCHED, (*report, *filters), (8, 4)
        )
    else:
        missing.append("trace-cmd is not installed: its pairs are left out")
    if shutil.which("babeltrace2"):
        text = ("babeltrace2", str(ctf))
        dummy = (*text, "-c", "sink.utils.dummy")
        found += _both("CTF all : babeltrace2 dummy", ctf, None, dummy, (4, 2))
        found += _both("CTF all : babeltrace2 text", ctf, None, text, (20, 10))
        plugins = _selecting_sink()
        if plugins:
            names = f'names="{" ".join(SCHED)}"'
            select = (f"--plugin-path={plugins}", "-c", "sink.select.fields", "-p", names)
            found += _both(
                "CTF selected : babeltrace2, our sink", ctf, SCHED, (*text, *select), (4, 2)
            )
        else:
            missing.append(
                "libbabeltrace2-dev, pkg-config or gcc is not installed: babeltrace2 cannot be "
                "given a selection, and its pair is left out"
            )
    else:
        missing.append("babeltrace2 is not installed: its pairs are left out")
    probed = subprocess.run([SYSTEM_PYTHON, "-c", "import bt2"], capture_output=True, check=False)
    if probed.returncode == 0:
        command = (SYSTEM_PYTHON, "-c", _BT2, str(ctf))
        found += _both("CTF all : Python bt2, names only", ctf, None, command, (20, 10))
    else:
        missing.append("python3-bt2 is not installed: its pair is left out")
    return found, missing


# What is asked of two CPUs with warm pages, in million events a second and in seconds.
_ASKED = {
    ("f10m", "all"): 15,
    ("f10m", "selected"): 15,
    ("vm-huge", "all"): 10,
    ("vm-huge", "selected"): 10,
}
_AT_MOST = {"all analyses": "≤ 1 s", "open again": "≤ 0.1 s"}


def costs(rounds: int) -> Table:
    """What decoding, analysing and opening again take here, medians of the rounds."""
    table = Table(
        title=f"Traces in a process that has started, to tables, {rounds} rounds, medians",
        title_justify="left",
    )
    for heading in ("what", "wall s", "CPU s", "M events/s", "asked", "B/event beyond columns"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name in ("f10m", "vm-huge"):
        path = trace(name)
        if path is None:
            continue
        for label, chosen in (("all", None), ("selected", SCHED)):
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
