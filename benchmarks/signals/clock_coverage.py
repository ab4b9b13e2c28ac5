"""How often the intervals of ``signal clock`` hold the truth: ``python -m
benchmarks.signals.clock_coverage``.

Of each kind of made clock so many captures are measured. An interval of 95 % should hold the true
frequency, and that of the drift the true drift, in 93 to 97 % of them; where there is no such
number, there should be no interval. An interval that allows for flicker noise, as the capture
cannot exclude it, is counted apart: it holds in 93 to 97 % of clocks with flicker noise, and in
more of all others. Seeds below 1,000 were used to tune the analysis; those from 60,000 on, and the
kinds of ``HELD_BACK``, were not looked at before it was finished.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.signals.made_clocks import HELD_BACK, KINDS, MadeClock, made
from benchvise.signal.capture import Capture, SignalLine, clock_of_rate
from benchvise.signal.clock import ClockInterval, ClockMetrics, measure_clock

HELD_OUT = 60_000


@dataclass(frozen=True, slots=True)
class Seen:
    """What one capture gave: None where there was no interval or no truth."""

    frequency: bool | None
    drift: bool | None
    duty: bool | None
    width: float | None
    """Of the interval, relative."""
    interval: bool
    allows_flicker: bool
    """Whether the interval is one that a clock with flicker noise needs."""


def capture_of(clock: MadeClock) -> Capture:
    """The clock as a capture."""
    line = SignalLine("CLK", False, clock.edges)
    end = int(clock.edges[-1]) + 10
    return Capture(Path("made.sr"), "made", clock_of_rate(clock.rate), end, (line,))


def _holds(bounds: ClockInterval | None, truth: float | None) -> bool | None:
    return None if bounds is None or truth is None else bounds.low <= truth <= bounds.high


def judge(clock: MadeClock, seen: ClockMetrics) -> Seen:
    """One measurement and its true values; the median duty may be off by a hundredth."""
    interval = seen.interval
    return Seen(
        _holds(interval, clock.frequency),
        _holds(seen.drift_interval, clock.drift_ppm),
        None if clock.duty is None else abs(seen.period_duty.median - clock.duty) < 0.01,
        None if interval is None else (interval.high - interval.low) / seen.frequency,
        interval is not None,
        seen.interval_allows is not None,
    )


def measure(kind: str, seed: int) -> Seen:
    """One capture of a kind."""
    clock = made(kind, seed)
    return judge(clock, measure_clock(capture_of(clock), "CLK"))


def _held(rows: Sequence[Seen]) -> str:
    """How many intervals there are, and the share of them that hold the frequency."""
    return f"{len(rows)}: {_share([row.frequency for row in rows])}" if rows else "-"


def _share(answers: Sequence[bool | None]) -> str:
    told = [answer for answer in answers if answer is not None]
    return f"{100 * sum(told) / len(told):.1f} %" if told else "-"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=200, help="of each kind")
    parser.add_argument("--held-out", action="store_true", help="seeds nobody tuned on")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("kinds", nargs="*")
    options = parser.parse_args()
    first = HELD_OUT if options.held_out else 0
    kinds = options.kinds or [*KINDS, *(HELD_BACK if options.held_out else ())]
    table = Table("Clock", "Captures", "Interval", "…for flicker", "Drift", "Median duty", "Width")
    with ProcessPoolExecutor(options.workers) as pool:
        for kind in kinds:
            seeds = range(first, first + options.captures)
            rows = list(pool.map(partial(measure, kind), seeds, chunksize=8))
            widths = [row.width for row in rows if row.width is not None]
            given = [row for row in rows if row.interval]
            table.add_row(
                kind,
                str(len(rows)),
                _held([row for row in given if not row.allows_flicker]),
                _held([row for row in given if row.allows_flicker]),
                _share([row.drift for row in rows]),
                _share([row.duty for row in rows]),
                f"{1e6 * float(np.median(widths)):.3g} ppm" if widths else "-",
            )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
