"""The records of ``benchvise trace actors``: metrics of instances, and the instances themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandOption
from benchvise.table import ColumnSpec, TableSpec, Tone, ValueUnit
from benchvise.trace.catalogue.record import (
    TOP,
    GroupedActors,
    IncompleteInstances,
    ListedRows,
    PartOfTrace,
    TableShape,
    TraceAnalysis,
    durations,
    for_programs,
    incomplete_left_out,
    several,
)

if TYPE_CHECKING:
    from benchvise.trace.analysis.actors import ActorMetrics, Instance
    from benchvise.trace.analysis.distributions import TimeDistribution
    from benchvise.trace.loaded import LoadedTrace


@dataclass(frozen=True, kw_only=True)
class ActorsRequest(PartOfTrace, GroupedActors, IncompleteInstances, ListedRows):
    """Which actors are described, or whose instances are listed."""

    instances: Annotated[
        str | None,
        CommandOption("--instances", "List the instances of this actor instead.", metavar="NAME"),
    ] = None
    top: Annotated[int | None, TOP] = 25


_DETAILED = 4
"""Named actors get a table each up to here."""

_WORST = 10
"""Instances that an answer lists of each named actor."""


@dataclass(frozen=True, slots=True)
class _MetricLine:
    """One metric of an actor."""

    actor: str
    metric: str
    values: TimeDistribution | None


def _why_incomplete(instance: Instance) -> str:
    return ", ".join(instance.incomplete) or (instance.cause or "")


def _reason_tone(instance: Instance) -> Tone:
    return "doubt" if instance.incomplete else "muted"


_ACTORS: TableShape[ActorMetrics] = TableShape(
    "actors",
    "One line an actor: how often, how long, how late, how regular",
    "more actors",
    (
        ColumnSpec("Actor", ValueUnit.ACTOR, lambda actor: actor.actor + several(actor.actors)),
        ColumnSpec("n", ValueUnit.COUNT, lambda actor: actor.instances, key="instances"),
        *durations("Execution", lambda actor: actor.execution, "median", strong=True),
        *for_programs(
            *durations("Execution", lambda actor: actor.execution, "p99"),
            *durations("Execution", lambda actor: actor.execution, "maximum"),
        ),
        *durations(
            "Response",
            lambda actor: actor.response,
            *("median", "p99", "p999", "maximum"),
            strong=True,
        ),
        ColumnSpec(
            "Longest\nat",
            ValueUnit.MOMENT,
            lambda actor: actor.worst[0].begin if actor.worst else None,
        ),
        *durations("Latency", lambda actor: actor.latency, "median", strong=True),
        *for_programs(
            *durations("Latency", lambda actor: actor.latency, "p99"),
            *durations("Latency", lambda actor: actor.latency, "p999"),
            *durations("Latency", lambda actor: actor.latency, "maximum"),
        ),
        *durations("Period", lambda actor: actor.period, "median"),
    ),
)
_METRICS: TableShape[_MetricLine] = TableShape(
    "metrics",
    "One actor: every metric of its instances",
    "more metrics",
    (
        ColumnSpec("Actor", ValueUnit.ACTOR, lambda line: line.actor, detail=True),
        ColumnSpec("Metric", ValueUnit.TEXT, lambda line: line.metric),
        ColumnSpec("n", ValueUnit.COUNT, lambda line: line.values.count if line.values else 0),
        *durations(
            "",
            lambda line: line.values,
            *("median", "interval", "p95", "p99", "p999", "maximum", "mean"),
            strong=True,
        ),
    ),
)
_INSTANCES: TableShape[Instance] = TableShape(
    "instances",
    "Instances, each with its times",
    "more instances",
    (
        ColumnSpec("Actor", ValueUnit.ACTOR, lambda instance: instance.actor),
        ColumnSpec("CPU", ValueUnit.NUMBER, lambda instance: instance.cpu),
        ColumnSpec("Woken at", ValueUnit.MOMENT, lambda instance: instance.ready),
        ColumnSpec("Runs at", ValueUnit.MOMENT, lambda instance: instance.begin),
        ColumnSpec("Ends at", ValueUnit.MOMENT, lambda instance: instance.end),
        ColumnSpec("Execution", ValueUnit.NS, lambda instance: instance.execution),
        ColumnSpec("Response", ValueUnit.NS, lambda instance: instance.response),
        ColumnSpec("Latency", ValueUnit.NS, lambda instance: instance.latency),
        ColumnSpec("Period", ValueUnit.NS, lambda instance: instance.period),
        ColumnSpec("Parts", ValueUnit.COUNT, lambda instance: instance.fragments),
        ColumnSpec("Woken by", ValueUnit.TEXT, _why_incomplete, _reason_tone),
    ),
)


def _analyse(traces: Sequence[LoadedTrace], request: ActorsRequest) -> list[ActorMetrics]:
    from benchvise.trace.analysis.actors import actor_metrics

    [trace] = traces
    return actor_metrics(
        trace.analysis,
        request.actors_of(trace),
        by_name=request.by_name,
        incomplete=request.incomplete,
        worst=_WORST if request.names else 1,
    )


def _tables(answer: list[ActorMetrics], request: ActorsRequest) -> Iterator[TableSpec[Any]]:
    if request.names and len(answer) <= _DETAILED:
        for actor in answer:
            yield _detail(actor)
            yield _INSTANCES.filled("Its longest responses", actor.worst)
        return
    yield _ACTORS.filled(
        f"{len(answer)} actors, the busiest first",
        answer,
        *incomplete_left_out(sum(actor.incomplete for actor in answer)),
        "execution: on a CPU, without nested interrupts; response: from wake-up to the end; "
        "latency: from wake-up to the first moment on a CPU; longest at: for trace "
        "critical-path --at; an actor that is named has every metric, CSV more of them",
        top=request.top,
    )


def _detail(actor: ActorMetrics) -> TableSpec[_MetricLine]:
    name = actor.actor + several(actor.actors)
    lines = [
        _MetricLine(name, metric, values)
        for metric, values in (
            ("execution", actor.execution),
            ("response", actor.response),
            ("start latency", actor.latency),
            ("period", actor.period),
        )
    ]
    remarks = []
    if actor.fragments:
        remarks.append(
            f"fragments: median {actor.fragments.median:g}, at most {actor.fragments.maximum:g}; "
            f"{actor.preemptions} preemptions, {actor.migrations} migrations"
        )
    remarks += incomplete_left_out(actor.incomplete)
    return _METRICS.filled(f"{name}: {actor.instances} instances", lines, *remarks)


def _list_instances(traces: Sequence[LoadedTrace], request: ActorsRequest) -> list[Instance]:
    from benchvise.trace.analysis.actors import describe, instances_of

    [trace] = traces
    chosen = trace.choose([request.instances or ""])
    return describe(trace.analysis, instances_of(trace.analysis, chosen))


def _instance_tables(answer: list[Instance], request: ActorsRequest) -> Iterator[TableSpec[Any]]:
    title = f"{len(answer)} instances of {request.instances}"
    yield _INSTANCES.filled(title, answer, top=request.top)


ACTORS: TraceAnalysis[ActorsRequest, list[ActorMetrics]] = TraceAnalysis(
    name="actors",
    kind="trace-actors",
    summary="List how long instances of threads and handlers took, and how late and regular they "
    "were.",
    description="An instance is one activation: of a thread from its wake-up until it blocks, of a "
    "handler from entry to return. A few actors that are named get every metric and their worst "
    "instances.",
    example="actors trace.dat irq:eth0 'task:iperf*'",
    request=ActorsRequest,
    shapes=(_ACTORS, _METRICS, _INSTANCES),
    analyse=_analyse,
    tables=_tables,
    instead=lambda request: None if request.instances is None else INSTANCES,
)
INSTANCES: TraceAnalysis[ActorsRequest, list[Instance]] = TraceAnalysis(
    name="actors",
    kind="trace-instances",
    summary=ACTORS.summary,
    example="actors trace.dat --instances irq:eth0",
    request=ActorsRequest,
    shapes=(_INSTANCES,),
    analyse=_list_instances,
    tables=_instance_tables,
)
