"""The timeline of a large trace: how soon it is there, and what a question takes.

Each figure is of a process of its own, on a second name of the trace that nothing is kept of:
first what follows decoding, then what is kept of it. A question is what a screen asks while it is
panned and zoomed: some 60 rows, 2000 pixels wide, a span of random length and place. Its time is
the server's, to the last byte of the answer; over HTTP it is the client's, on one connection, with
the way to the reader and back.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.pairs import scratch
from benchmarks.pairs_trace import trace
from benchmarks.sheets import Sheet

_PROGRAM = """
import http.client, json, random, sys, threading, time
from pathlib import Path
import numpy as np
from starlette.responses import JSONResponse
import uvicorn
from benchvise.documents import encode
from benchvise.trace.levels import shift_of
from benchvise.trace.opening import open_trace
from benchvise.web.http import Query
from benchvise.web.app import create_app
from benchvise.web.file_index import key_of
from benchvise.web.context import Settings
from benchvise.web.timeline import parse_part
from benchvise.web.workspace.served import ServedTraces
from benchvise.web.workspace.timeline import TraceTimeline

path, rounds, root = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
WIDTH, ROWS = 2000, 60

def anonymous():
    return int(Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0]) * 1024

open_trace(path)
before, peak, done = anonymous(), 0, threading.Event()

def watch():
    global peak
    while not done.wait(0.005):
        peak = max(peak, anonymous())

watcher = threading.Thread(target=watch, daemon=True)  # an error must end the process
watcher.start()
begin = time.monotonic()
traces = ServedTraces()
opened = traces.get(path)
table = opened.levels.items(list(range(ROWS)), 0, opened.loaded.analysis.whole.end - opened.origin,
    shift_of(0, opened.loaded.analysis.whole.end - opened.origin, WIDTH))
table.stream()
JSONResponse(encode(TraceTimeline(opened).rows()))
first = time.monotonic() - begin
traces.close()
done.set()
watcher.join()
peak -= before

chance = random.Random(1)
duration = opened.loaded.analysis.whole.end - opened.origin
times = opened.trace.index["time"].values()
asked = []
for _ in range(rounds):
    length = int(duration ** chance.random()) + WIDTH
    begin = int(times[chance.randrange(times.size)]) - opened.origin - chance.randrange(length)
    row = chance.randrange(max(1, min(600, opened.levels.row_count - ROWS)))
    rows = f"0-1,{row}-{row + ROWS - 3}"  # the CPUs, and what else is on the screen
    asked.append({"begin": begin, "end": begin + length, "width": WIDTH, "rows": rows})
queries = [Query({name: str(value) for name, value in query.items()}) for query in asked]

opened = traces.get(path)
source = TraceTimeline(opened)
found = {"first": first, "peak": peak}
for name in ("levels", "events"):
    answer, took, most = getattr(source, name), [], 0
    for query in queries:
        begin = time.perf_counter()
        table = answer(parse_part(source, query))
        table.stream()
        took.append(time.perf_counter() - begin)
        most = max(most, table.num_rows)
    found[name] = took
    found[f"{name} rows"] = most

app = create_app(Settings(traces=(root,), store=str(root / "store.db")))
server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
thread = threading.Thread(target=server.run, daemon=True)
thread.start()
while not server.started:
    time.sleep(0.01)
connection = http.client.HTTPConnection("127.0.0.1", server.servers[0].sockets[0].getsockname()[1])
took = []
for query in asked:
    words = "&".join(f"{name}={value}" for name, value in query.items())
    begin = time.perf_counter()
    connection.request("GET", f"/api/traces/{key_of(path)}/levels?{words}")
    answer = connection.getresponse()
    body = answer.read()
    took.append(time.perf_counter() - begin)
    assert answer.status == 200, body
found["http"] = took
connection.close()
server.should_exit = True
thread.join()
app.state.context.close()
print(json.dumps(found))
"""


def costs(rounds: int) -> Sheet:
    """What the timeline of each large trace takes here, medians of the rounds."""
    sheet = Sheet(f"Timelines, {rounds} rounds, medians", name="timelines")
    for name in ("f10m", "vm-huge"):
        path = trace(name)
        if path is not None:
            for what, value, seen, most in _of(path, rounds):
                goal = "" if most is None else f"≤ {most * 1e3:g} ms"
                holds = None if most is None else value <= most
                sheet.add_goal(f"{name}: {what}", seen, goal, holds)
    return sheet


def _of(path: Path, rounds: int) -> list[tuple[str, float, str, float | None]]:
    """What, its value, how it is shown, and the goal: in seconds where there is one."""
    firsts, agains = [], []
    for _ in range(rounds):
        with scratch() as own:
            link = Path(own, path.name)
            if path.is_dir():
                shutil.copytree(path, link, copy_function=os.link)
            else:
                os.link(path, link)
            firsts.append(_run(link, 10))
            agains.append(_run(link, 2000))

    def median(runs: list[dict[str, Any]], what: str) -> float:
        return float(statistics.median(run[what] for run in runs))

    def percentiles(what: str) -> tuple[float, str]:
        took = [sorted(run[what]) for run in agains]
        half, high = (
            statistics.median(times[int(share * len(times))] for times in took)
            for share in (0.5, 0.99)
        )
        return high, f"{half * 1e3:.2f} ms / {high * 1e3:.2f} ms"

    first, again = median(firsts, "first"), median(agains, "first")
    items = max(run["levels rows"] for run in agains)
    making, opening = median(firsts, "peak"), median(agains, "peak")
    return [
        ("first timeline after decoding", first, f"{first:.3f} s", 1.0),
        ("opened again", again, f"{again * 1e3:.0f} ms", 0.1),
        ("a question, median / p99", *percentiles("levels"), 0.008),
        ("a question over HTTP, median / p99", *percentiles("http"), None),
        ("marks of events, median / p99", *percentiles("events"), 0.008),
        ("most items in an answer", items, f"{items}", None),
        ("memory for making it, peak", making, f"{making / 1e6:.0f} MB", None),
        ("memory when opened again, peak", opening, f"{opening / 1e6:.0f} MB", None),
    ]


def _run(path: Path, questions: int) -> dict[str, Any]:
    words = [sys.executable, "-c", _PROGRAM, str(path), str(questions), str(path.parent)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
