"""The record of ``benchvise trace flame``: functions by samples; the difference of two traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandArgument, CommandOption
from benchvise.errors import UsageError
from benchvise.quantities import format_count, format_value, parse_cpus
from benchvise.table import ColumnSpec, TableSpec, Tone, ValueUnit
from benchvise.text import enumerated
from benchvise.trace.catalogue.record import (
    ListedRows,
    PartOfTrace,
    TableShape,
    TraceAnalysis,
)
from benchvise.trace.options import FILE

if TYPE_CHECKING:
    from benchvise.trace.analysis.flame.difference import (
        FunctionChange,
        ProfileComparison,
        ShareInterval,
    )
    from benchvise.trace.analysis.flame.frame_names import MissingSymbols
    from benchvise.trace.analysis.flame.graph import FunctionWeight, Profile
    from benchvise.trace.analysis.flame.stacks import Stacks
    from benchvise.trace.loaded import LoadedTrace

_NAMED = 4


@dataclass(frozen=True, kw_only=True)
class FlameRequest(PartOfTrace, ListedRows):
    """Which stacks of one trace are added up, or of which two traces they are compared."""

    file: Annotated[Path, FILE]
    other: Annotated[
        Path | None, CommandArgument("[OTHER]", "A second trace: what grew from FILE to it.")
    ] = None
    event: Annotated[
        str | None,
        CommandOption(
            "--event",
            "The event whose stacks they are: cycles, sched:sched_switch, 'function calls'. That "
            "with most stacks without it.",
            metavar="NAME",
        ),
    ] = None
    threads: Annotated[
        tuple[str, ...],
        CommandOption(
            "--thread",
            "Threads by number or name; patterns like 'kworker*'. Several with more options.",
            metavar="NAME",
        ),
    ] = ()
    cpus: Annotated[str | None, CommandOption("--cpu", "CPUs: 0,2-3.", metavar="LIST")] = None
    periods: Annotated[
        bool,
        CommandOption(
            "--periods", "Weigh a sample by its period, as perf report does, and not as one."
        ),
    ] = False
    by_total: Annotated[bool, CommandOption("--total", "Sort by total, not by self.")] = False
    folded: Annotated[
        bool,
        CommandOption(
            "--folded", "Print a line for each stack, FUNCTION;FUNCTION COUNT, for flamegraph.pl."
        ),
    ] = False

    @property
    def files(self) -> tuple[Path, ...]:
        """The trace, or the two that are compared."""
        return (self.file,) if self.other is None else (self.file, self.other)


def _check(request: FlameRequest) -> None:
    if request.folded and request.other is not None:
        raise UsageError("--folded is of one trace", "fold each, and use difffolded.pl")
    if request.cpus is not None:
        parse_cpus(request.cpus)


_FUNCTIONS: TableShape[FunctionWeight] = TableShape(
    "functions",
    "Functions by their share of the samples",
    "more functions",
    (
        ColumnSpec("Function", ValueUnit.TEXT, lambda row: row.name),
        ColumnSpec("File", ValueUnit.TEXT, lambda row: row.module, "muted"),
        ColumnSpec("Self", ValueUnit.SHARE, lambda row: row.self_share, "strong"),
        ColumnSpec("Total", ValueUnit.SHARE, lambda row: row.total_share),
        ColumnSpec("Self weight", ValueUnit.COUNT, lambda row: row.self_weight),
        ColumnSpec("Total weight", ValueUnit.COUNT, lambda row: row.total),
    ),
)


def _tone(change: FunctionChange) -> Tone:
    return "strong" if change.changed else "plain"


def _points(value: float) -> str:
    return f"{100 * value:+.2f}"


def _range(interval: ShareInterval | None) -> str | None:
    return None if interval is None else f"{_points(interval.low)} to {_points(interval.high)}"


_CHANGES: TableShape[FunctionChange] = TableShape(
    "changes",
    "Functions whose share changed, what grew most first",
    "more functions",
    (
        ColumnSpec("Function", ValueUnit.TEXT, lambda row: row.name),
        ColumnSpec("File", ValueUnit.TEXT, lambda row: row.module, "muted"),
        ColumnSpec("Self A", ValueUnit.SHARE, lambda row: row.share_a, key="self_share_a"),
        ColumnSpec("Self B", ValueUnit.SHARE, lambda row: row.share_b, key="self_share_b"),
        ColumnSpec("Change, points", ValueUnit.TEXT, lambda row: _points(row.change), _tone),
        ColumnSpec("95 %", ValueUnit.TEXT, lambda row: _range(row.interval), "muted"),
        ColumnSpec("Total, points", ValueUnit.TEXT, lambda row: _points(row.total_change)),
        ColumnSpec(
            "95 %",
            ValueUnit.TEXT,
            lambda row: _range(row.total_interval),
            "muted",
            key="total_interval",
        ),
        ColumnSpec("Samples A", ValueUnit.COUNT, lambda row: row.self_a, detail=True),
        ColumnSpec("Samples B", ValueUnit.COUNT, lambda row: row.self_b, detail=True),
    ),
)


def _stacks(trace: LoadedTrace, request: FlameRequest, event: str | None = None) -> Stacks:
    from benchvise.trace.analysis.flame.graph import StackFilter
    from benchvise.trace.analysis.flame.stacks import TraceStacks

    stacks = TraceStacks(trace).of(request.event or event, periods=request.periods)
    cpus = tuple(parse_cpus(request.cpus)) if request.cpus is not None else ()
    return StackFilter(cpus, request.threads).of(stacks.within(trace.analysis.span))


def _analyse(traces: Sequence[LoadedTrace], request: FlameRequest) -> Profile:
    from benchvise.trace.analysis.flame.graph import profile

    [trace] = traces
    return profile(_stacks(trace, request))


def _fold(traces: Sequence[LoadedTrace], request: FlameRequest) -> list[str]:
    from benchvise.trace.analysis.flame.graph import folded

    [trace] = traces
    return list(folded(_stacks(trace, request)))


def _compare(traces: Sequence[LoadedTrace], request: FlameRequest) -> ProfileComparison:
    from benchvise.trace.analysis.flame.difference import ComparedStacks, compared

    a, b = traces
    before = _stacks(a, request)
    return compared(ComparedStacks(before, _stacks(b, request, before.event)))


def _weight(weight: int, unit: str) -> str:
    return format_value(weight, "ns") if unit == "ns" else f"{format_count(weight)} {unit}"


def _without_names(missing: Sequence[MissingSymbols]) -> Iterator[str]:
    for entry in missing[:_NAMED]:
        where = f"{entry.frames} places of stacks"
        yield f"no names of {entry.module}: not available: {entry.reason} ({where})"
    if len(missing) > _NAMED:
        yield f"no names of {len(missing) - _NAMED} more files"


def _tables(answer: Profile, request: FlameRequest) -> Iterator[TableSpec[FunctionWeight]]:
    rows = list(answer.functions)
    order = "most self first"
    if request.by_total:
        rows.sort(key=lambda row: (-row.total, -row.self_weight, row.name))
        order = "most total first"
    remarks = [
        f"{format_count(answer.stacks)} stacks of {answer.event}, which weigh "
        f"{_weight(answer.weight, answer.unit)}",
        "self: it was the innermost function; total: it stood in the stack",
    ]
    if answer.others:
        names = [f"{name} ({format_count(count)})" for name, count in answer.others]
        remarks.append(f"other events with stacks (--event): {enumerated(names, _NAMED)}")
    yield _FUNCTIONS.filled(
        f"Functions of {answer.event}, {order}",
        rows,
        *remarks,
        *_without_names(answer.missing),
        top=request.top,
    )


def _change_tables(
    answer: ProfileComparison, request: FlameRequest
) -> Iterator[TableSpec[FunctionChange]]:
    intervals = (
        f"95 %: {answer.blocks} blocks of time of each trace drawn anew 1000 times; bold: it does "
        "not hold 0, which chance does to some 5 of 100 functions without a change"
        if answer.blocks
        else "no intervals: a trace has less than two samples"
    )
    yield _CHANGES.filled(
        f"Functions of {answer.event}: what grew from A to B first",
        answer.changes,
        f"A: {format_count(answer.stacks_a)} stacks, B: {format_count(answer.stacks_b)}; shares "
        "are of all of their trace, changes in percentage points",
        intervals,
        *_without_names(answer.missing),
        top=request.top,
    )


def _instead(request: FlameRequest) -> TraceAnalysis[FlameRequest, Any] | None:
    if request.other is not None:
        return _COMPARISON
    return _FOLDED if request.folded else None


def _lines(answer: list[str], _request: FlameRequest) -> Iterable[str]:
    return answer


def _no_tables(_answer: list[str], _request: FlameRequest) -> Iterator[TableSpec[Any]]:
    raise UsageError("--folded is text", "leave out --json, --csv and the like")
    yield


_FOLDED: TraceAnalysis[FlameRequest, list[str]] = TraceAnalysis(
    name="flame",
    kind="trace-flame-folded",
    tasks=False,
    summary="Print stacks and their weights.",
    example="flame perf.data --folded",
    request=FlameRequest,
    shapes=(),
    analyse=_fold,
    tables=_no_tables,
    text=_lines,
    check=_check,
)

_COMPARISON: TraceAnalysis[FlameRequest, ProfileComparison] = TraceAnalysis(
    name="flame",
    kind="trace-flame-comparison",
    tasks=False,
    summary="Compare the functions of two traces.",
    example="flame before.data after.data",
    request=FlameRequest,
    shapes=(_CHANGES,),
    analyse=_compare,
    tables=_change_tables,
    check=_check,
)

FLAME: TraceAnalysis[FlameRequest, Profile] = TraceAnalysis(
    name="flame",
    kind="trace-flame",
    tasks=False,
    summary="List the functions in which samples were taken, self and total; of two traces, what "
    "grew.",
    description="Of perf's samples and call graphs, of stacks that ftrace recorded, and of calls "
    "of functions, which weigh their self time. Functions of programs are named by files of the "
    "same build-id, from a directory symbols beside the trace or from this machine; the kernel's "
    "by what the recording tells, or by the kallsyms of the same kernel.",
    example="flame perf.data",
    request=FlameRequest,
    shapes=(_FUNCTIONS, _CHANGES),
    analyse=_analyse,
    tables=_tables,
    check=_check,
    instead=_instead,
)
