"""How wrong the lined-up clocks of boards are, where the kernel tells the truth.

    python -m benchmarks.board_clocks [--seconds 10] [--rounds 5] BOARD...

The boards have to be this machine: ``local``, or an SSH server here. A trace's clock is then one of
this kernel's, and so is the clock that it is lined up with: what stands between them can be read
here at any time, to some hundred nanoseconds, by a system call that no part of the measurement
uses. The clock ``mono`` is the same one, so the truth is 0; ``mono_raw`` drifts from it as NTP
corrects that; ``tai`` and ``boot`` are far away from it, or not. For each recording: the largest
difference from the truth at any time of it, beside the uncertainty that is claimed.

It ends with 1 where a difference is larger than its uncertainty.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from benchvise.board import open_board
from benchvise.flows.recordings import record_boards
from benchvise.state.interrupts import deferred
from benchvise.trace.clock_alignment import line_up, offset_at
from benchvise.trace.recording import RecordingPlan
from benchvise.trace.recording_set import SetMember

CLOCKS = {
    "mono": time.CLOCK_MONOTONIC,
    "mono_raw": time.CLOCK_MONOTONIC_RAW,
    "boot": time.CLOCK_BOOTTIME,
    "tai": time.CLOCK_TAI,
}
_READINGS = 200
_TIMES = 200


def reading(clock: int) -> tuple[int, int]:
    """A time of a clock, and what leads from it to CLOCK_MONOTONIC: from the closest of many."""
    tries = []
    for _ in range(_READINGS):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        there = time.clock_gettime_ns(clock)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        tries.append((after - before, there, (before + after) // 2 - there))
    _, there, offset = min(tries)
    return there, offset


def line(a: tuple[int, int], b: tuple[int, int]) -> Callable[[int], float]:
    """What lies between two readings."""
    return lambda stamp: a[1] + (b[1] - a[1]) * (stamp - a[0]) / (b[0] - a[0])


def worst(member: SetMember, truth: Callable[[int], float]) -> float:
    """The largest error of a recording, in ns, between its first round trip and its last."""
    marks = member.round_trips
    first, last = marks[0].stamp, marks[-1].stamp
    _, knots = line_up(marks, first, last)
    stamps = [first + (last - first) * part // _TIMES for part in range(_TIMES + 1)]
    return max(abs(offset_at(knots, stamp) - truth(stamp)) for stamp in stamps)


def recordings(names: list[str], clock: str, seconds: float) -> Iterator[tuple[SetMember, float]]:
    """The boards recorded at once by a clock, each with its largest error."""
    plan = RecordingPlan(
        events=("sched",), seconds=seconds, clock=clock, kallsyms=False, wall_time=False
    )
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        boards = [stack.enter_context(open_board(name)) for name in names]
        before = reading(CLOCKS[clock])
        with deferred():
            found = record_boards(boards, plan, scratch / "set", lambda *_told: None)
        truth = line(before, reading(CLOCKS[clock]))
        for member in found.members:
            yield member, worst(member, truth)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("boards", nargs="+", metavar="BOARD")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    wrong = 0
    print(
        "| board | clock | largest error, us | uncertainty, us | shortest round trip, us | drift |"
    )
    print("|---|---|---:|---:|---:|---:|")
    for clock in CLOCKS:
        for _ in range(asked.rounds):
            for member, error in recordings(asked.boards, clock, asked.seconds):
                lined_up = member.clock
                if lined_up is None:
                    raise SystemExit(f"{member.board}: {member.not_lined_up}")
                wrong += error > lined_up.uncertainty_ns
                print(
                    f"| {member.board} | {clock} | {error / 1e3:.1f} "
                    f"| {lined_up.uncertainty_ns / 1e3:.1f} | {lined_up.shortest_ns / 1e3:.1f} "
                    f"| {lined_up.rate_ppm:+.2f} ppm |",
                    flush=True,
                )
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
