"""The commands on this machine, end to end: real probe, real store, real pages."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import plants
import pytest
import skips
from in_process import benchvise
from waiting import PATIENCE

from benchvise.store import Store

BENCHVISE = [sys.executable, "-m", "benchvise"]
SHORT = ["--processes", "2", "--batches", "5", "--bench"]
FEW = [*SHORT, "os.syscall", "--bench", "memory.copy:size=32K+64K"]

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "BENCHVISE_STORE": str(tmp_path / "results.db"),
        "BENCHVISE_STATE": str(tmp_path / "state"),
        "COLUMNS": "120",
    }


@pytest.fixture
def cli(environment: dict[str, str], tmp_path: Path) -> Cli:
    """In this process: what most tests look at is not how it starts."""

    def run(*words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        ran = benchvise(*words, environment=environment, cwd=tmp_path)
        assert ran.code == expect, ran.out + ran.err
        return subprocess.CompletedProcess(words, ran.code, ran.out, ran.err)

    return run


@pytest.fixture
def program(environment: dict[str, str], tmp_path: Path) -> Cli:
    """As a process of its own, as a shell starts it."""

    def run(
        *words: str, expect: int = 0, prefix: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            [*prefix, *BENCHVISE, *words],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=tmp_path,
        )
        assert result.returncode == expect, result.stdout + result.stderr
        return result

    return run


def data(result: subprocess.CompletedProcess[str], kind: str) -> Any:
    document = json.loads(result.stdout)
    assert document["kind"] == kind and document["benchvise"]
    return document["data"]


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("benchvise: "), result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    return lines[0]


def test_measure_show_compare_report(program: Cli, cli: Cli, tmp_path: Path) -> None:
    run = data(program("run", *FEW, "--label", "one", "--json"), "runs")[0]
    assert run["status"] == "complete"
    assert [s["key"] for s in run["series"]] == [
        "os.syscall",
        "memory.copy:size=32K",
        "memory.copy:size=64K",
    ]
    assert all(s["summary"]["n"] == 10 for s in run["series"])
    cli("run", *FEW, "--label", "two")
    assert "memory.copy:size=32K" in cli("show", "one").stdout
    assert [r["label"] for r in data(cli("runs", "--json"), "run-list")] == ["two", "one"]
    compared = data(program("compare", "one", "two", "--json"), "comparison")
    assert {c["key"] for c in compared["changes"]} == {s["key"] for s in run["series"]}
    page = Path(cli("report", "one", "two", "-o", "page").stdout.strip())
    text = (tmp_path / page).read_text()
    assert "memory.copy" in text and "<script src" not in text and "http-equiv" in text


def test_another_machine_state_is_seen_and_fails_the_threshold(cli: Cli, program: Cli) -> None:
    """The same series, once where each call costs ten times as much and more: neighbours that take
    the CPU from both runs hide twice as much, as they should."""
    words = ["run", "--processes", "5", "--batches", "5", "--no-snapshot", "--bench", "os.syscall"]
    cli(*words, "--label", "plain")
    with plants.seccomp_filter(times=12) as prefix:
        program(*words, "--label", "filtered", prefix=prefix)
    (series,) = data(cli("compare", "plain", "filtered", "--json"), "comparison")["changes"]
    assert series["verdict"] == "slower"
    cli("compare", "plain", "filtered", "--threshold", "5", expect=1)
    cli("compare", "plain", "plain", "--threshold", "5")


@pytest.mark.alone
def test_a_neighbour_on_the_measured_cpu_is_told(cli: Cli) -> None:
    cpu = max(os.sched_getaffinity(0))
    with plants.neighbour(cpu):
        words = ["--processes", "3", "--batches", "9", "--bench", f"os.syscall:cpu={cpu}"]
        (run,) = data(cli("run", *words, "--no-snapshot", "--json"), "runs")
    summary = run["series"][0]["summary"]
    assert "other work took the CPU" in " ".join([*summary["causes"], *summary["notes"]])


def test_unpinned_is_never_one_number(cli: Cli) -> None:
    words = [*SHORT, "os.context_switch:place=free", "--bench", "pipe.latency:place=free"]
    run = data(cli("run", *words, "--no-snapshot", "--json"), "runs")[0]
    for series in run["series"]:
        assert not series["summary"]["stable"]
        assert any(
            "scheduler" in cause or "modes" in cause for cause in series["summary"]["causes"]
        )


def test_untouched_is_labelled(cli: Cli) -> None:
    words = [*SHORT, "memory.copy:size=1M,source=random+untouched"]
    (run,) = data(cli("run", *words, "--no-snapshot", "--json"), "runs")
    random_series, untouched = run["series"]
    assert not random_series["caveats"]
    assert "not a bandwidth" in untouched["caveats"][0]
    assert "not a bandwidth" in cli("show", "@").stdout


def test_two_boards_are_refused_when_they_are_one(program: Cli) -> None:
    assert "twice" in one_line(program("run", "local", "local", expect=2))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--bench", "memory.cpy"], "did you mean memory.copy"),
        (["run", "--bench", "memory.copy:size=1T"], "size=1T is out of range"),
        (["run", "--bench", "memory.copy:sise=1M"], "did you mean size"),
        (["run", "--suite", "quik"], "choose one of"),
        (["run", "usb:3"], "usb:3"),
        (["show", "nothing"], "no runs in"),
        (["compare", "a", "b"], "no runs in"),
        (["run", "--batches", "0"], "batches"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_usage_errors_are_one_line_with_the_remedy(
    cli: Cli, words: list[str], message: str
) -> None:
    result = cli(*words, expect=2)
    assert message in one_line(result)
    error = data(cli(*words, "--json", expect=2), "error")
    assert message in f"{error['message']}: {error['remedy']}" and error["exit"] == 2


def test_what_is_not_possible_here_is_said_and_fails_nothing(cli: Cli) -> None:
    words = [*SHORT, "memory.copy:size=4K,kernel=rvv+auto", "--no-snapshot", "--json"]
    rvv, auto = data(cli("run", *words), "runs")[0]["series"]
    assert rvv["status"] == "na" and "rvv" in rvv["reason"]
    assert auto["status"] == "measured"


def test_plan_is_data_and_measures_nothing(cli: Cli) -> None:
    (plan,) = data(cli("run", "--suite", "os", "--plan", "--seed", "5", "--json"), "plan")
    assert plan["seed"] == 5 and "os.context_switch:place=free" in plan["series"]
    assert data(cli("runs", "--json"), "run-list") == []


SAMPLES = """SELECT (SELECT count(*) FROM sample)
    + (SELECT coalesce(sum(packed_samples), 0) FROM process)"""
"""How many there are: in rows of their own while a process takes them, packed afterwards."""


def wait_for_samples(store: Path, least: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if store.exists():
            try:
                with closing(sqlite3.connect(store)) as connection:
                    if connection.execute(SAMPLES).fetchone()[0] >= least:
                        return
            except sqlite3.OperationalError:
                pass  # the table is not there yet
        time.sleep(0.02)
    raise AssertionError("no samples came")


def start(environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*BENCHVISE, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_interruption_keeps_what_was_measured(
    cli: Cli, environment: dict[str, str], tmp_path: Path, signum: signal.Signals
) -> None:
    child = start(environment, "run", "--suite", "quick", "--label", "cut")
    wait_for_samples(tmp_path / "results.db", 30)
    child.send_signal(signum)
    _, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 4 and "is kept in run" in errors
    run = data(cli("show", "cut", "--json"), "run")
    assert run["status"] == "interrupted"
    assert sum(len(s["samples"]) for s in run["series"]) >= 30


@pytest.mark.long
def test_kill_9_loses_at_most_one_batch(
    cli: Cli, environment: dict[str, str], tmp_path: Path
) -> None:
    """Killed at a random moment; each process's samples have no gap, and all are readable."""
    attempts = 20 if skips.LONG else 3
    for attempt in range(attempts):
        label = f"killed-{attempt}"
        words = ["run", *FEW, "--processes", "50", "--no-snapshot", "--label", label]
        child = start(environment, *words)
        wait_for_samples(tmp_path / "results.db", 10 + 90 * attempt // attempts)
        time.sleep(random.random() * 0.1)
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        assert data(cli("show", label, "--json"), "run")["status"] == "interrupted"
        with Store.open(environment["BENCHVISE_STORE"]) as store:
            record = store.load(label)
        for series in record.series:
            for process in series.processes:
                assert [s.index for s in process.samples] == list(range(len(process.samples)))
            assert sum(not process.complete for process in series.processes) <= 1


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def probe_of(child: subprocess.Popen[str]) -> int:
    """The process that measures: a `bvprobe … run` below the command."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_bytes().split(b"\0")
            except OSError:
                continue
            pid = ancestor = int(entry.parent.name)
            while ancestor > 1 and ancestor != child.pid:
                ancestor = parent_of(ancestor)
            if words[1:2] == [b"run"] and words[0].endswith(b"bvprobe") and ancestor == child.pid:
                return pid
        time.sleep(0.01)
    raise AssertionError("no probe is running")


def test_a_probe_that_is_killed_fails_its_series_only(
    cli: Cli, environment: dict[str, str], tmp_path: Path
) -> None:
    words = ["run", *FEW, "--batches", "60", "--seed", "3", "--no-snapshot", "--json"]
    child = start(environment, *words)
    wait_for_samples(tmp_path / "results.db", 5)
    os.kill(probe_of(child), signal.SIGKILL)
    output, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 1 and "SIGKILL" in errors
    series = json.loads(output)["data"][0]["series"]
    assert sorted(s["status"] for s in series) == ["failed", "measured", "measured"]
    (failed,) = [s for s in series if s["status"] == "failed"]
    assert failed["samples"], "what the series had measured is gone"


def test_a_full_store_is_named_and_keeps_the_rest(
    program: Cli, environment: dict[str, str], tmp_path: Path
) -> None:
    skips.need_root()
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", small], check=True)
    try:
        environment["BENCHVISE_STORE"] = str(small / "results.db")
        words = ["run", *SHORT, "os.syscall", "--batches", "2000", "--label", "much"]
        line = one_line(program(*words, expect=1))
        assert "results.db" in line and "full" in line
        with closing(sqlite3.connect(small / "results.db")) as connection:
            assert connection.execute(SAMPLES).fetchone()[0] > 10
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_locked_store_is_named(cli: Cli, program: Cli, tmp_path: Path) -> None:
    cli("run", *SHORT, "os.syscall", "--no-snapshot")
    lock = sqlite3.connect(tmp_path / "results.db", isolation_level=None)
    lock.execute("begin exclusive")
    try:
        assert "results.db" in one_line(program("run", *SHORT, "os.syscall", expect=1))
    finally:
        lock.close()


def test_doctor_and_benchmarks(cli: Cli) -> None:
    findings = {f["name"]: f for f in data(cli("doctor", "--json"), "doctor")}
    assert findings["this machine"]["state"] == "ok"
    for finding in findings.values():
        assert finding["state"] == "ok" or finding["remedy"]
    ids = {b["id"] for b in data(cli("bench", "list", "--json"), "benchmarks")}
    some = {"memory.copy", "storage.read", "net.tcp", "http.requests", "command.output"}
    assert some < ids
    for words, benchmark in (("emmc", "storage.read"), ("lat_mem_rd", "memory.latency")):
        listed = data(cli("bench", "list", words, "--json"), "benchmarks")
        assert benchmark in {b["id"] for b in listed} < ids
    for benchmark in some:
        shown = cli("bench", "show", benchmark).stdout
        assert "does not measure" in shown and "compare with" in shown


def test_output_into_a_closed_pipe_is_no_error(environment: dict[str, str]) -> None:
    command = f"{' '.join(BENCHVISE)} bench show memory.copy | head -n 1"
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert result.returncode == 0 and result.stderr == ""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["suites list", "suites list --json", "--help", "--version"])
def test_output_to_a_full_disk_is_one_line(
    command: str, unbuffered: str, environment: dict[str, str]
) -> None:
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [*BENCHVISE, *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**environment, "PYTHONUNBUFFERED": unbuffered},
        )
    assert result.returncode == 1
    assert result.stderr.startswith("benchvise: the output cannot be written (No space left")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("redirect", [">&-", ">&- 2>&-"])
def test_a_closed_standard_stream_is_no_error(redirect: str, environment: dict[str, str]) -> None:
    result = subprocess.run(
        ["bash", "-c", f"{' '.join(BENCHVISE)} --version {redirect}"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_an_encoding_without_a_sign_gets_an_escape(environment: dict[str, str]) -> None:
    result = subprocess.run(
        [*BENCHVISE, "run", "--plan", "--command", "echo \N{PERSEVERING FACE}"],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "PYTHONIOENCODING": "ascii"},
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "command.time:run=echo \\U0001f623" in result.stdout


def test_the_quick_suite_takes_less_than_a_minute_by_its_plan(cli: Cli) -> None:
    """Not a timing: the plan's own numbers, batches of 5 ms plus set-up, against the promise."""
    (plan,) = data(cli("run", "--suite", "quick", "--plan", "--json"), "plan")
    batches = len(plan["series"]) * plan["processes"] * (plan["batches"] or 21)
    assert batches * 0.015 < 60


def test_a_run_records_the_state_around_it(cli: Cli, tmp_path: Path) -> None:
    cli("run", *FEW, "--label", "one")
    cli("run", *FEW, "--label", "two")
    with Store.open(str(tmp_path / "results.db")) as store:
        before, after = store.snapshot("one"), store.snapshot("one", "after")
    assert before and after and len(before.settings) > 100
    assert before.boot_id == after.boot_id and before.taken < after.taken
    found = data(cli("diff", "one", "two", "--json"), "state-diff")
    assert found["same"] > 100
    compared = data(cli("compare", "one", "two", "--json"), "comparison")
    assert compared["state"]["same"] == found["same"]
    assert "settings" in cli("compare", "one", "two").stdout
    one_line(cli("diff", "one", "three", expect=2))


def test_a_run_without_snapshots_says_so(cli: Cli) -> None:
    cli("run", *FEW, "--no-snapshot", "--label", "bare")
    assert "without recording" in one_line(cli("diff", "bare", "bare", expect=2))
    assert "not recorded" in cli("compare", "bare", "bare").stdout
