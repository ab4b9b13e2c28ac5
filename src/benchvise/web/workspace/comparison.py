"""Two traces side by side: a row an actor, what explains the most on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from benchvise.flows import trace_analyses as flow
from benchvise.flows.trace_analyses import Loaded, plain
from benchvise.text import printable
from benchvise.trace.analysis.actors import describe, instances_of, measured, response
from benchvise.trace.analysis.compare import Change, Rate
from benchvise.trace.analysis.model import NONE, Ints
from benchvise.web.workspace.asking import since
from benchvise.web.workspace.shapes import shapes

FIGURES = ("execution", "response", "latency", "period")

KINDS = ("all", "irq", "softirq", "task")

_HANDLERS = ("irq", "softirq")
_MUCH = 1.5
"""From here on a handler's execution has grown so much that it is told before all tasks."""


@dataclass(frozen=True, slots=True)
class ActorRow:
    """The actors of one name in both traces.

    ``figures`` are those that both have; ``verdict`` says in words what came of the comparison.
    """

    actor: str
    kind: str
    verdict: str
    changed: tuple[str, ...]
    figures: Mapping[str, Change]
    load: tuple[float, float]
    per_second: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Sides:
    """The whole answer."""

    rows: tuple[ActorRow, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    unsure: tuple[int, int]
    cautions: tuple[str, ...]


def sides(a: Loaded, b: Loaded) -> Sides:
    """All actors of two traces, matched by name.

    On top is what can be the cause of the rest: handlers whose own execution time grew, as they
    delay all else on their CPU; then tasks whose execution changed; then what only came later, or
    waited longer. Within each, that which surely changed most: the bound of the ratio's 95 %
    interval that is nearer to 1 decides, so that a few wild instances do not stand above many.
    """
    found, cautions = flow.compare((a, b), (), unsure=False)
    by_actor: dict[str, dict[str, Change]] = {}
    for change in found.changes:
        by_actor.setdefault(change.actor, {})[change.figure] = change
    rows = [_row(rate, by_actor.get(rate.actor, {})) for rate in found.rates]
    return Sides(
        rows=tuple(sorted(rows, key=_rank)),
        only=(found.only_in_a, found.only_in_b),
        unsure=found.unsure,
        cautions=tuple(cautions),
    )


def _row(rate: Rate, figures: Mapping[str, Change]) -> ActorRow:
    changed = tuple(name for name in FIGURES if name in figures and figures[name].changed)
    return ActorRow(
        actor=rate.actor,
        kind=rate.actor.partition(":")[0],
        verdict=_verdict(figures, changed),
        changed=changed,
        figures=figures,
        load=rate.load,
        per_second=rate.per_second,
    )


def _verdict(figures: Mapping[str, Change], changed: Sequence[str]) -> str:
    if "execution" in changed:
        return "runs longer" if _grew(figures["execution"]) else "runs shorter"
    if "response" in changed:
        return "ends later" if _grew(figures["response"]) else "ends sooner"
    if "latency" in changed:
        return "starts later" if _grew(figures["latency"]) else "starts sooner"
    if "period" in changed:
        return "comes less often" if _grew(figures["period"]) else "comes more often"
    if figures and all(figure.ratio is None for figure in figures.values()):
        return "not comparable"
    return "no change shown"


def _grew(change: Change) -> bool:
    return (change.ratio or 1.0) > 1.0


def _sure(change: Change) -> float:
    """By how much the median surely changed: the logarithm of the bound nearer to 1."""
    if change.interval is None or not change.changed:
        return 0.0
    bound = change.interval.low if _grew(change) else 1.0 / max(change.interval.high, 1e-12)
    return log(max(bound, 1.0))


def _rank(row: ActorRow) -> tuple[int, float, str]:
    execution = row.figures.get("execution")
    grown = 0.0 if execution is None or not _grew(execution) else _sure(execution)
    if row.kind in _HANDLERS and grown >= log(_MUCH):
        return 0, -grown, row.actor
    if "execution" in row.changed and execution is not None:
        return 1, -_sure(execution), row.actor
    if row.changed:
        return 2, -max(_sure(row.figures[name]) for name in row.changed), row.actor
    return 3, -max(row.load), row.actor


def document(found: Sides, kind: str) -> dict[str, Any]:
    """The answer as JSON has it; ``kind`` leaves out the actors of others. Times in ns."""
    rows = [row for row in found.rows if kind in ("all", row.kind)]
    return {
        "cautions": [printable(caution, 1000) for caution in found.cautions],
        "changed": sum(bool(row.changed) for row in found.rows),
        "kinds": {name: sum(name in ("all", row.kind) for row in found.rows) for name in KINDS},
        "rows": [_told(row) for row in rows],
        "only": [[printable(name) for name in names] for names in found.only],
        "unsure": list(found.unsure),
    }


def _told(row: ActorRow) -> dict[str, Any]:
    return {
        "actor": printable(row.actor),
        "kind": row.kind,
        "verdict": row.verdict,
        "changed": list(row.changed),
        "figures": {name: _figure(row.figures.get(name)) for name in FIGURES},
        "load": list(row.load),
        "per_second": list(row.per_second),
    }


def _figure(change: Change | None) -> dict[str, Any] | None:
    told: dict[str, Any] | None = plain(change)
    return told and {name: told[name] for name in told if name not in ("actor", "figure")}


def shapes_of(both: Sequence[Loaded], name: str, figure: str) -> list[dict[str, Any] | None]:
    """How a figure of the actors of a name is distributed in each trace, of sure instances."""
    sides = []
    for loaded in both:
        values = measured(loaded.analysis)[figure][_rows(loaded, name)]
        sides.append(values[values != NONE])
    return shapes(sides)


def place(loaded: Loaded, name: str) -> dict[str, Any] | None:
    """Where on the time line the actors of a name are seen at their usual work.

    That is the instance of the median response; None when the trace has none that is sure.
    """
    analysis = loaded.analysis
    rows = _rows(loaded, name)
    rows = rows[analysis.sure[rows]]
    if rows.size == 0:
        return None
    times = response(analysis)[rows]
    middle = times.argsort(kind="stable")[rows.size // 2]
    found = describe(analysis, rows[middle : middle + 1])[0]
    return {
        "actor": found.actor_id,
        "cpu": found.cpu,
        "begin": since(loaded, found.begin if found.ready is None else found.ready),
        "end": since(loaded, found.end),
    }


def _rows(loaded: Loaded, name: str) -> Ints:
    """The instances of the actors of a name, in order of time."""
    analysis = loaded.analysis
    return instances_of(analysis, [actor for actor in analysis.actors if actor.group == name])
