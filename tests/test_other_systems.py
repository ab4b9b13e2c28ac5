"""Traces, captures, reports, stores and the workbench without what Windows or macOS lacks.

``absent_modules/sitecustomize.py`` takes it away. The same commands run here as they are: what they
print has to be the same, byte by byte.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from guide_world import make_captures
from in_process import benchvise
from report_runs import demonstration_run, other_run
from waiting import PATIENCE
from web_server import serving
from web_store import keep_run

from benchvise.measure.model import RunRecord
from benchvise.web.file_index import key_of

ABSENT = Path(__file__).parent / "absent_modules"
SMALL = Path(__file__).parent / "data" / "traces" / "small.dat"

DRIVER = """if True:
    import contextlib, io, json, os, sys
    from benchvise.cli.main import run
    answers = []
    for words in json.load(sys.stdin):
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "oe")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(words)
        answers.append((code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()))
    print(json.dumps(answers))
"""

SAME = (
    "runs --json", "show {run} --format csv", "compare {run} {other} --json", "history --json",
    "export {run} -o {place}/out.bvz", "import {place}/out.bvz", "report {run} -o {place}/report",
    "site {place}/out.bvz -o {place}/site", "config", "knobs show cpu.governor",
    "trace info {trace} --json", "trace actors {trace} --csv", "trace events {trace} --limit 5",
    "trace export {trace} --to chrome -o {place}/out.json",
    "signal info {place}/capture.sr", "signal uart {place}/capture.sr --line RX --json",
    "schema runs",
)  # fmt: skip
"""What has to work as on Linux."""

ALSO_ON_MACOS = ("runs --json", "trace info {trace} --json", "signal info {place}/capture.sr")
"""Of a system that lacks less: one command of each kind."""

REFUSED = {
    "Windows": {
        "run --bench os.futex": "`benchvise run` runs on Linux and macOS",
        "why a b": "`benchvise why` runs on Linux and macOS",
        "rig status": "`benchvise rig` runs on Linux",
        "health local": "measuring this machine runs on Linux",
        "health ssh://board": "measuring a board runs on Linux and macOS",
        "trace record ssh://board -o {place}/t.dat": "`benchvise trace record` runs on Linux and",
        "signal serial COM1": "`benchvise signal serial` runs on Linux",
        "bench list": "`benchvise bench` runs on Linux",
    },
    "macOS": {
        "run --bench os.futex": "measuring this machine runs on Linux",
        "rig status": "`benchvise rig` runs on Linux",
        "versus true false": "`benchvise versus` runs on Linux",
    },
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with two runs, a trace and a capture."""
    for variable in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{variable}_HOME", str(tmp_path / variable.lower()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)
    make_captures(tmp_path)
    (tmp_path / "small.dat").write_bytes(SMALL.read_bytes())
    return tmp_path


def on(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is started from now on takes itself to run there."""
    monkeypatch.setenv("PYTHONPATH", str(ABSENT))
    monkeypatch.setenv("STAND_IN_SYSTEM", {"macOS": "Darwin"}.get(system, system))


def answers_of(lines: list[list[str]]) -> list[tuple[int, str, str]]:
    """What commands answer in a process of their own, which has what it is left."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


def short(run: RunRecord) -> RunRecord:
    """The first series alone."""
    return replace(run, series=run.series[:2])


def comparable(text: str) -> str:
    """Without what two calls of the same command differ in."""
    return re.sub(r'"(version|created|written)": "[^"]*"', "", text)


@pytest.mark.parametrize("system", ["Windows", "macOS"])
def test_commands_answer_as_on_linux_or_say_what_does(
    place: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    store = str(place / "runs.db")
    names = {
        "run": keep_run(store, short(demonstration_run())),
        "other": keep_run(store, short(other_run())),
        "place": str(place),
        "trace": str(place / "small.dat"),
    }
    lines = SAME if system == "Windows" else ALSO_ON_MACOS
    same = [line.format(**names).split() for line in lines]
    here = [benchvise(*words) for words in same]
    refused = {line.format(**names): text for line, text in REFUSED[system].items()}

    on(system, monkeypatch)
    there = answers_of([*same, *(line.split() for line in refused)])

    for words, answer, (code, out, err) in zip(same, here, there, strict=False):
        assert answer.code == 0, (words, answer.err)
        assert (code, err) == (0, answer.err), words
        assert comparable(out) == comparable(answer.out), words
    for (line, text), (code, out, err) in zip(refused.items(), there[len(same) :], strict=True):
        assert code == 1 and not out, line
        assert err.startswith(f"benchvise: not available on {system}: {text}"), err
        assert err.count("\n") == 1, err


def test_the_workbench_serves_traces_and_captures_without_what_unix_has(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = keep_run(str(place / "runs.db"), short(demonstration_run()))
    on("Windows", monkeypatch)
    with serving(place / "runs.db", "--traces", place, "--captures", place) as server:

        def page(path: str, body: Mapping[str, str] | None = None) -> str:
            request = urllib.request.Request(  # noqa: S310
                server.url(path),
                json.dumps(body).encode() if body else None,
                {**server.bearer, "Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
                return str(answer.read().decode())

        assert run in page("/")
        assert "memory.copy" in page(f"/runs/{run}")
        trace = f"/traces/{key_of(place / 'small.dat')}"
        assert "small.dat" in page("/traces")
        assert "small.dat" in page(trace)
        assert "capture.sr" in page("/captures")
        for path in (f"/api{trace}/tables", f"/captures/{key_of(place / 'capture.sr')}"):
            assert page(path)  # of the reader
        for _ in range(2):  # each in a process of its own
            answer = page(f"/api{trace}/query", {"sql": "SELECT count(*) FROM events"})
            assert json.loads(answer)["rows"] == [[2965]]
        assert server.interrupt() == 0
