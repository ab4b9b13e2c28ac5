"""Two traces of story 11, made by a small simulated board: a driver before and after a patch.

A sensor raises its interrupt every 80 ms. The handler wakes its thread, which asks the sensor over
I2C and fetches its data over SPI by DMA; a logger writes them to a file. Meanwhile iperf3 receives
on CPU 0. In ``before`` the handler takes 14 us. In ``after`` it prints to a serial console: 3.3 ms,
in which CPU 0 does nothing else, and now and then the sensor's next interrupt is missed.

    python tests/story_traces.py DIRECTORY [SECONDS]    writes DIRECTORY/before and DIRECTORY/after
"""

from __future__ import annotations

import heapq
import random
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeAlias

US, MS, S = 1_000, 1_000_000, 1_000_000_000
ORIGIN = 5 * S

_HEAD = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 16; align = 8; signed = false; } := u16;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := i32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = true; } := i64;
trace {
    major = 1; minor = 8; byte_order = le;
    packet.header := struct { u32 magic; u32 stream_id; };
};
env { hostname = "sensor-board"; domain = "kernel"; sysname = "Linux"; kernel_release = "6.1.55"; };
clock { name = "monotonic"; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp;
stream {
    id = 0;
    packet.context := struct {
        stamp timestamp_begin; stamp timestamp_end; u64 content_size; u64 packet_size;
        u64 events_discarded; u32 cpu_id;
    };
    event.header := struct { u16 id; stamp timestamp; };
};
"""

_EVENTS = {
    "sched_switch": "string prev_comm; i32 prev_tid; i32 prev_prio; i64 prev_state; "
    "string next_comm; i32 next_tid; i32 next_prio;",
    "sched_waking": "string comm; i32 tid; i32 prio; i32 target_cpu;",
    "irq_handler_entry": "i32 irq; string name;",
    "irq_handler_exit": "i32 irq; i32 ret;",
    "irq_softirq_raise": "u32 vec;",
    "irq_softirq_entry": "u32 vec;",
    "irq_softirq_exit": "u32 vec;",
    "i2c_write": "i32 adapter_nr; u16 addr; u16 len;",
    "spi_transfer_start": "i32 bus; i32 len;",
    "spi_transfer_stop": "i32 bus; i32 len;",
    "printk_console": "string msg;",
}
_NUMBERS = {name: number for number, name in enumerate(_EVENTS)}
_CODES = {"i32": "<i", "i64": "<q", "u16": "<H", "u32": "<I", "u64": "<Q"}

Value: TypeAlias = int | str
Then: TypeAlias = Callable[[int], None]

NET_RX, TIMER = 3, 1


@dataclass
class Task:
    """A thread; the lower ``prio``, the sooner it gets a CPU."""

    name: str
    tid: int
    prio: int
    cpu: int
    left: int = 0
    then: Then | None = None
    waiting: bool = True


@dataclass
class Cpu:
    """One CPU: ``free`` is when its last interrupt ends, ``version`` counts its plans to go on."""

    number: int
    idle: Task
    running: Task | None = None
    since: int = 0
    free: int = 0
    version: int = 0
    queue: list[Task] = field(default_factory=list)
    events: list[tuple[int, str, tuple[Value, ...]]] = field(default_factory=list)


class Board:
    """Two CPUs, interrupts that nest in tasks, and a scheduler that prefers the lower priority."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.cpus = [Cpu(n, Task(f"swapper/{n}", 0, 20, n)) for n in range(2)]
        self._plan: list[tuple[int, int, Then]] = []
        self._order = count()

    def at(self, time: int, act: Then) -> None:
        """Plans something."""
        heapq.heappush(self._plan, (time, next(self._order), act))

    def run(self, until: int) -> None:
        """Lets time go by."""
        while self._plan and self._plan[0][0] < until:
            time, _, act = heapq.heappop(self._plan)
            act(time)

    def tell(self, cpu: Cpu, time: int, event: str, *values: Value) -> None:
        """Writes an event."""
        cpu.events.append((time, event, values))

    def jitter(self, length: int, part: float = 0.05) -> int:
        """A length that varies a little, seldom a lot."""
        more = 1.0 + abs(self.random.gauss(0, part))
        return int(length * (more + (self.random.random() < 0.005) * self.random.random()))

    def interrupt(
        self,
        time: int,
        number: int,
        irq: int,
        name: str,
        length: int,
        *,
        inside: Callable[[int, int], None] | None = None,
        softirq: tuple[int, int] | None = None,
        then: Then | None = None,
    ) -> None:
        """Handles an interrupt as soon as the CPU is free of others; ``then`` at its end."""
        cpu = self.cpus[number]
        if cpu.free > time:
            self.at(
                cpu.free + 400,
                lambda t: self.interrupt(
                    t, number, irq, name, length, inside=inside, softirq=softirq, then=then
                ),
            )
            return
        end = time + self.jitter(length)
        self.tell(cpu, time, "irq_handler_entry", irq, name)
        if inside is not None:
            inside(time, end)
        if softirq is None:
            self._leave(cpu, time, end, then)
            self.tell(cpu, end, "irq_handler_exit", irq, 1)
            return
        vector, takes = softirq
        self.tell(cpu, end - 300, "irq_softirq_raise", vector)
        self.tell(cpu, end, "irq_handler_exit", irq, 1)
        self.tell(cpu, end + 250, "irq_softirq_entry", vector)
        last = end + 250 + self.jitter(takes)
        self._leave(cpu, time, last, then)
        self.tell(cpu, last, "irq_softirq_exit", vector)

    def _leave(self, cpu: Cpu, begin: int, end: int, then: Then | None) -> None:
        if then is not None:
            then(end - 200)
        cpu.free = end
        if cpu.running is not None:
            cpu.running.left += end - begin
            self._finish_later(cpu)
        self.at(end + 300, lambda t: self._schedule(cpu, t))

    def wake(self, time: int, waker: int, task: Task, work: int, then: Then) -> None:
        """Wakes a thread on its CPU for some work; one that is awake goes on as it is."""
        if not task.waiting:
            return
        task.waiting, task.left, task.then = False, self.jitter(work), then
        cpu = self.cpus[task.cpu]
        self.tell(
            self.cpus[waker], time, "sched_waking", task.name, task.tid, task.prio, cpu.number
        )
        cpu.queue.append(task)
        self.at(max(time + 1200, cpu.free + 300), lambda t: self._schedule(cpu, t))

    def _schedule(self, cpu: Cpu, time: int) -> None:
        """Gives the CPU to whom it is due."""
        if cpu.free > time or not cpu.queue:
            return
        first = min(cpu.queue, key=lambda task: task.prio)
        if cpu.running is not None:
            if cpu.running.prio <= first.prio:
                return
            cpu.running.left -= time - cpu.since
            cpu.queue.append(cpu.running)
        cpu.queue.remove(first)
        self._switch(cpu, time, first, 0)

    def _switch(self, cpu: Cpu, time: int, to: Task | None, state: int) -> None:
        before, after = cpu.running or cpu.idle, to or cpu.idle
        names = (before.name, before.tid, before.prio, state, after.name, after.tid, after.prio)
        self.tell(cpu, time, "sched_switch", *names)
        cpu.running, cpu.since = to, time
        self._finish_later(cpu)

    def _finish_later(self, cpu: Cpu) -> None:
        cpu.version += 1
        version, task = cpu.version, cpu.running
        if task is None:
            return

        def finish(time: int) -> None:
            if cpu.version != version:
                return
            if cpu.free > time:
                self.at(cpu.free + 300, finish)
                return
            task.waiting = True
            if task.then is not None:
                task.then(time - 500)
            following = min(cpu.queue, key=lambda one: one.prio, default=None)
            if following is not None:
                cpu.queue.remove(following)
            self._switch(cpu, time, following, 1)

        self.at(cpu.since + task.left, finish)


def record(seconds: float, *, printing: bool, seed: int) -> Board:
    """The board at work: with a handler that prints, or with one that does not."""
    board = Board(seed)
    end = ORIGIN + int(seconds * S)
    thread = Task("irq/43-sensor", 143, 49, 0)
    logger = Task("logger", 812, 120, 1)
    iperf = Task("iperf3", 905, 120, 0)
    busy = Task("stress", 777, 139, 1)

    def tick(number: int) -> Then:
        def handle(time: int) -> None:
            softirq = (TIMER, 2 * US) if board.random.random() < 0.3 else None
            board.interrupt(time, number, 30, "arch_timer", 2600, softirq=softirq)
            board.at(time + 4 * MS, handle)

        return handle

    def packet(time: int) -> None:
        board.interrupt(
            time, 0, 27, "eth0", 3 * US, softirq=(NET_RX, 22 * US),
            then=lambda t: board.wake(t, 0, iperf, 65 * US, lambda _: None),
        )  # fmt: skip
        board.at(time + board.jitter(1100 * US, 0.4), packet)

    def load(time: int) -> None:
        board.wake(time, 1, busy, 1500 * US, lambda _: None)
        board.at(time + board.jitter(9 * MS, 0.3), load)

    def store(time: int) -> None:
        board.wake(time, 0, logger, 240 * US, lambda _: None)

    def fetch(time: int) -> None:
        """The second half of the thread: its data have come over SPI."""
        board.tell(board.cpus[0], time - 100, "spi_transfer_stop", 0, 4096)
        board.wake(time, 0, thread, 60 * US, store)

    def ask(time: int) -> None:
        """The first half: the sensor was asked over I2C, now its data are fetched."""
        board.tell(board.cpus[0], time - 40 * US, "i2c_write", 1, 0x20, 3)
        board.tell(board.cpus[0], time - 4 * US, "spi_transfer_start", 0, 4096)
        board.at(
            time + board.jitter(2 * MS),
            lambda t: board.interrupt(t, 0, 61, "spi0-dma", 5 * US, then=fetch),
        )

    def sensor(time: int) -> None:
        length = 3300 * US if printing else 14 * US

        def inside(begin: int, last: int) -> None:
            if printing:
                for line in range(4):
                    at = begin + (last - begin) * line // 5
                    board.tell(board.cpus[0], at, "printk_console", f"sensor: status {line:02x}")

        board.interrupt(
            time, 0, 43, "sensor", length, inside=inside,
            then=lambda t: board.wake(t, 0, thread, 90 * US, ask),
        )  # fmt: skip
        missed = printing and board.random.random() < 0.12
        board.at(time + board.jitter(325 * MS if missed else 80 * MS, 0.002), sensor)

    for number in range(2):
        board.at(ORIGIN + number * 1300 * US, tick(number))
    board.at(ORIGIN + 200 * US, packet)
    board.at(ORIGIN + 3 * MS, load)
    board.at(ORIGIN + 11 * MS, sensor)
    board.run(end)
    return board


def write(board: Board, directory: Path) -> Path:
    """Writes what was recorded as CTF 1.8."""
    directory.mkdir(parents=True, exist_ok=True)
    described = [
        f'event {{ id = {number}; name = "{name}"; stream_id = 0; '
        f"fields := struct {{ {_EVENTS[name]} }}; }};"
        for name, number in _NUMBERS.items()
    ]
    (directory / "metadata").write_text(_HEAD + "\n".join(described) + "\n")
    for cpu in board.cpus:
        events = sorted(cpu.events, key=lambda event: event[0])
        body = b"".join(_encoded(*event) for event in events)
        size = 8 * (8 + 8 * 5 + 4 + len(body))
        head = struct.pack("<IIQQQQQI", 0xC1FC1FC1, 0, events[0][0], events[-1][0], size, size, 0,
                           cpu.number)  # fmt: skip
        (directory / f"kernel_{cpu.number}").write_bytes(head + body)
    return directory


def _encoded(time: int, event: str, values: tuple[Value, ...]) -> bytes:
    kinds = [part.split()[0] for part in _EVENTS[event].split(";") if part.strip()]
    payload = b"".join(
        str(value).encode() + b"\0" if kind == "string" else struct.pack(_CODES[kind], value)
        for kind, value in zip(kinds, values, strict=True)
    )
    return struct.pack("<HQ", _NUMBERS[event], time) + payload


def story(directory: Path, seconds: float = 12.0) -> tuple[Path, Path]:
    """Both traces."""
    return (
        write(record(seconds, printing=False, seed=11), directory / "before"),
        write(record(seconds, printing=True, seed=12), directory / "after"),
    )


if __name__ == "__main__":
    story(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 12.0)
