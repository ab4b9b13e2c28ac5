"""What a trace holds, and what a query of it gave, as plain text cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from benchvise.quantities import ABSENT, format_size, format_value
from benchvise.report.sinks import csv_text
from benchvise.report.tables import Cell, Column, Table
from benchvise.report.text import SENTENCE_LIMIT, clean
from benchvise.trace.query import Answer
from benchvise.trace.summary import Summary

_SHOWN_TYPES = 40
"""Event types of a table that is not asked for all."""

_SHOWN_PLACES = 8
"""Losses and places of damage that are told one by one."""

_CELL = 200
_NS = 1_000_000_000


def info_rows(summary: Summary) -> Table:
    """The trace as a whole: one line a property; below, what is missing or damaged."""
    rows = [
        ("format", f"{summary.format}, {summary.byte_order} endian"),
        ("clock", _clock(summary.clock)),
        ("recorded", _recorded(summary)),
        ("span", _span(summary)),
        ("events", _events(summary)),
        *((name.replace("_", " "), value) for name, value in summary.environment.items()),
    ]
    if summary.cached is not None:
        rows.append(("kept decoded", format_size(summary.cached)))
    columns = (Column("property"), Column("value"))
    cells = tuple((Cell(clean(name), "muted"), Cell(clean(value, _CELL))) for name, value in rows)
    return Table(clean(summary.path, _CELL), columns, cells, tuple(_troubles(summary)))


def stream_rows(summary: Summary) -> Table:
    """The streams, one line each."""
    columns = (
        Column("stream"),
        Column("CPU", right=True),
        Column("events", right=True),
        Column("bytes", right=True),
        Column("lost", right=True),
    )
    lost = [_lost(summary, number) for number in range(len(summary.streams))]
    rows = tuple(
        (
            Cell(clean(stream.name)),
            Cell(ABSENT if stream.cpu is None else str(stream.cpu)),
            Cell(ABSENT if stream.events is None else _count(stream.events)),
            Cell(format_size(stream.bytes)),
            Cell(lost, "bad" if lost != "0" else "muted"),
        )
        for stream, lost in zip(summary.streams, lost, strict=True)
    )
    return Table(_plural(len(rows), "stream"), columns, rows, ())


def type_rows(summary: Summary, *, everything: bool = False) -> Table:
    """The event types that occurred, most frequent first."""
    columns = (
        Column("event"),
        Column("system"),
        Column("events", right=True),
        Column("share", right=True),
        Column("fields", right=True),
    )
    shown = summary.types if everything else summary.types[:_SHOWN_TYPES]
    total = max(summary.events, 1)
    rows = tuple(
        (
            Cell(clean(kind.name)),
            Cell(clean(kind.system), "muted"),
            Cell(_count(kind.count)),
            Cell(f"{100 * kind.count / total:.2f} %"),
            Cell(str(kind.fields), "muted"),
        )
        for kind in shown
    )
    remarks = []
    if len(shown) < len(summary.types):
        remarks.append(f"not listed: {len(summary.types) - len(shown)} rarer types (--all)")
    if summary.silent:
        remarks.append(f"described but never seen: {_plural(summary.silent, 'type')}")
    return Table(_plural(len(summary.types), "event type"), columns, rows, tuple(remarks))


def answer_rows(answer: Answer, remarks: tuple[str, ...]) -> Table:
    """What a query gave."""
    numeric = [_numeric(kind) for kind in answer.types]
    names = zip(answer.columns, numeric, strict=True)
    columns = tuple(Column(clean(name), right=right) for name, right in names)
    rows = tuple(
        tuple(
            Cell(ABSENT, "muted") if value is None else Cell(clean(_text(value), _CELL))
            for value in row
        )
        for row in answer.rows
    )
    more = ("there are more rows: --limit N shows them",) if answer.more else ()
    return Table(_plural(len(rows), "row"), columns, rows, (*more, *remarks))


def answer_csv(answer: Answer) -> str:
    """What a query gave, with a line of names; null is empty."""
    return csv_text(answer.columns, (map(_csv_value, row) for row in answer.rows))


def _csv_value(value: object) -> object:
    return value if value is None or isinstance(value, int | float) else _text(value)


def answer_json(answer: Answer, seconds: float, remarks: tuple[str, ...]) -> dict[str, Any]:
    """What a query gave; values that JSON does not have are texts."""
    return {
        "columns": [
            {"name": name, "type": kind}
            for name, kind in zip(answer.columns, answer.types, strict=True)
        ],
        "rows": [[_plain(value) for value in row] for row in answer.rows],
        "more": answer.more,
        "seconds": seconds,
        "remarks": list(remarks),
    }


# -- parts -----------------------------------------------------------------------------------------


def _clock(clock: Mapping[str, Any]) -> str:
    name = clock["name"] or "without a name"
    frequency = clock["frequency_hz"]
    return name if frequency == _NS else f"{name}, {format_value(frequency, 'Hz')}"


def _recorded(summary: Summary) -> str:
    offset = summary.clock["epoch_offset_ns"]
    if offset is None or summary.first is None:
        return "not known: the trace does not say when its clock began"
    try:
        moment = datetime.fromtimestamp((offset + summary.first) / _NS, UTC)
    except (OverflowError, ValueError, OSError):
        return "not known: the clock's offset is beyond any calendar"
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def _span(summary: Summary) -> str:
    if summary.first is None or summary.last is None:
        return "no events"
    length = (summary.last - summary.first) / _NS
    return f"{seconds(summary.first)} to {seconds(summary.last)}: {length:.6f} s"


def seconds(time: int) -> str:
    """A time of a trace's clock in seconds, every digit of it."""
    sign = "-" if time < 0 else ""
    whole, rest = divmod(abs(time), _NS)
    return f"{sign}{whole}.{rest:09d}"


def _events(summary: Summary) -> str:
    text = _count(summary.events)
    if summary.first is None or summary.last is None or summary.last == summary.first:
        return text
    rate = summary.events * _NS / (summary.last - summary.first)
    return f"{text}, {format_value(rate, '/s')} on average"


def _lost(summary: Summary, stream: int) -> str:
    """What a stream lost; a loss that was not counted is not 0."""
    own = [loss for loss in summary.losses if loss["stream"] == stream]
    parts = []
    for kind in ("events", "packets"):
        counts = [loss["count"] for loss in own if loss["kind"] == kind]
        if counts:
            known = sum(count for count in counts if count is not None)
            more = "at least " if None in counts and known else ""
            number = f"{more}{_count(known)}" if known or None not in counts else "uncounted"
            parts.append(number if kind == "events" else f"{number} packets")
    return ", ".join(parts) or "0"


def _troubles(summary: Summary) -> Iterator[str]:
    for loss in summary.losses[:_SHOWN_PLACES]:
        stream = summary.streams[loss["stream"]].name if summary.streams else "a stream"
        count = "an unknown number of" if loss["count"] is None else _count(loss["count"])
        begin = "the beginning" if loss["begin"] is None else seconds(loss["begin"])
        end = "the end" if loss["end"] is None else seconds(loss["end"])
        yield f"lost in {clean(stream)}: {count} {loss['kind']} between {begin} and {end}"
    if len(summary.losses) > _SHOWN_PLACES:
        yield f"and {len(summary.losses) - _SHOWN_PLACES} more losses: --json lists all"
    for place in summary.damage[:_SHOWN_PLACES]:
        file = clean(place["file"].rpartition("/")[2])
        yield f"damage in {file} at byte {place['offset']}: {clean(place['what'], SENTENCE_LIMIT)}"
    if len(summary.damage) > _SHOWN_PLACES:
        yield f"and {len(summary.damage) - _SHOWN_PLACES} more places of damage: --json lists all"
    for note in summary.notes:
        yield f"note: {clean(note, SENTENCE_LIMIT)}"


def _count(number: int) -> str:
    return f"{number:,}"


def _plural(count: int, noun: str) -> str:
    return f"{_count(count)} {noun}{'' if count == 1 else 's'}"


def _numeric(kind: str) -> bool:
    return kind.startswith(("NUMBER", "DECIMAL", "DOUBLE", "FLOAT")) or kind.endswith("INT")


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _plain(value: object) -> object:
    """As JSON can have it; a number that is none in JSON (NaN, infinity) is its name."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if value - value == 0 else str(value)
        case list() | tuple():
            return [_plain(part) for part in value]
        case dict():
            return {str(key): _plain(part) for key, part in value.items()}
        case _:
            return _text(value)
