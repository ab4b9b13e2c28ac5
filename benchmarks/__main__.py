"""``make bench``: ours and the reference tool in turn, many rounds, ratios.

The ratio is the median of the rounds' own ratios, as the two of a round are neighbours in time
and a machine's bandwidth may halve from one minute to the next. Its interval is that of order
statistics, and it decides whether the ratio is as claimed: an interval that reaches over a bound
decides nothing. Where both sides do the same work, their CPU seconds are compared as well, as a
ratio of wall times flatters who uses more CPUs. The table says what was seen; with ``--check`` it
fails where a claim does not hold.
"""

from __future__ import annotations

import argparse
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from benchmarks import (
    levels,
    pairs_cpu,
    pairs_flash,
    pairs_host,
    pairs_net,
    pairs_record,
    pairs_signal,
    pairs_storage,
    pairs_timer,
    pairs_trace,
    timeline,
)
from benchmarks.pairs import Pair, pairs, probe_median
from benchmarks.pairs_memory import pairs as memory_pairs
from benchmarks.pairs_os import pairs as pairs_os
from benchmarks.pairs_pipe import pairs as pipe_pairs
from benchvise.statistics import Interval, median_interval

SOURCES = (
    pairs,
    pairs_cpu.pairs,
    memory_pairs,
    pipe_pairs,
    pairs_host.pairs,
    pairs_net.pairs,
    pairs_timer.pairs,
    pairs_os,
    pairs_storage.pairs,
    pairs_flash.pairs,
    pairs_record.pairs,
    pairs_trace.pairs,
    pairs_signal.pairs,
)
"""Where pairs come from: one module a family, each with a function `pairs`."""

_LEAST_ROUNDS = 3


@dataclass(frozen=True)
class Reading:
    """One run of one side: its value, and the wall and CPU seconds of the whole of it."""

    value: float
    seconds: float
    cpu_seconds: float


@dataclass
class Side:
    """Values, wall times and CPU times of one side, one a round."""

    values: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    def add(self, first: Reading, second: Reading) -> None:
        """Adds a round: the means of its two readings."""
        self.values.append((first.value + second.value) / 2)
        self.seconds.append((first.seconds + second.seconds) / 2)
        self.cpu_seconds.append((first.cpu_seconds + second.cpu_seconds) / 2)

    def keep(self, rounds: int) -> None:
        """Leaves out what a round that was broken off has added."""
        del self.values[rounds:], self.seconds[rounds:], self.cpu_seconds[rounds:]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> float:
        """Interquartile range over median: one disturbed round must not decide it."""
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return (high - low) / self.median


def ratio(above: list[float], below: list[float]) -> tuple[float, Interval]:
    """Median of the rounds' ratios, and its interval."""
    ratios = [x / y for x, y in zip(above, below, strict=True)]
    return statistics.median(ratios), median_interval(ratios)


def read_ours(pair: Pair) -> float:
    """Our value; where the whole process is timed, 0."""
    if not isinstance(pair.ours, tuple):
        return pair.ours()
    if pair.work is None:
        return probe_median(pair.ours, pair.prefix)
    subprocess.run(pair.ours, capture_output=True, check=True)
    return 0.0


def read_reference(pair: Pair) -> float:
    """The reference tool's value in our convention; where the whole process is timed, 0."""
    if pair.work is not None:
        # Where a user would send it, if he wanted none of it: to nowhere, not through a pipe.
        subprocess.run(
            pair.reference, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
        )
        return 0.0
    result = subprocess.run(pair.reference, capture_output=True, text=True, check=True)
    return pair.read(result.stdout)


def _cpu_seconds() -> float:
    """What this process and the children that it waited for have used so far."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def timed(pair: Pair, read: Callable[[Pair], float]) -> Reading:
    """One run of a side, timed as a whole."""
    begin, used = time.monotonic(), _cpu_seconds()
    value = read(pair)
    seconds, cpu_seconds = time.monotonic() - begin, _cpu_seconds() - used
    return Reading(value if pair.work is None else pair.work / seconds, seconds, cpu_seconds)


def measure(
    chosen: list[Pair], rounds: int, minutes: float
) -> tuple[int, list[tuple[Pair, Side, Side]]]:
    """All pairs, round by round: a slow minute falls on all of them alike.

    A round is ours, reference, reference, ours and counts the mean of each, so that a machine that
    gets slower meanwhile does so for both. No round begins that would end after ``minutes``, but
    for the first three; Ctrl-C ends it with the rounds that are whole. Returns their number too.
    """
    sides = [(pair, Side(), Side()) for pair in chosen]
    begin, done = time.monotonic(), 0
    with ExitStack() as scenes:
        for pair in chosen:
            scenes.enter_context(pair.scene())
        try:
            for done in range(rounds):
                spent = time.monotonic() - begin
                if done >= _LEAST_ROUNDS and spent * (done + 1) / done > minutes * 60:
                    return done, sides
                print(f"round {done + 1}, {spent:.0f} s so far", file=sys.stderr, flush=True)
                for pair, ours, reference in sides:
                    take_round(pair, ours, reference)
            done = rounds
        except KeyboardInterrupt:
            for _, ours, reference in sides:
                ours.keep(done)
                reference.keep(done)
            if done < _LEAST_ROUNDS:
                raise
    return done, sides


def take_round(pair: Pair, ours: Side, reference: Side) -> None:
    """One round of one pair."""
    first = timed(pair, read_ours)
    reference.add(timed(pair, read_reference), timed(pair, read_reference))
    ours.add(first, timed(pair, read_ours))


def overstatement(rounds: int) -> Table:
    """What an unwritten source does to a copy, by size."""
    table = Table(title="A source that was never written (not a bandwidth)", title_justify="left")
    for heading in ("size", "written GB/s", "unwritten GB/s", "overstated", "95 %"):
        table.add_column(heading, justify="right")
    for size in ("1M", "16M", "64M", "256M"):
        written: list[float] = []
        untouched: list[float] = []
        for _ in range(rounds):
            for values, source in ((written, "random"), (untouched, "untouched")):
                copy = ("memory.libc_copy", "--size", size, "--source", source)
                values.append(probe_median(copy))
        times, interval = ratio(untouched, written)
        table.add_row(
            size,
            f"{statistics.median(written) / 1e9:.1f}",
            f"{statistics.median(untouched) / 1e9:.1f}",
            f"{times:.2f} x",
            f"{interval.low:.2f} … {interval.high:.2f}",
        )
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--minutes", type=float, default=30, help="begin no round after these")
    parser.add_argument("--check", action="store_true", help="end with 1 where a claim fails")
    parser.add_argument("only", nargs="*", help="parts of the names of pairs")
    arguments = parser.parse_args()
    # Servers and namespaces of the scenes are taken down also when this process is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    console = Console(width=170)
    chosen: list[Pair] = []
    missing: list[str] = []
    for source in SOURCES:
        found, left_out = source()
        chosen += found
        missing += left_out
    if arguments.only:
        chosen = [p for p in chosen if any(part in p.name for part in arguments.only)]
    rounds, measured = measure(chosen, arguments.rounds, arguments.minutes)
    table = Table(title=f"Ours : reference, {rounds} rounds in turn, medians", title_justify="left")
    for heading in (
        "pair",
        "ours",
        "reference",
        "ratio",
        "95 %",
        "claimed",
        "holds",
        "CPU ratio",
        "spread ours",
        "spread reference",
        "s ours",
        "s reference",
    ):
        table.add_column(heading, justify="left" if heading == "pair" else "right")
    broken: list[str] = []
    for pair, ours, reference in measured:
        times, interval = ratio(ours.values, reference.values)
        if pair.holds(interval) is False:
            broken.append(pair.name)
        table.add_row(
            pair.name,
            f"{ours.median:.4g}",
            f"{reference.median:.4g}",
            f"{times:.3f}",
            f"{interval.low:.3f} … {interval.high:.3f}",
            pair.claim,
            {True: "yes", False: "no", None: "undecided"}[pair.holds(interval)],
            # How many times as much CPU the reference takes for the same work.
            "" if pair.work is None else f"{ratio(reference.cpu_seconds, ours.cpu_seconds)[0]:.2f}",
            f"{ours.spread:.1%}",
            f"{reference.spread:.1%}",
            f"{statistics.median(ours.seconds):.2f}",
            f"{statistics.median(reference.seconds):.2f}",
        )
    if measured:
        console.print(table)
    if pairs_flash.verifications:
        console.print(pairs_flash.verification())
    if any("trace" in pair.name or "CTF" in pair.name for pair in chosen):
        console.print(pairs_trace.costs(min(rounds, 5)))
        console.print(levels.costs(min(rounds, 3)))
    if any(pair.name.startswith("signal") for pair in chosen):
        console.print(pairs_signal.table(min(rounds, 5)))
    if not arguments.only or any(part in "timeline" for part in arguments.only):
        without = timeline.missing()
        console.print(without or timeline.table(min(rounds, 5)))
    if not arguments.only:
        console.print(overstatement(9))
    for line in missing:
        console.print(line)
    if broken:
        console.print(f"{len(broken)} of {len(measured)} claims do not hold: {', '.join(broken)}")
    return int(arguments.check and bool(broken))


if __name__ == "__main__":
    sys.exit(main())
