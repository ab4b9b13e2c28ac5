"""How far apart boards begin to record, and how late the others stop once one met a condition.

    python -m benchmarks.boards_together [--rounds 20] BOARD BOARD...

The boards have to be this machine (``local``, an SSH server here), where a process wakes up some
thousand times a second. So the first and the last event of each recording tell when its tracing
went on and off, by one clock, to some hundred microseconds. The first board alone is told the
condition, the start of a program a second later: from the last event of its recording, the others
are late. As they are of one kernel, whose locks the first one holds while it cleans up, it is also
told when the others had their last order before that to stop.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchvise.board import Board, open_board
from benchvise.flows.recordings import record_boards
from benchvise.state.interrupts import deferred
from benchvise.trace.recording import RecordingPlan

CONDITION = "sched/sched_process_exec"
_BUSY = "import time\nwhile True: time.sleep(0.00005)"


class Unconditional:
    """A board that is not told the condition."""

    def __init__(self, board: Board, name: str) -> None:
        self._board, self.name = board, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._board, name)

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """The recorder without ``--until``."""
        words = list(argv)
        if "--until" in words:
            at = words.index("--until")
            del words[at : at + 2]
        return self._board.spawn(words)


@contextmanager
def busy() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", _BUSY], start_new_session=True)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def begin_program(begun: list[str], boards: int) -> None:
    """Starts a program once all boards record."""
    while len(begun) < boards:
        time.sleep(0.01)
    time.sleep(1)
    subprocess.run(["/bin/true"], check=True)


def spread(boards: Sequence[Any]) -> tuple[int, int, int]:
    """Of one recording, in ns: from the first begin to the last; and from the end of the board that
    met the condition to the last order, and the last end, of the others."""
    plan = RecordingPlan(
        events=("sched/sched_switch", CONDITION),
        until=CONDITION,
        after=0.0,
        kallsyms=False,
        wall_time=False,
        size="256M",
    )
    begun: list[str] = []

    def observe(name: str, kind: str, _line: object) -> None:
        if kind == "recording":
            begun.append(name)

    program = threading.Thread(target=begin_program, args=(begun, len(boards)))
    program.start()
    with tempfile.TemporaryDirectory() as scratch, deferred():
        found = record_boards(boards, plan, Path(scratch) / "set", observe)
    program.join()
    # The stamps themselves, as all boards have one clock here.
    at = [
        (member.first - member.clock.offset_begin_ns, member.last - member.clock.offset_end_ns)
        for member in found.members
        if member.clock and member.first and member.last
    ]
    assert len(at) == len(boards)
    assert found.members[0].ended == "condition", found.members[0].ended
    begins, ends = [first for first, _ in at], [last for _, last in at]
    orders = [member.round_trips[-1].stamp for member in found.members[1:]]
    return max(begins) - min(begins), max(orders) - ends[0], max(ends[1:]) - ends[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("boards", nargs="+", metavar="BOARD")
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args()
    with ExitStack() as stack:
        opened = [stack.enter_context(open_board(name)) for name in asked.boards]
        boards: list[Any] = [
            board if number == 0 else Unconditional(board, f"{board.name}-{number + 1}")
            for number, board in enumerate(opened)
        ]
        stack.enter_context(busy())
        rounds = [spread(boards) for _ in range(asked.rounds)]
    for what, values in zip(("begin", "order", "stop"), zip(*rounds, strict=True), strict=True):
        print(
            f"{what}: n {len(values)}, median {statistics.median(values) / 1e6:.3f} ms, "
            f"max {max(values) / 1e6:.3f} ms"
        )


if __name__ == "__main__":
    main()
