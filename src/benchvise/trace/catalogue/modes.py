"""The record of ``benchvise trace modes``: response times that come in groups, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from benchvise.command import CommandOption
from benchvise.quantities import format_value
from benchvise.table import ColumnSpec, TableSpec, ValueUnit
from benchvise.trace.catalogue.record import (
    IncompleteInstances,
    NamedActors,
    PartOfTrace,
    TableShape,
    TraceAnalysis,
    incomplete_left_out,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.modes import ActivationMode, ActivationModes, ModeTrait
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, kw_only=True)
class ModesRequest(PartOfTrace, NamedActors, IncompleteInstances):
    """Whose activations are put into modes, by which of their times."""

    metric: Annotated[
        Literal["response", "execution", "latency", "period"],
        CommandOption("--metric", "The time by which activations are put into modes."),
    ] = "response"


@dataclass(frozen=True, slots=True)
class _TraitLine:
    """A trait with the mode that it distinguishes."""

    number: int
    median: float
    trait: ModeTrait


_MODES: TableShape[tuple[int, ActivationMode]] = TableShape(
    "modes",
    "The modes of an actor, the shortest first",
    "more modes",
    (
        ColumnSpec("Mode", ValueUnit.COUNT, lambda row: row[0]),
        ColumnSpec("n", ValueUnit.COUNT, lambda row: row[1].count),
        ColumnSpec("Share", ValueUnit.SHARE, lambda row: row[1].share),
        ColumnSpec("Median", ValueUnit.NS, lambda row: row[1].median, lambda _: "strong"),
        ColumnSpec("From", ValueUnit.NS, lambda row: row[1].low),
        ColumnSpec("To", ValueUnit.NS, lambda row: row[1].high),
        ColumnSpec("Execution", ValueUnit.NS, lambda row: row[1].execution),
        ColumnSpec("Latency", ValueUnit.NS, lambda row: row[1].latency),
        ColumnSpec("Suspended", ValueUnit.NS, lambda row: row[1].suspended),
        ColumnSpec("Typical at", ValueUnit.MOMENT, lambda row: row[1].typical_at),
        ColumnSpec("Longest at", ValueUnit.MOMENT, lambda row: row[1].longest_at),
    ),
)
_TRAITS: TableShape[_TraitLine] = TableShape(
    "traits",
    "What activations of a mode have in common that others have not",
    "more lines",
    (
        ColumnSpec("Mode", ValueUnit.COUNT, lambda line: line.number),
        ColumnSpec("Median", ValueUnit.NS, lambda line: line.median),
        ColumnSpec("What", ValueUnit.TEXT, lambda line: line.trait.kind),
        ColumnSpec("Which", ValueUnit.ACTOR, lambda line: line.trait.what),
        ColumnSpec("In this mode", ValueUnit.SHARE, lambda line: line.trait.share),
        ColumnSpec("In others", ValueUnit.SHARE, lambda line: line.trait.elsewhere),
        ColumnSpec("p", ValueUnit.QUANTITY, lambda line: line.trait.p, detail=True),
    ),
)


def _analyse(traces: Sequence[LoadedTrace], request: ModesRequest) -> ActivationModes:
    from benchvise.trace.analysis.modes import activation_modes, most_active

    [trace] = traces
    chosen = request.actors_of(trace)
    if not request.names and request.ids is None:
        chosen = most_active(trace.analysis, chosen)
    return activation_modes(
        trace.analysis,
        chosen,
        metric=request.metric,
        incomplete=request.incomplete,
    )


def _tables(answer: ActivationModes, _request: ModesRequest) -> Iterator[TableSpec[Any]]:
    numbered = list(enumerate(answer.modes, start=1))
    lines = [
        _TraitLine(number, mode.median, trait) for number, mode in numbered for trait in mode.traits
    ]
    many = len(numbered) > 1
    remarks = [
        *incomplete_left_out(answer.incomplete),
        "suspended: between its parts or interrupted; trace critical-path --at takes a moment of "
        "the last two columns",
    ]
    of = ", ".join(format_value(mode.median, "ns") for mode in answer.modes)
    title = f"{answer.actor}: {answer.metric} of {answer.count} activations, "
    title += f"{len(numbered)} modes: {of}" if many else "one mode"
    yield _MODES.filled(title, numbered, *remarks)
    nothing = (
        "nothing that the trace tells distinguishes the modes" if many else "there is one mode"
    )
    yield _TRAITS.filled("What distinguishes them", lines, *(() if lines else (nothing,)))


MODES: TraceAnalysis[ModesRequest, ActivationModes] = TraceAnalysis(
    name="modes",
    kind="trace-modes",
    summary="Group the response times of an actor into modes, and show what distinguishes them.",
    description="Modes are parts of the distribution with a valley between them. What "
    "distinguishes one: its CPU, who woke it, the path of causes, who ran before, who preempted "
    "or interrupted it; listed where it is far oftener or rarer in the mode than in all others "
    "(Fisher's exact test, corrected for all that were tried). Without a name it is the actor with "
    "the most activations.",
    example="modes trace.dat task:iperf3",
    request=ModesRequest,
    shapes=(_MODES, _TRAITS),
    analyse=_analyse,
    tables=_tables,
)
