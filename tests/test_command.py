"""command.time and command.output: commands that fail, say much, never end or leave others behind.

The probe is that of the board, native and with sanitizers; no time is asserted but by its order.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import skips
from in_process import benchvise
from probe_programs import Line, Result, Running, run
from sshd import SshServer, processes_with
from waiting import PATIENCE, wait_until

pytest_plugins = ["probe_fixtures", "board_fixtures"]

BENCHVISE = [sys.executable, "-m", "benchvise"]


def timed(probe: Path, command: str, *words: str, code: int = 0) -> Result:
    return run([probe, "run", "command.time", "--run", command, *words], code=code)


def details(result: Result) -> list[Line]:
    return [sample["detail"] for sample in result.all("sample")]


# --- what is measured -------------------------------------------------------------------------


def test_a_batch_is_one_run_and_warm_up_comes_before(probe: Path, tmp_path: Path) -> None:
    result = timed(probe, f"echo x >> {tmp_path}/runs", "--batches", "3", "--warmup", "2")
    assert len((tmp_path / "runs").read_text().split()) == 5
    assert len(result.all("sample")) == 3
    assert all(sample["iterations"] == 1 for sample in result.all("sample"))


def test_waiting_costs_wall_time_and_working_costs_cpu_time(probe: Path) -> None:
    work = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
    (waits,) = details(timed(probe, "sleep 0.3", "--batches", "1"))
    (works,) = details(timed(probe, work, "--batches", "1"))
    assert waits["wall_ns"] >= 300_000_000
    assert waits["user_ns"] + waits["sys_ns"] < 150_000_000
    assert works["user_ns"] > 10 * waits["user_ns"]
    assert works["wall_ns"] > works["user_ns"] * 0.9


def test_children_that_were_waited_for_count(probe: Path) -> None:
    """All the work happens in a grandchild, and so does all the memory."""
    script = "b = bytearray(b'x') * 80_000_000"
    (detail,) = details(timed(probe, f'(({sys.executable} -c "{script}"))', "--batches", "1"))
    assert detail["max_rss_bytes"] > 80_000_000
    assert detail["faults_minor"] > 80_000_000 / 65536


@pytest.mark.parametrize(
    ("metric", "unit", "keys"),
    [
        ("wall", "ns", ("wall_ns",)),
        ("cpu", "ns", ("user_ns", "sys_ns")),
        ("user", "ns", ("user_ns",)),
        ("sys", "ns", ("sys_ns",)),
        ("rss", "B", ("max_rss_bytes",)),
    ],
)
def test_the_value_is_what_is_asked_for(
    static: Path, metric: str, unit: str, keys: tuple[str, ...]
) -> None:
    result = timed(static, "true", "--metric", metric, "--batches", "2")
    assert result.one("begin")["unit"] == unit
    for sample in result.all("sample"):
        assert sample["value"] == sum(sample["detail"][key] for key in keys)


def test_a_command_may_use_every_cpu_unless_it_is_pinned(static: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        skips.skip("two CPUs")
    count = "exec test $(nproc) -eq"
    timed(static, f"{count} {len(os.sched_getaffinity(0))}", "--batches", "1")
    timed(static, f"{count} 1", "--pin", "yes", "--batches", "1")


def test_the_command_finds_an_ordinary_world(probe: Path) -> None:
    """No input, no signal that we ignore or block, nothing open but its three files."""
    status = "/proc/self/status"
    checks = (
        'test -z "$(cat)"',
        "test $(ls /proc/self/fd | wc -l) -eq 4",  # and the directory that ls reads
        rf"grep -Eq '^SigIgn:\s[0-9a-f]{{12}}[02468ace][0-9a-f]{{3}}$' {status}",  # SIGPIPE
        rf"grep -Eq '^SigBlk:\s[0-9a-f]{{11}}[02468ace][0-9a-f]{{4}}$' {status}",  # SIGCHLD
    )
    for check in checks:
        timed(probe, check, "--batches", "1")


# --- commands that fail -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code", "named"),
    [
        ("echo first >&2; echo oops >&2; echo ' ' >&2; exit 3", 1, "failed (exit 3): oops"),
        ("exit 1", 1, "failed (exit 1): it said nothing on standard error"),
        ("no-such-program-here --x", 77, "is not to be found on this board (exit 127)"),
        ("kill -SEGV $$", 1, "was ended by signal 11"),
        ("printf 'a\\0b\\377\\033[31m' >&2; exit 2", 1, "(exit 2): a\ufffdb\ufffd\x1b[31m"),
        ("echo " + "x" * 200 + " >&2; exit 4", 1, "…' failed (exit 4): xxx"),
        ("yes | head -c 3000000 >&2; exit 5", 1, "failed (exit 5): y"),
        ("head -c 300000 /dev/zero | tr '\\0' z >&2; exit 6", 1, "failed (exit 6): zzz"),
    ],
)
def test_a_command_that_fails_says_so(probe: Path, command: str, code: int, named: str) -> None:
    message = timed(probe, command, code=code).failure(code)
    assert named in message
    assert len(message) < 512


def test_a_run_that_fails_after_others_keeps_them(probe: Path, tmp_path: Path) -> None:
    command = f"echo x >> {tmp_path}/n; test $(wc -l < {tmp_path}/n) -lt 4"
    result = timed(probe, command, "--warmup", "0", code=1)
    assert len(result.all("sample")) == 3
    assert "failed (exit 1)" in result.failure(1)


def test_a_command_that_never_ends_is_ended_with_all_it_started(
    probe: Path, tmp_path: Path
) -> None:
    mark = f"86399.{os.getpid()}"
    command = f"echo waiting >&2; sleep {mark} & sleep {mark} | sleep {mark}"
    message = timed(probe, command, "--timeout_s", "1", code=1).failure(1)
    assert "did not end within 1 s and was stopped (timeout_s): waiting" in message
    wait_until(lambda: not processes_with(mark), "what the command started goes on")


def test_what_is_left_in_the_background_is_ended_and_does_not_delay(probe: Path) -> None:
    """It holds the pipe for standard error open, too."""
    mark = f"86398.{os.getpid()}"
    result = timed(probe, f"sleep {mark} & true", "--batches", "2")
    assert all(sample["value"] < 20e9 for sample in result.all("sample"))
    wait_until(lambda: not processes_with(mark), "what the command started goes on")


# --- output -----------------------------------------------------------------------------------


def test_the_end_of_the_output_is_kept(probe: Path) -> None:
    words = ("--output", "keep", "--batches", "1", "--warmup", "0")
    (short,) = details(timed(probe, "echo out; echo err >&2", *words))
    assert short["output"] == "out\nerr\n"
    (long,) = details(timed(probe, "seq 1000000", *words))
    assert len(long["output"]) == 65536
    assert long["output"].endswith("\n999999\n1000000\n")
    assert long["output_bytes"] == sum(len(str(n)) + 1 for n in range(1, 1000001))
    (binary,) = details(timed(probe, "head -c 100000 /dev/urandom", *words))
    assert len(binary["output"]) <= 65536 < binary["output_bytes"]


def test_standard_output_is_thrown_away_by_default(static: Path) -> None:
    (detail,) = details(timed(static, "seq 1000000", "--batches", "1"))
    assert detail["output_bytes"] == 0
    assert "output" not in detail


# --- nothing is left --------------------------------------------------------------------------


@contextlib.contextmanager
def busy(*command: str | Path, mark: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process under which a command with that mark runs by now."""
    child = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **options,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not any(line.startswith(f"sleep {mark}") for line in processes_with(mark).values()):
            assert time.monotonic() < deadline and child.poll() is None
            time.sleep(0.02)
        yield child
    finally:
        child.kill()
        child.communicate()


def test_a_probe_that_is_killed_takes_its_command_with_it(probe: Path) -> None:
    mark = f"86397.{os.getpid()}"
    words = ("run", "command.time", "--run", f"sleep {mark}; true")
    with busy(probe, *words, mark=mark) as child:
        os.killpg(child.pid, signal.SIGKILL)
        wait_until(lambda: not processes_with(mark), "the command outlives the probe")


def test_a_host_that_goes_away_ends_the_command(probe: Path) -> None:
    mark = f"86396.{os.getpid()}"
    with Running(probe, "serve") as served:
        served.line()
        served.request(1, "run", "command.time", "--run", f"sleep {mark} | cat")
        wait_until(lambda: bool(processes_with(f"sleep {mark}")), "the command does not begin")
        served.input.close()
        served.output.close()
        wait_until(lambda: not processes_with(mark), "the command outlives the host")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "BENCHVISE_STORE": str(tmp_path / "results.db"), "COLUMNS": "120"}


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_command_outlives_benchvise(
    static: Path, environment: dict[str, str], signum: signal.Signals
) -> None:
    mark = f"{80000 + int(signum)}.{os.getpid()}"
    words = ("run", "--command", f"sleep {mark}; true")
    with busy(*BENCHVISE, *words, mark=mark, env=environment) as child:
        child.send_signal(signum)
        child.wait(PATIENCE)
        wait_until(lambda: not processes_with(mark), "the command goes on")


def test_no_command_outlives_benchvise_on_a_board(
    plain: SshServer, home: Path, environment: dict[str, str]
) -> None:
    mark = f"86394.{os.getpid()}"
    environment["BENCHVISE_SSH_CONFIG"] = str(plain.config)
    words = ("run", plain.name, "--command", f"sleep {mark}; true")
    with busy(*BENCHVISE, *words, mark=mark, env=environment) as child:
        child.kill()
        child.wait(PATIENCE)
        wait_until(lambda: not processes_with(f"sleep {mark}"), "the command goes on")
    # ssh's own connection ends a minute after its last user; here nothing must wait for that
    for pid, line in processes_with(str(plain.config)).items():
        if "ControlMaster=yes" in line:
            os.kill(pid, signal.SIGTERM)


# --- the commands of the command line ---------------------------------------------------------


def measured(environment: dict[str, str], *words: str, expect: int = 0) -> Any:
    """What a run of these says, in this process."""
    short = ("run", "--processes", "2", "--batches", "3", "--no-snapshot")
    ran = benchvise(*short, *words, "--json", environment=environment)
    assert ran.code == expect, ran.out + ran.err
    return ran.data


def series_of(environment: dict[str, str], *words: str, expect: int = 0) -> Any:
    (series,) = measured(environment, *words, expect=expect)[0]["series"]
    return series


def test_the_number_that_a_command_prints(
    static: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    command = f"echo x >> {tmp_path}/n; echo 0.5 MB/s; echo speed: $(wc -l < {tmp_path}/n)e3 MB/s"
    words = ("--command", command, "--match", r"([0-9.e]+) MB/s$", "--better", "higher")
    series = series_of(environment, *words, "--unit", "MB/s")
    assert [sample["value"] for sample in series["samples"]] == [2e3, 3e3, 4e3, 6e3, 7e3, 8e3]
    assert (series["unit"], series["better"]) == ("MB/s", "higher")
    assert series["counted"]


def test_without_a_regular_expression_it_is_the_time(
    static: Path, environment: dict[str, str]
) -> None:
    series = series_of(environment, "--command", "sleep 0.02")
    assert series["benchmark"] == "command.time"
    assert series["unit"] == "ns" and series["summary"]["minimum"] > 2e7


def test_the_unit_follows_the_metric(static: Path, environment: dict[str, str]) -> None:
    series = series_of(environment, "--bench", "command.time:metric=rss")
    assert series["unit"] == "B"
    assert "memory" in series["counted"]


@pytest.mark.parametrize(
    ("command", "match", "named"),
    [
        ("echo a; echo hello", "([0-9]+)", "matches nothing in the output, which ends with"),
        ("true", "([0-9]+)", "which is empty"),
        ("echo rate: 5,870 MB", "rate: ([0-9,]+)", "finds '5,870', which is no number"),
        ("echo 1e999", "(.+)", "which is no number"),
        ("echo x", "(y?)x", "finds '', which is no number"),
        ("yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | head -c 90000", "(a+)+$", "longer than"),
        ("echo boo >&2; exit 9", "([0-9]+)", "failed (exit 9): boo"),
    ],
)
def test_an_output_without_the_number_fails_the_series_only(
    static: Path, environment: dict[str, str], command: str, match: str, named: str
) -> None:
    words = ("--command", command, "--match", match, "--better", "lower", "--bench", "os.syscall")
    runs = measured(environment, *words, expect=1)
    series = {one["benchmark"]: one for one in runs[0]["series"]}
    assert series["os.syscall"]["status"] == "measured"
    assert series["command.output"]["status"] == "failed"
    assert named in series["command.output"]["reason"]


def test_what_is_not_there_is_not_available(static: Path, environment: dict[str, str]) -> None:
    words = ("--command", "no-such-program-here", "--bench", "os.syscall")
    series = {one["benchmark"]: one for one in measured(environment, *words)[0]["series"]}
    assert series["command.time"]["status"] == "na"
    assert "not to be found" in series["command.time"]["reason"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--match", "x", "--better", "lower"), "add --command"),
        (("--command", "x", "--match", "x"), "which is --better"),
        (("--command", "x", "--better", "lower"), "give a --match"),
        (("--command", "x", "--match", "(", "--better", "lower"), "no regular expression"),
        (("--command", "x\ny"), "without control characters"),
        (("--command", ""), "text of 1 to 4096"),
        (("--bench", "os.syscall", "--param", "url=x"), "has that parameter"),
        (("--bench", "os.syscall", "--param", "url"), "not name=value"),
    ],
)
def test_usage(
    static: Path, environment: dict[str, str], words: tuple[str, ...], named: str
) -> None:
    error = measured(environment, *words, expect=2)
    assert named in f"{error['message']}: {error['remedy']}"


def test_a_parameter_for_all_that_have_it(static: Path, environment: dict[str, str]) -> None:
    words = ("--bench", "os.syscall", "--bench", "command.time:metric=cpu", "--plan")
    params = ("--param", "run=echo a+b, c", "--param", "run=true", "--param", "call=read")
    (plan,) = measured(environment, *words, *params)
    assert plan["series"] == [
        "os.syscall:call=read",
        "command.time:run=echo a+b, c,metric=cpu",
        "command.time:run=true,metric=cpu",
    ]
