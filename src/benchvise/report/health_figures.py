"""What the charts of a health page draw: counters by period, what happened, sensors over time.

These types are the counterpart of ``web/src/base/health.ts``; the page embeds them as JSON. Times
are milliseconds since 1970, as a browser counts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchvise.health.model import WatchedKind, WatchEvent
from benchvise.health.watch.history import (
    By,
    Counted,
    History,
    HistoryTable,
    UnwatchedGap,
    WatchedMetric,
)
from benchvise.health.watch.tracker import SensorRange
from benchvise.report.figures import NO_FIGURES

MOST_COUNTERS = 24
MOST_SENSORS = 60
MOST_CLASSES = 24
"""Charts and rows that a page shows; its tables have all."""

_POINTS = 1200  # of a sensor, or of a class of events: more than a chart has pixels
_GAPS = 500


@dataclass(frozen=True, slots=True)
class CountedBar:
    """How much a counter rose in a period; None where nobody looked. ``late`` where it may have
    risen in a period before, while nobody did."""

    label: str
    rise: float | None
    late: bool
    watched: float


@dataclass(frozen=True, slots=True)
class CountedFigure:
    """A counter by periods. ``rising`` counts the last ones in each of which it rose."""

    id: str
    name: str
    unit: str
    by: By
    now: float
    total: float
    rising: int
    bars: tuple[CountedBar, ...]


@dataclass(frozen=True, slots=True)
class HappeningMark:
    """Something that happened ``count`` times from ``at`` to ``last``."""

    at: float
    last: float
    count: int
    severity: str
    text: str


@dataclass(frozen=True, slots=True)
class HappeningRow:
    """All events of one class, oldest first."""

    name: str
    points: tuple[HappeningMark, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time that was not watched, and why."""

    began: float
    ended: float
    why: str


@dataclass(frozen=True, slots=True)
class HappeningsFigure:
    """What happened when, a row for each class."""

    id: str
    began: float
    ended: float
    rows: tuple[HappeningRow, ...]
    gaps: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class SensorPoint:
    """What a sensor read from ``began`` to ``until``."""

    began: float
    until: float
    low: float
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class SensorFigure:
    """A sensor over time."""

    id: str
    name: str
    unit: str
    began: float
    ended: float
    points: tuple[SensorPoint, ...]


@dataclass(frozen=True, slots=True)
class HealthFigures:
    """Everything that is drawn in a health page; None for what there is nothing of."""

    counters: tuple[CountedFigure, ...]
    happenings: HappeningsFigure | None
    sensors: tuple[SensorFigure, ...]

    @property
    def document(self) -> dict[str, Any]:
        """What the page's script reads."""
        return {**NO_FIGURES, "health": asdict(self)}


def health_figures(history: History, table: HistoryTable, by: By) -> HealthFigures:
    """The charts of a history that was tabulated by days or weeks."""
    ends = [span.until for span in history.spans] + [event.last for event in history.events]
    starts = [span.began for span in history.spans] + [event.at for event in history.events]
    began, ended = max(min(starts, default=0.0), history.since), max(ends, default=0.0)
    moved = [counted for counted in table.counters if any(counted.rises)][:MOST_COUNTERS]
    sensors = [
        metric for metric in history.metrics if metric.kind is WatchedKind.SENSOR and metric.ranges
    ]
    return HealthFigures(
        tuple(_counted(number, counted, table, by) for number, counted in enumerate(moved)),
        _happenings(history.events, table.gaps, began, ended),
        tuple(
            _sensor(number, metric, began, ended)
            for number, metric in enumerate(sensors[:MOST_SENSORS])
        ),
    )


def _counted(number: int, counted: Counted, table: HistoryTable, by: By) -> CountedFigure:
    bars = zip(table.periods, counted.rises, counted.over_gap, table.watched, strict=True)
    return CountedFigure(
        f"counter{number}",
        counted.metric.name,
        counted.metric.unit,
        by,
        counted.now,
        counted.total,
        counted.rising,
        tuple(CountedBar(period.label, rise, late, share) for period, rise, late, share in bars),
    )


def _happenings(
    events: Sequence[WatchEvent], gaps: Sequence[UnwatchedGap], began: float, ended: float
) -> HappeningsFigure | None:
    rows: dict[str, list[WatchEvent]] = {}
    for event in events:
        rows.setdefault(event.what, []).append(event)
    if not rows:
        return None
    # The class that happened last first: what goes on now is what a reader looks for.
    newest = sorted(rows.items(), key=lambda row: -max(event.last for event in row[1]))
    return HappeningsFigure(
        "happenings",
        began * 1e3,
        ended * 1e3,
        tuple(
            HappeningRow(what, tuple(_happening(event) for event in few[-_POINTS:]))
            for what, few in newest[:MOST_CLASSES]
        ),
        tuple(Span(gap.began * 1e3, gap.ended * 1e3, gap.why) for gap in gaps[-_GAPS:]),
    )


def _happening(event: WatchEvent) -> HappeningMark:
    return HappeningMark(
        event.at * 1e3,
        event.last * 1e3,
        event.count,
        event.severity,
        event.text,
    )


def _sensor(number: int, metric: WatchedMetric, began: float, ended: float) -> SensorFigure:
    return SensorFigure(
        f"sensor{number}",
        metric.name,
        metric.unit,
        began * 1e3,
        ended * 1e3,
        tuple(_points(metric.ranges)),
    )


def _points(ranges: Sequence[SensorRange]) -> Iterator[SensorPoint]:
    """The ranges; where there are too many, several neighbours as one."""
    each = -(-len(ranges) // _POINTS)
    for first in range(0, len(ranges), each):
        few = ranges[first : first + each]
        readings = sum(reading.readings for reading in few)
        yield SensorPoint(
            few[0].began * 1e3,
            few[-1].until * 1e3,
            min(reading.low for reading in few),
            sum(reading.total for reading in few) / readings,
            max(reading.high for reading in few),
        )
