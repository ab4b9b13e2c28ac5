"""The tables of a watch: what counted up, what happened and what sensors read, period by period."""

from __future__ import annotations

from datetime import UTC, datetime

from benchvise.health.watch.history import By, Counted, History, Read, tabulate
from benchvise.health.watch.history import Table as HistoryTable
from benchvise.quantities import ABSENT, format_number, format_percent
from benchvise.report.tables import Cell, Column, Table, Tone

SHOWN = 8
"""Periods of a table; a terminal has no room for more."""

_GAPS = 8
_EVENTS = 12
_RISING = 3
"""Periods in a row after which a counter is said to rise and rise."""

_EMPTY = Cell(ABSENT, "muted")


def history_tables(history: History, by: By, shown: int = SHOWN) -> list[Table]:
    """What is kept of a board: counters, events and sensors, and the newest events in words.

    ``shown`` are the newest periods that the tables have.
    """
    table = tabulate(history, by)
    tables = [_counters(history, table, by, shown), _events(history, table, by, shown)]
    if table.sensors:
        tables.append(_sensors(history, table, by, shown))
    return tables


def _counters(history: History, table: HistoryTable, by: By, shown: int) -> Table:
    """What rose, and how much of each period was watched."""
    rows = [
        (
            Cell("watched"),
            *[Cell(_share(one), "muted") for one in table.watched[-shown:]],
            _EMPTY,
            _EMPTY,
        )
    ]
    moved = [one for one in table.counters if any(one.rises)]
    rows += [_counter_row(one, shown) for one in moved]
    columns = (
        Column(f"Counter, rise by {by}"),
        *_heads(table, shown),
        Column("All", right=True),
        Column("Now", right=True),
    )
    remarks = [_trend(one, by) for one in moved if one.rising >= _RISING]
    still = len(table.counters) - len(moved)
    if still:
        remarks.append(f"not listed: {still} that did not change")
    if any(any(one.over_gap) for one in moved):
        remarks.append("*: seen after a gap or the turn of the period, it may have risen before")
    remarks += _gap_remarks(table)
    costs = [span.cost for span in history.spans if span.cost is not None]
    if costs:
        lengths = [span.until - span.began for span in history.spans if span.cost is not None]
        spent = sum(c * n for c, n in zip(costs, lengths, strict=True)) / sum(lengths)
        remarks.append(f"cost: {spent * 100:.2g} % of one CPU of the board")
    return Table(_title(history), columns, tuple(rows), tuple(remarks), history.simulated)


def _counter_row(one: Counted, shown: int) -> tuple[Cell, ...]:
    cells = []
    for rise, late in zip(one.rises, one.over_gap, strict=True):
        if rise is None:
            cells.append(_EMPTY)
        else:
            sign = "+" if rise > 0 else ""
            text = f"{sign}{_number(rise)}{'*' if late else ''}" if rise else "0"
            cells.append(Cell(text, "doubt" if rise > 0 else "plain"))
    total = f"{'+' if one.total > 0 else ''}{_number(one.total)}"
    tone: Tone = "bad" if one.rising >= _RISING else "strong"
    return (
        Cell(one.metric.name, tone),
        *cells[-shown:],
        Cell(total),
        Cell(_value(one.now, one.metric.unit)),
    )


def _trend(one: Counted, by: By) -> str:
    known = [rise for rise in one.rises if rise is not None][-one.rising :]
    steps = ", ".join(f"+{_number(rise)}" for rise in known[-SHOWN:])
    return f"{one.metric.name}: rises {by} by {by}, {one.rising} in a row: {steps}"


def _events(history: History, table: HistoryTable, by: By, shown: int) -> Table:
    """How often what was met, and the newest of it in words."""
    rows = [
        (
            Cell(what),
            *[
                _EMPTY if n is None else Cell(str(n), "plain" if n else "muted")
                for n in counts[-shown:]
            ],
            Cell(str(sum(n or 0 for n in counts))),
        )
        for what, counts in table.events
    ]
    columns = (Column(f"Event, times a {by}"), *_heads(table, shown), Column("All", right=True))
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


def _sensors(history: History, table: HistoryTable, by: By, shown: int) -> Table:
    """The highest of each period, and lowest, mean and highest over all."""
    columns = (
        Column(f"Sensor, highest a {by}"),
        *_heads(table, shown),
        Column("Low", right=True),
        Column("Mean", right=True),
        Column("High", right=True),
    )
    rows = tuple(_sensor_row(one, shown) for one in table.sensors)
    return Table("What sensors read", columns, rows, (), history.simulated)


def _sensor_row(one: Read, shown: int) -> tuple[Cell, ...]:
    unit = one.metric.unit
    known = [figure for figure in one.figures if figure is not None]
    looks = sum(r.readings for r in one.metric.ranges)
    mean = sum(r.total for r in one.metric.ranges) / looks if looks else float("nan")
    name = one.metric.name + (f", {unit}" if unit else "")
    return (
        Cell(name),
        *[_EMPTY if f is None else Cell(format_number(f[2])) for f in one.figures[-shown:]],
        Cell(format_number(min(f[0] for f in known))),
        Cell(format_number(mean)),
        Cell(format_number(max(f[2] for f in known)), "strong"),
    )


def _heads(table: HistoryTable, shown: int) -> tuple[Column, ...]:
    return tuple(Column(period.label, right=True) for period in table.periods[-shown:])


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
    looks = sum(span.looks for span in history.spans)
    if not history.spans:
        return f"{history.board}: not watched in that time"
    first, last = history.spans[0].began, max(span.until for span in history.spans)
    return f"{history.board}, {moment(first)} to {moment(last)}, {looks} looks"


def moment(seconds: float) -> str:
    """``2026-03-14 09:26 UTC``."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def history_data(history: History, by: By) -> dict[str, object]:
    """A history as plain JSON objects; times are ISO 8601 in UTC."""
    table = tabulate(history, by)
    return {
        "board": history.board,
        "simulated": history.simulated,
        "by": by,
        "periods": [
            {"label": period.label, "began": iso(period.began), "ended": iso(period.ended),
             "watched": share}
            for period, share in zip(table.periods, table.watched, strict=True)
        ],
        "counters": [
            {
                "name": one.metric.name,
                "kind": one.metric.kind,
                "unit": one.metric.unit,
                "rises": list(one.rises),
                "over_gap": list(one.over_gap),
                "rising": one.rising,
                "now": one.now,
                "changes": [
                    {"since": iso(c.since), "at": iso(c.at), "value": c.value, "rise": c.delta,
                     "anew": c.anew}
                    for c in one.metric.changes
                ],
            }
            for one in table.counters
        ],
        "events": [
            {"what": e.what, "text": e.text, "severity": e.severity, "count": e.count,
             "first": iso(e.at), "last": iso(e.last)}
            for e in history.events
        ],
        "sensors": [
            {
                "name": one.metric.name,
                "unit": one.metric.unit,
                "periods": [
                    None if f is None else {"low": f[0], "mean": f[1], "high": f[2]}
                    for f in one.figures
                ],
                "ranges": [
                    {"began": iso(r.began), "until": iso(r.until), "readings": r.readings,
                     "low": r.low, "high": r.high, "mean": r.total / r.readings}
                    for r in one.metric.ranges
                ],
            }
            for one in table.sensors
        ],
        "spans": [
            {"began": iso(s.began), "until": iso(s.until), "looks": s.looks,
             "interval_s": s.interval, "ending": s.ending, "cost": s.cost}
            for s in history.spans
        ],
        "gaps": [
            {"began": iso(g.began), "ended": iso(g.ended), "why": g.why} for g in table.gaps
        ],
        "alerts": [
            {"rule": rule, "subject": subject, "since": iso(since)}
            for rule, subject, since in history.open_alerts
        ],
    }  # fmt: skip


def iso(seconds: float) -> str:
    """ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
