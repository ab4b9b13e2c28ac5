"""The record of ``benchvise trace info``: what a trace holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandOption
from benchvise.quantities import format_clock, format_count, format_size, format_value
from benchvise.table import ColumnSpec, TableSpec, Tone, ValueUnit
from benchvise.text import counted
from benchvise.trace.catalogue.record import OneTrace, TableShape, TraceAnalysis

if TYPE_CHECKING:
    from benchvise.trace.clock_alignment import ClockAlignment
    from benchvise.trace.decoder import ClockDescription
    from benchvise.trace.loaded import LoadedTrace
    from benchvise.trace.recording_set import RecordingSet, SetMember
    from benchvise.trace.summary import EventCount, StreamCount, TraceSummary


@dataclass(frozen=True, kw_only=True)
class InfoRequest(OneTrace):
    """Which trace is described, and how much of it."""

    everything: Annotated[bool, CommandOption("--all", "List every event type that occurred.")] = (
        False
    )


_NS = 1_000_000_000

_MOST_TYPES = 40
"""Event types of a table that is not asked for all."""

_MOST_PLACES = 8
"""Losses and places of damage that are listed."""


@dataclass(frozen=True, slots=True)
class _Property:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class _StreamLine:
    stream: StreamCount
    lost: str


@dataclass(frozen=True, slots=True)
class _TypeLine:
    kind: EventCount
    share: float


def _lost_tone(line: _StreamLine) -> Tone:
    return "muted" if line.lost == "0" else "bad"


_PROPERTIES: TableShape[_Property] = TableShape(
    "trace",
    "The trace as a whole",
    "more properties",
    (
        ColumnSpec("property", ValueUnit.TEXT, lambda line: line.name, "muted"),
        ColumnSpec("value", ValueUnit.TEXT, lambda line: line.value),
    ),
)
_STREAMS: TableShape[_StreamLine] = TableShape(
    "streams",
    "Its streams of events",
    "more streams",
    (
        ColumnSpec("stream", ValueUnit.TEXT, lambda line: line.stream.name),
        ColumnSpec("CPU", ValueUnit.NUMBER, lambda line: line.stream.cpu),
        ColumnSpec("events", ValueUnit.COUNT, lambda line: line.stream.events),
        ColumnSpec("bytes", ValueUnit.SIZE, lambda line: line.stream.bytes),
        ColumnSpec("lost", ValueUnit.NUMBER, lambda line: line.lost, _lost_tone),
    ),
)
_TYPES: TableShape[_TypeLine] = TableShape(
    "types",
    "The types of events that occurred, the most frequent first",
    "rarer types",
    (
        ColumnSpec("event", ValueUnit.TEXT, lambda line: line.kind.name),
        ColumnSpec("system", ValueUnit.TEXT, lambda line: line.kind.system, "muted"),
        ColumnSpec("events", ValueUnit.COUNT, lambda line: line.kind.count),
        ColumnSpec("share", ValueUnit.SHARE, lambda line: line.share),
        ColumnSpec("fields", ValueUnit.NUMBER, lambda line: line.kind.fields, "muted"),
    ),
)


_RECORDINGS: TableShape[SetMember] = TableShape(
    "recordings",
    "The recordings of several boards, on one axis",
    "more boards",
    (
        ColumnSpec("board", ValueUnit.TEXT, lambda member: member.board),
        ColumnSpec("file", ValueUnit.TEXT, lambda member: member.file, "muted"),
        ColumnSpec("events", ValueUnit.COUNT, lambda member: member.events),
        ColumnSpec("lost", ValueUnit.COUNT, lambda member: member.lost),
        ColumnSpec("ended by", ValueUnit.TEXT, lambda member: member.ended, "muted"),
        ColumnSpec("begins at", ValueUnit.MOMENT, lambda member: member.first),
        ColumnSpec("ends at", ValueUnit.MOMENT, lambda member: member.last),
        ColumnSpec(
            "uncertainty",
            ValueUnit.NS,
            lambda member: None if member.clock is None else member.clock.uncertainty_ns,
        ),
    ),
)


def _analyse(_traces: Sequence[LoadedTrace], request: InfoRequest) -> TraceSummary:
    [path] = request.files
    return summarise(path, use_cache=request.cache is not False)


def summarise(path: Path, *, use_cache: bool = True) -> TraceSummary:
    """Counts what a trace holds: as it was kept, if it was, else by a pass over it.

    Raises:
        UsageError: there is no such trace, or no decoder.
        TraceError: it cannot be read.
    """
    from benchvise.trace.recording_set import member_of
    from benchvise.trace.summary import counted_summary, kept_summary

    kept = kept_summary(path.resolve()) if use_cache else None
    summary = kept or counted_summary(path.resolve())
    member = member_of(path.resolve())
    notes = summary.notes if member is None else [*summary.notes, _on_axis(member)]
    return replace(summary, path=str(path), notes=notes)


def _on_axis(member: SetMember) -> str:
    clock = member.clock
    how = (
        f"not on their axis: {member.not_lined_up}"
        if clock is None
        else f"its times on their axis are wrong by {_ns(clock.uncertainty_ns)} at most"
    )
    return f"of {member.board}, which was recorded with other boards at once; {how}"


def _tables(answer: TraceSummary, request: InfoRequest) -> Iterator[TableSpec[Any]]:
    properties = [_Property(name, value) for name, value in _properties(answer)]
    yield _PROPERTIES.filled(answer.path, properties, *_troubles(answer))
    streams = [
        _StreamLine(stream, _lost(answer, number)) for number, stream in enumerate(answer.streams)
    ]
    yield _STREAMS.filled(_plural(len(streams), "stream"), streams)
    total = max(answer.events, 1)
    silent = f"described but never seen: {_plural(answer.silent, 'type')}"
    yield _TYPES.filled(
        _plural(len(answer.types), "event type"),
        [_TypeLine(kind, kind.count / total) for kind in answer.types],
        *([silent] if answer.silent else []),
        top=None if request.everything else _MOST_TYPES,
        all_by="--all",
    )


def _set_of(_traces: Sequence[LoadedTrace], request: InfoRequest) -> RecordingSet:
    from benchvise.trace.recording_set import read_set

    return read_set(request.file)


def set_tables(recordings: RecordingSet, title: str) -> Iterator[TableSpec[Any]]:
    """The recordings of several boards, and how surely their times belong together."""
    yield _RECORDINGS.filled(title, recordings.members, *_set_remarks(recordings))


def _set_remarks(recordings: RecordingSet) -> Iterator[str]:
    doubt = recordings.uncertainty_ns
    members = [member for member in recordings.members if member.clock is not None]
    if doubt is None:
        yield "not all of them are on one axis: times of different boards cannot be compared"
    elif len(members) > 1:
        yield (
            f"times of two boards may be wrong against each other by {_ns(doubt)} at most, where "
            "their clocks drift apart as steadily as was assumed"
        )
    for member in recordings.members:
        if member.clock is None:
            yield f"{member.board}: by its own clock: {member.not_lined_up}"
        else:
            yield f"{member.board}: {_how_lined_up(member.clock)}"
        if member.met:
            yield f"{member.board}: {member.met}"
        if member.command:
            yield f"{member.board}: the command ended with exit {member.command}"
        yield from (f"{member.board}: {sentence}" for sentence in member.caveats)


def _how_lined_up(clock: ClockAlignment) -> str:
    return (
        f"{clock.round_trips} round trips, the shortest of {_ns(clock.shortest_ns)}; drift "
        f"{clock.rate_ppm:+.1f} ppm, within {clock.drift_ppm:.1f} ppm"
    )


def _ns(value: float) -> str:
    return format_value(value, "ns")


SET_INFO: TraceAnalysis[InfoRequest, RecordingSet] = TraceAnalysis(
    name="info",
    kind="recordings",
    summary="Show the recordings of several boards, and how surely their times belong together.",
    example="info two-boards",
    request=InfoRequest,
    shapes=(_RECORDINGS,),
    loads=False,
    analyse=_set_of,
    tables=lambda answer, request: set_tables(answer, str(request.file)),
)


def _instead(request: InfoRequest) -> TraceAnalysis[InfoRequest, Any] | None:
    from benchvise.trace.recording_set import is_set

    return SET_INFO if is_set(request.file) else None


INFO: TraceAnalysis[InfoRequest, TraceSummary] = TraceAnalysis(
    name="info",
    kind="trace-info",
    summary="Show what a trace holds: format, clock, streams, events, losses, damage.",
    example="info trace.dat",
    request=InfoRequest,
    shapes=(_PROPERTIES, _STREAMS, _TYPES, _RECORDINGS),
    loads=False,
    analyse=_analyse,
    tables=_tables,
    instead=_instead,
)


def _properties(summary: TraceSummary) -> Iterator[tuple[str, str]]:
    yield "format", f"{summary.format}, {summary.byte_order} endian"
    yield "clock", _clock(summary.clock)
    yield "recorded", _recorded(summary)
    yield "span", _span(summary)
    yield "events", _events(summary)
    for name, value in summary.environment.items():
        yield name.replace("_", " "), value
    if summary.cached is not None:
        yield "kept decoded", format_size(summary.cached)


def _clock(clock: ClockDescription) -> str:
    name = clock["name"] or "without a name"
    frequency = clock["frequency_hz"]
    return name if frequency == _NS else f"{name}, {format_value(frequency, 'Hz')}"


def _recorded(summary: TraceSummary) -> str:
    offset = summary.clock["epoch_offset_ns"]
    if offset is None or summary.first is None:
        return "not known: the trace does not say when its clock began"
    try:
        moment = datetime.fromtimestamp((offset + summary.first) / _NS, UTC)
    except (OverflowError, ValueError, OSError):
        return "not known: the clock's offset is beyond any calendar"
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def _span(summary: TraceSummary) -> str:
    if summary.first is None or summary.last is None:
        return "no events"
    length = (summary.last - summary.first) / _NS
    return f"{format_clock(summary.first)} to {format_clock(summary.last)}: {length:.6f} s"


def _events(summary: TraceSummary) -> str:
    events = format_count(summary.events)
    if summary.first is None or summary.last is None or summary.last == summary.first:
        return events
    rate = summary.events * _NS / (summary.last - summary.first)
    return f"{events}, {format_value(rate, '/s')} on average"


def _lost(summary: TraceSummary, stream: int) -> str:
    """What a stream lost; a loss that was not counted is not 0."""
    own = [loss for loss in summary.losses if loss["stream"] == stream]
    parts = []
    for kind in ("events", "packets"):
        counts = [loss["count"] for loss in own if loss["kind"] == kind]
        if counts:
            counted = sum(count for count in counts if count is not None)
            more = "at least " if None in counts and counted else ""
            number = (
                f"{more}{format_count(counted)}" if counted or None not in counts else "uncounted"
            )
            parts.append(number if kind == "events" else f"{number} packets")
    return ", ".join(parts) or "0"


def _troubles(summary: TraceSummary) -> Iterator[str]:
    for loss in summary.losses[:_MOST_PLACES]:
        stream = summary.streams[loss["stream"]].name if summary.streams else "a stream"
        count = "an unknown number of" if loss["count"] is None else format_count(loss["count"])
        begin = "the beginning" if loss["begin"] is None else format_clock(loss["begin"])
        end = "the end" if loss["end"] is None else format_clock(loss["end"])
        yield f"lost in {stream}: {count} {loss['kind']} between {begin} and {end}"
    if len(summary.losses) > _MOST_PLACES:
        more = counted(len(summary.losses) - _MOST_PLACES, "more loss", "more losses")
        yield f"and {more}: --json lists all"
    for place in summary.damage[:_MOST_PLACES]:
        file = place["file"].rpartition("/")[2]
        yield f"damage in {file} at byte {place['offset']}: {place['what']}"
    if len(summary.damage) > _MOST_PLACES:
        more = counted(len(summary.damage) - _MOST_PLACES, "more place", "more places")
        yield f"and {more} of damage: --json lists all"
    for note in summary.notes:
        yield f"note: {note}"


def _plural(count: int, noun: str) -> str:
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"
