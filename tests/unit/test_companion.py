"""The other end of network benchmarks, with a stand-in for ``bvprobe sink``."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from sshd import processes_with
from test_hostside import FakeBoard, Recorder
from waiting import wait_until

from benchvise.board import Board
from benchvise.board.channel import NotAvailable, ProbeChannel
from benchvise.board.deploy import Deployed
from benchvise.board.probes import Identity
from benchvise.errors import BenchviseError
from benchvise.measure.model import SeriesSpec
from benchvise.measure.network import Companion
from benchvise.measure.runner import Sources

FAKE = Path(__file__).parents[1] / "fakesink.py"

Sink = Callable[[str], str]


@pytest.fixture
def sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sink:
    """Makes a sink of that fault the probe of this machine; returns what names its processes."""

    def make(fault: str) -> str:
        program = tmp_path / "bvprobe"
        words = shlex.join([sys.executable, str(FAKE), fault])
        program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        program.chmod(0o755)
        deployed = Deployed(str(program), Identity("x", "x"), None, 0)
        monkeypatch.setattr("benchvise.measure.network.deploy", lambda _board: deployed)
        return f"fakesink.py {fault}"

    return make


def of(board: FakeBoard) -> Companion:
    return Companion(cast(Board, board))


def test_it_listens_where_the_board_knows_this_machine(sink: Sink) -> None:
    name = sink("ok")
    with of(FakeBoard(host="192.0.2.1")) as here:
        remote_host = here.remote_host()
        assert remote_host.address == "192.0.2.1:5210"
        assert len(remote_host.key) == 32
        assert here.remote_host() == remote_host
        (line,) = processes_with(name).values()
        assert f"sink --bind 192.0.2.1 --port 0 --key {remote_host.key}" in line
    assert not processes_with(name)
    with of(FakeBoard(host="2001:db8::1")) as here:
        assert here.remote_host().address == "[2001:db8::1]:5210"
    assert here.remote_host().key != remote_host.key
    here.close()


def test_one_that_talks_never_waits_for_a_reader(sink: Sink) -> None:
    name = sink("talks")
    with of(FakeBoard()) as here:
        remote_host = here.remote_host()
        for _ in range(20):
            assert here.remote_host() == remote_host
            time.sleep(0.01)
    wait_until(lambda: not processes_with(name), "it goes on")


def test_one_that_died_is_started_again(sink: Sink) -> None:
    name = sink("dies")
    with of(FakeBoard()) as here:
        first = here.remote_host()
        wait_until(lambda: not processes_with(name), "it does not die")
        time.sleep(0.05)
        assert here.remote_host().key != first.key


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("refused", "cannot listen: give an address of this system"),
        ("ends", "out of ideas"),
        ("nonsense", "(hello)"),
        ("no-port", "192.0.2.1"),
    ],
)
def test_one_that_does_not_listen_is_a_reason(sink: Sink, fault: str, named: str) -> None:
    name = sink(fault)
    with of(FakeBoard()) as here:
        for _ in range(2):
            with pytest.raises(NotAvailable) as caught:
                here.remote_host()
            assert named in caught.value.message and "peer=" in caught.value.remedy
        assert not processes_with(name)


def test_one_that_says_nothing_is_given_up(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchvise.measure.network.READY_SECONDS", 0.2)
    name = sink("silent")
    with of(FakeBoard()) as here, pytest.raises(NotAvailable, match=r"said nothing for 0\.2 s"):
        here.remote_host()
    assert not processes_with(name)


@pytest.mark.parametrize("host", [None, "fe80::1%eth0"])
def test_an_unknown_address_is_a_reason(sink: Sink, host: str | None) -> None:
    sink("ok")
    with of(FakeBoard(host=host)) as here, pytest.raises(NotAvailable, match="peer=ADDRESS"):
        here.remote_host()


def test_a_machine_without_a_probe_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_board: Board) -> Deployed:
        raise BenchviseError("this installation has no probe for sparc", "make probes")

    monkeypatch.setattr("benchvise.measure.network.deploy", none)
    with of(FakeBoard()) as here, pytest.raises(NotAvailable, match="no probe for sparc"):
        here.remote_host()


def words_of(sink: Sink, **params: str) -> tuple[list[str], bool]:
    """What the probe is asked for, and whether a sink was started for that."""
    name = sink("ok")
    channel = Recorder()
    with Sources(cast(Board, FakeBoard()), cast(ProbeChannel, channel)) as sources:
        list(sources.messages(SeriesSpec("net.tcp", tuple(params.items()), "net.tcp"), None))
        started = bool(processes_with(name))
    assert not processes_with(name)
    return channel.asked[0], started


def test_benchmarks_with_a_remote_host_of_no_name_are_told_this_one(sink: Sink) -> None:
    words, started = words_of(sink, streams="2", peer="auto")
    assert started
    assert words[:4] == ["run", "net.tcp", "--streams", "2"]
    assert words[words.index("--peer") + 1] == "192.0.2.1:5210"
    assert len(words[words.index("--key") + 1]) == 32


@pytest.mark.parametrize(
    "params", [{"peer": "192.0.2.9"}, {"peer": "auto", "protocol": "iperf3"}, {"size": "4K"}]
)
def test_others_are_left_as_they_are(sink: Sink, params: dict[str, str]) -> None:
    words, started = words_of(sink, **params)
    assert not started
    assert "--key" not in words


def test_it_ends_with_a_process_that_is_killed(sink: Sink, tmp_path: Path) -> None:
    name = sink("ok")
    text = f"""
import sys, time
sys.path[:0] = {[str(FAKE.parent), str(FAKE.parent / "unit")]!r}
from test_hostside import FakeBoard
from benchvise.board.probes import Identity
from benchvise.board.deploy import Deployed
from benchvise.measure import network
sink = Deployed({str(tmp_path / "bvprobe")!r}, Identity("x", "x"), None, 0)
network.deploy = lambda board: sink
here = network.Companion(FakeBoard())
here.remote_host()
print("listening", flush=True)
time.sleep(60)
"""
    child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, env=os.environ)
    assert child.stdout
    assert child.stdout.readline() == b"listening\n"
    assert processes_with(name)
    child.kill()
    child.wait()
    child.stdout.close()
    wait_until(lambda: not processes_with(name), "the sink outlives who started it")
