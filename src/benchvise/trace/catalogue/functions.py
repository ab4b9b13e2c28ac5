"""The record of ``benchvise trace functions``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.trace.catalogue.record import (
    ListedRows,
    PartOfTrace,
    TableShape,
    TraceAnalysis,
    durations,
    durations_to_longest,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.functions import FunctionCalls
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, kw_only=True)
class FunctionsRequest(PartOfTrace, ListedRows):
    """How many functions are listed."""


_FUNCTIONS: TableShape[FunctionCalls] = TableShape(
    "functions",
    "Functions and slices by self time",
    "more functions",
    (
        ColumnSpec("Function", ValueUnit.TEXT, lambda row: row.name),
        ColumnSpec("Calls", ValueUnit.COUNT, lambda row: row.calls),
        ColumnSpec("Incomplete", ValueUnit.COUNT, lambda row: row.incomplete, "muted"),
        ColumnSpec("Self", ValueUnit.NS, lambda row: row.self_time),
        ColumnSpec("Share", ValueUnit.SHARE, lambda row: row.self_share),
        *durations("", lambda row: row.total, "total"),
        *durations_to_longest(lambda row: row.total, lambda row: row.worst_at),
        ColumnSpec("CPU", ValueUnit.NUMBER, lambda row: row.worst_cpu),
        ColumnSpec("Deepest", ValueUnit.NUMBER, lambda row: row.deepest, "muted"),
    ),
)


def _functions(traces: Sequence[LoadedTrace], _request: FunctionsRequest) -> list[FunctionCalls]:
    from benchvise.trace.analysis.functions import functions
    from benchvise.trace.analysis.user_functions import user_calls

    [trace] = traces
    user = user_calls(trace.analysis, trace.path)
    return functions(trace.analysis, trace.trace.source.symbol, user)


def _tables(
    answer: list[FunctionCalls], request: FunctionsRequest
) -> Iterator[TableSpec[FunctionCalls]]:
    missing = (
        "none: the trace has no calls of functions and no slices; record some with "
        "benchvise trace record BOARD --functions NAME --graph, those of a program with "
        "liblttng-ust-cyg-profile.so",
    )
    remarks = (
        "self: without the traced functions that it called; total and self hold time off the CPU",
        "share: of the self time in the span; on several CPUs all together may be more than 100 %",
        "incomplete: cut by an end of the trace, or beside lost events; in no time",
    )
    yield _FUNCTIONS.filled(
        "Functions, most self time first",
        answer,
        *(remarks if answer else missing),
        top=request.top,
    )


FUNCTIONS = TraceAnalysis(
    name="functions",
    kind="trace-functions",
    tasks=False,
    summary="List the functions or slices that took longest: calls, self and total times.",
    description="Of calls that ftrace's function_graph tracer recorded, of instrumented functions "
    "of programs (LTTng-UST's cyg-profile, with the context vtid), or of slices that programs told "
    "(Chrome's JSON, Perfetto); the function tracer tells only how often each function was called.",
    example="functions trace.dat --since +1",
    request=FunctionsRequest,
    shapes=(_FUNCTIONS,),
    analyse=_functions,
    tables=_tables,
)
