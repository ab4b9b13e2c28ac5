"""Two traces side by side: a row an actor, what explains the most on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from benchvise.documents import encode
from benchvise.trace.analysis.actors import describe, instance_metrics, instances_of, response
from benchvise.trace.analysis.compare import METRICS, ActorRate, MetricChange
from benchvise.trace.analysis.model import NONE, Ints
from benchvise.trace.catalogue.compare import COMPARE, CompareRequest
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.latency import shapes
from benchvise.web.workspace.query import since

KINDS = ("all", "irq", "softirq", "task")

_HANDLERS = ("irq", "softirq")
_MUCH = 1.5
"""From here on a handler's execution has grown so much that it stands above all tasks."""


@dataclass(frozen=True, slots=True)
class ActorRow:
    """The actors of one name in both traces.

    ``metrics`` are those that both have; ``verdict`` says in words what came of the comparison.
    """

    actor: str
    kind: str
    verdict: str
    changed: tuple[str, ...]
    metrics: Mapping[str, MetricChange]
    load: tuple[float, float]
    per_second: tuple[float, float]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The whole answer."""

    rows: tuple[ActorRow, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    incomplete: tuple[int, int]
    cautions: tuple[str, ...]


def compare_traces(a: LoadedTrace, b: LoadedTrace) -> SideBySide:
    """All actors of two traces, matched by name.

    On top is what can be the cause of the rest: handlers whose own execution time grew, as they
    delay all else on their CPU; then tasks whose execution changed; then what only came later, or
    waited longer. Within each, that which surely changed most: the bound of the ratio's 95 %
    interval that is nearer to 1 decides, so that a few wild instances do not stand above many.
    """
    answer = COMPARE.analyse((a, b), CompareRequest(a=a.path, b=b.path))
    by_actor: dict[str, dict[str, MetricChange]] = {}
    for change in answer.changes:
        by_actor.setdefault(change.actor, {})[change.metric] = change
    rows = [_row(rate, by_actor.get(rate.actor, {})) for rate in answer.rates]
    return SideBySide(
        rows=tuple(sorted(rows, key=_rank)),
        only=(answer.only_in_a, answer.only_in_b),
        incomplete=answer.incomplete,
        cautions=tuple(COMPARE.cautions((a, b))),
    )


def _row(rate: ActorRate, metrics: Mapping[str, MetricChange]) -> ActorRow:
    changed = tuple(name for name in METRICS if name in metrics and metrics[name].changed)
    return ActorRow(
        actor=rate.actor,
        kind=rate.actor.partition(":")[0],
        verdict=_verdict(metrics, changed),
        changed=changed,
        metrics=metrics,
        load=rate.load,
        per_second=rate.per_second,
    )


def _verdict(metrics: Mapping[str, MetricChange], changed: Sequence[str]) -> str:
    if "execution" in changed:
        return "runs longer" if _grew(metrics["execution"]) else "runs shorter"
    if "response" in changed:
        return "ends later" if _grew(metrics["response"]) else "ends sooner"
    if "latency" in changed:
        return "starts later" if _grew(metrics["latency"]) else "starts sooner"
    if "period" in changed:
        return "comes less often" if _grew(metrics["period"]) else "comes more often"
    if metrics and all(change.ratio is None for change in metrics.values()):
        return "not comparable"
    return "no change shown"


def _grew(change: MetricChange) -> bool:
    return (change.ratio or 1.0) > 1.0


def _sure(change: MetricChange) -> float:
    """By how much the median surely changed: the logarithm of the bound nearer to 1."""
    if change.interval is None or not change.changed:
        return 0.0
    bound = change.interval.low if _grew(change) else 1.0 / max(change.interval.high, 1e-12)
    return log(max(bound, 1.0))


def _rank(row: ActorRow) -> tuple[int, float, str]:
    execution = row.metrics.get("execution")
    grown = 0.0 if execution is None or not _grew(execution) else _sure(execution)
    if row.kind in _HANDLERS and grown >= log(_MUCH):
        return 0, -grown, row.actor
    if "execution" in row.changed and execution is not None:
        return 1, -_sure(execution), row.actor
    if row.changed:
        return 2, -max(_sure(row.metrics[name]) for name in row.changed), row.actor
    return 3, -max(row.load), row.actor


def document(sides: SideBySide, kind: str) -> dict[str, Any]:
    """The answer as JSON has it; ``kind`` leaves out the actors of others. Times in ns."""
    rows = [row for row in sides.rows if kind in ("all", row.kind)]
    return {
        "cautions": list(sides.cautions),
        "changed": sum(bool(row.changed) for row in sides.rows),
        "kinds": {name: sum(name in ("all", row.kind) for row in sides.rows) for name in KINDS},
        "rows": [_row_document(row) for row in rows],
        "only": [list(names) for names in sides.only],
        "unsure": list(sides.incomplete),
    }


def _row_document(row: ActorRow) -> dict[str, Any]:
    return {
        "actor": row.actor,
        "kind": row.kind,
        "verdict": row.verdict,
        "changed": list(row.changed),
        "figures": {name: _metric_document(row.metrics.get(name)) for name in METRICS},
        "load": list(row.load),
        "per_second": list(row.per_second),
    }


def _metric_document(change: MetricChange | None) -> dict[str, Any] | None:
    document: dict[str, Any] | None = encode(change)
    return document and {
        name: value for name, value in document.items() if name not in ("actor", "figure")
    }


def shapes_of(both: Sequence[LoadedTrace], name: str, metric: str) -> list[dict[str, Any] | None]:
    """How a metric of the actors of a name is distributed in each trace, by complete instances."""
    values_of = []
    for loaded in both:
        values = instance_metrics(loaded.analysis)[metric][_rows(loaded, name)]
        values_of.append(values[values != NONE])
    return shapes(values_of)


def place(loaded: LoadedTrace, name: str) -> dict[str, Any] | None:
    """Where on the timeline the actors of a name are seen at their usual work.

    That is the instance of the median response; None when the trace has none that is complete.
    """
    analysis = loaded.analysis
    rows = _rows(loaded, name)
    rows = rows[analysis.complete[rows]]
    if rows.size == 0:
        return None
    times = response(analysis)[rows]
    middle = times.argsort(kind="stable")[rows.size // 2]
    instance = describe(analysis, rows[middle : middle + 1])[0]
    return {
        "actor": instance.actor_id,
        "cpu": instance.cpu,
        "begin": since(loaded, instance.begin if instance.ready is None else instance.ready),
        "end": since(loaded, instance.end),
    }


def _rows(loaded: LoadedTrace, name: str) -> Ints:
    """The instances of the actors of a name, in order of time."""
    analysis = loaded.analysis
    return instances_of(analysis, [actor for actor in analysis.actors if actor.group == name])
