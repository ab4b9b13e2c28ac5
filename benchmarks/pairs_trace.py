"""Decoding traces beside the tools that read them: events a second, the same file, in turn.

Both sides are whole processes, start-up included (*cold*), with the files in the page cache; what
ours takes in a process that has started (*warm*) is printed too, and compared with nothing. Ours
goes from the file to Arrow tables that can be used, of every field of every event (*all*), or of
the events and fields by which scheduling and interrupts are analysed (*selected*). A rate is that
of the events that are decoded, the same on both sides: trace-cmd is given a filter of names
(``-F``) for the selected ones, and babeltrace2, whose command line has none, a sink of ours that
reads just these (``references/bt2_select.c``); its dummy sink is its best where all events are
asked for. Where both decode, the pair is there with ours on all CPUs and on one; the reference
tools have one thread. The Python bindings of babeltrace2, which take three times as long as its
text, are compared with nothing.

Commands of ours are timed as users wait for them, on traces of which nothing is kept: beside a
process that only decodes all events (*decoding alone*), and beside the reference tool.

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
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.pairs import BUILD, HERE, Pair, measured_cpu, scratch
from benchmarks.sheets import Sheet


def at_least(ratio: float) -> tuple[float, float]:
    """The bounds of a goal."""
    return ratio, math.inf


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


OURS = (sys.executable, "-m", "benchvise")
"""The program, as this interpreter has it."""

_WHERE = {"f10m": "f10m.dat", "vm-huge": "huge/kernel"}


def decoded(
    path: Path,
    chosen: dict[str, list[str]] | None,
    what: str = "time",
    prefix: tuple[str, ...] = (),
) -> dict[str, Any]:
    """What one run of ours took."""
    command = [*prefix, sys.executable, "-c", _PROGRAM, str(path), json.dumps(chosen), what]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _both(
    name: str,
    path: Path,
    chosen: dict[str, list[str]] | None,
    reference: tuple[str, ...],
    goals: tuple[float, ...],
) -> Iterator[Pair]:
    """The pair with all CPUs, and with both sides on one; ``goals`` are their least ratios."""
    command = (sys.executable, "-c", _PROGRAM, str(path), json.dumps(chosen), "time")
    events = decoded(path, chosen)["events"]
    one = ("taskset", "-c", str(measured_cpu()))
    for label, pin, goal in zip(("", ", one CPU"), ((), one), goals, strict=False):
        yield Pair(
            f"{name}{label}",
            (*pin, *command),
            (*one, *reference),  # they have one thread: the same reading serves both pairs
            bounds=at_least(goal),
            work=events,
            warm=partial(_warm_rate, path, chosen, pin),
            unit="events/s",
            rounds=6,
        )


_ANSWERS = ("info", "stats", "wakeups", "sched")
"""Commands whose first answer is timed; what they print is thrown away, as for both sides."""

_SHARE_OF_DECODING = 1 / 1.5
"""An answer may take half as long again as decoding all events to tables."""


def _answer_pairs(
    name: str, path: Path, reference: tuple[str, tuple[str, ...]] | None, goal: float
) -> Iterator[Pair]:
    """A whole command of ours on a trace of which nothing is kept, beside decoding all of it (a
    process that does only that), and beside the reference tool; ``goal`` is that of ``stats``."""
    decoding = (sys.executable, "-c", _PROGRAM, str(path), "null", "time")
    events = decoded(path, None)["events"]
    for command in _ANSWERS:
        ours = (*OURS, "trace", command, str(path), "--no-cache")
        label = f"answer {command}, {name}"
        yield Pair(
            f"{label} : decoding alone",
            ours,
            decoding,
            bounds=at_least(_SHARE_OF_DECODING),
            work=events,
            unit="events/s",
            rounds=6,
        )
        if reference is not None and command == "stats":
            tool, words = reference
            yield Pair(
                f"{label} : {tool}",
                ours,
                ("taskset", "-c", str(measured_cpu()), *words),
                bounds=at_least(goal),
                work=events,
                unit="events/s",
                rounds=6,
            )


def _listing_pair(name: str, path: Path, tool: str, reference: tuple[str, ...]) -> Pair:
    """All events as text, ours beside the reference tool's."""
    return Pair(
        f"listing events, {name} : {tool}",
        (*OURS, "trace", "events", str(path)),
        ("taskset", "-c", str(measured_cpu()), *reference),
        bounds=at_least(_LISTING),
        work=decoded(path, None)["events"],
        unit="events/s",
        rounds=4,
    )


_LISTING = 10
"""Times as fast as the reference tool: the goal of ``trace events``."""


def _warm_rate(path: Path, chosen: dict[str, list[str]] | None, prefix: tuple[str, ...]) -> float:
    """Events a second of ours in a process that has started."""
    run = decoded(path, chosen, prefix=prefix)
    return float(run["events"] / run["seconds"])


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
        return [], ["decoding traces: there is no ../shared/data/traces"]
    if shutil.which("trace-cmd"):
        report = ("trace-cmd", "report", str(dat))
        filters = tuple(word for event in SCHED for word in ("-F", event))
        found += _both("trace.dat all : trace-cmd report", dat, None, report, (10, 5))
        found += _both(
            "trace.dat selected : trace-cmd report -F", dat, SCHED, (*report, *filters), (8, 4)
        )
    else:
        missing.append("trace-cmd: not installed")
    if shutil.which("babeltrace2"):
        text = ("babeltrace2", str(ctf))
        dummy = (*text, "-c", "sink.utils.dummy")
        found += _both("CTF all : babeltrace2 dummy", ctf, None, dummy, (4, 2))
        found += _both("CTF all : babeltrace2 text", ctf, None, text, (20,))
        plugins = _selecting_sink()
        if plugins:
            names = f'names="{" ".join(SCHED)}"'
            command = ("babeltrace2", f"--plugin-path={plugins}", str(ctf))
            select = (*command, "-c", "sink.select.fields", "-p", names)
            found += _both("CTF selected : babeltrace2, our sink", ctf, SCHED, select, (4, 2))
        else:
            missing.append(
                "CTF selected : babeltrace2, our sink: libbabeltrace2-dev, pkg-config or gcc is "
                "not installed"
            )
    else:
        missing.append("babeltrace2: not installed")
    return found, missing


def answers() -> tuple[list[Pair], list[str]]:
    """First answers of whole commands: what can be run here, and what cannot."""
    dat, ctf = trace("f10m"), trace("vm-huge")
    if dat is None or ctf is None:
        return [], ["answers about traces: there is no ../shared/data/traces"]
    report = ("trace-cmd report", ("trace-cmd", "report", str(dat)))
    dummy = ("babeltrace2 dummy", ("babeltrace2", str(ctf), "-c", "sink.utils.dummy"))
    missing = [
        f"{tool}: not installed" for tool in ("trace-cmd", "babeltrace2") if not shutil.which(tool)
    ]
    found = [
        *_answer_pairs("trace.dat", dat, report if shutil.which("trace-cmd") else None, 12),
        *_answer_pairs("CTF", ctf, dummy if shutil.which("babeltrace2") else None, 5),
    ]
    if shutil.which("trace-cmd"):
        found.append(_listing_pair("trace.dat", dat, *report))
    if shutil.which("babeltrace2"):
        found.append(_listing_pair("CTF", ctf, "babeltrace2 text", ("babeltrace2", str(ctf))))
    return found, missing


# Goals for two CPUs with warm pages, in million events a second and in seconds.
_LEAST_RATE = {
    ("f10m", "all"): 15,
    ("f10m", "selected"): 15,
    ("vm-huge", "all"): 10,
    ("vm-huge", "selected"): 10,
}
_MOST_SECONDS = {"all analyses": 1.0, "open again": 0.1}


def costs(rounds: int) -> Sheet:
    """What decoding, analysing and opening again take here, medians of the rounds."""
    sheet = Sheet(f"Traces in a process that has started, to tables, {rounds} rounds, medians")
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
            rate, least = events / wall / 1e6, _LEAST_RATE[name, label]
            sheet.add_goal(
                f"{name}: decode {label}",
                f"{rate:.1f} M events/s ({wall:.3f} s, CPU {used:.3f} s)",
                f"≥ {least} M events/s",
                rate >= least,
            )
            sheet.add_goal(
                f"{name}: decode {label}, memory beyond its columns",
                f"{beyond:.1f} B/event",
                "",
                None,
            )
        for label, seconds, cpu in _reopening(path, rounds):
            most = _MOST_SECONDS.get(label)
            goal = "" if most is None else f"≤ {most:g} s"
            holds = None if most is None else seconds <= most
            sheet.add_goal(f"{name}: {label}", f"{seconds:.3f} s (CPU {cpu:.3f} s)", goal, holds)
    return sheet


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
        with scratch() as own:
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
