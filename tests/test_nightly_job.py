"""``benchvise nightly`` on this machine: nights that are fine, that regress, that are killed."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from postgres import PostgresServer
from waiting import PATIENCE

from benchvise.cli import main
from benchvise.errors import Undecided, UsageError
from benchvise.flows import nightly
from benchvise.flows import run as run_flow
from benchvise.flows.nightly import read_job
from benchvise.flows.request import RunRequest, RunResult
from benchvise.measure.model import RunStatus
from benchvise.store import Store
from benchvise.store.reading import RunFilter

pytest_plugins = "store_fixtures"

JOB = """
boards = ["local"]
suites = ["work.toml", "rest.toml"]
threshold = 20
retry = 1
processes = 2
batches = 3
directory = "nights"
message = "cat >> messages; echo $BENCHVISE_NIGHTLY_VERDICT >> verdicts"
on_regression = "cat > regression"
"""

SUITE = """
summary = "one command"
[[series]]
benchmark = "command.time"
run = "sleep $(cat {work}); until [ -e {go} ]; do sleep 0.1; done"
"""


class Nights:
    """A job in a directory of its own, whose nights are told apart by a made-up clock."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capsys = capsys
        self.job = directory / "job.toml"
        self.job.write_text(JOB)
        self.work("0.01")
        for name in ("work", "rest"):
            text = SUITE.format(work=directory / "work", go=directory / f"go-{name}")
            (directory / f"{name}.toml").write_text(text)
            (directory / f"go-{name}").touch()

    def work(self, seconds: str) -> None:
        (self.directory / "work").write_text(f"{seconds}\n")

    def night(self, *words: str) -> tuple[int, Any]:
        self._capsys.readouterr()
        code = main.run(["nightly", str(self.job), "--json", *words])
        out = self._capsys.readouterr()
        document = json.loads(out.out)["data"]
        return code, document.get("message", document)

    def file(self, name: str) -> str:
        path = self.directory / name
        return path.read_text() if path.exists() else ""


@pytest.fixture
def nights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Nights:
    monkeypatch.setenv("BENCHVISE_STORE", str(tmp_path / "results.db"))
    return Nights(tmp_path, capsys)


def test_a_regression_is_told_once_and_is_no_baseline_afterwards(nights: Nights) -> None:
    nights.job.write_text(JOB.replace(', "rest.toml"', "") + 'name = "work-again"\n')
    code, first = nights.night()
    assert code == 0 and [b["verdict"] for b in first["boards"]] == ["first night"]
    assert nights.night() == (0, first), "a night that is over is not measured again"
    assert nights.file("verdicts") == "fine\n" and not nights.file("regression")
    nights.work("0.2")
    for _ in range(2):  # the second is compared with the first night too
        code, bad = nights.night("--again")
        assert code == 1 and bad["verdict"] == "regressed"
        assert [b["base"] for b in bad["boards"]] == [b["run"] for b in first["boards"]]
    assert "regressed" in nights.file("regression")
    assert f"benchvise compare {first['boards'][0]['run']}" in nights.file("regression")
    page = Path(bad["page"]).read_text()
    assert "regressed" in page and "<script" not in page
    nights.work("0.01")
    code, good = nights.night("--again")
    assert good["verdict"] != "regressed" and code in (0, 5)
    assert nights.file("verdicts").split()[:3] == ["fine", "regressed", "regressed"]


def test_killed_it_goes_on_with_what_is_missing_and_runs_once_at_a_time(nights: Nights) -> None:
    (nights.directory / "go-rest").unlink()  # which waits for it
    command = [sys.executable, "-m", "benchvise", "nightly", str(nights.job)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as child:
        try:
            deadline = time.monotonic() + PATIENCE
            done = RunFilter(status=RunStatus.COMPLETE)
            runs: list[str] = []
            while not runs and child.poll() is None and time.monotonic() < deadline:
                with Store.open(os.environ["BENCHVISE_STORE"]) as store:
                    runs = [run.id for run in store.runs(None, done)]
                time.sleep(0.05)
            code, said = nights.night()
        finally:
            child.kill()
    assert runs and code == 5 and f"measured by process {child.pid}" in said
    (nights.directory / "go-rest").touch()
    code, night = nights.night()
    assert code == 0
    assert night["boards"][0]["run"] == runs[0]
    with Store.open(os.environ["BENCHVISE_STORE"]) as store:
        assert len(store.runs(None, done)) == 2


def test_the_command_for_the_image_fails_with_its_own_words(nights: Nights) -> None:
    nights.job.write_text(JOB + "get_image = \"echo 'no build tonight' >&2; exit 3\"\n")
    code, said = nights.night()
    assert code == 1 and "no build tonight" in said
    nights.job.write_text(JOB + 'get_image = "echo log; echo image.wic"\n')
    code, said = nights.night()
    assert code == 2 and "image.wic is not there" in said


def test_an_image_is_a_night_of_its_own(tmp_path: Path, nights: Nights) -> None:
    (tmp_path / "image.wic").write_bytes(b"one")
    job = read_job(nights.job)
    one = nightly._night(job, str(tmp_path / "image.wic"))
    (tmp_path / "image.wic").write_bytes(b"two")
    assert one != nightly._night(job, str(tmp_path / "image.wic")) != nightly._night(job, "")


def test_an_image_is_written_once_a_night_and_each_suite_measured_once(
    tmp_path: Path, nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def run(request: RunRequest, *_: object) -> list[RunResult]:
        asked.append((request.suite, request.image))
        return []

    monkeypatch.setattr(run_flow, "run", run)
    (tmp_path / "image.wic").write_bytes(b"one")
    nights.job.write_text(JOB + 'image = "image.wic"\n')
    nights.night()
    assert asked == [("work.toml", str(tmp_path / "image.wic")), ("rest.toml", None)]


def test_a_board_that_cannot_be_reached_is_told_beside_the_others(nights: Nights) -> None:
    nights.job.write_text(JOB.replace('["local"]', '["local", "ssh://127.0.0.1:1"]'))
    code, night = nights.night()
    assert code == 3 and [b["verdict"] for b in night["boards"]].count("not measured") == 2
    assert all("127.0.0.1" in b["error"] for b in night["boards"] if b["error"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "'x' is no key"),
        ("boards = 1", "boards is of the wrong type"),
        ("boards = []", "boards is to be a list of names"),
        ('boards = ["local"]', "suites is to be a list of names"),
        ("boards = [", "is no TOML"),
        (JOB.replace("retry = 1", "retry = 99"), "retry from 0 to 20"),
        (JOB.replace("retry = 1", "retry = true"), "retry is of the wrong type"),
        (JOB + 'name = "../x"', "other letters"),
        (JOB + 'image = "a"\nget_image = "b"', "exclude each other"),
    ],
)
def test_what_is_no_job_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "job.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_job(file)


# -- two hosts that share a store ------------------------------------------------------------------


class Hosts:
    """Hosts with a directory of their own each, on one PostgreSQL server."""

    def __init__(self, place: Path, url: str) -> None:
        self.place, self.url = place, url
        self.work = place / "work"
        self.work.write_text("0.01\n")

    def job(self, host: str, name: str = "job", suites: Sequence[str] = ("work", "rest")) -> Path:
        directory = self.place / host
        directory.mkdir(exist_ok=True)
        for suite in suites:
            text = SUITE.format(work=self.work, go=self.place / f"go-{suite}")
            (directory / f"{suite}.toml").write_text(text)
        file = directory / f"{name}.toml"
        names = ", ".join(f'"{suite}.toml"' for suite in suites)
        text = JOB.replace('"work.toml", "rest.toml"', names)
        text = text.replace('"nights"', f'"{name}-nights"')
        file.write_text(text)
        return file

    def go(self, *suites: str) -> None:
        for suite in suites:
            (self.place / f"go-{suite}").touch()

    @contextlib.contextmanager
    def start(self, job: Path) -> Iterator[subprocess.Popen[bytes]]:
        """A host at work, until the context is left: killed then, with what its board waits for."""
        command = [sys.executable, "-m", "benchvise", "nightly", str(job), "--store", self.url]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, stdout=quiet, stderr=quiet) as child:
            try:
                yield child
            finally:  # a test that fails in the middle ends, too
                child.kill()
                self.go("work", "rest")

    def complete(self) -> list[tuple[str, str]]:
        """Label and suite of each complete run."""
        with Store.open(self.url) as store:
            runs = store.runs(None, RunFilter(status=RunStatus.COMPLETE))
        return sorted((str(run.label).split()[0], Path(run.suite).stem) for run in runs)

    def until_complete(self, count: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while len(self.complete()) < count:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def verdicts(self) -> list[str]:
        """Of the messages that were sent, on all hosts."""
        files = self.place.glob("*/verdicts")
        return [word for file in files for word in file.read_text().split()]


@pytest.fixture
def hosts(tmp_path: Path, server: PostgresServer) -> Hosts:
    return Hosts(tmp_path, server.url(server.new_database()))


def test_two_hosts_measure_a_night_once_and_go_on_for_each_other(hosts: Hosts) -> None:
    one, two = hosts.job("one"), hosts.job("two")
    hosts.go("work")  # the other suite waits
    with hosts.start(one) as first:
        hosts.until_complete(1)
        code = main.run(["nightly", str(two), "--store", hosts.url])
        assert code == 5, "another host is at work"
        assert hosts.complete() == [("job", "work")]
        first.kill()
    hosts.go("rest")
    # Whichever host is started now measures what is missing; then the night is over for all.
    assert main.run(["nightly", str(two), "--store", hosts.url]) == 0
    assert main.run(["nightly", str(one), "--store", hosts.url]) == 0
    assert hosts.complete() == [("job", "rest"), ("job", "work")]
    assert hosts.verdicts() == ["fine"]


def test_different_jobs_of_two_hosts_go_on_at_once(hosts: Hosts) -> None:
    one, two = hosts.job("one", "morning", ["rest"]), hosts.job("two", "evening", ["work"])
    hosts.go("work")
    with hosts.start(one) as first:  # which is at work until the other has ended
        assert main.run(["nightly", str(two), "--store", hosts.url]) == 0
        assert first.poll() is None
        hosts.go("rest")
        assert first.wait(PATIENCE) == 0
    assert hosts.complete() == [("evening", "work"), ("morning", "rest")]
    assert sorted(hosts.verdicts()) == ["fine", "fine"]


def test_of_many_connections_one_has_the_lock(hosts: Hosts) -> None:
    with Store.open(hosts.url) as store, contextlib.ExitStack() as stack:

        def take(_number: int) -> bool:
            try:
                stack.enter_context(store.job_lock("job"))
            except Undecided as refused:
                assert f"{socket.gethostname()[:40]} process {os.getpid()}" in refused.message
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(take, range(8))) == 1
        with store.job_lock("another"):
            assert not take(0)
        stack.close()
        assert take(0)


def test_a_server_that_restarts_gives_the_lock_to_the_first_who_comes(
    hosts: Hosts, server: PostgresServer
) -> None:
    def cut_off() -> None:
        with server.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name LIKE '% process %'"
            )

    with Store.open(hosts.url) as store, store.job_lock("job") as lock:
        cut_off()
        lock.check()
        other = store.job_lock("job")
        other._own = "elsewhere process 1"
        with pytest.raises(Undecided, match=f"process {os.getpid()}"):
            other.__enter__()
        cut_off()
        deadline = time.monotonic() + PATIENCE
        while other._take():  # until the server has ended the connection
            assert time.monotonic() < deadline
            time.sleep(0.01)
        with pytest.raises(Undecided, match="elsewhere process 1"):
            lock.check()
        other.__exit__(None, None, None)


def test_baselines_of_older_versions_are_found(nights: Nights) -> None:
    """They were kept with the whole path of a suite."""
    job = read_job(nights.job)
    with Store.open(os.environ["BENCHVISE_STORE"]) as store:
        label, suite = f"{job.name} 2020-01-01", str(nights.directory / "work.toml")
        run = store.begin_run(label, "local", suite, 1, {}, {}, False, [])
        store.end_run(run, RunStatus.COMPLETE)
        store.tag(run, ["nightly-good"])
        found = nightly._baseline(job, f"{job.name} 2020-01-02", "local", "work.toml", store)
    assert found is not None and found.id == run
