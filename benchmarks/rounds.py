"""Ours and the reference tool in turn, many rounds, and the sheets of their ratios.

The ratio is the median of the rounds' own ratios, as the two of a round are neighbours in time
and a machine's bandwidth may halve from one minute to the next. Its interval is that of order
statistics, and it decides whether the ratio is as claimed: an interval that reaches over a bound
decides nothing, nor do fewer than six rounds. Where both sides do the same work, their CPU seconds
are compared as well, as a ratio of wall times flatters who uses more CPUs.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from benchmarks.pairs import Pair, probe_median
from benchmarks.sheets import VERDICTS, Sheet, quantity
from benchvise.statistics.quantiles import median_interval
from benchvise.statistics.sample import Interval

LEAST_ROUNDS = 6
"""The fewest of which an interval of 95 % can be given."""


@dataclass(frozen=True)
class Reading:
    """One run of one side: its value, and the wall and CPU seconds of the whole of it."""

    value: float
    seconds: float
    cpu_seconds: float


@dataclass
class Measured:
    """A pair, and the readings of both sides, one of each a round."""

    pair: Pair
    ours: list[Reading] = field(default_factory=list)
    reference: list[Reading] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Why rounds have no readings, of either side."""

    def try_round(self, number: int, before: Reading | None = None) -> None:
        """A round. One that fails is noted: what was measured before, and all other pairs, stay."""
        whole = len(self.ours), len(self.reference)
        try:
            self.take_round(number, before)
        except (RuntimeError, ValueError, OSError, subprocess.SubprocessError) as error:
            self.failures.append(f"{self.pair.name}, round {number + 1}: {error}")
            del self.ours[whole[0] :], self.reference[whole[1] :]

    def take_round(self, number: int, before: Reading | None = None) -> None:
        """A round. Every other one begins with the reference tool, so that a machine that gets
        slower or faster meanwhile does as much to either side. ``before`` is the reference tool's
        reading of this round, where another pair has taken it."""
        sides = [(self.ours, read_ours)]
        if before is None:
            sides.append((self.reference, read_reference))
        else:
            self.reference.append(before)
        for side, read in reversed(sides) if number % 2 else sides:
            side.append(timed(self.pair, read))
        if self.pair.warm and number < LEAST_ROUNDS:
            self.warm.append(self.pair.warm())

    def takes_part(self, number: int) -> bool:
        return self.pair.rounds is None or number < self.pair.rounds

    def ratio(self) -> tuple[float, Interval]:
        """Of the values: ours to the reference tool's."""
        return ratio([r.value for r in self.ours], [r.value for r in self.reference])

    def cpu_ratio(self) -> float:
        """How many times as much CPU the reference tool takes for the same work."""
        sides = self.reference, self.ours
        return ratio(*([reading.cpu_seconds for reading in side] for side in sides))[0]


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
    subprocess.run(pair.ours, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return 0.0


def read_reference(pair: Pair) -> float:
    """The reference tool's value in our convention; where the whole process is timed, 0."""
    if pair.work is not None:
        # Where a user would send it, if he wanted none of it: to nowhere, not through a pipe.
        subprocess.run(
            pair.reference, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
        )
        return 0.0
    result = subprocess.run(pair.reference, capture_output=True, text=True, check=False)
    if result.returncode:
        command, said = " ".join(pair.reference), (result.stderr or result.stdout)[-500:]
        raise RuntimeError(f"{pair.name}: `{command}` ended with {result.returncode}: {said!r}")
    return pair.value_of(result.stdout)


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


def measure(pairs: list[Pair], rounds: int, minutes: float) -> list[Measured]:
    """All pairs, round by round: a slow minute falls on all of them alike.

    No round begins that would end after ``minutes``, but for the first six; Ctrl-C ends it with
    the rounds that are whole.
    """
    measured = [Measured(pair) for pair in pairs]
    begin, done = time.monotonic(), 0
    with ExitStack() as scenes:
        for pair in pairs:
            scenes.enter_context(pair.scene())
        try:
            for done in range(rounds):
                spent = time.monotonic() - begin
                if done >= LEAST_ROUNDS and spent * (done + 1) / done > minutes * 60:
                    break
                _say(f"round {done + 1} of {rounds}, {spent:.0f} s so far")
                works: dict[tuple[str, ...], Reading] = {}
                for number, one in enumerate(measured, 1):
                    if not one.takes_part(done):
                        continue
                    at = time.monotonic()
                    readings = len(one.reference)
                    one.try_round(done, works.get(one.pair.reference))
                    if one.pair.work is not None and len(one.reference) > readings:
                        works[one.pair.reference] = one.reference[-1]
                    if done == 0:
                        took = time.monotonic() - at
                        _say(f"  {number} of {len(measured)}: {one.pair.name}, {took:.1f} s")
        except KeyboardInterrupt:
            if done < LEAST_ROUNDS:
                raise
            for one in measured:
                del one.ours[done:], one.reference[done:]
    return measured


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def value_sheet(measured: list[Measured], units: dict[str, str]) -> Sheet:
    """The pairs of values: each side's own account of the same quantity."""
    sheet = Sheet(
        "Benchmarks : reference tools, in turn; medians",
        (
            "pair",
            "ours",
            "reference",
            "ratio",
            "95 %",
            "claim",
            "holds",
            "spread",
            "its spread",
            "rounds",
            "s ours",
            "s its",
        ),
        notes=(
            "ratio: ours to the reference tool's, median of the rounds' own, with its 95 % "
            "interval, which decides; spread: interquartile range over median, ours and the "
            "reference tool's; s: seconds of a reading.",
        ),
    )
    for one in measured:
        if one.pair.work is not None or _failed(one, sheet):
            continue
        times, interval = one.ratio()
        unit = one.pair.unit or units.get(one.pair.benchmark, "")
        holds = one.pair.holds(interval)
        sheet.verdicts[one.pair.name] = holds
        sheet.rows.append(
            (
                one.pair.name,
                quantity(_median(one.ours), unit),
                quantity(_median(one.reference), unit),
                f"{times:.3f}",
                f"{interval.low:.3f} … {interval.high:.3f}",
                one.pair.claim,
                VERDICTS[holds],
                f"{_spread(one.ours):.1%}",
                f"{_spread(one.reference):.1%}",
                str(len(one.ours)),
                f"{statistics.median(r.seconds for r in one.ours):.2f}",
                f"{statistics.median(r.seconds for r in one.reference):.2f}",
            )
        )
    return sheet


def work_sheet(measured: list[Measured]) -> Sheet:
    """The pairs of whole commands that do the same work."""
    sheet = Sheet(
        "Whole commands for the same work, cold (start-up included) and warm; medians",
        (
            "pair",
            "ours, cold",
            "reference, cold",
            "ratio",
            "95 %",
            "goal",
            "holds",
            "CPU ratio",
            "ours, warm",
            "rounds",
            "s ours",
            "s its",
        ),
        notes=(
            "cold: a fresh process, from its start to its end (files in the page cache); ratio: "
            "of the cold rates; CPU ratio: CPU seconds of the reference tool to ours; warm: the "
            "same work of ours in a process that has started, compared with nothing.",
        ),
    )
    for one in measured:
        if one.pair.work is None or _failed(one, sheet):
            continue
        times, interval = one.ratio()
        holds = one.pair.holds(interval)
        sheet.verdicts[one.pair.name] = holds
        sheet.rows.append(
            (
                one.pair.name,
                quantity(_median(one.ours), one.pair.unit),
                quantity(_median(one.reference), one.pair.unit),
                f"{times:.2f}",
                f"{interval.low:.2f} … {interval.high:.2f}",
                one.pair.claim,
                VERDICTS[holds],
                f"{one.cpu_ratio():.2f}",
                quantity(statistics.median(one.warm), one.pair.unit) if one.warm else "",
                str(len(one.ours)),
                f"{statistics.median(r.seconds for r in one.ours):.2f}",
                f"{statistics.median(r.seconds for r in one.reference):.2f}",
            )
        )
    return sheet


def _failed(one: Measured, sheet: Sheet) -> bool:
    """Whether too many rounds failed to say anything; says what failed."""
    sheet.notes = (*sheet.notes, *one.failures)
    if not one.failures or len(one.ours) >= LEAST_ROUNDS:
        return False
    sheet.verdicts[one.pair.name] = None
    blank = [""] * (len(sheet.headings) - 1)
    blank[sheet.headings.index("holds") - 1] = VERDICTS[None]
    blank[sheet.headings.index("rounds") - 1] = f"{len(one.failures)} failed"
    sheet.rows.append((one.pair.name, *blank))
    return True


def _median(side: list[Reading]) -> float:
    return statistics.median(reading.value for reading in side)


def _spread(side: list[Reading]) -> float:
    """Interquartile range over median: one disturbed round must not decide it."""
    values = [reading.value for reading in side]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / statistics.median(values)
