"""The events of a trace: a log in order of time, and a search in names and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.text import printable
from benchvise.trace.analysis.latency.ends import (
    FieldCondition,
    meets,
    parse_conditions,
    running,
    texts_match,
)
from benchvise.trace.analysis.model import Analysis, Bools, Ints, TraceSpan
from benchvise.trace.loaded import LoadedTrace
from benchvise.trace.tables import table_of
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part

if TYPE_CHECKING:
    from benchvise.trace.native import Table

# -- the log ---------------------------------------------------------------------------------------


_PAGE = 200
_MOST = 1000
_VALUE = 200
_FIELDS = 60
_UNKNOWN_CPU = 65535


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event in full: ``index`` is its place in the time index, ``time`` in ns since the first;
    ``actor`` is in whose context it happened, ``fields`` are names and texts."""

    index: int
    time: int
    cpu: int | None
    event: str
    actor: int | None
    actor_name: str | None
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EventLog:
    """A page of the ``total`` events that are asked for."""

    part: AnsweredPart = field(metadata=in_json(inline=True))
    total: int
    offset: int
    limit: int
    events: tuple[LoggedEvent, ...]


def log(loaded: LoadedTrace, query: TraceQuery) -> EventLog:
    """``log``: a page of the events that are asked for, each with its fields as texts.

    ``event`` are names, patterns or parts of names, ``actor`` those in whose context it happened,
    ``field`` conditions as in ``prev_comm==make``. With ``at`` the page is the one that begins a
    little before that moment.
    """
    part = query.part(loaded)
    rows = matching_events(part, query)
    limit = query.whole("limit", _PAGE, 1, _MOST)
    offset = query.whole("offset", 0, 0, 1 << 40)
    at = query.moment("at", part)
    times = part.trace.index.column("time").integers()
    if at is not None:
        offset = max(0, int(np.searchsorted(times[rows], at)) - limit // 4)
    page = rows[offset : offset + limit]
    return EventLog(
        answered_part(part),
        total=int(rows.size),
        offset=min(offset, int(rows.size)),
        limit=limit,
        events=logged_events(part, page),
    )


def matching_events(part: LoadedTrace, query: TraceQuery) -> Ints:
    """The places in the time index of what is asked for, in order of time."""
    index = part.trace.index
    times = index.column("time").integers()
    span = part.analysis.span
    first, last = np.searchsorted(times, [span.begin, span.end])
    rows: Ints = np.arange(first, last)
    if names := query.items("event"):
        numbers = _event_numbers(part, names)
        kinds = index.column("event").values()[first:last]
        rows = rows[np.isin(kinds, numbers)]
    if cpus := query.items("cpu"):
        rows = rows[np.isin(_taken(index, "cpu", rows), [_number(cpu) for cpu in cpus])]
    if text := query.text("field"):
        rows = rows[_meeting(part, rows, parse_conditions(text, text))]
    if query.items("actor"):
        rows = _of_actors(part.analysis, index, rows, [actor.id for actor in query.actors(part)])
    return rows


def logged_events(part: LoadedTrace, rows: Ints) -> tuple[LoggedEvent, ...]:
    """Events in full, by their places in the time index."""
    if rows.size == 0:
        return ()
    index = part.trace.index
    times, cpus = _taken(index, "time", rows), _taken(index, "cpu", rows)
    events, places = _taken(index, "event", rows), _taken(index, "row", rows)
    analysis = part.analysis
    around = analysis.asked_about(TraceSpan(int(times.min()), int(times.max()) + 1)).sliced()
    context = running(around, cpus, times)
    kinds = part.trace.outline["events"]
    origin = analysis.whole.begin
    logged = []
    for at in range(rows.size):
        name = kinds[events[at]]
        actor = int(analysis.instances["actor"][context[at]]) if context[at] >= 0 else None
        logged.append(
            LoggedEvent(
                index=int(rows[at]),
                time=int(times[at]) - origin,
                cpu=None if cpus[at] == _UNKNOWN_CPU else int(cpus[at]),
                event=name,
                actor=actor,
                actor_name=None if actor is None else analysis.actors[actor].label,
                fields=_fields(part.trace.tables[name], int(places[at])),
            )
        )
    return tuple(logged)


def _fields(table: Table, row: int) -> tuple[tuple[str, str], ...]:
    names = [name for name in table.column_names if name not in ("time", "cpu")]
    return tuple(
        (name, printable(_text(table.column(name)[row]), _VALUE)) for name in names[:_FIELDS]
    )


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _taken(index: Table, column: str, rows: Ints) -> Ints:
    taken: Ints = index.column(column).values()[rows].astype(np.int64)
    return taken


def _number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"cpu={text[:40]} is no CPU", "say its number")
    return int(text)


def _event_numbers(part: LoadedTrace, names: Sequence[str]) -> list[int]:
    """The places of event types in the description.

    Raises:
        UsageError: a name means none of them.
    """
    types = part.trace.outline["events"]
    chosen: set[int] = set()
    for name in names:
        numbers = {at for at, kind in enumerate(types) if kind == name or fnmatchcase(kind, name)}
        # A part of a name, as long as nothing is called so.
        numbers = numbers or {at for at, kind in enumerate(types) if name.lower() in kind.lower()}
        if not numbers:
            raise UsageError(f"the trace has no event {name[:80]}", "the search finds its events")
        chosen |= numbers
    return sorted(chosen)


def _meeting(part: LoadedTrace, rows: Ints, conditions: Sequence[FieldCondition]) -> Bools:
    """Which events have all the fields, and in them what is asked for.

    Raises:
        UsageError: no event among them has the fields, or a value is not of the field's kind.
    """
    index, kinds = part.trace.index, part.trace.outline["events"]
    events, places = _taken(index, "event", rows), _taken(index, "row", rows)
    kept = np.zeros(rows.size, dtype=np.bool_)
    refused: UsageError | None = None
    fitting = 0
    for number in np.unique(events):
        name = kinds[number]
        table = part.trace.tables[name]
        if not all(condition.field in table.column_names for condition in conditions):
            continue
        mine = np.flatnonzero(events == number)
        some = table.take(places[mine]) if mine.size < table.num_rows // 4 else table
        where = places[mine] if some is table else np.arange(mine.size)
        try:
            good = np.ones(some.num_rows, dtype=np.bool_)
            for condition in conditions:
                good &= meets(some, condition, f"event:{name}")
        except UsageError as error:  # a text in one event may be a number in another
            refused = error
            continue
        fitting += 1
        kept[mine] = good[where]
    if not fitting:
        names = ", ".join(condition.field for condition in conditions)
        raise refused or UsageError(f"no event of these has {names[:200]}", "")
    return kept


def _of_actors(analysis: Analysis, index: Table, rows: Ints, actors: Sequence[int]) -> Ints:
    """The events that happened while one of the actors ran, and nothing was nested in it."""
    fragments = analysis.sliced().fragments
    mine = np.flatnonzero(np.isin(fragments["actor"], actors))
    times = _taken(index, "time", rows)
    first = np.searchsorted(times, fragments["begin"][mine], side="left")
    last = np.searchsorted(times, fragments["end"][mine], side="right")
    # All events within the spans of the actors, on whatever CPU: few enough to look at one by one.
    count = last - first
    offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    at = np.repeat(first, count) + offset
    cpu = _taken(index, "cpu", rows[at])
    at = np.unique(at[cpu == np.repeat(fragments["cpu"][mine], count)])
    if at.size == 0:
        return at
    span = TraceSpan(int(times[at[0]]), int(times[at[-1]]) + 1)
    around = analysis.asked_about(span).sliced()
    context = running(around, _taken(index, "cpu", rows[at]), times[at])
    in_instance = context >= 0
    inside = np.zeros(at.size, dtype=np.bool_)
    inside[in_instance] = np.isin(analysis.instances["actor"][context[in_instance]], actors)
    events: Ints = rows[at[inside]]
    return events


# -- the search ------------------------------------------------------------------------------------


_NAMES = 50
_HITS = 200
_MARKED = 1_000_000
_SECONDS = 3.0
_OPERATORS = "=<>~"
_LIKE = 1000


@dataclass(frozen=True, slots=True)
class MatchingActor:
    """An actor whose label holds the text: ``actor`` is its id, ``busy`` and ``first`` in ns."""

    actor: int
    name: str
    kind: str
    busy: int
    first: int


@dataclass(frozen=True, slots=True)
class MatchingType:
    """An event type whose name holds the text, and how many events the trace has of it."""

    name: str
    count: int


@dataclass(frozen=True, slots=True, order=True)
class EventHit:
    """An event that carries a value; in order of time."""

    time: int
    row: int = field(metadata=in_json(hidden=True))
    event: str
    cpu: int
    text: str = field(metadata=in_json(name="says"))


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """``hits`` are the first events in the span, in order of time; ``total`` how many there are.

    ``complete`` is False when time was up before every event had been looked at.
    """

    part: AnsweredPart = field(metadata=in_json(inline=True))
    actors: tuple[MatchingActor, ...]
    events: tuple[MatchingType, ...]
    hits: tuple[EventHit, ...]
    total: int = field(metadata=in_json(name="found"))
    complete: bool


@dataclass(frozen=True, slots=True)
class EventType:
    """An event type with its fields."""

    name: str
    count: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TraceNames:
    """What can be asked for: actors by the names they share, events by their types."""

    actors: tuple[str, ...]
    events: tuple[EventType, ...]


def search(loaded: LoadedTrace, query: TraceQuery) -> SearchAnswer:
    """``search``: for a text in names and in texts that events carry, or for ``field==value``.

    Raises:
        UsageError: nothing is asked for, or no event has such a field.
    """
    part = query.part(loaded)
    text = query.text("text")
    if not text:
        raise UsageError(
            "nothing to search for", "type a name, a text, or a condition such as prev_comm==make"
        )
    condition = _is_condition(text)
    hits, total, complete = _values(part, text)
    return SearchAnswer(
        answered_part(part),
        actors=() if condition else _actors(part, text),
        events=() if condition else _types(part, text),
        hits=_foremost(part, hits),
        total=total,
        complete=complete,
    )


def names(loaded: LoadedTrace, _query: TraceQuery) -> TraceNames:
    """``names``: the events with the most first."""
    counts = loaded.trace.counts
    kinds = [kind for kind in loaded.trace.description["events"] if counts.get(kind["name"])]
    kinds.sort(key=lambda kind: -counts[kind["name"]])
    groups = dict.fromkeys(actor.group for actor in loaded.choose([]))
    return TraceNames(
        actors=tuple(groups)[:_LIKE],
        events=tuple(
            EventType(
                kind["name"],
                counts[kind["name"]],
                tuple(member["name"] for member in kind["fields"][:_NAMES]),
            )
            for kind in kinds[:_LIKE]
        ),
    )


def _actors(part: LoadedTrace, text: str) -> tuple[MatchingActor, ...]:
    """The busiest first."""
    analysis = part.analysis
    matching = [actor for actor in analysis.actors if text.lower() in actor.label.lower()]
    if not matching:
        return ()
    busy = np.bincount(
        analysis.instances["actor"],
        weights=analysis.instances["execution"],
        minlength=len(analysis.actors),
    )
    first = analysis.tables["actors"].column("first")
    matching.sort(key=lambda actor: -busy[actor.id])
    return tuple(
        MatchingActor(
            actor=actor.id,
            name=actor.label,
            kind=actor.kind,
            busy=int(busy[actor.id]),
            first=first[actor.id] - analysis.whole.begin,
        )
        for actor in matching[:_NAMES]
    )


def _types(part: LoadedTrace, text: str) -> tuple[MatchingType, ...]:
    counts = part.trace.counts
    matching = [name for name in counts if text.lower() in name.lower()]
    matching.sort(key=lambda name: -counts[name])
    return tuple(MatchingType(name, counts[name]) for name in matching[:_NAMES])


class _ValueSearch:
    """By event type the fields that carry a value, and in which of its events.

    Iterating raises UsageError where no event has such a field; ``complete`` is then whether time
    sufficed to look at every event.
    """

    def __init__(self, part: LoadedTrace, text: str) -> None:
        self.part = part
        self.text = text
        self.complete = False
        self.conditions = parse_conditions(text, text) if _is_condition(text) else ()

    def __iter__(self) -> Iterator[tuple[str, Ints, Bools, list[tuple[str, Bools]]]]:
        """The type's name, its times, which of them lie in the span, its matching fields."""
        until = monotonic() + _SECONDS
        part, text, conditions = self.part, self.text, self.conditions
        span = part.analysis.span
        refused: UsageError | None = None
        fitting = 0
        # The small tables first: when time is up, few kinds of events are left out.
        for name in sorted(part.trace.counts, key=lambda name: part.trace.counts[name]):
            if monotonic() > until:
                return
            table = part.trace.tables[name]
            try:
                columns = _columns(table, text, conditions, name)
            except UsageError as error:
                refused = error
                continue
            fitting += len(columns)
            times = table.column("time").integers()
            yield name, times, (times >= span.begin) & (times < span.end), columns
        if conditions and not fitting:
            raise refused or UsageError(f"no event of the trace has the field of {text[:200]}", "")
        self.complete = True


def _is_condition(text: str) -> bool:
    return any(operator in text for operator in _OPERATORS)


def _values(part: LoadedTrace, text: str) -> tuple[list[EventHit], int, bool]:
    """The first events that carry a value, how many there are, and whether all were searched."""
    values = _ValueSearch(part, text)
    hits: list[EventHit] = []
    total = 0
    for name, times, inside, columns in values:
        for column, matching in columns:
            rows = np.flatnonzero(matching & inside)
            total += rows.size
            hits += _first(part.trace.tables[name], name, column, rows, times)
    return hits, total, values.complete


def matches(loaded: LoadedTrace, query: TraceQuery) -> Table:
    """``found``: the events that ``search`` means, by their type's name or by a value.

    In order of time: ``time`` in ns since the first event, ``cpu`` (65535: not known). Of more than
    are marked, the first of each part of the span; the metadata has ``total``, and ``complete`` as
    in ``search``.
    """
    part = query.part(loaded)
    text = query.text("text") or ""
    by_name = "" if _is_condition(text) else text.lower()
    values = _ValueSearch(part, text)
    found_times: list[Ints] = []
    found_cpus: list[Ints] = []
    for name, times, inside, columns in values:
        if by_name and by_name in name.lower():
            meant = inside
        else:
            meant = np.zeros(times.size, dtype=np.bool_)
            for _, matching in columns:
                meant |= matching & inside
        rows = np.flatnonzero(meant)
        found_times.append(times[rows])
        found_cpus.append(_taken(part.trace.tables[name], "cpu", rows))
    none: Ints = np.zeros(0, dtype=np.int64)
    times, cpus = np.concatenate([none, *found_times]), np.concatenate([none, *found_cpus])
    order = np.argsort(times, kind="stable")
    if order.size > _MARKED:
        span = part.analysis.span
        shift = ((span.end - span.begin) // _MARKED).bit_length()
        order = order[np.flatnonzero(np.diff(times[order] >> shift, prepend=-1))]
    columns_of_answer = {
        "time": (times[order] - part.analysis.whole.begin).astype(np.float64),
        "cpu": cpus[order].astype(np.uint16),
    }
    metadata = {"total": str(times.size), "complete": str(int(values.complete))}
    return table_of(columns_of_answer, metadata)


def _columns(
    table: Table, text: str, conditions: Sequence[FieldCondition], event: str
) -> list[tuple[str, Bools]]:
    """By field: which events of a table are meant."""
    if conditions:
        if not all(condition.field in table.column_names for condition in conditions):
            return []
        matching = np.ones(table.num_rows, dtype=np.bool_)
        for condition in conditions:
            matching &= meets(table, condition, f"event:{event}")
        return [(conditions[0].field, matching)]
    texts = [name for name in table.column_names if table.column(name).kind == "text"]
    return [
        (name, texts_match(table.column(name), re.compile(re.escape(text), re.IGNORECASE).search))
        for name in texts
    ]


def _first(table: Table, event: str, column: str, rows: Ints, times: Ints) -> list[EventHit]:
    """The first hits of one field."""
    if rows.size > _HITS:
        rows = rows[np.argpartition(times[rows], _HITS)[:_HITS]]
    values, cpu = table.column(column), table.column("cpu")
    return [
        EventHit(int(times[row]), int(row), event, cpu[row], f"{column}={values[row]}")
        for row in rows.tolist()
    ]


def _foremost(part: LoadedTrace, hits: Sequence[EventHit]) -> tuple[EventHit, ...]:
    origin = part.analysis.whole.begin
    return tuple(
        replace(hit, time=hit.time - origin, text=printable(hit.text, 200))
        for hit in sorted(hits)[:_HITS]
    )
