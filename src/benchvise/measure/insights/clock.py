"""The clock that CPUs run at, against what is advertised, and under load of all of them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchvise.documents import number_at, object_at
from benchvise.measure.insights.insight import UNSTABLE, Insight, SeriesPoint, change, points
from benchvise.measure.model import ProcessRecord, RunRecord
from benchvise.measure.validity import quantity

# Less is within what readings of a steady clock differ by; a sample's flag "clock" has the same.
_CLEARLY = 0.03
_ENDS = 3  # batches at either end that a change over time is told from
_MODEL_CLOCK = re.compile(r"@ *([0-9]+(?:\.[0-9]+)?) *([MG])Hz")


@dataclass(frozen=True, slots=True)
class _Clock:
    """A CPU's clock: what was measured, what is advertised, and who advertises it."""

    cpu: str
    measured: SeriesPoint
    advertised: float
    source: str

    @property
    def ratio(self) -> float:
        return self.measured.median / self.advertised


def advertised_clocks(run: RunRecord) -> list[Insight]:
    """One insight when anything is said of the clocks that were measured."""
    clocks = [c for point in points(run, "cpu.clock") if point.stable for c in _clock(run, point)]
    if not clocks:
        return []
    worst = max(clocks, key=lambda clock: abs(clock.ratio - 1))
    if abs(worst.ratio - 1) <= _CLEARLY:
        sentence = (
            f"{'Every CPU measured' if len(clocks) > 1 else f'CPU {worst.cpu}'} runs at the clock "
            f"that {worst.source} ({quantity(worst.advertised, 'Hz')}), within "
            f"{_CLEARLY * 100:.0f} %."
        )
    else:
        sentence = (
            f"CPU {worst.cpu} runs at {worst.measured.text}, {change(worst.ratio)} against the "
            f"{quantity(worst.advertised, 'Hz')} that {worst.source}."
        )
    return [
        Insight(
            title="The clock that is advertised",
            sentence=sentence,
            columns=("CPU", "measured", "said", "difference", "series"),
            rows=tuple(
                (
                    clock.cpu,
                    clock.measured.text,
                    quantity(clock.advertised, "Hz"),
                    change(clock.ratio),
                    clock.measured.series.spec.key,
                )
                for clock in clocks
            ),
        )
    ]


def _clock(run: RunRecord, point: SeriesPoint) -> list[_Clock]:
    """None where nothing is said."""
    begin = point.series.processes[0].begin
    cpu = str(begin.get("cpu"))
    maximum, limit = number_at(begin, "advertised_hz"), number_at(begin, "limit_hz")
    if limit and maximum and limit < maximum * (1 - _CLEARLY):
        return [_Clock(cpu, point, limit, "cpufreq limits it to")]
    if maximum:
        return [_Clock(cpu, point, maximum, "cpufreq advertises")]
    named = _MODEL_CLOCK.search(str(run.host.get("cpu_model"))[:200])
    if named:
        hz = float(named[1]) * (1e9 if named[2] == "G" else 1e6)
        if hz > 0:
            return [_Clock(cpu, point, hz, "its name states (without a boost)")]
    return []


def sustained_clocks(run: RunRecord) -> list[Insight]:
    """One insight for each series of cpu.sustained that is long enough to have two ends.

    A clock that falls makes a series unstable, and is what is looked for.
    """
    insights = []
    for point in points(run, "cpu.sustained"):
        long = [
            process
            for process in point.series.processes
            if len(process.samples) >= 2 * _ENDS and all(s.value > 0 for s in process.samples)
        ]
        if long:
            insights.append(_sustained(point, long))
    return insights


def _sustained(point: SeriesPoint, processes: Sequence[ProcessRecord]) -> Insight:
    """By the process that changed the most: a board that was warm already changes no more."""
    rows = [_course(process) for process in processes]
    course = max(rows, key=lambda row: (row.settled, abs(row.ratio - 1)))
    ratio = course.ratio
    threads = number_at(processes[0].begin, "threads")
    who = f"With {threads:.0f} CPUs under load the clock" if threads else "Under load the clock"
    start, end = quantity(course.first, "Hz"), quantity(course.last, "Hz")
    if not course.settled:
        least, most = quantity(course.low, "Hz"), quantity(course.high, "Hz")
        sentence = (
            f"{who} varies between {least} and {most} from one batch to the next: how it changes "
            f"over the {course.seconds:.0f} s cannot be told"
        )
    elif abs(ratio - 1) <= _CLEARLY:
        sentence = f"{who} stays at {end} for the {course.seconds:.0f} s that were measured"
    else:
        word = "falls" if ratio < 1 else "rises"
        sentence = f"{who} {word} from {start} to {end} ({change(ratio)}) in {course.seconds:.0f} s"
    if course.temperatures:
        low, high = course.temperatures
        sentence += f", from {low:.0f} to {high:.0f} degrees C"
    if course.throttled:
        sentence += f"; the hardware slowed hot CPUs down {course.throttled:.0f} times"
    return Insight(
        title="The clock under load"
        + (f", {point.series.spec.key}" if ":" in point.series.spec.key else ""),
        sentence=f"{sentence}.",
        columns=("process", "first", "last", "change", "slowest CPU"),
        rows=tuple(
            (
                str(process.index + 1),
                quantity(row.first, "Hz"),
                quantity(row.last, "Hz"),
                change(row.ratio) if row.settled else UNSTABLE,
                quantity(row.lowest, "Hz") if row.lowest else "",
            )
            for process, row in zip(processes, rows, strict=True)
        ),
    )


@dataclass(frozen=True, slots=True)
class _Course:
    """A process under load: its clock (Hz) at both ends, and what came along.

    ``low`` and ``high`` are those of all batches; ``lowest`` is that of the slowest CPU.
    ``settled``: at each end batches differ less than the ends do, or hardly at all.
    """

    first: float
    last: float
    low: float
    high: float
    settled: bool
    lowest: float
    seconds: float
    temperatures: tuple[float, float] | None
    throttled: float

    @property
    def ratio(self) -> float:
        """The clock at the end relative to that at the beginning."""
        return self.last / self.first


def _course(process: ProcessRecord) -> _Course:
    samples = process.samples
    first, last = samples[0].evidence, samples[-1].evidence
    details = [object_at(sample.evidence, "detail") for sample in samples]
    heat = [degrees for detail in details if (degrees := number_at(detail, "temperature"))]
    lows = [hz for detail in details if (hz := number_at(detail, "lowest_hz"))]
    begin = number_at(first, "start_ns") or 0
    end = (number_at(last, "start_ns") or 0) + (number_at(last, "elapsed_ns") or 0)
    values = [sample.value for sample in samples]
    ends = (values[:_ENDS], values[-_ENDS:])
    first_clock, last_clock = map(statistics.median, ends)
    spread = max(max(batches) - min(batches) for batches in ends)
    return _Course(
        first=first_clock,
        last=last_clock,
        low=min(values),
        high=max(values),
        settled=spread <= max(_CLEARLY * first_clock, abs(last_clock - first_clock)),
        lowest=min(lows, default=0.0),
        seconds=max(end - begin, 0.0) / 1e9,
        temperatures=(heat[0], heat[-1]) if len(heat) > 1 else None,
        throttled=sum(number_at(detail, "throttle_events") or 0 for detail in details),
    )
