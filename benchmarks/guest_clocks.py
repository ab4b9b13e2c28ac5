"""Whether causes precede their effects on the common axis of two machines that QEMU simulates.

    python -m benchmarks.guest_clocks KERNEL [--pings 300]

Each guest has a kernel and a clock of its own. A serial line joins them: one puts a mark into its
trace and sends a number, the other puts a mark into its own when it has it, and sends it back in
the same way. So a mark of the other side bounds the offset between the two clocks from both sides,
without this host: what Trace Compass makes of matched packets. The recordings are lined up by round
trips with this host alone. Two things are counted: effects that stand before their causes by more
than the uncertainty that is claimed, and whether the offset that remains is within it.

``KERNEL`` is one that boots from nothing but an initial file system, as that of the tests:
``build/guest-kernel/vmlinux``. It ends with 1 where either fails.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchvise.board.probes import load_probe
from benchvise.board.protocol import Completed
from benchvise.flows import recordings
from benchvise.state.interrupts import deferred
from benchvise.trace.event_listing import EventFilter, MergedReader
from benchvise.trace.recording import RecordingPlan
from benchvise.trace.recording_set import RecordingSet, named_recordings

BUSYBOX = Path("/bin/busybox")
EMULATOR = "qemu-system-x86_64"

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
stty -F /dev/ttyS1 raw -echo; stty -F /dev/ttyS2 raw -echo
sh /pings &
/bvprobe {words} < /dev/ttyS1 | cat > /dev/ttyS1
sleep 1
poweroff -f
"""

MARKER = """
while [ -z "$mark" ]; do
    for file in /proc/[0-9]*/fd/*; do
        case $(readlink $file) in */trace_marker) mark=$file ;; esac
    done
    sleep 0.2
done
exec 3> $mark 4<> /dev/ttyS2
"""
FIRST = """
sleep 1
n=0
while [ $n -lt {pings} ]; do
    echo "first sends $n" >&3; echo $n >&4
    read back <&4; echo "first has $back" >&3
    n=$((n + 1)); usleep 20000
done
"""
SECOND = """
while read number <&4; do
    echo "second has $number" >&3
    echo "second sends $number" >&3; echo $number >&4
done
"""

BRIDGE = """
import os, select, socket, sys, time
line = socket.socket(socket.AF_UNIX)
while line.connect_ex(sys.argv[1]):
    time.sleep(0.1)
while True:
    ready, _, _ = select.select([0, line], [], [])
    if line in ready:
        data = line.recv(1 << 16)
        if not data:
            break
        while data:
            data = data[os.write(1, data):]
    if 0 in ready:
        data = os.read(0, 1 << 16)
        if not data:
            break
        line.sendall(data)
"""


class Guest:
    """What a recorder needs of a board: its pipes are a serial line of the guest."""

    kind = "guest"

    def __init__(self, name: str, line: Path) -> None:
        self.name, self._line = name, line

    def spawn(self, _argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", BRIDGE, str(self._line)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )

    def run(self, _argv: Sequence[str], **_options: Any) -> Completed:
        return Completed(127, b"", b"")

    def contact_lost(self, _returncode: int, _stderr: bytes) -> None:
        return None


def entry(path: str, mode: int, data: bytes = b"", device: int = 0) -> bytes:
    name = path.encode() + b"\0"
    numbers = (0, mode, 0, 0, 1, 0, len(data), 0, 0, os.major(device), os.minor(device))
    head = b"070701" + b"".join(b"%08X" % number for number in (*numbers, len(name), 0)) + name
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def archive(init: str, pings: str) -> bytes:
    """The guest's file system, in cpio's portable format."""
    files = {
        "init": init.encode(),
        "pings": pings.encode(),
        "bin/busybox": BUSYBOX.read_bytes(),
        **{each.name: each.data for each in load_probe("x86_64").files},
    }
    folders = [entry(name, stat.S_IFDIR | 0o755) for name in ("bin", "dev", "proc", "sys", "tmp")]
    parts = [entry(name, stat.S_IFREG | 0o755, data) for name, data in files.items()]
    console = entry("dev/console", stat.S_IFCHR | 0o600, device=os.makedev(5, 1))
    return b"".join([*folders, *parts, console, entry("TRAILER!!!", 0)])


@contextmanager
def guest(
    kernel: Path, scratch: Path, name: str, pings: str, cross: str, plan: RecordingPlan
) -> Iterator[Guest]:
    """A machine that records as soon as it runs, until it is left."""
    words = " ".join(plan.arguments(controlled=True, held=True))
    image, line, console = scratch / f"{name}.cpio", scratch / f"{name}.sock", scratch / name
    image.write_bytes(archive(INIT.format(words=words), MARKER + pings))
    command: list[str | Path] = [
        *(EMULATOR, "-machine", "pc", "-accel", "tcg", "-smp", "1", "-m", "256", "-no-reboot"),
        *("-nodefaults", "-display", "none", "-serial", f"file:{console}"),
        *("-serial", f"unix:{line},server=on,wait=off", "-serial", cross),
        *("-kernel", kernel, "-initrd", image, "-append", "console=ttyS0 panic=-1 quiet"),
    ]
    process = subprocess.Popen(command)
    try:
        yield Guest(name, line)
    finally:
        process.kill()
        process.wait()


def record(kernel: Path, pings: int, scratch: Path) -> RecordingSet:
    """Both guests at once, lined up as boards are."""
    plan = RecordingPlan(
        events=("sched",), seconds=10 + pings * 0.1, kallsyms=False, wall_time=False, size="8M"
    )
    cross = scratch / "cross.sock"
    vars(recordings)["deploy"] = lambda _board: SimpleNamespace(path="bvprobe")
    with ExitStack() as stack:
        listening, calling = f"unix:{cross},server=on,wait=off", f"unix:{cross}"
        sends = FIRST.format(pings=pings)
        first = stack.enter_context(guest(kernel, scratch, "first", sends, listening, plan))
        while not cross.exists():
            time.sleep(0.1)
        second = stack.enter_context(guest(kernel, scratch, "second", SECOND, calling, plan))
        boards: Any = [first, second]
        with deferred():
            return recordings.record_boards(boards, plan, scratch / "set", lambda *_told: None)


def moments(directory: Path) -> dict[tuple[str, str, int], int]:
    """When each guest sent and had each number, on the common axis."""
    found = {}
    for event in MergedReader(named_recordings([directory])).events(EventFilter(("print",))):
        if match := re.search(r"(first|second) (sends|has) (\d+)", event.text):
            found[match[1], match[2], int(match[3])] = event.time
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kernel", type=Path, metavar="KERNEL")
    parser.add_argument("--pings", type=int, default=300)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = record(asked.kernel.resolve(), asked.pings, Path(scratch))
        at = moments(Path(scratch) / "set")
    for member in found.members:
        print(f"{member.board}: {member.clock or member.not_lined_up}")
    doubt = found.uncertainty_ns
    if doubt is None:
        return 1
    ways = [("first", "second"), ("second", "first")]
    delays = [
        [
            at[there, "has", number] - at[here, "sends", number]
            for number in range(asked.pings)
            if (there, "has", number) in at and (here, "sends", number) in at
        ]
        for here, there in ways
    ]
    for (here, there), way in zip(ways, delays, strict=True):
        early = sum(delay < 0 for delay in way)
        print(f"{here} to {there}: {len(way)} causes, {early} effects before theirs, ", end="")
        print(f"shortest {min(way) / 1e3:.1f} us, median {sorted(way)[len(way) // 2] / 1e3:.1f} us")
    low, high = -min(delays[1]) / 1e3, min(delays[0]) / 1e3
    print(f"by these, the second is {low:.1f} to {high:.1f} us ahead of the first on the axis")
    print(f"claimed: at most {doubt / 1e3:.1f} us")
    holds = low <= high and low <= doubt / 1e3 and high >= -doubt / 1e3
    return int(not holds or min(map(min, delays)) < -doubt)


if __name__ == "__main__":
    raise SystemExit(main())
