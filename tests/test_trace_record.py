"""``benchvise trace record`` and ``run --trace``, end to end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process import benchvise
from sshd import SshServer
from trace_boards import instance_of, instances, left_behind, recording, reported, tracing_state
from waiting import PATIENCE, wait_until

from benchvise.board import open_board
from benchvise.errors import BoardUnreachable
from benchvise.trace.recording import RecordingPlan, TraceRecorder

BENCHVISE = [sys.executable, "-m", "benchvise"]
FEW = ("--processes", "1", "--batches", "3")

pytest_plugins = ["probe_fixtures", "board_fixtures"]

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
def cli(environment: dict[str, str], tmp_path: Path, static: Path) -> Cli:
    """In this process: what most tests look at is not how it starts."""
    assert static.exists()

    def run(*words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        ran = benchvise(*words, environment=environment, cwd=tmp_path)
        assert ran.code == expect, ran.out + ran.err
        return subprocess.CompletedProcess(words, ran.code, ran.out, ran.err)

    return run


@pytest.fixture
def program(environment: dict[str, str], tmp_path: Path, static: Path) -> Cli:
    """As a process of its own, whose standard error a command that it runs has as well."""
    assert static.exists()

    def run(*words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*BENCHVISE, *words],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=tmp_path,
        )
        assert done.returncode == expect, done.stdout + done.stderr
        return done

    return run


def data(done: subprocess.CompletedProcess[str]) -> Any:
    document = json.loads(done.stdout)
    assert document["kind"] == "recording"
    return document["data"]


class TestHere:
    @pytest.fixture(autouse=True)
    def _possible(self) -> Iterator[None]:
        with recording():
            yield

    def test_for_a_time(self, cli: Cli, tmp_path: Path) -> None:
        before = tracing_state()
        found = data(cli("trace", "record", "local", "--for", "0.3", "-o", "t.dat", "--json"))
        assert found["end"]["ended"] == "time"
        assert reported(tmp_path / "t.dat") == found["events"] > 0
        assert found["lost"] == 0
        assert tracing_state() == before

    def test_while_a_command_runs(self, program: Cli, tmp_path: Path) -> None:
        words = ("--events", "sched", "--no-kallsyms", "-o", "t.dat")
        failing = ("--", "sh", "-c", "echo hello; exit 3")
        done = program("trace", "record", "local", *words, *failing, expect=1)
        assert "hello" in done.stderr
        assert "exit 3" in done.stdout
        assert reported(tmp_path / "t.dat") > 0

    def test_what_does_not_exist(self, cli: Cli) -> None:
        done = cli("trace", "record", "local", "--events", "nosuch", "-o", "t.dat", expect=2)
        assert "nosuch" in done.stderr
        done = cli("trace", "record", "local", "--for", "1", "-o", "no/t.dat", expect=2)
        assert "no directory" in done.stderr
        assert not left_behind()

    @pytest.mark.parametrize(("words", "expected"), [((), 0), (("--for", "60"), 4)])
    def test_stopped_by_ctrl_c_it_is_kept(
        self, words: tuple[str, ...], expected: int, environment: dict[str, str], tmp_path: Path
    ) -> None:
        command = [*BENCHVISE, "trace", "record", "local", "--no-kallsyms", "-o", "t.dat", *words]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=tmp_path,
            text=True,
        ) as process:
            self.wait_for_instance(process)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=PATIENCE)
        assert process.returncode == expected, said
        assert reported(tmp_path / "t.dat") > 0
        assert not left_behind()

    def test_a_killed_host_leaves_nothing(
        self, environment: dict[str, str], tmp_path: Path
    ) -> None:
        before = tracing_state()
        command = [*BENCHVISE, "trace", "record", "local", "-o", "t.dat"]
        with subprocess.Popen(command, env=environment, cwd=tmp_path) as process:
            name = self.wait_for_instance(process)
            process.kill()
        self.wait_for_end(name)
        assert tracing_state() == before

    def test_a_run_keeps_its_trace(self, cli: Cli, tmp_path: Path) -> None:
        words = ("--bench", "os.syscall", "--bench", "os.futex", "--no-snapshot", *FEW)
        done = cli("run", "local", "--trace", *words)
        assert "tracing was on" in " ".join(done.stdout.split())
        found = data(cli("show", "@", "--trace", "-o", "copy.dat", "--json"))
        copy = tmp_path / "copy.dat"
        assert reported(copy) == found["events"] > 0
        content = copy.read_bytes()
        for benchmark in ("os.syscall", "os.futex"):
            assert content.count(f"begin {benchmark} batch ".encode()) == 3
            assert content.count(f"end {benchmark} batch ".encode()) == 3
            assert f"process 0 of {benchmark}".encode() in content
        assert not left_behind()

    def test_a_run_without_a_trace_says_so(self, cli: Cli) -> None:
        cli("run", "local", "--bench", "os.syscall", "--no-snapshot", *FEW)
        assert "no trace" in cli("show", "@", "--trace", expect=2).stderr
        assert "--trace" in cli("show", "@", "-o", "x", expect=2).stderr

    def test_over_ssh(
        self,
        talkative: SshServer,
        home: Path,
        cli: Cli,
        environment: dict[str, str],
        tmp_path: Path,
    ) -> None:
        assert home.is_dir()
        environment["BENCHVISE_SSH_CONFIG"] = str(talkative.config)
        words = ("--no-kallsyms", "-o", "t.dat", "--json")
        found = data(cli("trace", "record", talkative.name, *words, "--", "sleep", "0.3"))
        assert found["end"]["ended"] == "command"
        assert reported(tmp_path / "t.dat") == found["events"] > 0

    def test_a_connection_that_breaks_leaves_nothing(
        self, plain: SshServer, home: Path, monkeypatch: pytest.MonkeyPatch, static: Path
    ) -> None:
        assert home.is_dir()
        before = tracing_state()
        monkeypatch.setenv("BENCHVISE_SSH_CONFIG", str(plain.config))
        with (
            open_board(plain.name) as board,
            TraceRecorder(board, str(static), RecordingPlan()) as recorder,
        ):
            name = recorder.begun["instance"]
            assert name in instances()
            plain.kill_sessions()
            with pytest.raises(BoardUnreachable):
                recorder.wait()
        self.wait_for_end(name)
        assert tracing_state() == before

    def test_an_interrupted_run_keeps_its_trace(
        self, cli: Cli, environment: dict[str, str], tmp_path: Path
    ) -> None:
        words = ("--trace", "--bench", "os.syscall", "--time", "60", "--no-snapshot")
        with subprocess.Popen(
            [*BENCHVISE, "run", "local", *words], env=environment, cwd=tmp_path
        ) as process:
            self.wait_for_instance(process)
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 4
        assert "tracing was on" in " ".join(cli("show", "@", "--notes").stdout.split())
        cli("show", "@", "--trace", "-o", "copy.dat")
        assert reported(tmp_path / "copy.dat") > 0
        assert not left_behind()

    @staticmethod
    def wait_for_instance(process: subprocess.Popen[Any]) -> str:
        return wait_until(lambda: instance_of(process.pid), "it begins to record")

    @staticmethod
    def wait_for_end(name: str) -> None:
        wait_until(lambda: name not in instances(), f"{name} is gone")


class TestSeveral:
    """Two boards that are this machine, so that the truth is known: their clock is the host's."""

    @pytest.fixture(autouse=True)
    def _possible(self) -> Iterator[None]:
        with recording():
            yield

    def test_their_times_count_by_this_hosts_clock(
        self, plain: SshServer, home: Path, cli: Cli, environment: dict[str, str], tmp_path: Path
    ) -> None:
        assert home.is_dir()
        environment["BENCHVISE_SSH_CONFIG"] = str(plain.config)
        before = time.time_ns()
        words = ("--with", plain.name, "--for", "1", "--events", "sched", "--no-kallsyms")
        done = cli("trace", "record", "local", *words, "-o", "set", "--json")
        found = json.loads(done.stdout)["data"]
        assert [member["board"] for member in found["members"]] == ["local", plain.name]
        for member in found["members"]:
            clock = member["clock"]
            assert abs(clock["offset_begin_ns"]) <= clock["uncertainty_ns"]
            assert abs(clock["offset_end_ns"]) <= clock["uncertainty_ns"]
            assert before < member["first"] < member["last"] < time.time_ns()
            file = str(tmp_path / "set" / member["file"])
            assert reported(Path(file)) == member["events"]
            # What moves its stamps is in the file: the reference tool has the same times.
            told = subprocess.run(
                ["trace-cmd", "report", "-t", file], capture_output=True, text=True, check=True
            )
            times = re.findall(r"\] +(\d+\.\d{9}): ", told.stdout)
            listed = cli("trace", "events", file).stdout
            assert re.findall(r"\] (\d+\.\d{9}): ", listed) == times
        merged = json.loads(cli("trace", "events", "set", "--event", "print", "--json").stdout)
        events = merged["data"]["events"]
        assert [event["time"] for event in events] == sorted(event["time"] for event in events)
        assert {event["board"] for event in events} == {"local", plain.name}
        assert merged["data"]["uncertainty_ns"] == sum(
            member["clock"]["uncertainty_ns"] for member in found["members"]
        )
        table = cli("trace", "info", "set").stdout
        assert plain.name in table
        assert "round trips" in table
        assert "recordings of 2 boards" in cli("trace", "stats", "set", expect=2).stderr
        # One kernel: each event is in both traces, at the same time.
        switch = "event:sched_switch"
        ends = ("--from", f"local:{switch}", "--to", f"{plain.name}:{switch}")
        same = ("--by", "prev_pid", "--by", "next_pid", "--json")
        answer = json.loads(cli("trace", "latency", "set", *ends, *same).stdout)["data"]
        assert answer["uncertainty"] == merged["data"]["uncertainty_ns"]
        assert answer["undecided"] > 20 * answer["occurrences"]
        ends = ("--from", "local:event:sched_waking", "--to", f"{plain.name}:{switch}")
        across, within = (
            json.loads(
                cli("trace", "latency", place, *words, "--by", "pid=next_pid", "--json").stdout
            )
            for place, words in (
                ("set", (*ends, "--incomplete")),
                ("set/local.dat", ("--from", "event:sched_waking", "--to", switch)),
            )
        )
        medians = [found["total"]["median"] for found in (across["data"], within["data"]["answer"])]
        assert abs(medians[0] - medians[1]) <= answer["uncertainty"]


LTTNG = """#!/bin/sh
# as far as recording needs it: what it was asked is kept, and a trace is there after `destroy`
echo "$@" >> "$LTTNG_LOG"
case $1 in
--version) echo "lttng (LTTng Trace Control) 2.13.9 - Nordicite" ;;
create) echo "${3#--output=}" > "$LTTNG_LOG.dir" ;;
enable-event) case $* in *nosuch*) exit 1 ;; esac ;;
destroy) cd "$(cat "$LTTNG_LOG.dir")" && mkdir -p kernel && echo x > kernel/metadata ;;
esac
"""


def of_type(kind: bytes, name: str, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


class TestLttng:
    @pytest.fixture
    def log(self, environment: dict[str, str], tmp_path: Path) -> Path:
        program = tmp_path / "bin" / "lttng"
        program.parent.mkdir()
        program.write_text(LTTNG)
        program.chmod(0o755)
        environment["PATH"] = f"{program.parent}:{environment['PATH']}"
        environment["LTTNG_LOG"] = str(tmp_path / "asked")
        return tmp_path / "asked"

    def test_records_into_a_directory(self, program: Cli, log: Path, tmp_path: Path) -> None:
        words = ("--tracer", "lttng", "-o", "trace", "--events", "sched", "--events", "syscalls")
        done = program("trace", "record", "local", *words, "--", "echo", "worked")
        assert "worked" in done.stderr
        assert (tmp_path / "trace/kernel/metadata").read_text() == "x\n"
        asked = [line.split()[0] for line in log.read_text().splitlines()]
        assert asked == [
            *("--version", "create", "enable-channel", "enable-event", "enable-event"),
            *("start", "stop", "destroy", "destroy"),
        ]
        assert not Path(log.with_name("asked.dir").read_text().strip()).exists()

    @pytest.mark.parametrize(
        "member",
        [
            tarfile.TarInfo("../escaped"),
            tarfile.TarInfo("/tmp/benchvise-test-escaped"),  # noqa: S108
            of_type(tarfile.SYMTYPE, "kernel/away", "/tmp"),  # noqa: S108
            of_type(tarfile.LNKTYPE, "kernel/away", "/etc/passwd"),
            of_type(tarfile.FIFOTYPE, "kernel/fifo"),
            of_type(tarfile.CHRTYPE, "kernel/device"),
        ],
        ids=["above", "absolute", "link", "hard link", "fifo", "device"],
    )
    def test_what_a_trace_does_not_hold_is_refused(
        self, cli: Cli, log: Path, tmp_path: Path, member: tarfile.TarInfo
    ) -> None:
        """A board that sends another archive than its tar would make."""
        archive = tmp_path / "hostile.tar"
        with tarfile.open(archive, "w") as files:
            files.addfile(member)
        program = log.with_name("bin") / "tar"
        program.write_text(f"#!/bin/sh\nexec cat {archive}\n")
        program.chmod(0o755)
        words = ("--tracer", "lttng", "-o", "new/trace", "--for", "0.1")
        (tmp_path / "new").mkdir()
        done = cli("trace", "record", "local", *words, expect=1)
        assert "does not belong to a trace" in done.stderr
        assert list((tmp_path / "new").iterdir()) == []
        assert not Path("/tmp/benchvise-test-escaped").exists()  # noqa: S108

    def test_without_the_events_asked_for(self, cli: Cli, log: Path) -> None:
        words = ("--tracer", "lttng", "-o", "trace", "--events", "nosuch")
        done = cli("trace", "record", "local", *words, "--for", "1", expect=1)
        assert "none of the events" in done.stderr
        assert "destroy" in log.read_text()

    def test_where_it_is_not_installed(
        self, cli: Cli, environment: dict[str, str], tmp_path: Path
    ) -> None:
        environment["PATH"] = str(tmp_path)
        words = ("--tracer", "lttng", "-o", "trace", "--for", "1")
        assert "not installed" in cli("trace", "record", "local", *words, expect=1).stderr
