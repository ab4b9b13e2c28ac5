"""What the actors of a trace did: a table, load and switches over time, instances as points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from benchvise.documents import in_json
from benchvise.trace.analysis.actors import ActorMetrics, instances_of, latency, response
from benchvise.trace.analysis.distributions import TimeDistribution, minus
from benchvise.trace.analysis.model import NONE, Analysis, Floats, Ints
from benchvise.trace.analysis.stats import ActorStats, CpuStats, OverTime, Series
from benchvise.trace.catalogue.actors import ACTORS, ActorsRequest
from benchvise.trace.catalogue.record import TraceAnalysis
from benchvise.trace.catalogue.stats import LOAD, STATS, SWITCHES, SeriesRequest, StatsRequest
from benchvise.trace.loaded import LoadedTrace
from benchvise.trace.tables import table_of
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part

if TYPE_CHECKING:
    from benchvise.trace.native import Table

# -- the table -------------------------------------------------------------------------------------


_MOST_ROWS = 2000


@dataclass(frozen=True, slots=True)
class LongestInstance:
    """The instance with the longest response: ``actor`` is an id, times in ns."""

    actor: int
    begin: int
    end: int
    response: int


@dataclass(frozen=True, slots=True)
class ActorInstances:
    """The instances of an actor; the defaults are for one that has none. Times in ns."""

    instances: int = 0
    incomplete: int = field(default=0, metadata=in_json(name="unsure"))
    preemptions: int = 0
    migrations: int = 0
    execution: TimeDistribution | None = None
    response: TimeDistribution | None = None
    latency: TimeDistribution | None = None
    period: TimeDistribution | None = None
    worst: LongestInstance | None = None


@dataclass(frozen=True, slots=True)
class ActorActivity:
    """A row of the table."""

    stats: ActorStats = field(metadata=in_json(inline=True))
    instances: ActorInstances = field(metadata=in_json(inline=True))


@dataclass(frozen=True, slots=True)
class ActivityTable:
    """The busiest first; ``more`` is how many are left out."""

    part: AnsweredPart = field(metadata=in_json(inline=True))
    duration: int
    cpus: tuple[CpuStats, ...]
    actors: tuple[ActorActivity, ...]
    more: int


def statistics(loaded: LoadedTrace, query: TraceQuery) -> ActivityTable:
    """``actors``: one row an actor (``by_name``: one a name)."""
    part = query.part(loaded)
    most = query.whole("limit", 500, 1, _MOST_ROWS)
    ids, by_name = query.ids(part), query.flag("by_name")
    stats = STATS.analyse((part,), StatsRequest(file=part.path, ids=ids, by_name=by_name))
    listed = stats.actors[:most]
    members = {identity for actor in listed for identity in actor.ids}
    request = ActorsRequest(
        file=part.path,
        ids=tuple(identity for identity in ids if identity in members),
        by_name=by_name,
        incomplete=query.flag("unsure"),
    )
    instances = {actor.ids: _instances(part, actor) for actor in ACTORS.analyse((part,), request)}
    return ActivityTable(
        answered_part(part),
        duration=part.analysis.span.duration,
        cpus=stats.cpus,
        actors=tuple(
            ActorActivity(actor, instances.get(actor.ids, ActorInstances())) for actor in listed
        ),
        more=len(stats.actors) - len(listed),
    )


def _instances(part: LoadedTrace, actor: ActorMetrics) -> ActorInstances:
    origin = part.analysis.whole.begin
    longest = [
        LongestInstance(
            instance.actor_id, instance.begin - origin, instance.end - origin, instance.response
        )
        for instance in actor.worst[:1]
    ]
    return ActorInstances(
        actor.instances,
        actor.incomplete,
        actor.preemptions,
        actor.migrations,
        actor.execution,
        actor.response,
        actor.latency,
        actor.period,
        longest[0] if longest else None,
    )


# -- load and switches over time -------------------------------------------------------------------


_MOST_BINS = 2000
_MOST_ACTORS = 40


@dataclass(frozen=True, slots=True)
class OtherActors:
    """All that have no line of their own, together."""

    name: str
    ids: tuple[int, ...]
    whole: float
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ActivityOverTime:
    """Bins of ``width`` ns from ``first``; the foremost actors have a line each."""

    part: AnsweredPart = field(metadata=in_json(inline=True))
    unit: str
    first: int
    width: int
    everything: Series
    cpus: tuple[Series, ...]
    actors: tuple[Series, ...]
    others: OtherActors | None


def load(loaded: LoadedTrace, query: TraceQuery) -> ActivityOverTime:
    """``load``: shares of one CPU (of all CPUs together for ``everything``) in each bin."""
    return _over_time(LOAD, loaded, query)


def switches(loaded: LoadedTrace, query: TraceQuery) -> ActivityOverTime:
    """``switches``: context switches a second in each bin; an actor's are those that left it."""
    return _over_time(SWITCHES, loaded, query)


def _over_time(
    analysis: TraceAnalysis[SeriesRequest, OverTime], loaded: LoadedTrace, query: TraceQuery
) -> ActivityOverTime:
    part = query.part(loaded)
    bins = query.whole("bins", 200, 1, _MOST_BINS)
    request = SeriesRequest(
        file=part.path, ids=query.ids(part), by_name=query.flag("by_name"), bins=bins
    )
    answer = analysis.analyse((part,), request)
    top = query.whole("top", 8, 1, _MOST_ACTORS)
    origin = part.analysis.whole.begin

    def from_origin(series: Series) -> Series:
        return replace(series, peak_at=series.peak_at - origin)

    return ActivityOverTime(
        answered_part(part),
        unit=answer.unit,
        first=answer.begin - origin,
        width=answer.width,
        everything=from_origin(answer.everything),
        cpus=tuple(map(from_origin, answer.cpus)),
        actors=tuple(map(from_origin, answer.actors[:top])),
        others=_together(answer.actors[top:]),
    )


def _together(rest: Sequence[Series]) -> OtherActors | None:
    if not rest:
        return None
    total = np.sum([series.values for series in rest], axis=0)
    return OtherActors(
        name=f"{len(rest)} others",
        ids=(),
        whole=sum(series.whole for series in rest),
        values=tuple(round(float(value), 6) for value in total),
    )


# -- instances as points ---------------------------------------------------------------------------


AXES = ("begin", "execution", "response", "latency", "period")
"""What may stand on an axis; all in ns."""

_FEW_POINTS = 4000
"""So many are given one by one."""

_MOST_POINTS = 20_000


def instance_points(loaded: LoadedTrace, query: TraceQuery) -> Table:
    """``instances`` of the actors that begin in the span, in order of time.

    ``begin``, ``end``, ``ready`` in ns since the first event, the metrics in ns, NaN where one is
    not known. ``flags`` are those of the instance (0: it is complete), ``count`` how many the
    row stands for. The metadata say how many there are in all.
    """
    part = query.part(loaded)
    analysis = part.analysis
    x = query.choice("x", AXES)
    y = query.choice("y", ("execution", "response", "latency", "period"))
    rows = instances_of(analysis, query.actors(part))
    metrics = {
        "begin": analysis.instances["begin"][rows] - analysis.whole.begin,
        "execution": analysis.instances["execution"][rows],
        "response": response(analysis)[rows],
        "latency": latency(analysis)[rows],
        "period": analysis.instances["period"][rows],
    }
    valued = np.flatnonzero((metrics[x] != NONE) & (metrics[y] != NONE))
    log = query.choice("scale", ("log", "linear")) == "log"
    width = query.whole("width", 800, 10, 4000)
    height = query.whole("height", 240, 10, 2000)
    places = (
        _places(metrics[x][valued], width, log=log and x != "begin"),
        _places(metrics[y][valued], height, log=log),
    )
    kept, count = _thinned(metrics[y][valued], places)
    chosen = valued[kept]
    columns = {name: _numbers(values[chosen]) for name, values in metrics.items()}
    return _table(analysis, rows[chosen], columns, count).with_metadata(
        {"instances": str(rows.size), "without": str(rows.size - valued.size)}
    )


def _places(values: Ints, count: int, *, log: bool) -> Ints:
    """Onto which of ``count`` places of an axis each value falls."""
    if values.size == 0:
        return values
    scaled = np.log(np.maximum(values, 1)) if log else values.astype(np.float64)
    low, high = float(scaled.min()), float(scaled.max())
    if high <= low:
        return np.zeros(values.size, dtype=np.int64)
    at: Ints = ((scaled - low) * ((count - 1) / (high - low))).astype(np.int64)
    return at


def _thinned(values: Ints, places: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Positions of the rows to show in their order, and how many each stands for."""
    if values.size <= _FEW_POINTS:
        return np.arange(values.size), np.ones(values.size, dtype=np.int64)
    x, y = places
    while True:
        place = x * (int(y.max()) + 1) + y
        # The largest value of a place comes first, and `unique` takes the first of each.
        order = np.lexsort((-values, place))
        _, first, count = np.unique(place[order], return_index=True, return_counts=True)
        if first.size <= _MOST_POINTS:
            break
        x, y = x >> 1, y >> 1
    kept = order[first]
    in_time = np.argsort(kept)
    return kept[in_time], count[in_time]


def _numbers(values: Ints) -> Floats:
    numbers: Floats = np.where(values == NONE, np.nan, values.astype(np.float64))
    return numbers


def _table(analysis: Analysis, rows: Ints, columns: dict[str, Floats], count: Ints) -> Table:
    instances = analysis.instances
    ready = minus(instances["ready"][rows], np.full(rows.size, analysis.whole.begin))
    return table_of(
        {
            "instance": rows.astype(np.uint32),
            "actor": instances["actor"][rows].astype(np.uint32),
            "cpu": instances["cpu"][rows].astype(np.uint16),
            "flags": instances["flags"][rows].astype(np.uint8),
            "count": count.astype(np.uint32),
            **columns,
            "end": _numbers(instances["end"][rows] - analysis.whole.begin),
            "ready": _numbers(ready),
        }
    )
