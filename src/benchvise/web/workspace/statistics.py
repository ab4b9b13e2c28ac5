"""The statistics table: what took the CPUs, and the metrics of each actor's instances."""

from __future__ import annotations

from typing import Any

from benchvise.documents import encode
from benchvise.trace.analysis.actors import ActorMetrics
from benchvise.trace.catalogue.actors import ACTORS, ActorsRequest
from benchvise.trace.catalogue.stats import STATS, StatsRequest
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import TraceQuery, head, since

_MOST = 2000
_METRICS = ("execution", "response", "latency", "period")


def answer(loaded: LoadedTrace, query: TraceQuery) -> dict[str, Any]:
    """``actors``: one row an actor (``by_name``: one a name), the busiest first.

    Times in ns. The metrics of a row are None where it has no instance that is complete.
    """
    part = query.part(loaded)
    most = query.whole("limit", 500, 1, _MOST)
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
    metrics = {actor.ids: actor for actor in ACTORS.analyse((part,), request)}
    return {
        **head(part),
        "duration": part.analysis.span.duration,
        "cpus": encode(stats.cpus),
        "actors": [
            {
                **encode(actor),
                "actor": actor.actor,
                **_metrics(part, metrics.get(actor.ids)),
            }
            for actor in listed
        ],
        "more": len(stats.actors) - len(listed),
    }


def _metrics(loaded: LoadedTrace, actor: ActorMetrics | None) -> dict[str, Any]:
    if actor is None:
        return {
            "instances": 0,
            "unsure": 0,
            "preemptions": 0,
            "migrations": 0,
            **dict.fromkeys(_METRICS),
            "worst": None,
        }
    worst = actor.worst[0] if actor.worst else None
    return {
        "instances": actor.instances,
        "unsure": actor.incomplete,
        "preemptions": actor.preemptions,
        "migrations": actor.migrations,
        **{name: encode(getattr(actor, name)) for name in _METRICS},
        "worst": worst
        and {
            "actor": worst.actor_id,
            "begin": since(loaded, worst.begin),
            "end": since(loaded, worst.end),
            "response": worst.response,
        },
    }
