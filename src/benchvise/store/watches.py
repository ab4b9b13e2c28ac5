"""Watches in the store: what was seen of a board over days and weeks.

Each look is one transaction that reads the memory, lets ``health.watch`` say what is new, and
writes that with the new memory. Where nothing is new, two rows change and none is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, func, insert, select, update

from benchvise.documents import encode
from benchvise.health.model import WatchedKind, WatchedValue, WatchEvent
from benchvise.health.watch.alerts import Alert
from benchvise.health.watch.history import History, WatchedMetric, WatchSpan
from benchvise.health.watch.tracker import (
    BEYOND,
    SensorRange,
    WatchedChange,
    WatchMemory,
    WatchStep,
    memory_of,
)
from benchvise.measure.model import RunRemark
from benchvise.store.database import Database
from benchvise.store.owner import Owner
from benchvise.store.tables import (
    WATCH_CHANGE,
    WATCH_EVENT,
    WATCH_METRIC,
    WATCH_RANGE,
    WATCH_SPAN,
    WATCHED,
    insert_or_update,
)
from benchvise.text import enumerated

ALERT = "alert"
ALERT_OVER = "alert over"
_HOUR = 3600.0
_MERGED_SECONDS = 600.0
_PATTERNS_AN_HOUR = 200
_NAMED = 3
_ORDINARY = ("net-dropped/",)  # counters that rise on a board that is well


@dataclass(frozen=True, slots=True)
class Watched:
    """A board in the store that is being watched."""

    number: int


@dataclass(frozen=True, slots=True)
class LatestValue:
    """A value of the last poll, or of the last one that had it."""

    name: str
    kind: WatchedKind
    unit: str
    value: float


@dataclass(frozen=True, slots=True)
class RaisedAlert:
    """An alert that is raised; ``since`` in seconds since 1970."""

    rule: str
    subject: str
    since: float


@dataclass(frozen=True, slots=True)
class LatestPoll:
    """What is known of a watched board since its last poll, ``at`` seconds since 1970."""

    board: str
    at: float
    values: tuple[LatestValue, ...]
    alerts: tuple[RaisedAlert, ...]


class Watches:
    """The watches of a store. Every method raises ``StoreError`` when it fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, board: str, *, simulated: bool) -> Watched:
        """The board as one that is watched: as it was left, or new."""
        with self._database.writing() as connection:
            number = find_watched(connection, board)
            if number is None:
                new = insert_or_update(connection, WATCHED).values(
                    board=board,
                    machine=_machine(board),
                    simulated=simulated,
                    memory=encode(WatchMemory()),
                )
                connection.execute(new.on_conflict_do_nothing())
                number = find_watched(connection, board)
                assert number is not None  # noqa: S101 - it has just been put there
            return Watched(number)

    def step(self, watched: Watched, advance: Callable[[WatchMemory], WatchStep]) -> WatchStep:
        """Makes one step from what is remembered, and keeps what came of it, whole or not."""
        with self._database.writing() as connection:
            mine = WATCHED.c.number == watched.number
            remembered = connection.execute(select(WATCHED.c.memory).where(mine).with_for_update())
            step = advance(memory_of(remembered.scalar_one()))
            _keep(connection, watched.number, step)
            connection.execute(update(WATCHED).where(mine).values(memory=encode(step.memory)))
            return step

    def memory(self, watched: Watched) -> WatchMemory:
        """What is remembered of a board."""
        with self._database.reading() as connection:
            mine = WATCHED.c.number == watched.number
            statement = select(WATCHED.c.memory).where(mine)
            return memory_of(connection.execute(statement).scalar_one())

    def begin_span(self, watched: Watched, span: WatchSpan) -> int:
        """Adds a span; returns its id."""
        with self._database.writing() as connection:
            row = {"watched_number": watched.number, **_span_row(span)}
            return _insert(connection, WATCH_SPAN, row)

    def extend_span(self, identity: int, span: WatchSpan) -> None:
        """Says how far a span goes by now, or why it ended."""
        with self._database.writing() as connection:
            mine = WATCH_SPAN.c.id == identity
            connection.execute(update(WATCH_SPAN).where(mine).values(**_span_row(span)))

    def boards(self) -> list[str]:
        """The names of the boards that were watched, as seen from this machine."""
        with self._database.reading() as connection:
            rows = connection.execute(
                select(WATCHED.c.board, WATCHED.c.machine).order_by(WATCHED.c.number)
            )
            return [board for board, machine in rows if machine == _machine(board)]

    def latest(self, board: str) -> LatestPoll | None:
        """The values and raised alerts of a board's last poll; None when it was never polled."""
        with self._database.reading() as connection:
            number = find_watched(connection, board)
            return None if number is None else _latest(connection, number, board)

    def history(self, board: str, since: float, until: float) -> History | None:
        """What is kept of a board between two times; None when it was never watched."""
        with self._database.reading() as connection:
            number = find_watched(connection, board)
            return None if number is None else _history(connection, number, since, until)


# -- a step ----------------------------------------------------------------------------------------


def find_watched(connection: Connection, board: str, owner: Owner | None = None) -> int | None:
    """The number of a watched board, as named by ``owner`` or here; None when it never was."""
    number: int | None = connection.execute(
        select(WATCHED.c.number).where(
            WATCHED.c.board == board, WATCHED.c.machine == _machine(board, owner)
        )
    ).scalar()
    return number


def _machine(board: str, owner: Owner | None = None) -> str:
    """What tells this ``local`` from that of others who use the same store."""
    if board != "local":
        return ""
    owner = owner or Owner.here()
    return (owner.machine_id or owner.hostname)[:64]


def _keep(connection: Connection, number: int, step: WatchStep) -> None:
    written = {change.name for change in step.changes} | {name for name, _ in step.ranges}
    ids = _metrics(connection, number, written, step.named)
    for change in step.changes:
        change = _merged(connection, ids[change.name], change)
        _put(
            connection,
            WATCH_CHANGE,
            ("metric_id", "at"),
            {
                "metric_id": ids[change.name],
                "at": _moment(change.at),
                "since": _moment(change.since),
                "value": change.value,
                "delta": change.delta,
                "anew": change.anew,
            },
        )
    for name, sensor in step.ranges:
        _put(
            connection,
            WATCH_RANGE,
            ("metric_id", "began"),
            {
                "metric_id": ids[name],
                "began": _moment(sensor.began),
                "until": _moment(sensor.until),
                "looks": sensor.readings,
                "low": sensor.low,
                "high": sensor.high,
                "total": sensor.total,
            },
        )
    alerts = [event_of(alert) for alert in step.alerts]
    _keep_events(connection, number, [*step.events, *alerts])


def _merged(connection: Connection, metric: int, change: WatchedChange) -> WatchedChange:
    """A change with the one before it, which goes, where a figure changes at every look."""
    last = connection.execute(
        select(WATCH_CHANGE)
        .where(WATCH_CHANGE.c.metric_id == metric)
        .order_by(WATCH_CHANGE.c.at.desc())
        .limit(1)
    ).first()
    if (
        last is None
        or last.anew
        or change.anew
        or change.delta is None
        or math.isnan(last.delta)
        or not 0 < change.at - last.since.timestamp() < _MERGED_SECONDS
    ):
        return change
    mine = (WATCH_CHANGE.c.metric_id == metric, WATCH_CHANGE.c.at == last.at)
    connection.execute(delete(WATCH_CHANGE).where(*mine))
    return replace(change, since=last.since.timestamp(), delta=last.delta + change.delta)


def event_of(alert: Alert) -> WatchEvent:
    """An alert as an event."""
    what = ALERT if alert.raised else ALERT_OVER
    severity = "alert" if alert.raised else "note"
    return WatchEvent(what, f"{alert.rule}: {alert.sentence}", alert.at, alert.at, 1, severity)


def _put(
    connection: Connection,
    table: Table,
    keys: Sequence[str],
    row: Mapping[str, object],
) -> None:
    """Inserts a row, or replaces that of the same moment (a clock that was set back)."""
    rest = {name: value for name, value in row.items() if name not in keys}
    new = insert_or_update(connection, table).values(**row)
    connection.execute(new.on_conflict_do_update(index_elements=list(keys), set_=rest))


def _metrics(
    connection: Connection, number: int, written: Iterable[str], named: Iterable[WatchedValue]
) -> dict[str, int]:
    """The ids of figures by name; those that are new are added."""
    new = {figure.name: figure for figure in named}
    wanted = {*written, *new}
    if not wanted:
        return {}
    rows = connection.execute(
        select(WATCH_METRIC.c.name, WATCH_METRIC.c.id).where(
            WATCH_METRIC.c.watched_number == number, WATCH_METRIC.c.name.in_(sorted(wanted))
        )
    )
    numbers: dict[str, int] = {row.name: row.id for row in rows}
    for name, figure in new.items():
        if name not in numbers:
            row = {"watched_number": number, "name": name, "kind": figure.kind, "unit": figure.unit}
            numbers[name] = _insert(connection, WATCH_METRIC, row)
    return numbers


def _insert(connection: Connection, table: Table, row: Mapping[str, object]) -> int:
    keys: Sequence[int] = connection.execute(insert(table), row).inserted_primary_key or ()
    return keys[0]


def _keep_events(connection: Connection, number: int, events: Sequence[WatchEvent]) -> None:
    """Adds events; one that goes on what was met within the hour only counts up."""
    if not events:
        return
    oldest = min(event.at for event in events) - _HOUR
    rows = connection.execute(
        select(WATCH_EVENT)
        .where(WATCH_EVENT.c.watched_number == number, WATCH_EVENT.c.last >= _moment(oldest))
        .order_by(WATCH_EVENT.c.id)
    ).all()
    recent = [(row.id, _event(row)) for row in rows]
    for event in events:
        like = _like(recent, event)
        if like is None and event.text != BEYOND:
            hour = [alert for _, alert in recent if abs(alert.at - event.at) < _HOUR]
            if len(hour) >= _PATTERNS_AN_HOUR:
                event = replace(event, text=BEYOND)
                like = _like(recent, event)
        if like is None:
            row = {"watched_number": number, **_event_row(event)}
            recent.append((_insert(connection, WATCH_EVENT, row), event))
            continue
        identity, before = recent[like]
        after = replace(
            before,
            at=min(before.at, event.at),
            last=max(before.last, event.last),
            count=before.count + event.count,
        )
        recent[like] = (identity, after)
        connection.execute(
            update(WATCH_EVENT).where(WATCH_EVENT.c.id == identity).values(**_event_row(after))
        )


def _like(recent: Sequence[tuple[int, WatchEvent]], event: WatchEvent) -> int | None:
    """Where an event of the same kind stands that began less than an hour away."""
    for index, (_, alert) in enumerate(recent):
        if (
            alert.what == event.what
            and alert.pattern == event.pattern
            and abs(alert.at - event.at) < _HOUR
        ):
            return index
    return None


# -- rows ------------------------------------------------------------------------------------------


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _span_row(span: WatchSpan) -> dict[str, object]:
    return {
        "began": _moment(span.began),
        "until": _moment(span.until),
        "looks": span.polls,
        "interval": span.interval,
        "boot": span.boot,
        "ending": span.ending,
        "cpu": span.cpu,
    }


def _event_row(event: WatchEvent) -> dict[str, object]:
    return {
        "at": _moment(event.at),
        "last": _moment(event.last),
        "count": min(event.count, 2**31 - 1),
        "what": event.what,
        "severity": event.severity,
        "text": event.text,
    }


def _event(row: Row[Any]) -> WatchEvent:
    return WatchEvent(
        row.what,
        row.text,
        row.at.timestamp(),
        row.last.timestamp(),
        row._mapping["count"],  # ``Row.count`` is a tuple's
        row.severity,
    )


# -- reading ---------------------------------------------------------------------------------------


def _latest(connection: Connection, number: int, board: str) -> LatestPoll | None:
    statement = select(WATCHED.c.memory).where(WATCHED.c.number == number)
    memory = memory_of(connection.execute(statement).scalar_one())
    if not memory.at:
        return None
    mine = WATCH_METRIC.c.watched_number == number
    rows = connection.execute(select(WATCH_METRIC).where(mine).order_by(WATCH_METRIC.c.id))
    return LatestPoll(
        board,
        memory.at,
        tuple(
            LatestValue(row.name, WatchedKind(row.kind), row.unit, memory.values[row.name][0])
            for row in rows
            if row.name in memory.values
        ),
        tuple(
            RaisedAlert(*_split(key), state.raised)
            for key, state in memory.alerts.items()
            if state.raised is not None
        ),
    )


def _history(connection: Connection, number: int, since: float, until: float) -> History:
    board = connection.execute(select(WATCHED).where(WATCHED.c.number == number)).one()
    memory = memory_of(board.memory)
    begin, end = _moment(since), _moment(until)
    spans = connection.execute(
        select(WATCH_SPAN)
        .where(
            WATCH_SPAN.c.watched_number == number,
            WATCH_SPAN.c.until >= begin,
            WATCH_SPAN.c.began <= end,
        )
        .order_by(WATCH_SPAN.c.began, WATCH_SPAN.c.id)
    ).all()
    events = connection.execute(
        select(WATCH_EVENT)
        .where(
            WATCH_EVENT.c.watched_number == number,
            WATCH_EVENT.c.last >= begin,
            WATCH_EVENT.c.at <= end,
        )
        .order_by(WATCH_EVENT.c.at, WATCH_EVENT.c.id)
    ).all()
    return History(
        board=board.board,
        simulated=board.simulated,
        since=since,
        until=until,
        spans=tuple(
            WatchSpan(
                row.began.timestamp(),
                row.until.timestamp(),
                row.looks,
                row.interval,
                row.boot,
                row.ending,
                None if math.isnan(row.cpu) else row.cpu,
            )
            for row in spans
        ),
        metrics=tuple(_load_metrics(connection, number, memory, since, until)),
        events=tuple(_event(row) for row in events),
        open_alerts=tuple(
            (*_split(key), state.raised)
            for key, state in memory.alerts.items()
            if state.raised is not None
        ),
    )


def _split(key: str) -> tuple[str, str]:
    rule, _, subject = key.partition("\n")
    return rule, subject


def _load_metrics(
    connection: Connection, number: int, memory: WatchMemory, since: float, until: float
) -> list[WatchedMetric]:
    """The figures with what is kept of them in that time, and the one change before it."""
    begin, end = _moment(since), _moment(until)
    mine = WATCH_METRIC.c.watched_number == number
    changes: dict[int, list[WatchedChange]] = {}
    names = {row.id: row for row in connection.execute(select(WATCH_METRIC).where(mine))}
    # What a figure was before the time that is shown is what it began with.
    before = (
        select(WATCH_CHANGE.c.metric_id, func.max(WATCH_CHANGE.c.at).label("at"))
        .join(WATCH_METRIC, WATCH_METRIC.c.id == WATCH_CHANGE.c.metric_id)
        .where(mine, WATCH_CHANGE.c.at < begin)
        .group_by(WATCH_CHANGE.c.metric_id)
        .subquery()
    )
    earlier = connection.execute(
        select(WATCH_CHANGE).join(
            before,
            (before.c.metric_id == WATCH_CHANGE.c.metric_id) & (before.c.at == WATCH_CHANGE.c.at),
        )
    ).all()
    within = connection.execute(
        select(WATCH_CHANGE)
        .join(WATCH_METRIC, WATCH_METRIC.c.id == WATCH_CHANGE.c.metric_id)
        .where(mine, WATCH_CHANGE.c.at >= begin, WATCH_CHANGE.c.at <= end)
        .order_by(WATCH_CHANGE.c.at)
    ).all()
    for row in [*earlier, *within]:
        changes.setdefault(row.metric_id, []).append(
            WatchedChange(
                names[row.metric_id].name,
                row.since.timestamp(),
                row.at.timestamp(),
                row.value,
                None if math.isnan(row.delta) else row.delta,
                row.anew,
            )
        )
    ranges: dict[str, list[SensorRange]] = {}
    rows = connection.execute(
        select(WATCH_RANGE)
        .join(WATCH_METRIC, WATCH_METRIC.c.id == WATCH_RANGE.c.metric_id)
        .where(mine, WATCH_RANGE.c.until >= begin, WATCH_RANGE.c.began <= end)
        .order_by(WATCH_RANGE.c.began)
    ).all()
    for row in rows:
        ranges.setdefault(names[row.metric_id].name, []).append(
            SensorRange(
                row.began.timestamp(),
                row.until.timestamp(),
                row.looks,
                row.low,
                row.high,
                row.total,
            )
        )
    for name, span in memory.ranges.items():
        if span.until >= since and span.began <= until:
            ranges.setdefault(name, []).append(span)
    return [
        WatchedMetric(
            row.name,
            WatchedKind(row.kind),
            row.unit,
            tuple(changes.get(identity, ())),
            tuple(ranges.get(row.name, ())),
        )
        for identity, row in sorted(names.items())
    ]


# -- beside a run ----------------------------------------------------------------------------------


def remarks_on(
    connection: Connection,
    board: str,
    owner: Owner,
    began: datetime,
    ended: datetime,
    noted: str,
) -> list[RunRemark]:
    """What a watch saw happen to a board in that time, as remarks on a run of ``owner``'s.

    ``noted`` are the remarks of the run so far: lines among them are not repeated.
    """
    number = find_watched(connection, board, owner)
    if number is None:
        return []
    rows = connection.execute(
        select(WATCH_EVENT)
        .where(
            WATCH_EVENT.c.watched_number == number,
            WATCH_EVENT.c.last >= began,
            WATCH_EVENT.c.at <= ended,
        )
        .order_by(WATCH_EVENT.c.at)
    )
    seen: dict[str, list[WatchEvent]] = {}
    for event in map(_event, rows):
        if event.severity != "note" and event.text not in noted:
            seen.setdefault(event.what, []).append(event)
    remarks = []
    for what, events in seen.items():
        count = sum(event.count for event in events)
        times = "once" if count == 1 else f"{count} times"
        last = max(events, key=lambda event: event.last)
        remarks.append(RunRemark("watch", f"{what}, {times} meanwhile, the last one: {last.text}"))
    rises = connection.execute(
        select(WATCH_METRIC.c.name, func.sum(WATCH_CHANGE.c.delta))
        .join(WATCH_METRIC, WATCH_METRIC.c.id == WATCH_CHANGE.c.metric_id)
        .where(
            WATCH_METRIC.c.watched_number == number,
            WATCH_METRIC.c.kind != WatchedKind.LEVEL,
            *(~WATCH_METRIC.c.name.startswith(prefix) for prefix in _ORDINARY),
            WATCH_CHANGE.c.at >= began,
            WATCH_CHANGE.c.since <= ended,
            WATCH_CHANGE.c.delta > 0,
        )
        .group_by(WATCH_METRIC.c.name)
        .order_by(WATCH_METRIC.c.name)
    ).all()
    if rises:
        risen = enumerated([f"{name} by {rise:g}" for name, rise in rises], _NAMED)
        remarks.append(RunRemark("watch", f"counted meanwhile: {risen}"))
    return remarks
