"""A trace that is ready to be asked: opened, with its analysis, its span and its cautions."""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchvise.errors import UsageError
from benchvise.trace.analysis.calls import USER_ENTRIES
from benchvise.trace.analysis.model import Actor, Analysis, Loss, TraceSpan
from benchvise.trace.analysis.names import find_all
from benchvise.trace.moments import parse_span
from benchvise.trace.opening import OpenTrace, open_on_demand, open_trace


@dataclass(frozen=True)
class LoadedTrace:
    """A trace that is ready to be asked."""

    path: Path
    trace: OpenTrace
    analysis: Analysis

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """What has to be said of every answer; asked after it, as that decides what is decoded."""
        return (*_cautions(self.trace, self.analysis), *_without_tasks(self.trace))

    def cautions_for(self, *, tasks: bool) -> tuple[str, ...]:
        """The cautions of an answer; ``tasks``: whether it rests on which task ran when."""
        without = () if tasks else _without_tasks(self.trace)
        return tuple(caution for caution in self.cautions if caution not in without)

    def choose(self, names: Sequence[str], *, idle: bool = False) -> list[Actor]:
        """The actors of the names; without any, all (idle tasks only with ``idle``).

        Raises:
            UsageError: a name means no actor, or actors of several kinds.
        """
        actors = find_all(self.analysis.actors, names)
        return actors if names or idle else [actor for actor in actors if actor.kind != "idle"]

    def known_actors(self, names: Sequence[str]) -> list[Actor]:
        """The actors of the names; a name that the trace does not know means none."""
        if not names:
            return self.choose(())
        actors: dict[int, Actor] = {}
        for name in names:
            with suppress(UsageError):
                actors |= {actor.id: actor for actor in self.choose([name])}
        return list(actors.values())


def load_trace(
    path: Path,
    since: str | None = None,
    until: str | None = None,
    *,
    cache: bool | None = None,
    summed: bool = False,
) -> LoadedTrace:
    """Opens a trace and its analysis tables.

    ``since`` and ``until`` are seconds of the trace's clock, or ``+S`` from its first event.
    ``cache``: whether all of it is decoded and kept; False: nor is what is kept used. Without
    either of them what is not kept is decoded when it is read. ``summed``: only what adds up over
    the whole trace will be asked (``analysis.stats.usage_of``), for which less is decoded.

    Raises:
        UsageError: there is no such trace, or nothing of it lies in the span.
        TraceError: it cannot be read.
    """
    if cache:
        opened = open_trace(path)
    else:
        summed = summed and since is None and until is None
        opened = open_on_demand(path, use_cache=cache is None, summed=summed)
    return load_opened(opened, path, since, until)


def load_opened(
    trace: OpenTrace, path: Path, since: str | None = None, until: str | None = None
) -> LoadedTrace:
    """The same of a trace that is open.

    Raises:
        UsageError: it holds no event, or nothing of it lies in the span.
    """
    if trace.span is None:
        raise UsageError(f"{path} holds no event", "")
    whole = TraceSpan(trace.span[0], trace.span[1])
    within = TraceSpan(*parse_span(whole.begin, whole.end, since, until))

    # Not the tables themselves: there are thousands, and each would be mapped.
    names = tuple(name for name in trace.tables if name in trace.counts)
    losses = tuple(_losses(trace))
    analysis = Analysis(
        trace.analysis, whole, losses, trace.occurred, names, within, trace.analysis.usage
    )
    return LoadedTrace(path, trace, analysis)


def _losses(trace: OpenTrace) -> list[Loss]:
    cpus = trace.outline["streams"]
    return [
        Loss(
            cpu=cpus[loss["stream"]] if loss["stream"] < len(cpus) else None,
            begin=loss["begin"],
            end=loss["end"],
            count=loss["count"],
            what=str(loss["kind"]),
        )
        for loss in trace.losses
    ]


def _instead(counts: Container[str]) -> str:
    """The command that shows what a trace without the scheduler's events has."""
    names = ("slice_begin", "funcgraph_entry", "function", *USER_ENTRIES)
    if any(name in counts for name in names):
        return "functions"
    for tracer in ("timerlat", "osnoise"):
        if tracer in counts:
            return tracer
    return "flame" if "perf_mmap" in counts or "kernel_stack" in counts else "events"


def _cautions(trace: OpenTrace, analysis: Analysis) -> list[str]:
    """What makes all values of a trace doubtful, the worst first."""
    cautions = []
    losses = analysis.losses
    if losses:
        counts = [loss.count for loss in losses]
        counted = sum(count or 0 for count in counts)
        more = " and more that were not counted" if None in counts else ""
        kinds = "/".join(sorted({loss.what for loss in losses}))
        cautions.append(
            f"LOST: {counted} {kinds}{more} in {len(losses)} places: "
            "instances that were active then are incomplete"
        )
    elif missing := analysis.lossy_instances:
        cautions.append(
            f"MISSING: {missing} instances do not fit what came before them, though the trace "
            "tells of no loss: they are incomplete"
        )
    if trace.damage:
        cautions.append(
            f"DAMAGED: {len(trace.damage)} places could not be read; trace info lists them"
        )
    return [*cautions, *trace.remarks]


def _without_tasks(trace: OpenTrace) -> tuple[str, ...]:
    """The caution of a trace without the scheduler's events."""
    if "sched_switch" in trace.counts:
        return ()
    return (
        "no sched_switch: the trace does not say which task ran when; what it has: "
        f"benchvise trace {_instead(trace.counts)}",
    )
