"""The network benchmarks through a real link: two network namespaces joined by a veth pair."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from probe_programs import WITH_REMOTE, Result, Running
from remote_hosts import (
    BOARD_ADDRESS,
    DEVICE,
    REMOTE_ADDRESS,
    REMOTE_V6,
    Link,
    Sink,
    iperf3_server,
    measure,
    namespaces,
    sink,
)
from waiting import wait_until

pytest_plugins = ["probe_fixtures"]

MBIT = 1e6 / 8
# of a limit of 20: what waited in buffers for a program that waited for its CPU comes on top
MOST = 24 * MBIT


@pytest.fixture
def link() -> Iterator[Link]:
    with namespaces() as made:
        yield made


@pytest.fixture
def remote(static: Path, link: Link) -> Iterator[Sink]:
    with sink(static, "--bind", REMOTE_ADDRESS, prefix=link.in_remote) as running:
        yield running


def board(static: Path, link: Link, name: str, remote: str, *words: str, code: int = 0) -> Result:
    return measure((*link.in_board, static), name, remote, *words, code=code)


def median(result: Result) -> float:
    return statistics.median(float(sample["value"]) for sample in result.all("sample"))


def test_no_loopback_and_no_interrupt(static: Path, link: Link, remote: Sink) -> None:
    for name in WITH_REMOTE:
        begin = board(static, link, name, remote.endpoint).one("begin")
        assert begin["caveats"] == []
        network = begin["network"]
        assert network["interface"] == DEVICE
        assert network["mtu"] == 1500
        assert network["local"].startswith(BOARD_ADDRESS)
        message = board(
            static, link, name, remote.endpoint, "--affinity", "other", code=77
        ).failure(77)
        assert f"{DEVICE} has no interrupt of its own" in message
    assert board(static, link, "net.udp", remote.endpoint).one("begin")["message_bytes"] == 1472


def test_version_6(static: Path, link: Link) -> None:
    with sink(static, "--bind", REMOTE_V6, prefix=link.in_remote) as six:
        for name in WITH_REMOTE:
            begin = board(static, link, name, six.endpoint).one("begin")
            assert begin["network"]["interface"] == DEVICE
        assert board(static, link, "net.udp", six.endpoint).one("begin")["message_bytes"] == 1452


def link_local(namespace: str) -> dict[str, Any]:
    words = ["ip", "-n", namespace, "-json", "addr", "show", "dev", DEVICE, "scope", "link"]
    found = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    (address,) = [info for item in found for info in item.get("addr_info", []) if info]
    assert isinstance(address, dict)
    return address


def has_address(namespace: str) -> bool:
    return not link_local(namespace).get("tentative")


def test_link_local(static: Path, link: Link) -> None:
    """An address that means something only with an interface."""
    for name in (link.board, link.remote):  # until nobody else can have it
        wait_until(partial(has_address, name), "an address")
    address = link_local(link.remote)["local"]
    with sink(static, prefix=link.in_remote) as everywhere:
        remote = f"[{address}%{DEVICE}]:{everywhere.port}"
        for name in WITH_REMOTE:
            begin = board(static, link, name, remote).one("begin")
            assert begin["network"]["interface"] == DEVICE


# -- what a link that is limited, queues, delays or loses does to a measurement -------------------

LIMIT = ("tbf", "rate", "20mbit", "burst", "16k", "latency", "30ms")
LIMITED = [
    ("net.tcp",),
    ("net.tcp", "--direction", "receive"),
    ("net.tcp", "--streams", "4"),
    ("net.tcp", "--streams", "4", "--direction", "receive"),
    ("net.udp", "--rate_mbit", "60"),
    ("net.udp", "--rate_mbit", "60", "--direction", "receive"),
]
BOTH = ("net.tcp", "--direction", "both")


@contextmanager
def joined(static: Path) -> Iterator[tuple[Link, str]]:
    """A link of its own, and the sink at its end."""
    with namespaces() as made, sink(static, "--bind", REMOTE_ADDRESS, prefix=made.in_remote) as at:
        yield made, at.endpoint


def limited(words: tuple[str, ...], static: Path) -> list[Result]:
    with joined(static) as (link, remote):
        link.shape(*LIMIT)
        return [board(static, link, words[0], remote, *words[1:], "--batch_ms", "300")]


def queued(static: Path) -> list[Result]:
    with joined(static) as (link, remote):
        before = board(static, link, "net.tcp", remote)
        link.shape("tbf", "rate", "10mbit", "burst", "16k", "limit", "400k")
        words = ("--batch_ms", "500", "--streams", "4")
        return [before, board(static, link, "net.tcp", remote, *words)]


def delayed(static: Path) -> list[Result]:
    with joined(static) as (link, remote):
        link.shape("netem", "delay", "10ms", "loss", "2%")
        half_second = ("--batch_ms", "500")
        return [
            board(static, link, "net.latency", remote, "--kind", "tcp"),
            board(static, link, "net.latency", remote, "--kind", "udp"),
            board(static, link, "net.tcp", remote, *half_second),
            board(static, link, "net.udp", remote, "--rate_mbit", "20", *half_second),
        ]


MEASUREMENTS: dict[str, Callable[[Path], list[Result]]] = {
    **{"_".join(words): partial(limited, words) for words in (*LIMITED, BOTH)},
    "queued": queued,
    "delayed": delayed,
}


class Measurements:
    """All of them begun at once, each on a link of its own: nearly all of their time is waiting.

    An iperf3 server is not among them, as it loses its pace to neighbours. A test that is tried
    again has its own measured anew.
    """

    def __init__(self, static: Path, pool: Executor) -> None:
        self._static = static
        self._begun = {
            name: pool.submit(measured, static) for name, measured in MEASUREMENTS.items()
        }

    def __call__(self, name: str) -> list[Result]:
        begun = self._begun.pop(name, None)
        return begun.result() if begun else MEASUREMENTS[name](self._static)


@pytest.fixture(scope="module")
def measured(static: Path) -> Iterator[Measurements]:
    with ThreadPoolExecutor(len(MEASUREMENTS)) as pool:
        yield Measurements(static, pool)


@pytest.mark.alone
@pytest.mark.parametrize("words", LIMITED, ids="_".join)
def test_a_limit_is_found(measured: Measurements, words: tuple[str, ...]) -> None:
    """What a 20 Mbit/s link takes, of Ethernet frames, is what arrives: no more, by however much
    lies in buffers, and not much less."""
    (result,) = measured("_".join(words))
    # datagrams may have waited in the socket's buffer for a program that waited for its CPU
    most = 30 * MBIT if words[0] == "net.udp" else MOST
    assert 8 * MBIT < median(result) < most
    for sample in result.all("sample"):
        if words[0] == "net.udp":
            assert sample["detail"]["loss"] > 5
            assert sample["detail"]["sent_rate"] > sample["value"]
        else:
            assert sample["detail"]["retransmits"] >= 0


@pytest.mark.alone
def test_both_directions_have_the_limit_each(measured: Measurements) -> None:
    (result,) = measured("_".join(BOTH))
    for sample in result.all("sample"):
        assert sample["detail"]["sent_rate"] < MOST
        assert sample["detail"]["received_rate"] < MOST


@pytest.mark.alone
def test_a_queue_shows_in_the_round_trip(measured: Measurements) -> None:
    """A limit with a long queue: under load the round trip takes as long as the queue is."""
    before, after = (result.all("sample")[-1]["detail"]["rtt_ns"] for result in measured("queued"))
    assert after > before
    assert after > 5e6


@pytest.mark.alone
def test_delay_and_loss(measured: Measurements) -> None:
    *latencies, tcp, udp = measured("delayed")
    for result in latencies:
        assert all(sample["detail"]["p50_ns"] >= 20e6 for sample in result.all("sample"))
    assert sum(sample["detail"]["retransmits"] for sample in tcp.all("sample")) > 0
    assert all(0 < sample["detail"]["loss"] < 20 for sample in udp.all("sample"))


@pytest.mark.alone
@pytest.mark.parametrize("direction", ["send", "receive"])
def test_an_iperf3_server_behind_a_limit(static: Path, link: Link, direction: str) -> None:
    with iperf3_server(REMOTE_ADDRESS, link.in_remote) as server:
        link.shape(*LIMIT)
        protocol = ("--protocol", "iperf3", "--direction", direction, "--batch_ms", "300")
        # of three, as it may find its pace only after the first
        tcp = board(static, link, "net.tcp", server, *protocol, "--batches", "3")
        assert 8 * MBIT < median(tcp) < MOST
        udp = board(static, link, "net.udp", server, *protocol, "--rate_mbit", "60")
        assert 8 * MBIT < median(udp) < 30 * MBIT
        for sample in udp.all("sample"):  # iperf3 itself waits while its socket is half full
            assert sample["detail"]["loss"] > 5 * (direction == "send") - 1


# -- a remote that is not there, or no longer ------------------------------------------------------


def test_nobody_there(static: Path, link: Link) -> None:
    message = board(static, link, "net.tcp", "198.18.0.9", code=1).failure(1)
    assert "198.18.0.9" in message
    assert "check address, cable, route and firewall" in message
    unrouted = board(static, link, "net.tcp", "203.0.113.1", code=1).failure(1)
    assert "check address, cable, route and firewall" in unrouted


def test_the_link_goes_down(static: Path, link: Link, remote: Sink) -> None:
    """A cable that is pulled out says nothing to either end."""
    words = ("--peer", remote.endpoint, "--batches", "1000", "--batch_ms", "50", "--warm_ms", "50")
    with Running(*link.in_board, static, "run", "net.tcp", *words) as running:
        running.until("sample")
        subprocess.run(["ip", "-n", link.remote, "link", "set", DEVICE, "down"], check=True)
        error = running.until("error")
        assert error["exit"] == 1
        assert REMOTE_ADDRESS in error["message"]
