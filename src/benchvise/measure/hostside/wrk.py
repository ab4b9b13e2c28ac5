"""One batch of HTTP load by wrk, which must be installed on this machine.

Why wrk, of the load generators that distributions carry: it keeps a fixed number of connections
busy from several threads, so that a small machine can saturate a board; its latencies are in
microseconds; and its Lua hook hands out exact counts instead of rounded text. ab has one thread,
speaks HTTP/1.0 and rounds its percentiles to milliseconds; h2load has no percentiles and cannot
do without keep-alive; oha is in no Debian release.

Its percentiles are corrected for coordinated omission: a request that was answered late counts
also for those that its connection would have sent meanwhile.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchvise.board import process
from benchvise.board.channel import NotAvailable
from benchvise.errors import MeasurementError
from benchvise.host_system import usable_cpus
from benchvise.text import last_line, printable

_SCRIPT = Path(__file__).with_suffix(".lua")
_MARK = b"\nbenchvise {"

ANSWER_SECONDS = 8
"""An answer that takes longer counts as an error, as wrk has it."""

_ENDING_SECONDS = 20.0  # beyond its duration, until it is given up


@dataclass(frozen=True, slots=True)
class Generator:
    """An installed wrk: its path, and its version for the record."""

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is to be done to a server. ``seconds`` is a batch's duration."""

    url: str
    connections: int
    threads: int
    keepalive: bool
    seconds: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What wrk counted. ``requests`` were answered, ``status`` of them with 400 or more.

    ``connect``, ``read``, ``write`` and ``timeout`` are failures of connections and answers that
    came after ANSWER_SECONDS. ``cpu_s`` is wrk's own CPU time in seconds.
    """

    duration_us: int
    requests: int
    bytes: int
    connect: int
    read: int
    write: int
    status: int
    timeout: int
    p50_us: int
    p90_us: int
    p99_us: int
    cpu_s: float

    @property
    def errors(self) -> int:
        """All failures together."""
        return self.connect + self.read + self.write + self.status + self.timeout

    @property
    def answered(self) -> int:
        """Requests with a good answer."""
        return self.requests - self.status


def find_generator() -> Generator:
    """The wrk in PATH; NotAvailable says how to get it."""
    path = shutil.which("wrk")
    if path is None:
        raise NotAvailable("this machine has no load generator", "install wrk: apt-get install wrk")
    try:
        _, version, _ = process.finish(process.spawn([path, "-v"]), b"", _ENDING_SECONDS)
    except (OSError, process.OutputTooLong) as error:
        raise NotAvailable(
            f"the load generator {path} does not run ({error or 'it says too much'})",
            "install your distribution's: apt-get install wrk",
        ) from error
    return Generator(path, printable(version.split(b"Copyright")[0], 60) or "wrk")


def threads_for(connections: int) -> int:
    """As many threads as this machine has CPUs, of those numbers that divide the connections.

    wrk gives each thread the same number of connections and drops the rest.
    """
    most = min(usable_cpus(), connections)
    return max(n for n in range(1, most + 1) if connections % n == 0)


def run_generator(generator: Generator, traffic: Traffic) -> Counts:
    """Loads the server for a batch. MeasurementError when wrk fails."""
    command = [generator.path, "-t", str(traffic.threads), "-c", str(traffic.connections)]
    command += ["-d", f"{traffic.seconds}s", "--timeout", f"{ANSWER_SECONDS}s", "-s", str(_SCRIPT)]
    if not traffic.keepalive:
        command += ["-H", "Connection: close"]
    used = _children_cpu_s()
    try:
        child = process.spawn([*command, "--", traffic.url])
        status, stdout, stderr = process.finish(child, b"", traffic.seconds + _ENDING_SECONDS)
    except (OSError, TimeoutError, process.OutputTooLong) as error:
        reason = str(error) or "it did not come to its end"
        raise MeasurementError(f"wrk failed: {reason}", "see whether it runs by hand") from error
    used = _children_cpu_s() - used
    if status != 0:
        message = last_line(stderr) or last_line(stdout) or f"exit {status}"
        raise MeasurementError(f"wrk failed: {message}", "see whether the server still answers")
    return _counts(stdout, used)


def _counts(stdout: bytes, cpu_s: float) -> Counts:
    _, mark, rest = stdout.rpartition(_MARK)
    try:
        counts = json.loads(b"{" + rest if mark else b"")
        return Counts(**{name: int(count) for name, count in counts.items()}, cpu_s=cpu_s)
    except (ValueError, TypeError, AttributeError) as error:
        raise MeasurementError(
            f"wrk did not report its counts: '{last_line(stdout)}'",
            "it may have been built without Lua: install your distribution's",
        ) from error


def _children_cpu_s() -> float:
    """CPU time of all processes that were started here and waited for."""
    import resource  # Windows has none

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
