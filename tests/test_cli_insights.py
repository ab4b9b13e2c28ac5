"""What is measured on each CPU, counted in several ways, and said of several series together."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from in_process import benchvise

SHORT = ("run", "--processes", "1", "--batches", "5", "--no-snapshot")

Cli = Callable[..., str]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    store = str(tmp_path / "results.db")
    environment = {**os.environ, "BENCHVISE_STORE": store, "COLUMNS": "120"}

    def run(*words: str) -> str:
        ran = benchvise(*words, environment=environment)
        assert ran.code == 0, ran.out + ran.err
        return ran.out

    return run


def only_run(text: str) -> dict[str, Any]:
    (run,) = json.loads(text)["data"]
    assert isinstance(run, dict)
    return run


def test_each_cpu_is_a_series(cli: Cli) -> None:
    run = only_run(cli(*SHORT, "--bench", "cpu.clock:cpu=each", "--json"))
    cpus = sorted(os.sched_getaffinity(0))
    assert [series["key"] for series in run["series"]] == [f"cpu.clock:cpu={cpu}" for cpu in cpus]
    assert all(series["status"] == "measured" for series in run["series"])


def test_the_pipe_ladder_from_measuring_to_page(cli: Cli, tmp_path: Path) -> None:
    bench = "pipe.throughput:block=64K,pipe=64K,writer="
    words = ("--bench", f"{bench}line+write", "--bench", f"{bench}vmsplice,reader=read+splice")
    run = only_run(cli(*SHORT, *words, "--json"))
    counted = [series["counted"] for series in run["series"]]
    assert counted[0] == counted[1] == "bytes written, and read by the other process"
    assert counted[3] == "page references passed, not bytes copied"
    assert len(set(counted)) == 3
    (ladder,) = run["insights"]
    assert [row[0] for row in ladder["rows"]] == [
        "printf with a write(2) a line to read(2)",
        "write(2) of ready blocks to read(2)",
        "vmsplice to read(2)",
        "vmsplice to splice(2)",
    ]
    shown = cli("show", "@")
    assert "The pipe ladder, both ends on one CPU" in shown
    assert "page references passed, not bytes copied" in " ".join(shown.split())
    cli("report", "@", "-o", str(tmp_path / "page"))
    page = (tmp_path / "page" / "index.html").read_text()
    assert "The pipe ladder" in page
    assert "counted: page references passed, not bytes copied" in page
