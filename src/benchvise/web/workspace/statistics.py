"""The statistics table: what took the CPUs, and the figures of each actor's instances."""

from __future__ import annotations

from typing import Any

from benchvise.flows.trace_analyses import Loaded, plain
from benchvise.text import printable
from benchvise.trace.analysis.actors import ActorFigures, actor_figures
from benchvise.trace.analysis.model import Actor
from benchvise.trace.analysis.stats import stats
from benchvise.web.workspace.asking import Asking, head, since

_MOST = 2000
_FIGURES = ("execution", "response", "latency", "period")


def answer(loaded: Loaded, asking: Asking) -> dict[str, Any]:
    """``actors``: one row an actor (``by_name``: one a name), the busiest first.

    Times in ns. The figures of a row are None where it has no instance that is sure of them.
    """
    part = asking.part(loaded)
    by_name = asking.flag("by_name")
    most = asking.whole("limit", 500, 1, _MOST)
    chosen = asking.actors(part)
    found = stats(part.analysis.sliced(), chosen, by_name=by_name)
    shown = found.actors[:most]
    members = {identity for one in shown for identity in one.ids}
    figures = {
        one.ids: one
        for one in actor_figures(
            part.analysis,
            _complete(chosen, members),
            by_name=by_name,
            unsure=asking.flag("unsure"),
            worst=1,
        )
    }
    return {
        **head(part),
        "duration": part.analysis.span.duration,
        "cpus": [plain(cpu) for cpu in found.cpus],
        "actors": [
            {**plain(one), "actor": printable(one.actor), **_figures(part, figures.get(one.ids))}
            for one in shown
        ],
        "more": len(found.actors) - len(shown),
    }


def _complete(chosen: list[Actor], members: set[int]) -> list[Actor]:
    return [actor for actor in chosen if actor.id in members]


def _figures(loaded: Loaded, found: ActorFigures | None) -> dict[str, Any]:
    if found is None:
        return {
            "instances": 0,
            "unsure": 0,
            "preemptions": 0,
            "migrations": 0,
            **dict.fromkeys(_FIGURES),
            "worst": None,
        }
    worst = found.worst[0] if found.worst else None
    return {
        "instances": found.instances,
        "unsure": found.unsure,
        "preemptions": found.preemptions,
        "migrations": found.migrations,
        **{name: plain(getattr(found, name)) for name in _FIGURES},
        "worst": worst
        and {
            "actor": worst.actor_id,
            "begin": since(loaded, worst.begin),
            "end": since(loaded, worst.end),
            "response": worst.response,
        },
    }
