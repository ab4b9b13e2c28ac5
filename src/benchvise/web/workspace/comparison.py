"""Two traces side by side: a row an actor, what explains the most on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log

from benchvise.documents import JsonObject, encode, in_json
from benchvise.quantities import format_ratio
from benchvise.trace.analysis.actors import describe, instance_metrics, instances_of, response
from benchvise.trace.analysis.compare import METRICS, ActorRate, MetricChange
from benchvise.trace.analysis.model import NONE, Ints
from benchvise.trace.analysis.tail_changes import TailChange, TailRatio
from benchvise.trace.catalogue.compare import COMPARE, CompareRequest, tail_name
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.latency import Shape, shapes

KINDS = ("all", "irq", "softirq", "task")

_HANDLERS = ("irq", "softirq")
_MUCH = 1.5
"""From here on a handler's execution has grown so much that it stands above all tasks."""


def _metrics_document(metrics: Mapping[str, MetricChange]) -> Mapping[str, JsonObject | None]:
    """By metric, without what the row says already; None for those that the traces do not have."""
    return {name: _without_names(metrics.get(name)) for name in METRICS}


def _without_names(change: MetricChange | None) -> JsonObject | None:
    document: JsonObject = {} if change is None else encode(change)
    return {key: value for key, value in document.items() if key not in ("actor", "figure")} or None


@dataclass(frozen=True, slots=True)
class ActorRow:
    """The actors of one name in both traces.

    ``metrics`` are those that both have; ``verdict`` says in words what came of the comparison;
    ``rate`` is how often they ran, and what of it is missing or extra.
    """

    actor: str
    kind: str
    verdict: str
    changed: tuple[str, ...]
    metrics: Mapping[str, MetricChange] = field(
        metadata=in_json(name="figures", through=_metrics_document)
    )
    rate: ActorRate


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The whole comparison; times in ns.

    ``changed`` counts the rows with a change, ``kinds`` those of each kind.
    """

    cautions: tuple[str, ...]
    changed: int
    kinds: Mapping[str, int]
    rows: tuple[ActorRow, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    incomplete: tuple[int, int] = field(metadata=in_json(name="unsure"))

    def of_kind(self, kind: str) -> SideBySide:
        """The same without the rows of other kinds; ``all`` keeps them."""
        return replace(self, rows=tuple(row for row in self.rows if kind in ("all", row.kind)))


@dataclass(frozen=True, slots=True)
class UsualPlace:
    """Where on the timeline an actor is at its usual work; ns since the first event."""

    actor: int
    cpu: int
    begin: int
    end: int


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
        cautions=tuple(COMPARE.cautions((a, b))),
        changed=sum(bool(row.changed) for row in rows),
        kinds={kind: sum(kind in ("all", row.kind) for row in rows) for kind in KINDS},
        rows=tuple(sorted(rows, key=_rank)),
        only=(answer.only_in_a, answer.only_in_b),
        incomplete=answer.incomplete,
    )


def _row(rate: ActorRate, metrics: Mapping[str, MetricChange]) -> ActorRow:
    changed = tuple(name for name in METRICS if name in metrics and metrics[name].changed)
    return ActorRow(
        actor=rate.actor,
        kind=rate.actor.partition(":")[0],
        verdict=_verdict(metrics, changed, rate),
        changed=changed,
        metrics=metrics,
        rate=rate,
    )


def _verdict(metrics: Mapping[str, MetricChange], changed: Sequence[str], rate: ActorRate) -> str:
    if "execution" in changed:
        return "runs longer" if _grew(metrics["execution"]) else "runs shorter"
    if "response" in changed:
        return "ends later" if _grew(metrics["response"]) else "ends sooner"
    if "latency" in changed:
        return "starts later" if _grew(metrics["latency"]) else "starts sooner"
    if "period" in changed:
        return "comes less often" if _grew(metrics["period"]) else "comes more often"
    if (worst := _worst_tail(metrics)) is not None:
        return f"worst {format_ratio(worst.ratio)}, {worst.beyond} of {worst.count}"
    if (tail := _surest_tail(metrics)) is not None:
        return f"{tail_name(tail)} {format_ratio(tail.ratio or 1.0)}"
    if rate.changed:
        return _rate_verdict(rate)
    if metrics and all(change.ratio is None for change in metrics.values()):
        return "not comparable"
    return "no change shown"


def _worst_tail(metrics: Mapping[str, MetricChange]) -> TailChange | None:
    """The tail that changed the most where no median did: of the response first."""
    for name in ("response", "execution", "latency"):
        tail = metrics[name].tail if name in metrics else None
        if tail is not None and tail.notable:
            return tail
    return None


def _surest_tail(metrics: Mapping[str, MetricChange]) -> TailRatio | None:
    """The tail that surely changed, where neither a median nor the longest of all did."""
    tails = [
        (tail.p, tail)
        for name in ("response", "execution", "latency")
        if name in metrics
        for tail in metrics[name].tails
        if tail.changed and tail.p is not None
    ]
    return min(tails, key=lambda pair: pair[0])[1] if tails else None


def _rate_verdict(rate: ActorRate) -> str:
    irregular = rate.irregularity
    if irregular is not None and irregular.missing_changed:
        return f"missing {irregular.missing[0]} in A, {irregular.missing[1]} in B"
    if irregular is not None and irregular.extra_changed:
        return f"extra {irregular.extra[0]} in A, {irregular.extra[1]} in B"
    return f"rate {format_ratio(rate.rate.ratio)}" if rate.rate else "other rate"


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
    if (tail := _worst_tail(row.metrics)) is not None:
        return 3, -abs(log(tail.ratio)), row.actor
    if _surest_tail(row.metrics) is not None or row.rate.changed:
        return 4, -max(row.rate.load), row.actor
    return 5, -max(row.rate.load), row.actor


def shapes_of(both: Sequence[LoadedTrace], name: str, metric: str) -> list[Shape | None]:
    """How a metric of the actors of a name is distributed in each trace, by complete instances."""
    values_of = []
    for loaded in both:
        values = instance_metrics(loaded.analysis)[metric][_rows(loaded, name)]
        values_of.append(values[values != NONE])
    return shapes(values_of)


def usual_place(loaded: LoadedTrace, name: str) -> UsualPlace | None:
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
    origin = analysis.whole.begin
    seen_from = instance.begin if instance.ready is None else instance.ready
    return UsualPlace(instance.actor_id, instance.cpu, seen_from - origin, instance.end - origin)


def _rows(loaded: LoadedTrace, name: str) -> Ints:
    """The instances of the actors of a name, in order of time."""
    analysis = loaded.analysis
    return instances_of(analysis, [actor for actor in analysis.actors if actor.group == name])
