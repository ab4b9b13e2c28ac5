"""Instances of threads and handlers: how long, how regular, how late.

An instance is one activation of an actor: a thread from its wake-up until it blocks, a handler
from entry to return. *Execution* is its time on a CPU without the interrupts nested in it,
*response* the time from its wake-up (or first moment, when no wake-up is known) to its end,
*start latency* from its wake-up to its first moment, *period* from the first moment of the instance
before to its own; of a handler, the instance before on the same CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchvise.documents import in_json
from benchvise.trace.analysis.distributions import (
    Groups,
    TimeDistribution,
    distribution,
    minus,
    or_else,
    sums,
)
from benchvise.trace.analysis.model import NONE, Actor, Analysis, Flag, Ints
from benchvise.trace.analysis.names import Grouping

_FLAG_REASONS = {
    int(Flag.CUT_BEGIN): "began before the trace",
    int(Flag.CUT_END): "cut by the end of the trace",
    int(Flag.LOSS): "events are missing meanwhile",
}
"""By plain numbers: there are tens of thousands of instances, and an enumeration is slow."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One activation. ``incomplete`` says in words why its times may be wrong."""

    instance: int
    actor: str
    actor_id: int
    cpu: int
    begin: int
    end: int
    ready: int | None
    execution: int
    response: int
    latency: int | None
    period: int | None
    fragments: int
    preemptions: int
    migrations: int
    cause: str | None
    incomplete: tuple[str, ...] = field(metadata=in_json(name="unsure"))


@dataclass(frozen=True, slots=True)
class ActorMetrics:
    """The instances of an actor, or of all actors of a name, that begin in the span.

    ``instances`` counts all; ``incomplete`` those that the distributions leave out, as they began
    before the trace, were cut by its end, or ran while events were lost. ``busy`` is the execution
    time of all. ``worst`` has the longest responses first. ``ids`` are those of the actors.
    """

    actor: str
    ids: tuple[int, ...]
    kind: str
    actors: int
    instances: int
    incomplete: int = field(metadata=in_json(name="unsure"))
    busy: int
    execution: TimeDistribution | None
    response: TimeDistribution | None
    latency: TimeDistribution | None
    period: TimeDistribution | None
    fragments: TimeDistribution | None
    preemptions: int
    migrations: int
    worst: tuple[Instance, ...]


def response(analysis: Analysis) -> Ints:
    """The response time of every instance."""
    rows = analysis.instances
    waited_from: Ints = or_else(rows["ready"], rows["begin"])
    result: Ints = rows["end"] - waited_from
    return result


def latency(analysis: Analysis) -> Ints:
    """The start latency of every instance; ``NONE`` without a known wake-up."""
    return minus(analysis.instances["begin"], analysis.instances["ready"])


def instance_metrics(analysis: Analysis, *, incomplete: bool = False) -> dict[str, Ints]:
    """The metrics of every instance by name; those left out are ``NONE``.

    Latency and period end where the instance begins, so that a cut end does not touch them; and the
    first instance has no period.
    """
    rows = analysis.instances
    metrics = {
        "execution": rows["execution"],
        "response": response(analysis),
        "latency": latency(analysis),
        "period": rows["period"],
        "fragments": rows["fragments"],
    }
    if incomplete:
        return metrics
    at_begin = ("latency", "period")
    return {
        name: np.where(analysis.begun if name in at_begin else analysis.complete, values, NONE)
        for name, values in metrics.items()
    }


def actor_metrics(
    analysis: Analysis,
    chosen: Sequence[Actor],
    *,
    by_name: bool = False,
    incomplete: bool = False,
    worst: int = 3,
) -> list[ActorMetrics]:
    """The metrics of the chosen actors that have instances in the span, the busiest first.

    ``incomplete`` instances are left out of distributions unless they are asked for; they are
    counted in any case.
    """
    rows = analysis.instances
    grouping = Grouping(analysis.actors, chosen, by_name=by_name)
    group = grouping.of_actor[rows["actor"]]
    kept = np.flatnonzero((group >= 0) & analysis.span.holds(rows["begin"]))
    groups = Groups(group[kept], len(grouping))
    metrics = instance_metrics(analysis, incomplete=incomplete)
    ordered = {name: groups.sorted(values[kept]) for name, values in metrics.items()}
    busy = sums(groups.groups, rows["execution"][kept], len(grouping))
    doubtful = sums(groups.groups, ~analysis.complete[kept], len(grouping))
    preemptions = sums(groups.groups, rows["preemptions"][kept], len(grouping))
    migrations = sums(groups.groups, rows["migrations"][kept], len(grouping))
    actors = []
    for at in np.argsort(-busy, kind="stable"):
        if groups.sizes[at] == 0:
            continue
        mine = kept[groups.rows(at)]
        actors.append(
            ActorMetrics(
                actor=grouping.labels[at],
                ids=grouping.ids(at),
                kind=grouping.members[at][0].kind,
                actors=len(grouping.members[at]),
                instances=int(groups.sizes[at]),
                incomplete=int(doubtful[at]),
                busy=int(busy[at]),
                **{name: distribution(values[at]) for name, values in ordered.items()},
                preemptions=int(preemptions[at]),
                migrations=int(migrations[at]),
                worst=tuple(describe(analysis, _top(mine, metrics["response"], worst))),
            )
        )
    return actors


def _top(instances: Ints, values: Ints, count: int) -> Ints:
    """The instances with the largest values, the largest first; without ``NONE``."""
    valued = instances[values[instances] != NONE]
    if valued.size > count:
        valued = valued[np.argpartition(values[valued], valued.size - count)[valued.size - count :]]
    order: Ints = np.argsort(-values[valued], kind="stable")
    longest: Ints = valued[order]
    return longest


def instances_of(analysis: Analysis, chosen: Sequence[Actor]) -> Ints:
    """The instances of the actors that begin in the span, in order of time."""
    rows = analysis.instances
    wanted = np.zeros(len(analysis.actors), dtype=np.bool_)
    wanted[[actor.id for actor in chosen]] = True
    kept = np.flatnonzero(wanted[rows["actor"]] & analysis.span.holds(rows["begin"]))
    in_order: Ints = kept[np.argsort(rows["begin"][kept], kind="stable")]
    return in_order


def describe(analysis: Analysis, instances: Ints) -> list[Instance]:
    """The instances in full."""
    rows, actors = analysis.instances, analysis.actors
    causes = rows["cause"][instances]
    causing = rows["actor"][np.maximum(causes, 0)]  # of those that have one
    columns = ("actor", "cpu", "begin", "end", "ready", "execution", "period")
    counts = ("fragments", "preemptions", "migrations", "flags")
    described = []
    for at, cause, causer, *of_row in zip(
        instances.tolist(),
        causes.tolist(),
        causing.tolist(),
        *(rows[name][instances].tolist() for name in (*columns, *counts)),
        strict=True,
    ):
        actor, cpu, begin, end, ready, execution, period, *counted, flags = of_row
        fragments, preemptions, migrations = counted
        since = begin if ready == NONE else ready
        described.append(
            Instance(
                instance=at,
                actor=actors[actor].label,
                actor_id=actor,
                cpu=cpu,
                begin=begin,
                end=end,
                ready=None if ready == NONE else ready,
                execution=execution,
                response=end - since,
                latency=None if ready == NONE else begin - ready,
                period=None if period == NONE else period,
                fragments=fragments,
                preemptions=preemptions,
                migrations=migrations,
                cause=None if cause == NONE else actors[causer].label,
                incomplete=incomplete_because(flags),
            )
        )
    return described


def incomplete_because(flags: int) -> tuple[str, ...]:
    """Why an instance is incomplete, in words."""
    return tuple(text for flag, text in _FLAG_REASONS.items() if flags & flag)
