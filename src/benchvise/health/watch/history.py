"""What a watch has kept of a board, day by day or week by week.

A time that was not watched is not a time in which nothing happened: each period says how much of
it was watched, and what rose over a gap is counted where it was seen, and said to be so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Literal

from benchvise.health.model import WatchedKind, WatchEvent
from benchvise.health.watch.tracker import SensorRange, WatchedChange

By = Literal["day", "week"]

TICK_SECONDS = 0.01
"""What CPU time is counted in: USER_HZ is 100 on all that Linux runs on but Alpha and ia64."""

_SLACK = 2.5
"""So many intervals between two polls are no gap yet."""


@dataclass(frozen=True, slots=True)
class WatchSpan:
    """A time in which a board was polled every ``interval`` seconds without a gap.

    ``ending`` is why it ended, empty while it lasts or when nobody could say. ``cpu`` is the CPU
    time that this took on the board, in seconds; None where it is not known.
    """

    began: float
    until: float
    polls: int
    interval: float
    boot: str
    ending: str
    cpu: float | None

    @property
    def cost(self) -> float | None:
        """The share of one CPU that it took; None where that is not known."""
        length = self.until - self.began
        return None if self.cpu is None or length <= 0 else self.cpu / length


@dataclass(frozen=True, slots=True)
class WatchedMetric:
    """A metric with all that is kept of it."""

    name: str
    kind: WatchedKind
    unit: str
    changes: tuple[WatchedChange, ...] = ()
    ranges: tuple[SensorRange, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """What is kept of a board between two times, oldest first. Times are seconds since 1970.

    ``open_alerts`` are those that are raised now: rule, subject, since when.
    """

    board: str
    simulated: bool
    since: float
    until: float
    spans: tuple[WatchSpan, ...]
    metrics: tuple[WatchedMetric, ...]
    events: tuple[WatchEvent, ...]
    open_alerts: tuple[tuple[str, str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Period:
    """A day or a week (from Monday), in UTC."""

    label: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class UnwatchedGap:
    """A time that was not watched, and why as far as it is known."""

    began: float
    ended: float
    why: str


@dataclass(frozen=True, slots=True)
class Counted:
    """How much a metric rose in each period, None where it was not watched.

    ``over_gap`` says for each whether it may have risen in a period before, while nobody watched.
    ``is_last_over`` says whether the last one was watched to its end.
    """

    metric: WatchedMetric
    rises: tuple[float | None, ...]
    over_gap: tuple[bool, ...]
    now: float
    is_last_over: bool = True

    @property
    def total(self) -> float:
        """The rise over all periods."""
        return sum(rise for rise in self.rises if rise is not None)

    @property
    def rises_in_a_row(self) -> tuple[float, ...]:
        """The rises of the last watched periods as far back as it rose in each.

        One that is not over, and had no rise so far, does not end the row: on a Monday morning a
        counter still rises week by week.
        """
        rises = [rise for rise in self.rises if rise is not None]
        if rises and not self.is_last_over and rises[-1] <= 0:
            rises.pop()
        row = list(takewhile(lambda rise: rise > 0, reversed(rises)))
        return tuple(reversed(row))

    @property
    def rising(self) -> int:
        """For how many periods in a row it has risen."""
        return len(self.rises_in_a_row)


@dataclass(frozen=True, slots=True)
class SensorReadings:
    """What a sensor read in each period: lowest, mean and highest; None where it did not."""

    metric: WatchedMetric
    ranges: tuple[tuple[float, float, float] | None, ...]


@dataclass(frozen=True, slots=True)
class HistoryTable:
    """A history by periods. ``watched`` is the share of each that was watched, 0 to 1."""

    periods: tuple[Period, ...]
    watched: tuple[float, ...]
    counters: tuple[Counted, ...]
    events: tuple[tuple[str, tuple[int | None, ...]], ...]
    sensors: tuple[SensorReadings, ...]
    gaps: tuple[UnwatchedGap, ...]


def tabulate(history: History, by: By) -> HistoryTable:
    """The history by days or weeks, from the first that was watched to the last."""
    periods = tuple(_periods(history, by))
    watched = tuple(_watched(history, period) for period in periods)
    last_poll = max((span.until + span.interval for span in history.spans), default=0.0)
    counters = [
        _counted(metric, periods, watched, last_poll)
        for metric in history.metrics
        if metric.kind is not WatchedKind.SENSOR and metric.changes
    ]
    sensors = [
        SensorReadings(metric, tuple(_read(metric, period) for period in periods))
        for metric in history.metrics
        if metric.kind is WatchedKind.SENSOR
    ]
    return HistoryTable(
        periods,
        watched,
        tuple(
            sorted(
                counters,
                key=lambda counter: (-counter.rising, -abs(counter.total), counter.metric.name),
            )
        ),
        tuple(_events(history, periods, watched)),
        tuple(sensor for sensor in sensors if any(sensor.ranges)),
        tuple(_gaps(history)),
    )


def _periods(history: History, by: By) -> Iterator[Period]:
    """All from the first poll, or the first event before it, to the last poll."""
    times = [span.began for span in history.spans] + [event.at for event in history.events]
    ends = [span.until for span in history.spans] + [event.last for event in history.events]
    if not times:
        return
    first, last = max(min(times), history.since), min(max(ends), history.until)
    start = datetime.fromtimestamp(first, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    step = timedelta(days=1)
    if by == "week":
        start -= timedelta(days=start.weekday())
        step = timedelta(days=7)
    while start.timestamp() <= last:
        year, week, _ = start.isocalendar()
        label = f"{start:%d %b}" if by == "day" else f"{year % 100}-W{week:02}"
        yield Period(label, start.timestamp(), (start + step).timestamp())
        start += step


def _watched(history: History, period: Period) -> float:
    """The share of the period that was watched; a single poll counts for one interval."""
    intervals = sorted(
        (max(span.began, period.began), min(max(span.until, span.began) + span.interval,
                                            period.ended, max(history.until, span.until)))
        for span in history.spans
    )  # fmt: skip
    covered, end = 0.0, period.began
    for began, ended in intervals:
        covered += max(0.0, ended - max(began, end))
        end = max(end, ended)
    return min(1.0, covered / (period.ended - period.began))


def _counted(
    metric: WatchedMetric, periods: Sequence[Period], watched: Sequence[float], last_poll: float
) -> Counted:
    rises: list[float | None] = []
    over_gap = []
    for period, share in zip(periods, watched, strict=True):
        mine = [c for c in metric.changes if period.began <= c.at < period.ended]
        rises.append(sum(c.delta or 0.0 for c in mine) if share or mine else None)
        over_gap.append(any(c.delta and c.since < period.began for c in mine))
    is_last_over = bool(periods) and periods[-1].ended <= last_poll
    return Counted(metric, tuple(rises), tuple(over_gap), metric.changes[-1].value, is_last_over)


def _events(
    history: History, periods: Sequence[Period], watched: Sequence[float]
) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    """How often each class was met in each period, the most frequent first."""
    counts: dict[str, list[int]] = {}
    for event in history.events:
        for index, period in enumerate(periods):
            if period.began <= event.at < period.ended:
                counts.setdefault(event.what, [0] * len(periods))[index] += event.count
    for what, row in sorted(counts.items(), key=lambda item: (-sum(item[1]), item[0])):
        yield (
            what,
            tuple(
                count if count or share else None for count, share in zip(row, watched, strict=True)
            ),
        )


def _read(metric: WatchedMetric, period: Period) -> tuple[float, float, float] | None:
    """Lowest, mean and highest of the ranges that lie in the period, wholly or in part."""
    low, high, total, readings = float("inf"), float("-inf"), 0.0, 0.0
    for span in metric.ranges:
        begin, end = max(span.began, period.began), min(span.until, period.ended)
        if end < begin or span.began >= period.ended:
            continue
        length = span.until - span.began
        share = (end - begin) / length if length > 0 else 1.0
        low, high = min(low, span.low), max(high, span.high)
        total += span.total * share
        readings += span.readings * share
    return (low, total / readings, high) if readings else None


def _gaps(history: History) -> Iterator[UnwatchedGap]:
    """Times between spans that are longer than polls are apart."""
    end, slack, why = None, 0.0, ""
    for span in sorted(history.spans, key=lambda span: span.began):
        if end is not None and span.began - end > slack:
            yield UnwatchedGap(end, span.began, why or "the watch was not running")
        if end is None or span.until >= end:
            end, slack, why = span.until, _SLACK * span.interval, span.ending
