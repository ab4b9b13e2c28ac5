"""What a trace tells of the processes of a command: who ran, who waited, and in which system call.

The trace is a board's, so it is opened and asked by a process that may die of it
(``trace.confined_query``).
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchvise.errors import MeasurementError
from benchvise.text import NAME_LIMIT, printable
from benchvise.trace.confined_query import ask_confined
from benchvise.trace.query_document import JsonValue
from benchvise.trace.query_limits import QueryLimits
from benchvise.why.witness.kinds import plain_name

ROWS = 300_000
_SECONDS = 60.0

# The recorder's mark says where the command begins: the next program that is executed is its shell,
# and what that starts is the rest of it. Calls of less than 20 us are known by their sum only.
_QUERY = """
WITH RECURSIVE
  root AS (
    SELECT pid FROM sched_process_exec
    WHERE time >= (SELECT min(time) FROM print WHERE buf LIKE 'benchvise: command%')
    ORDER BY time LIMIT 1),
  tree(pid) AS (
    SELECT pid FROM root
    UNION SELECT child_pid FROM sched_process_fork JOIN tree ON parent_pid = tree.pid),
  mine AS (
    SELECT actor, tid, name, first, last, tid = (SELECT pid FROM root) AS is_root
    FROM actors JOIN tree ON tid = tree.pid WHERE kind = 'task'),
  called AS (
    SELECT s.actor, s.name, s.begin, coalesce(s."end", m.last) AS until
    FROM syscalls s JOIN mine m USING (actor))
SELECT 'task' AS what, actor, first AS begin, last AS until, is_root::BIGINT AS number, name AS text
FROM mine
UNION ALL
SELECT 'run', actor, begin, "end", execution, '' FROM fragments JOIN mine USING (actor)
UNION ALL
SELECT 'wait', actor, begin, "end", 0, CASE state WHEN 0 THEN 'runnable' WHEN 1 THEN 'runnable'
  ELSE 'waiting' END FROM waits JOIN mine USING (actor)
UNION ALL
SELECT 'call', actor, begin, until, 0, name FROM called WHERE until - begin >= 20000
UNION ALL
SELECT 'short', actor, count(*), sum(until - begin)::BIGINT, 0, name
FROM called WHERE until - begin < 20000 GROUP BY actor, name
UNION ALL
SELECT 'wake', i.actor, i.ready, i.begin, coalesce(c.actor, -1),
  coalesce(a.kind || ':' || a.name, '')
FROM instances i JOIN mine USING (actor)
LEFT JOIN instances c ON i.cause = c.instance LEFT JOIN actors a ON a.actor = c.actor
WHERE i.ready IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class TaskSpan:
    """Nanoseconds of the trace's clock; ``number`` and ``text`` depend on what it is of."""

    begin: int
    end: int
    number: int = 0
    text: str = ""


@dataclass(slots=True)
class Task:
    """A thread of the command. Spans are in order of time.

    ``runs`` have the time on the CPU without interrupts as ``number``, ``waits`` whether it was
    ``runnable`` or ``waiting``, ``calls`` the name. A ``wake`` is from when it was woken until it
    ran, with who woke it. ``short`` is the time in short calls by their name.
    """

    actor: int
    name: str
    first: int
    last: int
    runs: list[TaskSpan] = field(default_factory=list)
    waits: list[TaskSpan] = field(default_factory=list)
    calls: list[TaskSpan] = field(default_factory=list)
    wakes: list[TaskSpan] = field(default_factory=list)
    short: dict[str, int] = field(default_factory=dict)

    def call_at(self, time: int) -> str:
        """The system call that it was in; empty for none."""
        at = bisect.bisect_right(self.calls, time, key=lambda call: call.begin) - 1
        return self.calls[at].text if at >= 0 and self.calls[at].end >= time else ""

    def woken_at(self, time: int) -> TaskSpan | None:
        """Who ended a wait at that time, where that is known."""
        at = bisect.bisect_left(self.wakes, time - _SAME_NS, key=lambda wake: wake.begin)
        near = at < len(self.wakes) and self.wakes[at].begin <= time + _SAME_NS
        return self.wakes[at] if near else None


_SAME_NS = 2000  # between a wake-up and the end of the wait, by the same clock


@dataclass(frozen=True, slots=True)
class CommandSpans:
    """The threads of a command by their actor; ``root`` is its shell."""

    tasks: dict[int, Task]
    root: Task

    @property
    def seconds(self) -> float:
        """How long the shell lived."""
        return (self.root.last - self.root.first) / 1e9


def read_spans(trace: Path) -> CommandSpans:
    """The spans of the command that a trace was recorded of.

    Raises what opening it raises, and MeasurementError where it does not hold the command.
    """
    answer = ask_confined(trace, _QUERY, QueryLimits(rows=ROWS, seconds=_SECONDS), cache=False)
    if answer.more:
        raise MeasurementError(
            f"the trace of the command has more than {ROWS} spans",
            "watch a command that does less: one of its steps",
        )
    return spans_of(answer.rows)


def spans_of(rows: Iterable[Sequence[JsonValue]]) -> CommandSpans:
    """The same from the rows of the query; MeasurementError where there is no root."""
    by_kind: defaultdict[str, list[tuple[int, TaskSpan]]] = defaultdict(list)
    for what, actor, begin, end, number, text in rows:
        name = plain_name(str(text)) if what in ("call", "short") else str(text)
        span = TaskSpan(_whole(begin), _whole(end), _whole(number), printable(name, NAME_LIMIT))
        by_kind[str(what)].append((_whole(actor), span))
    tasks = {a: Task(a, span.text, span.begin, span.end) for a, span in by_kind["task"]}
    root = next((tasks[a] for a, span in by_kind["task"] if span.number), None)
    if root is None or not root.last > root.first:
        raise MeasurementError(
            "the trace does not hold the command", "see whether something else empties the buffers"
        )
    for kind in ("run", "wait", "call", "wake"):
        for actor, span in sorted(by_kind[kind], key=lambda row: row[1].begin):
            if actor in tasks:
                getattr(tasks[actor], f"{kind}s").append(span)
    for actor, span in by_kind["short"]:
        if actor in tasks:
            tasks[actor].short[span.text] = span.end
    return CommandSpans(tasks, root)


def _whole(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
