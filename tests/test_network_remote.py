"""Network benchmarks whose other end is this machine, end to end: the real probe on both sides."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from in_process import benchvise
from probe_programs import Line
from sshd import SshServer, processes_with
from waiting import PATIENCE, wait_until

pytest_plugins = ["probe_fixtures", "board_fixtures"]

SHORT = ("run", "--processes", "1", "--batches", "2", "--no-snapshot")


@pytest.fixture
def benchmark(registry: dict[str, Line]) -> str:
    """A benchmark that needs another end."""
    for name, item in registry.items():
        if any(p["name"] == "peer" and p["default"] == "auto" for p in item["parameters"]):
            return name
    pytest.fail("no benchmark of the probe needs another end")


@pytest.fixture
def environment(static: Path, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "BENCHVISE_STORE": str(tmp_path / "results.db"), "COLUMNS": "120"}


def measured(environment: dict[str, str], *words: str) -> Any:
    """What a run of these says, in this process."""
    ran = benchvise(*SHORT, *words, "--json", environment=environment)
    assert ran.code == 0, ran.out + ran.err
    return ran.data


def sinks(environment: dict[str, str]) -> list[int]:
    """The sinks started from here, whichever program of the probe's they are: those of a test that
    runs beside this one know another store."""
    found = []
    for pid in processes_with(" sink --bind 127.0.0.1 --port 0"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if f"BENCHVISE_STORE={environment['BENCHVISE_STORE']}".encode() in variables:
                found.append(pid)
    return found


def test_this_machine_is_the_other_end(environment: dict[str, str], benchmark: str) -> None:
    (run,) = measured(environment, "--bench", benchmark)
    (series,) = run["series"]
    assert series["status"] == "measured" and len(series["samples"]) == 2
    assert series["key"] == benchmark and series["params"]["peer"] == "auto"
    assert series["caveats"], "the loopback is no network"
    wait_until(lambda: not sinks(environment), "the sink goes on")


def test_behind_ssh(
    environment: dict[str, str], benchmark: str, plain: SshServer, home: Path
) -> None:
    environment["BENCHVISE_SSH_CONFIG"] = str(plain.config)
    (run,) = measured(environment, plain.name, "--bench", benchmark)
    assert run["series"][0]["status"] == "measured"


def test_where_the_address_is_not_known(
    environment: dict[str, str], benchmark: str, busybox: SshServer, home: Path
) -> None:
    """Its login starts from an empty environment, so that nobody says who has logged in."""
    environment["BENCHVISE_SSH_CONFIG"] = str(busybox.config)
    (run,) = measured(environment, busybox.name, "--bench", benchmark, "--bench", "os.syscall")
    series = {one["benchmark"]: one for one in run["series"]}
    assert series["os.syscall"]["status"] == "measured"
    assert series[benchmark]["status"] == "na" and "peer=ADDRESS" in series[benchmark]["reason"]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_benchvise(
    environment: dict[str, str], benchmark: str, signum: signal.Signals
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "benchvise", *SHORT, "--batches", "1000", "--bench", benchmark],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(lambda: sinks(environment), "no sink is started")
        child.send_signal(signum)
        child.wait(PATIENCE)
        wait_until(lambda: not sinks(environment), "the sink goes on")
    finally:
        child.kill()
        child.wait()
