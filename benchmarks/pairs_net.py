"""Network pairs: two namespaces joined by a veth pair, all servers in one of them.

Board and remote host are both this machine then, so what is compared is what the programs cost, not
a wire; but a second veth pair has a limit, as a wire has. Server and client are pinned apart, both
ours and the reference tool's: on few CPUs the scheduler's choice would otherwise decide, and iperf3
before 3.16 has one thread for all its streams.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from benchmarks.pairs import PROBE, Pair, measured_cpu

BOARD, REMOTE = f"bvboard{os.getpid()}", f"bvpeer{os.getpid()}"
# Addresses set aside for benchmarks (RFC 2544); the network of each device.
DEVICES = {"bench0": "198.18.0", "bench1": "198.18.1"}
FREE, LIMITED = (f"{network}.2" for network in DEVICES.values())
LIMIT = ("tbf", "rate", "200mbit", "burst", "32k", "latency", "20ms")
IN_BOARD = ("ip", "netns", "exec", BOARD)
IN_REMOTE = ("ip", "netns", "exec", REMOTE)
SECONDS = "1"
BATCHES = "2"  # so that ours takes no longer


def server_cpu() -> str:
    """A CPU that is not the client's, if there is one."""
    return str(min(os.sched_getaffinity(0)))


def servers() -> dict[str, tuple[str, ...]]:
    """What listens in the remote host's namespace, of what is installed."""
    commands = {
        "sink": (str(PROBE), "sink"),
        "iperf3": ("iperf3", "-s"),
        "sockperf": ("sockperf", "server", "--tcp", "-i", FREE, "-p", "5300"),
        "sockperf-udp": ("sockperf", "server", "-i", FREE, "-p", "5300"),
        "qperf": ("qperf",),
    }
    return {name: words for name, words in commands.items() if shutil.which(words[0])}


@dataclass
class Scene:
    """The two namespaces and the servers, made once for all pairs and taken away by the last."""

    users: int = 0
    parts: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Scene:
        if self.users == 0:
            try:
                self._make()
            except BaseException:
                self.parts.close()
                raise
        self.users += 1
        return self

    def __exit__(self, *_exception: object) -> None:
        self.users -= 1
        if self.users == 0:
            self.parts.close()

    def _make(self) -> None:
        for name in (BOARD, REMOTE):
            ip("netns", "add", name)
            self.parts.callback(ip, "netns", "del", name)
        for device, network in DEVICES.items():
            ends = ("netns", BOARD, "type", "veth", "peer", device, "netns", REMOTE)
            ip("link", "add", device, *ends)
            for last, name in enumerate((BOARD, REMOTE), 1):
                ip("-n", name, "addr", "add", f"{network}.{last}/24", "dev", device)
                ip("-n", name, "link", "set", device, "up")
        for name in (BOARD, REMOTE):
            command = ["tc", "-n", name, "qdisc", "add", "dev", "bench1", "root", *LIMIT]
            subprocess.run(command, check=True)
        for words in servers().values():
            self.parts.enter_context(running((*IN_REMOTE, "taskset", "-c", server_cpu(), *words)))
        time.sleep(1)  # until they listen


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def running(command: tuple[str, ...]) -> Iterator[None]:
    """A server, until the block ends."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


SCENE = Scene()


def _tcp_bytes(text: str) -> float:
    return float(json.loads(text)["end"]["sum_received"]["bits_per_second"]) / 8


def _udp_bytes(text: str) -> float:
    total = json.loads(text)["end"]["sum"]
    return float(total["bits_per_second"]) / 8 * (1 - float(total["lost_percent"]) / 100)


def _sockperf_ns(text: str) -> float:
    # half a round trip
    (found,) = re.findall(r"Summary: Latency is ([\d.]+) usec", text)
    return float(found) * 2000


def _qperf_ns(text: str) -> float:
    # half a round trip, too
    value, unit = re.findall(r"latency\s+=\s+([\d.]+) (\w+)", text)[0]
    return float(value) * 2 * {"ns": 1, "us": 1e3, "ms": 1e6}[unit]


def _pair(
    name: str, ours: str, reference: str, read: Callable[[str], float], agreement: float = 0.10
) -> Pair:
    prefix = (*IN_BOARD, "taskset", "-c", str(measured_cpu()))
    words = (*prefix, *reference.split())
    ours_words = (*ours.split(), "--batches", BATCHES)
    return Pair(name, ours_words, words, read, agreement, prefix, lambda: SCENE)


def _iperf3_pairs() -> list[Pair]:
    pairs = []
    command = "iperf3 -J -l 128K -t " + SECONDS
    for reverse, direction in (("", "send"), (" -R", "receive")):
        ours = f"net.tcp --direction {direction}"
        for server, protocol in (("", ""), (" from iperf3's server", " --protocol iperf3")):
            pairs.append(
                _pair(
                    f"tcp {direction}{server} : iperf3{reverse}",
                    f"{ours} --peer {FREE}{protocol}",
                    f"{command} -c {FREE}{reverse}",
                    _tcp_bytes,
                )
            )
        pairs.append(
            _pair(
                f"tcp {direction} 4, 200 Mbit/s : iperf3 -P 4{reverse}",
                f"{ours} --streams 4 --peer {LIMITED}",
                f"{command} -P 4 -c {LIMITED}{reverse}",
                _tcp_bytes,
            )
        )
        pairs.append(
            _pair(
                f"udp {direction} at 100 Mbit/s : iperf3 -u{reverse}",
                f"net.udp --direction {direction} --rate_mbit 100 --message 1472 --peer {FREE}",
                f"iperf3 -J -t {SECONDS} -u -b 100M -l 1472 -c {FREE}{reverse}",
                _udp_bytes,
            )
        )
    return pairs


def pairs() -> tuple[list[Pair], list[str]]:
    """What can be run here, and a line for each pair that cannot."""
    if os.getuid() != 0 or shutil.which("ip") is None or shutil.which("tc") is None:
        return [], ["the network pairs: take root, ip and tc (Debian: iproute2)"]
    found: list[Pair] = []
    missing: list[str] = []
    if shutil.which("iperf3"):
        found += _iperf3_pairs()
    else:
        missing.append("iperf3: not installed")
    if shutil.which("sockperf"):
        sockperf = f"sockperf ping-pong -i {FREE} -p 5300 -m 64 -t {SECONDS}"
        ours = f"net.latency --peer {FREE}"
        found += [
            _pair("tcp round trip : sockperf", ours, f"{sockperf} --tcp", _sockperf_ns),
            _pair("udp round trip : sockperf", f"{ours} --kind udp", sockperf, _sockperf_ns),
        ]
    else:
        missing.append("sockperf: not installed")
    if shutil.which("qperf"):
        qperf = f"qperf {FREE} -m 64 -t {SECONDS}"
        ours = f"net.latency --peer {FREE}"
        found += [
            _pair("tcp round trip : qperf tcp_lat", ours, f"{qperf} tcp_lat", _qperf_ns),
            _pair(
                "udp round trip : qperf udp_lat",
                f"{ours} --kind udp",
                f"{qperf} udp_lat",
                _qperf_ns,
            ),
        ]
    else:
        missing.append("qperf: not installed")
    return found, missing
