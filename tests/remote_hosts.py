"""What tests of the network benchmarks share: our sink, an iperf3 server, two namespaces."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import skips
from probe_programs import Line, Result, Running, run
from waiting import PATIENCE

KEY = "5ec2e7"
SHORT = ("--batches", "2", "--batch_ms", "20", "--warm_ms", "0", "--counters", "off")


@dataclass(frozen=True)
class Sink:
    """A sink that listens, and where."""

    running: Running
    address: str
    port: int

    @property
    def endpoint(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"

    @property
    def sessions(self) -> list[int]:
        """Its session processes."""
        task = Path(f"/proc/{self.running.process.pid}/task/{self.running.process.pid}/children")
        return [int(pid) for pid in task.read_text().split()]

    def connect(self) -> socket.socket:
        return socket.create_connection((self.address, self.port), timeout=PATIENCE)


@contextmanager
def sink(probe: Path, *words: str, prefix: tuple[str, ...] = ()) -> Iterator[Sink]:
    """A sink of that program, on a port of its own choice unless the words say otherwise."""
    with Running(*prefix, probe, "sink", "--port", "0", *words) as running:
        line = running.line()
        assert line
        assert set(line) == {"type", "address", "port"}
        assert line["type"] == "listening"
        yield Sink(running, line["address"], line["port"])


def measure(
    command: tuple[str | Path, ...], name: str, remote: str, *words: str, code: int | None = 0
) -> Result:
    """A short run against that remote host."""
    return run([*command, "run", name, "--peer", remote, *SHORT, *words], code=code)


def check_details(result: Result, registry: dict[str, Line]) -> None:
    """Every further figure is one that the registry describes, a number or a reason."""
    begin = result.one("begin")
    known = {figure["key"] for figure in registry[begin["benchmark"]]["figures"]}
    for sample in result.all("sample"):
        assert set(sample["detail"]) <= known | {"moved_bytes"}
        for key, item in sample["detail"].items():
            assert isinstance(item, int | float) or item["na"], key
            assert isinstance(item, dict) or item >= 0, key
        assert sample["value"] > 0


@contextmanager
def iperf3_server(address: str, prefix: tuple[str, ...] = ()) -> Iterator[str]:
    """A stock iperf3 server: yields ADDRESS:PORT. Skips the test where there is none."""
    skips.need("iperf3")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*prefix, "iperf3", "-s", "-B", address, "-p", str(port), "--forceflush"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert process.stdout
        while b"Server listening" not in (line := process.stdout.readline()):
            assert line, "iperf3 does not start"
        yield f"{address}:{port}"
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


BOARD_ADDRESS, REMOTE_ADDRESS = "198.18.0.1", "198.18.0.2"
BOARD_V6, REMOTE_V6 = "2001:db8::1", "2001:db8::2"
DEVICE = "bvtest0"
_PAIRS = itertools.count()  # several may be there at once


@dataclass(frozen=True)
class Link:
    """Two network namespaces, joined by a pair of virtual interfaces of the same name."""

    board: str
    remote: str

    @property
    def in_board(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.board)

    @property
    def in_remote(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.remote)

    def shape(self, *words: str) -> None:
        """Replaces the queueing discipline at both ends; skips where the kernel has no such."""
        for name in (self.board, self.remote):
            command = ["tc", "-n", name, "qdisc", "replace", "dev", DEVICE, "root", *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if "kind is unknown" in done.stderr:
                skips.skip("qdisc", words[0])
            assert done.returncode == 0, done.stderr


@contextmanager
def namespaces() -> Iterator[Link]:
    """Makes the two; needs root and a kernel with network namespaces and veth."""
    skips.need_root()
    skips.need("ip", "tc")
    number = f"{os.getpid()}x{next(_PAIRS)}"
    link = Link(f"bvb{number}", f"bvp{number}")
    with ExitStack() as parts:
        for name in (link.board, link.remote):
            _allowed(["ip", "netns", "add", name], "namespaces")
            parts.callback(subprocess.run, ["ip", "netns", "del", name], check=True)
        ends = ("netns", link.board, "type", "veth", "peer", DEVICE, "netns", link.remote)
        _allowed(["ip", "link", "add", DEVICE, *ends], "veth")
        for name, v4, v6 in (
            (link.board, BOARD_ADDRESS, BOARD_V6),
            (link.remote, REMOTE_ADDRESS, REMOTE_V6),
        ):
            for words in (
                ("addr", "add", f"{v4}/24", "dev", DEVICE),
                ("addr", "add", f"{v6}/64", "dev", DEVICE, "nodad"),
                ("link", "set", DEVICE, "up"),
                ("link", "set", "lo", "up"),
            ):
                _allowed(["ip", "-n", name, *words], "namespaces")
        yield link


def _allowed(command: list[str], name: str) -> None:
    """Runs it; where the system refuses, as in a container, the test is left out for that."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        skips.skip(name, f"{' '.join(command[:4])}: {done.stderr}")
