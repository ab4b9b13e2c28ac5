"""The timeline in the browser: a scripted pan and zoom over a trace of 10 million events.

``web/scripts/panzoom.js`` moves about in headless Chromium, without a GPU, for ten seconds; the
server runs beside it on the same CPUs. There is no reference: the table shows each value
beside its bound, and the CPU seconds of the browser and of the server (from its start to its end),
which a busy machine changes less.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.pairs import HERE, scratch
from benchmarks.pairs_trace import trace
from benchmarks.sheets import Sheet
from benchvise.trace.opening import open_trace

_WEB = HERE.parent / "web"
_CHROMIUM = Path(os.environ.get("BENCHVISE_CHROMIUM", "/usr/bin/chromium"))

_ROWS = (
    # What, unit, field, divisor, goal
    ("median frame", "ms", "median_ms", 1.0, 16.7),
    ("99 % of frames", "ms", "p99_ms", 1.0, 20.0),
    ("longest frame", "ms", "longest_ms", 1.0, 100.0),
    ("browser's CPU time a frame", "ms", "frame_cpu_ms", 1.0, None),
    ("browser's CPU time, pan and zoom", "s", "move_cpu_s", 1.0, None),
    ("script heap", "MB", "heap_bytes", 1e6, 500.0),
    ("memory of the page", "MB", "renderer_bytes", 1e6, None),
    ("opened again: page to picture", "ms", "page_ms", 1.0, None),
    ("opened again: question to picture", "ms", "question_ms", 1.0, None),
)

_FIRST = (
    # What, whether it is decoded before, field, goal
    ("never opened: page to picture", False, "page_ms", None),
    ("never opened: decoded to picture", False, "decoded_ms", 1000.0),
    ("decoded: page to picture", True, "page_ms", None),
    ("decoded: question to picture", True, "question_ms", 1000.0),
)


def missing() -> str:
    """Why it cannot be measured here; empty when it can."""
    if trace("f10m") is None:
        return "the timeline: there is no ../shared/data/traces"
    if not _CHROMIUM.exists():
        return f"the timeline: no browser at {_CHROMIUM}"
    if not shutil.which("node") or not (_WEB / "node_modules" / "playwright-core").exists():
        return "the timeline: no node with web/node_modules"
    return ""


def table(rounds: int) -> Sheet:
    """The values of several rounds: medians, and the worst of them."""
    path = trace("f10m")
    assert path is not None, "missing() was asked"
    with _serving(path.parent) as address:
        key = _key(address, path.name)
        page = f"{address}/traces/{key}"
        # The first round opens the trace, and keeps what it has made of it.
        _panzoom(page)
        runs = [_panzoom(page) for _ in range(rounds)]
    # A virtual machine may have given free memory back to its host, and getting it again takes
    # longer than the decoding: what the first one of all takes stands in a row of its own.
    coldest = _first(path, False)
    firsts = {known: [_first(path, known) for _ in range(rounds)] for known in (False, True)}
    sheet = Sheet(f"Timeline of f10m, pan and zoom for 10 s, {rounds} rounds", name="timeline")
    figures = [
        (what, unit, [run[field] / by for run in runs], most)
        for what, unit, field, by, most in _ROWS
    ]
    figures += [
        (what, "ms", [run[field] for run in firsts[known]], most)
        for what, known, field, most in _FIRST
    ]
    figures += [
        (f"{what}, CPU time of {whose}", "s", [run[field] for run in firsts[known]], None)
        for what, known in (("never opened", False), ("decoded", True))
        for whose, field in (("the browser", "picture_cpu_s"), ("the server", "server_cpu_s"))
    ]
    figures.append(
        ("never opened, the first one of all: page to picture", "ms", [coldest["page_ms"]], None)
    )
    for what, unit, values, most in figures:
        seen = f"{statistics.median(values):.1f} {unit}, worst {max(values):.1f} {unit}"
        goal = "" if most is None else f"worst ≤ {most:g} {unit}"
        sheet.add_goal(what, seen, goal, None if most is None else max(values) <= most + 0.05)
    frames = statistics.median(run["frames"] for run in runs)
    sheet.add_goal("frames", f"{frames:.0f}, least {min(r['frames'] for r in runs)}", "", None)
    return sheet


def _first(path: Path, decoded: bool) -> dict[str, Any]:
    """A first look at a trace of which the server has nothing, or nothing but its events."""
    with scratch() as own:
        link = Path(own, path.name)
        os.link(path, link)
        if decoded:
            open_trace(link)
        with _serving(Path(own)) as address:
            run = _panzoom(f"{address}/traces/{_key(address, link.name)}", seconds=1)
            waited_for = _children_seconds()  # of node and the browser: the server still runs
        return run | {"server_cpu_s": _children_seconds() - waited_for}


def _children_seconds() -> float:
    """CPU seconds of all processes that were started here, or by those, and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _panzoom(page: str, seconds: int = 10) -> dict[str, Any]:
    done = subprocess.run(
        ["node", _WEB / "scripts" / "panzoom.js", page, "--seconds", str(seconds)],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    if found["complaints"]:
        raise RuntimeError(f"the page complains: {found['complaints'][0]}")
    return found


@contextmanager
def _serving(traces: Path) -> Iterator[str]:
    """A workbench that shows the traces of a directory, with a store of its own."""
    with tempfile.TemporaryDirectory() as own:
        store = str(Path(own, "store.db"))
        words = ["serve", "--port", "0", "--json", "--no-token"]
        words += ["--store", store, "--traces", str(traces)]
        with subprocess.Popen(
            [sys.executable, "-m", "benchvise", *words], stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                assert server.stdout is not None
                line = server.stdout.readline()
                if not line:
                    raise RuntimeError("benchvise serve does not start: try it by hand")
                parts = urlsplit(json.loads(line)["data"]["address"])
                yield f"http://{parts.netloc}"
            finally:
                server.send_signal(signal.SIGINT)
                server.wait(30)


def _key(address: str, name: str) -> str:
    with urllib.request.urlopen(f"{address}/traces.json") as answer:  # noqa: S310 - loopback
        listed = json.load(answer)["data"]["traces"]
    return next(str(one["key"]) for one in listed if one["name"] == name)
