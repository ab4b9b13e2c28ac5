"""A board's health as tables: read once (``health_report``), and watched for weeks.

The report is for a terminal of 80 columns: what is failing first, then the sensors.
``history_tables`` are those of a watch, ``watch_history_data`` is the same as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from benchvise.documents import in_json
from benchvise.health.judging import HealthRemark, HealthSection, HealthVerdict, Judgement, clock
from benchvise.health.model import Disk, Sensor, WatchedKind
from benchvise.health.watch.history import (
    TICK_SECONDS,
    By,
    Counted,
    History,
    HistoryTable,
    SensorReadings,
    tabulate,
)
from benchvise.kernel_log.rules import Severity
from benchvise.quantities import ABSENT, format_number, format_percent
from benchvise.report.rendering import Cell, Column, Table
from benchvise.table import Tone
from benchvise.terminal_colors import BAD, DOUBT, GOOD

REMARKS = 8
"""Remarks of a section that are shown; --json has all."""

_STYLES = {
    HealthVerdict.GOOD: GOOD,
    HealthVerdict.WARNING: DOUBT,
    HealthVerdict.FAILING: BAD,
    HealthVerdict.UNKNOWN: "dim",
}
_SEVERITIES = {Severity.FAILING: BAD, Severity.WARNING: DOUBT, Severity.NOTE: "dim"}
_WIDTH = 22


def health_report(judgement: Judgement) -> RenderableType:
    """The whole page: verdict, sections, what to do, disks, sensors."""
    parts: list[RenderableType] = [_head(judgement), "", _sections(judgement.sections)]
    for section in judgement.sections:
        if section.remarks:
            parts += ["", _remarks(section)]
    if any(not disk.missing for disk in judgement.reading.disks):
        parts += ["", _disks(judgement.reading.disks)]
    if judgement.reading.sensors:
        parts += ["", _sensors(judgement.reading.sensors)]
    parts += [Text(line, style="dim") for line in _footer(judgement)]
    return Group(*parts)


def _head(judgement: Judgement) -> Text:
    reading = judgement.reading
    up = "" if reading.uptime is None else f", up {clock(reading.uptime)}"
    head = Text()
    head.append(reading.board, style="bold")
    head.append((f" as {reading.privilege}" if reading.privilege else "") + f"{up}: ")
    head.append(judgement.verdict.value, style=_STYLES[judgement.verdict])
    return head


def _grid(*columns: str) -> RichTable:
    grid = RichTable(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=False
    )
    for column in columns:
        grid.add_column(Text(column), overflow="fold")
    return grid


def _sections(sections: Sequence[HealthSection]) -> RichTable:
    grid = _grid("Section", "Verdict", "Seen")
    for section in sections:
        seen = Text(section.summary)
        if section.missing:
            seen.append(("; " if section.summary else "") + section.missing, "dim")
        grid.add_row(
            Text(section.name),
            Text(section.verdict.value, style=_STYLES[section.verdict]),
            seen,
        )
    return grid


def _remarks(section: HealthSection) -> Group:
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(max_width=_WIDTH, overflow="fold")
    grid.add_column(overflow="fold")
    for remark in section.remarks[:REMARKS]:
        grid.add_row(
            Text(remark.device or "-"),
            Text(remark.sentence, style=_SEVERITIES[remark.severity]),
        )
        if remark.severity is not Severity.NOTE and not _said_again(section, remark):
            grid.add_row("", Text(remark.remedy))
    more = len(section.remarks) - REMARKS
    title = Text(section.name, style="bold")
    if more > 0:
        title.append(f"  (and {more} more: --json)", "dim")
    return Group(title, grid)


def _said_again(section: HealthSection, remark: HealthRemark) -> bool:
    """Whether the same remedy stood above already."""
    first = next(other for other in section.remarks if other.remedy == remark.remedy)
    return first is not remark


def _disks(disks: Sequence[Disk]) -> Group:
    grid = _grid("Disk", "Model", "Values that matter")
    for disk in disks:
        values = ", ".join(f"{name} {value:.0f}" for name, value in disk.values.items())
        grid.add_row(
            Text(disk.device),
            Text(disk.model),
            Text(values or disk.missing),
        )
    return Group(Text("SMART", style="bold"), grid)


def _sensors(sensors: Sequence[Sensor]) -> Group:
    grid = RichTable(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=False
    )
    grid.add_column(Text("Chip"), overflow="fold")
    grid.add_column(Text("Sensor"), overflow="fold")
    grid.add_column(Text("Value"), justify="right", no_wrap=True)
    grid.add_column(Text("Limits"), overflow="fold")
    chip = ""
    for sensor in sensors:
        limits = ", ".join(f"{name} {value:.4g}" for name, value in sensor.limits.items())
        value = f"{sensor.value:.2f}" if sensor.unit in ("V", "A", "W") else f"{sensor.value:.1f}"
        if sensor.unit in ("RPM", "Hz"):
            value = f"{sensor.value:.0f}"
        grid.add_row(
            Text(sensor.chip if sensor.chip != chip else ""),
            Text(sensor.label),
            Text(f"{value} {sensor.unit}", style=DOUBT if sensor.alarm else ""),
            Text(limits, style="dim"),
        )
        chip = sensor.chip
    return Group(Text("sensors", style="bold"), grid)


def _footer(judgement: Judgement) -> Iterator[str]:
    for name, reason in judgement.reading.missing.items():
        if name == "counters":
            yield f"\n{name}: {reason}"


# -- a watch: what counted up, what happened and what sensors read, by period ----------------------

SHOWN = 8
"""Periods of a table; a terminal has no room for more."""

_GAPS = 8
_EVENTS = 12
_RISING = 3
"""Periods in a row after which a counter is said to rise and rise."""

_EMPTY = Cell(ABSENT, "muted")


def history_tables(history: History, by: By, periods: int = SHOWN) -> list[Table]:
    """What is kept of a board: counters, events and sensors, and the newest events in words.

    ``periods`` is how many of the newest the tables have.
    """
    table = tabulate(history, by)
    tables = [_counters(history, table, by, periods), _events(history, table, by, periods)]
    if table.sensors:
        tables.append(_sensor_table(history, table, by, periods))
    return tables


def _counters(history: History, table: HistoryTable, by: By, periods: int) -> Table:
    """What rose, and how much of each period was watched."""
    rows = [
        (
            Cell("watched"),
            *[Cell(_share(counted), "muted") for counted in table.watched[-periods:]],
            _EMPTY,
            _EMPTY,
        )
    ]
    moved = [counted for counted in table.counters if any(counted.rises)]
    rows += [_counter_row(counted, periods) for counted in moved]
    columns = (
        Column(f"Counter, rise by {by}"),
        *_heads(table, periods),
        Column("All", right=True),
        Column("Now", right=True),
    )
    remarks = [_trend(counted, by) for counted in moved if counted.rising >= _RISING]
    still = len(table.counters) - len(moved)
    if still:
        remarks.append(f"not listed: {still} that did not change")
    if any(any(counted.over_gap) for counted in moved):
        remarks.append("*: seen after a gap or the turn of the period, it may have risen before")
    remarks += _gap_remarks(table)
    spans = [span for span in history.spans if span.cost is not None]
    if spans:
        spent = sum(span.cpu or 0.0 for span in spans)
        length = sum(span.until - span.began for span in spans)
        remarks.append(f"cost: {watch_cost(spent, length)} of the board")
    return Table(_title(history), columns, tuple(rows), tuple(remarks), history.simulated)


def watch_cost(cpu: float, seconds: float) -> str:
    """What a watch took of one CPU. Less than one tick of CPU time cannot be told from none."""
    if cpu < TICK_SECONDS / 2:
        return f"under {TICK_SECONDS:g} s of one CPU"
    return f"{cpu / seconds * 100:.2g} % of one CPU"


def _counter_row(counted: Counted, periods: int) -> tuple[Cell, ...]:
    cells = []
    for rise, late in zip(counted.rises, counted.over_gap, strict=True):
        if rise is None:
            cells.append(_EMPTY)
        else:
            sign = "+" if rise > 0 else ""
            text = f"{sign}{_number(rise)}{'*' if late else ''}" if rise else "0"
            cells.append(Cell(text, "doubt" if rise > 0 else "plain"))
    total = f"{'+' if counted.total > 0 else ''}{_number(counted.total)}"
    tone: Tone = "bad" if counted.rising >= _RISING else "strong"
    return (
        Cell(counted.metric.name, tone),
        *cells[-periods:],
        Cell(total),
        Cell(_value(counted.now, counted.metric.unit)),
    )


def _trend(counted: Counted, by: By) -> str:
    steps = ", ".join(f"+{_number(rise)}" for rise in counted.rises_in_a_row[-SHOWN:])
    return f"{counted.metric.name}: rises {by} by {by}, {counted.rising} in a row: {steps}"


def _events(history: History, table: HistoryTable, by: By, periods: int) -> Table:
    """How often what was met, and the newest of it in words."""
    rows = [
        (
            Cell(what),
            *[
                _EMPTY if n is None else Cell(str(n), "plain" if n else "muted")
                for n in counts[-periods:]
            ],
            Cell(str(sum(n or 0 for n in counts))),
        )
        for what, counts in table.events
    ]
    columns = (Column(f"Event, times a {by}"), *_heads(table, periods), Column("All", right=True))
    newest = history.events[-_EVENTS:]
    remarks = [
        f"{moment(event.last)}  {event.what}: {event.text}"
        + (f" ({event.count} times)" if event.count > 1 else "")
        for event in newest
    ]
    remarks += [
        f"raised now: {rule}, {subject}, since {moment(since)}"
        for rule, subject, since in history.open_alerts
    ]
    if len(history.events) > len(newest):
        remarks.insert(0, f"the newest {len(newest)} of {len(history.events)}:")
    title = "What happened" if rows else "Nothing happened that the rules know"
    return Table(title, columns, tuple(rows), tuple(remarks), history.simulated)


def _sensor_table(history: History, table: HistoryTable, by: By, periods: int) -> Table:
    """The highest of each period, and lowest, mean and highest over all."""
    columns = (
        Column(f"Sensor, highest a {by}"),
        *_heads(table, periods),
        Column("Low", right=True),
        Column("Mean", right=True),
        Column("High", right=True),
    )
    rows = tuple(_sensor_row(sensor, periods) for sensor in table.sensors)
    return Table("What sensors read", columns, rows, (), history.simulated)


def _sensor_row(sensor: SensorReadings, periods: int) -> tuple[Cell, ...]:
    unit = sensor.metric.unit
    figures = [figure for figure in sensor.ranges if figure is not None]
    readings = sum(r.readings for r in sensor.metric.ranges)
    mean = sum(r.total for r in sensor.metric.ranges) / readings if readings else float("nan")
    name = sensor.metric.name + (f", {unit}" if unit else "")
    return (
        Cell(name),
        *[_EMPTY if f is None else Cell(format_number(f[2])) for f in sensor.ranges[-periods:]],
        Cell(format_number(min(f[0] for f in figures))),
        Cell(format_number(mean)),
        Cell(format_number(max(f[2] for f in figures)), "strong"),
    )


def _heads(table: HistoryTable, periods: int) -> tuple[Column, ...]:
    return tuple(Column(period.label, right=True) for period in table.periods[-periods:])


def _number(value: float) -> str:
    """A count as it is; what is no whole number with its digits that matter."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else format_number(value)


def _share(share: float) -> str:
    if 0.995 <= share < 1:
        return ">99 %"
    return format_percent(share) if share else ABSENT


def _value(value: float, unit: str) -> str:
    return f"{_number(value)} {unit}".strip()


def _gap_remarks(table: HistoryTable) -> list[str]:
    gaps = table.gaps[-_GAPS:]
    more = len(table.gaps) - len(gaps)
    remarks = [f"gaps: {more} earlier ones"] if more else []
    return remarks + [
        f"not watched: {moment(gap.began)} to {moment(gap.ended)}: {gap.why}" for gap in gaps
    ]


def _title(history: History) -> str:
    polls = sum(span.polls for span in history.spans)
    if not history.spans:
        return f"{history.board}: not watched in that time"
    first, last = history.spans[0].began, max(span.until for span in history.spans)
    return f"{history.board}, {moment(first)} to {moment(last)}, {polls} polls"


def moment(seconds: float) -> str:
    """``2026-03-14 09:26 UTC``."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


# -- a watch as JSON -------------------------------------------------------------------------------


def iso(seconds: float) -> str:
    """ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


_IN_WORDS = in_json(through=iso)


@dataclass(frozen=True, slots=True)
class WatchedPeriodData:
    """A day or a week; ``watched`` is the share of it that was watched, 0 to 1."""

    label: str
    began: float = field(metadata=_IN_WORDS)
    ended: float = field(metadata=_IN_WORDS)
    watched: float


@dataclass(frozen=True, slots=True)
class CounterChangeData:
    """A counter rose by ``rise`` after ``since``, at ``at`` at the latest; null for the first."""

    since: float = field(metadata=_IN_WORDS)
    at: float = field(metadata=_IN_WORDS)
    value: float
    rise: float | None
    anew: bool
    """Whether it began at 0 in between."""


@dataclass(frozen=True, slots=True)
class WatchedCounterData:
    """A counter: how much it rose in each period, null where it was not watched."""

    name: str
    kind: WatchedKind
    unit: str
    rises: tuple[float | None, ...]
    over_gap: tuple[bool, ...]
    """For each period, whether it may have risen in one before, while nobody looked."""
    rising: int
    """For how many periods up to the last watched one it has risen in each."""
    now: float
    changes: tuple[CounterChangeData, ...]


@dataclass(frozen=True, slots=True)
class WatchEventData:
    """Something that happened ``count`` times between ``first`` and ``last``."""

    what: str
    text: str
    severity: str
    count: int
    first: float = field(metadata=_IN_WORDS)
    last: float = field(metadata=_IN_WORDS)


@dataclass(frozen=True, slots=True)
class SensorPeriodData:
    """What a sensor read in a period."""

    low: float
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class SensorRangeData:
    """What a sensor read from ``began`` to ``until``."""

    began: float = field(metadata=_IN_WORDS)
    until: float = field(metadata=_IN_WORDS)
    readings: int
    low: float
    high: float
    mean: float


@dataclass(frozen=True, slots=True)
class WatchedSensorData:
    """A sensor: by periods, null where it was not read, and as it was kept."""

    name: str
    unit: str
    periods: tuple[SensorPeriodData | None, ...]
    ranges: tuple[SensorRangeData, ...]


@dataclass(frozen=True, slots=True)
class WatchSpanData:
    """A time in which the board was polled without a gap; ``cost`` as a share of one CPU."""

    began: float = field(metadata=_IN_WORDS)
    until: float = field(metadata=_IN_WORDS)
    looks: int
    interval_s: float
    ending: str
    """Why it ended; empty while it lasts, or where nobody could say."""
    cost: float | None


@dataclass(frozen=True, slots=True)
class WatchGapData:
    """A time that was not watched, and why as far as it is known."""

    began: float = field(metadata=_IN_WORDS)
    ended: float = field(metadata=_IN_WORDS)
    why: str


@dataclass(frozen=True, slots=True)
class OpenAlertData:
    """An alert that is raised now."""

    rule: str
    subject: str
    since: float = field(metadata=_IN_WORDS)


@dataclass(frozen=True, slots=True)
class WatchHistoryData:
    """What is kept of a board's watch, as ``--json`` and the pages' twins show it.

    Times are ISO 8601 in UTC.
    """

    board: str
    simulated: bool
    by: By
    periods: tuple[WatchedPeriodData, ...]
    counters: tuple[WatchedCounterData, ...]
    events: tuple[WatchEventData, ...]
    sensors: tuple[WatchedSensorData, ...]
    spans: tuple[WatchSpanData, ...]
    gaps: tuple[WatchGapData, ...]
    alerts: tuple[OpenAlertData, ...]


def watch_history_data(history: History, by: By) -> WatchHistoryData:
    """A history by days or weeks."""
    table = tabulate(history, by)
    return WatchHistoryData(
        history.board,
        history.simulated,
        by,
        tuple(
            WatchedPeriodData(period.label, period.began, period.ended, share)
            for period, share in zip(table.periods, table.watched, strict=True)
        ),
        tuple(map(_counter_data, table.counters)),
        tuple(
            WatchEventData(e.what, e.text, e.severity, e.count, e.at, e.last)
            for e in history.events
        ),
        tuple(map(_sensor_data, table.sensors)),
        tuple(
            WatchSpanData(s.began, s.until, s.polls, s.interval, s.ending, s.cost)
            for s in history.spans
        ),
        tuple(WatchGapData(gap.began, gap.ended, gap.why) for gap in table.gaps),
        tuple(OpenAlertData(*alert) for alert in history.open_alerts),
    )


def _counter_data(counted: Counted) -> WatchedCounterData:
    metric = counted.metric
    return WatchedCounterData(
        metric.name,
        metric.kind,
        metric.unit,
        counted.rises,
        counted.over_gap,
        counted.rising,
        counted.now,
        tuple(
            CounterChangeData(change.since, change.at, change.value, change.delta, change.anew)
            for change in metric.changes
        ),
    )


def _sensor_data(sensor: SensorReadings) -> WatchedSensorData:
    return WatchedSensorData(
        sensor.metric.name,
        sensor.metric.unit,
        tuple(values and SensorPeriodData(*values) for values in sensor.ranges),
        tuple(
            SensorRangeData(r.began, r.until, r.readings, r.low, r.high, r.total / r.readings)
            for r in sensor.metric.ranges
        ),
    )
