"""What tests of the probe as a program share; their fixtures are in ``probe_fixtures``."""

from __future__ import annotations

import fcntl
import json
import math
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE

ROOT = Path(__file__).parents[1]
RUNNER = ROOT / "probe" / "tests" / "run"
PROGRAMS = sorted(path.stem for path in RUNNER.parent.glob("*.c"))

BENCHMARKS = (
    "cpu.clock",
    "cpu.sustained",
    "memory.copy",
    "memory.fill",
    "memory.read",
    "memory.libc_copy",
    "memory.triad",
    "memory.latency",
    "memory.line",
    "memory.tlb",
    "os.syscall",
    "os.signal",
    "os.fork",
    "os.exec",
    "os.thread",
    "os.page_fault",
    "os.mmap",
    "os.futex",
    "os.eventfd",
    "os.semaphore",
    "os.context_switch",
    "os.context_switch_grid",
    "pipe.latency",
    "pipe.throughput",
    "socket.latency",
    "socket.throughput",
    "timer.wakeup",
    "timer.clock",
    "command.time",
    "storage.read",
    "storage.write",
    "storage.random_read",
    "storage.random_write",
    "storage.fsync",
    "net.tcp",
    "net.udp",
    "net.latency",
    "gpio.response",
)
IN_BVIO = tuple(n for n in BENCHMARKS if n.startswith(("storage.", "net.", "gpio.")))
WIRED = ("gpio.response",)  # measures only between lines that somebody has joined
# these cannot be measured without another end; see test_probe_net
WITH_REMOTE = ("net.tcp", "net.udp", "net.latency")
MEASURABLE = tuple(name for name in BENCHMARKS if name not in WIRED + WITH_REMOTE)
HUGE = "memory.tlb"  # not possible without huge pages; the difference of two costs
IN_MEMORY = tuple(name for name in BENCHMARKS if name.startswith("memory.") and name != HUGE)
TWO_ENDS = (
    "os.context_switch",
    "pipe.latency",
    "pipe.throughput",
    "os.futex",
    "os.eventfd",
    "os.semaphore",
    "socket.latency",
    "socket.throughput",
)
ON_ONE_CPU = ("os.context_switch_grid",)  # several processes, without a choice of place
ON_STORAGE = tuple(name for name in BENCHMARKS if name.startswith("storage."))
PLAUSIBLE = {"B/s": (1e6, 1e14), "ns": (0.1, 1e9), "Hz": (5e7, 1e10), "1/s": (0.1, 1e9)}
QUICK = ("--batches", "2", "--batch_ms", "1", "--warm_ms", "10")
BRIEF = ("--batches", "10", "--batch_ms", "1")
SMALL = dict.fromkeys(ON_STORAGE, ("--size", "4M"))  # what is large or slow by default

Line = dict[str, Any]


def is_figure(name: str, value: float) -> bool:
    """Whether a benchmark may say that. A difference that is next to nothing falls on either side
    of zero when the batches are short; nothing else does.
    """
    return math.isfinite(value) if name == HUGE else 0 < value < math.inf


@dataclass(frozen=True)
class Result:
    """What the probe said, and how it ended."""

    code: int
    lines: list[Line]

    def one(self, kind: str) -> Line:
        """The only line of that type."""
        (line,) = self.all(kind)
        return line

    def all(self, kind: str) -> list[Line]:
        return [line for line in self.lines if line["type"] == kind]

    def failure(self, code: int) -> str:
        """The message of the only error line, which the exit code agrees with."""
        error = self.lines[-1]
        assert [line["type"] for line in self.lines].count("error") == 1
        assert (self.code, error["type"], error["exit"]) == (code, "error", code)
        assert isinstance(error["errno"], int)
        assert len(error["message"]) > 20
        assert "\n" not in error["message"]
        return str(error["message"])


def parse(output: bytes | str) -> list[Line]:
    """Whole lines only, each an object with a type."""
    text = output.decode("utf-8") if isinstance(output, bytes) else output
    assert not text or text.endswith("\n")
    lines = [json.loads(line) for line in text.split("\n")[:-1]]
    assert all(isinstance(line, dict) and isinstance(line["type"], str) for line in lines)
    return lines


def run(
    command: Iterable[str | Path], *, given: bytes = b"", code: int | None = 0, **options: Any
) -> Result:
    """Runs the probe to its end. What it writes to standard error is a sanitizer's report."""
    done = subprocess.run(
        [str(word) for word in command],
        input=given,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        **options,
    )
    assert not done.stderr, done.stderr.decode(errors="replace")
    assert code is None or done.returncode == code, done.stdout.decode(errors="replace")
    return Result(done.returncode, parse(done.stdout))


def least_costs(*commands: Iterable[str | Path], rounds: int = 4) -> list[float]:
    """Of each run, the nanoseconds of an iteration in its fastest batch.

    Whatever else this machine does only adds to a batch. So many are taken, so short that some get
    by undisturbed, and the runs take turns, so that a time that is busy throughout meets them all.
    """
    least = [math.inf] * len(commands)
    for _ in range(rounds):
        for index, command in enumerate(commands):
            samples = run([*command, *BRIEF]).all("sample")
            costs = [sample["elapsed_ns"] / sample["iterations"] for sample in samples]
            least[index] = min(least[index], *costs)
    return least


@cache
def build(*command: str | Path) -> None:
    """Builds what is to be tested, once; fails the tests with what the compiler said.

    Tests may run in several processes: one builds, the others wait for it.
    """
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / ".tests-build").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, *map(str, command)], capture_output=True, text=True, check=False
        )
    if done.returncode:
        pytest.fail(f"{command[0]} fails:\n{done.stdout}{done.stderr}", pytrace=False)


def is_evidence(value: object) -> bool:
    """A number, or a reason why there is none."""
    if isinstance(value, dict):
        return set(value) == {"na"} and isinstance(value["na"], str) and bool(value["na"])
    return isinstance(value, int | float) and not isinstance(value, bool)


class Running:
    """A probe that runs, and what it says, line by line."""

    def __init__(self, *command: str | Path, **options: Any) -> None:
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            **options,
        )
        assert self.process.stdin
        assert self.process.stdout
        self.input, self.output = self.process.stdin, self.process.stdout
        self._rest = b""

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.process.kill()
        self.process.wait()
        self.input.close()
        self.output.close()

    def say(self, text: str | bytes) -> None:
        self.input.write(text.encode() if isinstance(text, str) else text)

    def silent(self, seconds: float) -> bool:
        return not self._rest and not select.select([self.output], [], [], seconds)[0]

    def line(self, timeout: float = PATIENCE) -> Line | None:
        """The next line, or None at the end."""
        limit = time.monotonic() + timeout
        while b"\n" not in self._rest:
            left = limit - time.monotonic()
            assert left > 0, "the probe says nothing"
            if select.select([self.output], [], [], left)[0]:
                more = os.read(self.output.fileno(), 65536)
                if not more:
                    assert not self._rest, "half a line"
                    return None
                self._rest += more
        raw, self._rest = self._rest.split(b"\n", 1)
        (line,) = parse(raw + b"\n")
        return line

    def until(self, kind: str) -> Line:
        """The next line of that type."""
        while line := self.line():
            if line["type"] == kind:
                return line
        pytest.fail(f"the probe ended before it said {kind}")

    def request(self, number: int, *args: str, given: Iterable[str] = ()) -> None:
        self.say(json.dumps({"request": number, "args": args, "input": list(given)}) + "\n")
