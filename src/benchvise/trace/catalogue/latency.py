"""The record of ``benchvise trace latency``: from one point of a trace to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandOption
from benchvise.quantities import format_value
from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.trace.catalogue.record import (
    Conclusion,
    IncompleteInstances,
    PartOfTrace,
    TableShape,
    TraceAnalysis,
    durations,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.latency import (
        CheckedAssertion,
        Latency,
        LatencyStage,
        LatencyWay,
        Occurrence,
    )
    from benchvise.trace.loaded import LoadedTrace

_END_HELP = (
    "irq:NAME, softirq:NAME or task:NAME, with .end for its end and .ready for its wake-up; "
    "or event:NAME, with [field==value] for some of its events."
)


class Match(StrEnum):
    """How a start finds its end."""

    AUTO = "auto"
    CAUSE = "cause"
    NEXT = "next"


@dataclass(frozen=True, kw_only=True)
class LatencyRequest(PartOfTrace, IncompleteInstances):
    """From where to where, how the two are matched, and what has to hold."""

    start: Annotated[
        str,
        CommandOption(
            "--from",
            f"Where it begins: {_END_HELP} In recordings of several boards, BOARD: before it.",
            metavar="END",
        ),
    ]
    end: Annotated[str, CommandOption("--to", "Where it ends, written alike.", metavar="END")]
    via: Annotated[
        tuple[str, ...],
        CommandOption("--via", "A point between; again for more, in order.", metavar="END"),
    ] = ()
    assertions: Annotated[
        tuple[str, ...],
        CommandOption(
            "--assert",
            "Exit 1 unless it holds: 'p99 < 80us', 'max[2] < 1ms' (stage 2), "
            "'share[*waits*] < 50%', 'matched > 95%', 'count >= 100'. May be given again.",
            metavar="LIMIT",
        ),
    ] = ()
    match: Annotated[
        Match,
        CommandOption(
            "--match",
            "By who woke or raised whom, or each start with the next end after it; auto: by cause "
            "when that matches 5 % of the starts or ends.",
        ),
    ] = Match.AUTO
    by: Annotated[
        tuple[str, ...],
        CommandOption(
            "--by",
            "Pair events with the same value of this field (FIELD, or FIELD=FIELD of start and "
            "end); again for more, all of which have to be the same.",
            metavar="FIELD",
        ),
    ] = ()
    hops: Annotated[
        int,
        CommandOption("--hops", "Wake-ups to climb, by cause.", metavar="N", minimum=0, maximum=64),
    ] = 4
    ways: Annotated[
        int | None,
        CommandOption("--ways", "Ways whose stages are shown.", metavar="N", minimum=1),
    ] = 3
    worst: Annotated[
        int, CommandOption("--worst", "Occurrences that are listed.", metavar="N", minimum=0)
    ] = 5


@dataclass(frozen=True, slots=True)
class _StageLine:
    """A stage of one way, with their numbers."""

    way: int
    number: int
    stage: LatencyStage


_TOTAL: TableShape[Latency] = TableShape(
    "total",
    "All occurrences together",
    "more lines",
    (
        ColumnSpec("Occurrences", ValueUnit.COUNT, lambda answer: answer.occurrences),
        *durations(
            "",
            lambda answer: answer.total,
            *("median", "interval", "p95", "p99", "p999", "maximum", "mean", "p99_interval"),
            strong=True,
        ),
    ),
)
_STAGES: TableShape[_StageLine] = TableShape(
    "stages",
    "The stages of each way that occurrences took, the most frequent way first",
    "more stages",
    (
        ColumnSpec("Way", ValueUnit.NUMBER, lambda line: line.way, detail=True),
        ColumnSpec("#", ValueUnit.NUMBER, lambda line: line.number, "muted", key="stage_number"),
        ColumnSpec("Stage", ValueUnit.STAGE, lambda line: line.stage.name),
        ColumnSpec("Share", ValueUnit.SHARE, lambda line: line.stage.share),
        *durations(
            "", lambda line: line.stage.time, "median", "p95", "p99", "p999", "maximum", strong=True
        ),
    ),
)
_LONGEST: TableShape[Occurrence] = TableShape(
    "longest",
    "The longest occurrences",
    "more occurrences",
    (
        ColumnSpec("Latency", ValueUnit.NS, lambda occurrence: occurrence.latency, "strong"),
        ColumnSpec("From", ValueUnit.MOMENT, lambda occurrence: occurrence.begin),
        ColumnSpec(
            "CPU", ValueUnit.NUMBER, lambda occurrence: occurrence.begin_cpu, key="from_cpu"
        ),
        ColumnSpec("To", ValueUnit.MOMENT, lambda occurrence: occurrence.end),
        ColumnSpec("CPU", ValueUnit.NUMBER, lambda occurrence: occurrence.end_cpu, key="to_cpu"),
        ColumnSpec("Who", ValueUnit.ACTOR, lambda occurrence: occurrence.end_actor),
        ColumnSpec(
            "Stages",
            ValueUnit.NS_EACH,
            lambda occurrence: [time for _, time in occurrence.stages],
            "muted",
        ),
    ),
)


def _check(request: LatencyRequest) -> None:
    from benchvise.errors import UsageError
    from benchvise.trace.analysis.latency import parse_assertion, parse_end, parse_pair

    if request.by and request.match is not Match.AUTO:
        raise UsageError("--by and --match both say how events are paired", "give one of them")
    for text in request.by:
        parse_pair(text)
    for end in (request.start, *request.via, request.end):
        parse_end(end)
    for text in request.assertions:
        parse_assertion(text)


def _analyse(traces: Sequence[LoadedTrace], request: LatencyRequest) -> Latency:
    from benchvise.trace.analysis.latency import (
        Method,
        latency,
        parse_assertion,
        parse_end,
        parse_pair,
    )

    [trace] = traces
    answer = latency(
        trace.analysis,
        [parse_end(end) for end in (request.start, *request.via, request.end)],
        method=None if request.match is Match.AUTO else Method(request.match.value),
        fields=[parse_pair(text) for text in request.by],
        depth=request.hops,
        incomplete=request.incomplete,
        worst=request.worst,
    )
    checked = tuple(parse_assertion(text).check(answer) for text in request.assertions)
    return replace(answer, assertions=checked)


def _check_of_boards(request: LatencyRequest) -> None:
    from benchvise.trace.recording_set import board_of_text, read_set

    recordings = read_set(request.file)
    ends = (request.start, *request.via, request.end)
    inside = [board_of_text(recordings, text)[1] for text in ends]
    _check(replace(request, start=inside[0], via=tuple(inside[1:-1]), end=inside[-1]))


def _analyse_boards(_traces: Sequence[LoadedTrace], request: LatencyRequest) -> Latency:
    from benchvise.errors import UsageError
    from benchvise.trace.analysis.latency import (
        AlignedTrace,
        BoardEnd,
        Method,
        latency_of_boards,
        parse_assertion,
        parse_end,
        parse_pair,
    )
    from benchvise.trace.analysis.model import TraceSpan
    from benchvise.trace.loaded import load_trace
    from benchvise.trace.moments import parse_span
    from benchvise.trace.recording_set import board_of_text, read_set

    recordings = read_set(request.file)
    ends, boards, cautions = [], {}, []
    for text in (request.start, *request.via, request.end):
        member, inside = board_of_text(recordings, text)
        ends.append(BoardEnd(member.board, parse_end(inside), text))
        if member.board in boards:
            continue
        if member.clock is None:
            raise UsageError(
                f"{member.board}: its clock was not lined up ({member.not_lined_up})",
                "only boards whose clocks were lined up can be measured against each other",
            )
        loaded = load_trace(request.file / member.file, cache=request.cache)
        boards[member.board] = AlignedTrace(loaded.analysis, member.clock.uncertainty_ns)
        cautions += [f"{member.board}: {caution}" for caution in loaded.cautions_for(tasks=False)]
    wholes = [each.analysis.whole for each in boards.values()]
    begin, end = min(whole.begin for whole in wholes), max(whole.end for whole in wholes)
    answer = latency_of_boards(
        boards,
        ends,
        TraceSpan(*parse_span(begin, end, *request.span)),
        method=None if request.match is Match.AUTO else Method(request.match.value),
        fields=[parse_pair(text) for text in request.by],
        depth=request.hops,
        incomplete=request.incomplete,
        worst=request.worst,
    )
    checked = tuple(parse_assertion(text).check(answer) for text in request.assertions)
    return replace(answer, assertions=checked, cautions=tuple(cautions))


def _tables(answer: Latency, request: LatencyRequest) -> Iterator[TableSpec[Any]]:
    yield _total(answer)
    ways = answer.ways[: request.ways]
    rarer = answer.ways[len(ways) :]
    for number, way in enumerate(ways, 1):
        title = f"{way.count} occurrences this way" if len(answer.ways) > 1 else "Stages"
        count = sum(way.count for way in rarer)
        remark = f"{len(rarer)} rarer ways: {count} occurrences (--ways N)"
        yield _STAGES.filled(
            title, _stage_lines(number, way), *([remark] if rarer and number == len(ways) else [])
        )
    if answer.worst:
        yield _LONGEST.filled("The longest", answer.worst)


def _stage_lines(way_number: int, way: LatencyWay) -> list[_StageLine]:
    return [_StageLine(way_number, number, stage) for number, stage in enumerate(way.stages, 1)]


def _total(answer: Latency) -> TableSpec[Latency]:
    remarks = [_matched(answer, number) for number in range(len(answer.hops))]
    if answer.incomplete:
        kept = "kept" if answer.incomplete_kept else "left out (--incomplete keeps them)"
        remarks.append(
            f"INCOMPLETE: {answer.incomplete} occurrences with events missing on their way, {kept}"
        )
    if answer.total is None:
        remarks.append("nothing matched: no start led to an end")
    elif answer.total.p99_interval is None:
        remarks.append(f"p99: {answer.occurrences} occurrences are too few for an interval of it")
    if answer.uncertainty is not None:
        doubt = format_value(answer.uncertainty, "ns")
        remarks.append(f"each latency may be wrong by {doubt}: the clocks' uncertainty")
        if answer.undecided:
            kept = "kept" if answer.incomplete_kept else "left out (--incomplete keeps them)"
            remarks.append(
                f"UNDECIDED: {answer.undecided} occurrences are no longer than that, so that their "
                f"order is not known: {kept}"
            )
    remarks += answer.cautions
    title = f"From {answer.hops[0].start} to {answer.hops[-1].end}"
    return _TOTAL.filled(title, [answer] if answer.total is not None else [], *remarks)


_METHODS = {
    "cause": "by cause (who woke or raised whom)",
    "next": "NOT BY CAUSE: each start with the next end after it",
    "fields": "by fields (each end with the last start that has their values)",
}


def _matched(answer: Latency, number: int) -> str:
    """How one hop was matched, and how much of it."""
    hop = answer.hops[number]
    left = f"; {hop.left_out} cut by an end of the trace" if hop.left_out else ""
    if hop.few_by_cause:
        left += f"; by cause only {hop.few_by_cause} (--match cause measures these)"
    return (
        f"{hop.start} → {hop.end}: {_METHODS[hop.method.value]}; "
        f"{hop.starts_matched} of {hop.starts} starts led to an end, "
        f"{hop.ends_matched} of {hop.ends} ends have a start{left}"
    )


def _conclusions(answer: Latency) -> list[Conclusion]:
    """One line an assertion: whether it holds, and what the value is."""
    return [
        Conclusion(
            f"{'holds' if limit.holds else 'FAILED'}: {limit.text} ({_value(limit)})",
            "good" if limit.holds else "bad",
        )
        for limit in answer.assertions
    ]


def _value(limit: CheckedAssertion) -> str:
    if limit.reason or limit.value is None:
        return limit.reason or "no value"
    if limit.unit == "share":
        return f"it is {100 * limit.value:.2f} %"
    value = format_value(limit.value, "ns") if limit.unit == "ns" else f"{limit.value:.0f}"
    return f"it is {value}"


_OF_BOARDS: TraceAnalysis[LatencyRequest, Latency] = TraceAnalysis(
    name="latency",
    kind="trace-latency",
    summary="Measure from a point of one board to a point of another over all occurrences.",
    example="latency two-boards --from a:event:net_dev_xmit --to b:irq:eth0 --match next",
    request=LatencyRequest,
    shapes=(_TOTAL, _STAGES, _LONGEST),
    loads=False,
    check=_check_of_boards,
    analyse=_analyse_boards,
    tables=_tables,
    conclusions=_conclusions,
    fails=lambda answer, _request: not all(limit.holds for limit in answer.assertions),
)


def _instead(request: LatencyRequest) -> TraceAnalysis[LatencyRequest, Latency] | None:
    from benchvise.trace.recording_set import is_set

    return _OF_BOARDS if is_set(request.file) else None


LATENCY: TraceAnalysis[LatencyRequest, Latency] = TraceAnalysis(
    name="latency",
    kind="trace-latency",
    summary="Measure from one point to another over all occurrences, stage by stage.",
    description="From each end it climbs back along the wake-ups and raises to the nearest start. "
    "In recordings of several boards (their directory), each end names its board: "
    "BOARD:event:NAME. From one board to another, pairs are made by fields (--by) or by order, and "
    "those that are no longer than the clocks' uncertainty are counted apart.",
    example="latency FILE --from irq:eth0 --to task:iperf3 --assert 'p99 < 80us'",
    request=LatencyRequest,
    shapes=(_TOTAL, _STAGES, _LONGEST),
    check=_check,
    analyse=_analyse,
    tables=_tables,
    conclusions=_conclusions,
    fails=lambda answer, _request: not all(limit.holds for limit in answer.assertions),
    instead=_instead,
)
