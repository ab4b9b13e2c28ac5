"""The points between which latency is measured.

``irq:eth0`` is the start of each instance of that actor, ``irq:eth0.end`` its end,
``task:NAME.ready`` its wake-up; ``event:i2c_write[addr==0x20]`` each event of that type whose
fields are so.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from benchvise.errors import UsageError
from benchvise.trace.analysis.distributions import numbered
from benchvise.trace.analysis.model import NONE, Analysis, Bools, Flag, Ints
from benchvise.trace.analysis.names import find, mask

if TYPE_CHECKING:
    from benchvise.trace.native import Column, Table


class InstanceEdge(StrEnum):
    """Which moment of an instance."""

    BEGIN = "begin"
    END = "end"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class ActorEnd:
    """A moment of each instance of the actors that a pattern means."""

    text: str
    pattern: str
    edge: InstanceEdge


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """A field of an event, held against a value. ``~`` is a glob pattern for texts."""

    field: str
    operator: str
    value: str


@dataclass(frozen=True, slots=True)
class EventEnd:
    """Each event of a type whose fields meet all conditions."""

    text: str
    event: str
    conditions: tuple[FieldCondition, ...]


End = ActorEnd | EventEnd

_EDGE = re.compile(r"(?P<pattern>.+)\.(?P<edge>begin|start|end|ready)")
_EVENT = re.compile(r"event:(?P<name>[^\[\]]+)(?:\[(?P<conditions>.*)\])?")
_CONDITION = re.compile(
    r"""\s*(?P<field>[\w.]+)\s*(?P<operator>==|!=|<=|>=|<|>|~|=)\s*
    (?P<value>"[^"]*"|'[^']*'|[^,&"'\s][^,&]*)\s*""",
    re.VERBOSE,
)


def parse_end(text: str) -> End:
    """The end that a text means, before any trace is looked at.

    Raises:
        UsageError: the text is none.
    """
    if text.startswith("event:"):
        match = _EVENT.fullmatch(text)
        if match is None:
            raise UsageError(f"{text} is no event", "write event:NAME or event:NAME[field==value]")
        return EventEnd(text, match["name"], parse_conditions(text, match["conditions"] or ""))
    if not text.strip():
        raise UsageError("an end of a latency is empty", "write irq:NAME, task:NAME or event:NAME")
    match = _EDGE.fullmatch(text)
    if match is None:
        return ActorEnd(text, text, InstanceEdge.BEGIN)
    edge = "begin" if match["edge"] == "start" else match["edge"]
    return ActorEnd(text, match["pattern"], InstanceEdge(edge))


def parse_conditions(text: str, inside: str) -> tuple[FieldCondition, ...]:
    """The conditions ``field==value, ...`` in ``inside``, which stands in ``text``.

    Raises:
        UsageError: something of it is no condition.
    """
    conditions, at = [], 0
    while at < len(inside):
        match = _CONDITION.match(inside, at)
        if match is None:
            raise UsageError(
                f"{inside[at:].strip()} in {text} is no condition",
                'write field==5, field!=0x20, field>=3 or name~"eth*", with commas between',
            )
        operator = "==" if match["operator"] == "=" else match["operator"]
        conditions.append(
            FieldCondition(match["field"], operator, match["value"].strip().strip("\"'"))
        )
        at = match.end()
        rest = re.match(r"(,|&&?)\s*", inside[at:])
        at += rest.end() if rest else 0
    return tuple(conditions)


@dataclass(frozen=True, slots=True)
class Points:
    """The moments of an end, in order of time, and the instance in which each lies (-1: none).

    ``name`` is what stages call them; ``edge`` is None for events. ``left_out`` counts instances
    whose moment is not in the trace: that began before it, or were cut by its end. Of events,
    ``table`` has them, and ``order`` the place of each point in it.
    """

    text: str
    name: str
    edge: InstanceEdge | None
    time: Ints
    instance: Ints
    cpu: Ints
    left_out: int
    table: Table | None = None
    order: Ints | None = None

    def __len__(self) -> int:
        return int(self.time.size)


def points(analysis: Analysis, end: End) -> Points:
    """The moments of an end in the whole trace.

    Raises:
        UsageError: the trace has no such actor, event or field; what it has is named.
    """
    return _actor_points(analysis, end) if isinstance(end, ActorEnd) else _events(analysis, end)


def _actor_points(analysis: Analysis, end: ActorEnd) -> Points:
    chosen = find(analysis.actors, end.pattern)
    rows = analysis.instances
    mine = np.flatnonzero(mask(analysis.actors, chosen)[rows["actor"]])
    time = rows[end.edge.value][mine]
    # `begin` of what began before the trace is only where the trace begins; likewise the end.
    cut = {
        InstanceEdge.BEGIN: Flag.CUT_BEGIN,
        InstanceEdge.END: Flag.CUT_END,
        InstanceEdge.READY: 0,
    }[end.edge]
    seen = (time != NONE) & (rows["flags"][mine] & cut == 0)
    left_out = int(((rows["flags"][mine] & cut) != 0).sum())
    mine, time = mine[seen], time[seen]
    order = np.argsort(time, kind="stable")
    groups = list(dict.fromkeys(actor.group for actor in chosen))
    return Points(
        text=end.text,
        name=groups[0] if len(groups) == 1 else end.pattern,
        edge=end.edge,
        time=time[order],
        instance=mine[order],
        cpu=rows["cpu"][mine[order]],
        left_out=left_out,
    )


def _events(analysis: Analysis, end: EventEnd) -> Points:
    table = analysis.events(end.event)
    if table is None:
        near = get_close_matches(end.event, analysis.event_names, n=6, cutoff=0.5)
        near += [name for name in analysis.event_names if end.event in name][:6]
        raise UsageError(
            f"the trace has no event {end.event}",
            f"similar: {', '.join(dict.fromkeys(near))}" if near else "trace info lists its events",
        )
    for condition in end.conditions:
        table = table.filter(meets(table, condition, end.event))
    time = table.column("time").integers()
    cpu = table.column("cpu").integers()
    order = np.argsort(time, kind="stable")
    time, cpu = time[order], cpu[order]
    return Points(
        text=end.text,
        name=end.text,
        edge=None,
        time=time,
        instance=running(analysis, cpu, time),
        cpu=cpu,
        left_out=0,
        table=table,
        order=order,
    )


def meets(table: Table, condition: FieldCondition, event: str) -> Bools:
    """Which events of a table meet a condition; a null meets none.

    Raises:
        UsageError: they have no such field, or it cannot be held against that value.
    """
    if condition.field not in table.column_names:
        raise UsageError(
            f"{event} has no field {condition.field}", f"it has {', '.join(table.column_names)}"
        )
    column = table.column(condition.field)
    if column.kind == "text":
        return _text_meets(column, condition)
    number = _number(column, condition)
    if condition.operator not in _OPERATIONS:
        raise UsageError(
            f"{condition.field} is a number", f"{condition.operator} is for texts; use =="
        )
    # NumPy itself finds that a number beyond the column's type is greater than all of it, or less.
    values = column.integers() if column.kind == "boolean" else column.values()
    met: Bools = _OPERATIONS[condition.operator](values, number)
    return met & column.is_valid() if column.null_count else met


_OPERATIONS: Mapping[str, Callable[[Any, int | float], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def texts_match(column: Column, matches: Callable[[str], Any]) -> Bools:
    """Which texts of a column match, each different one tried once; a null matches nothing."""
    codes, texts = column.texts()
    tried: Bools = np.array([bool(matches(text)) for text in texts], dtype=np.bool_)
    met: Bools = tried[codes] if texts else np.zeros(codes.size, dtype=np.bool_)
    return met & column.is_valid() if column.null_count else met


def _text_meets(column: Column, condition: FieldCondition) -> Bools:
    if condition.operator == "~":
        pattern = re.escape(condition.value).replace(r"\*", ".*").replace(r"\?", ".")
        return texts_match(column, re.compile(pattern, re.DOTALL).fullmatch)
    if condition.operator in ("==", "!="):
        wanted = condition.operator == "=="
        return texts_match(column, lambda text: (text == condition.value) is wanted)
    raise UsageError(f"{condition.field} is a text", f"{condition.operator} is for numbers; use ~")


def _number(column: Column, condition: FieldCondition) -> int | float:
    try:
        if column.kind == "fraction":
            return float(condition.value)
        if column.kind in ("integer", "boolean"):
            return int(condition.value, 0)
    except ValueError:
        raise UsageError(
            f"{condition.value} is no number", f"{condition.field} is one: 12 or 0x20"
        ) from None
    raise UsageError(f"{condition.field} cannot be compared", f"it is a {column.kind}")


def running(analysis: Analysis, cpu: Ints, time: Ints) -> Ints:
    """The instance that ran on each CPU at each time, the innermost one; -1 for none, as for a CPU
    that is not known (-1)."""
    fragments = analysis.fragments
    instances = np.full(time.size, -1, dtype=np.int64)
    layers: Sequence[Bools] = [
        analysis.of_kind(*kinds)[fragments["actor"]]
        for kinds in (("task", "idle"), ("softirq",), ("irq",))
    ]
    for layer in layers:
        for number in numbered(cpu[cpu >= 0])[0]:
            rows = np.flatnonzero(layer & (fragments["cpu"] == number))
            if rows.size == 0:
                continue
            rows = rows[np.argsort(fragments["begin"][rows], kind="stable")]
            here = np.flatnonzero(cpu == number)
            at = np.searchsorted(fragments["begin"][rows], time[here], side="right") - 1
            row = rows[np.maximum(at, 0)]
            inside = (at >= 0) & (time[here] <= fragments["end"][row])
            instances[here[inside]] = fragments["instance"][row[inside]]
    return instances
