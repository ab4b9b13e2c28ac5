"""Where the time of a command goes: the way from its begin to its end, through its processes.

The shell's time is what it ran and what it waited. Where it waited for another process of the
command (a child, the other end of a pipe, the holder of a lock), that time is what the other one
did meanwhile, and so on. What is left are CPU time and waiting for what is outside of the command.
Where events are missing, nothing is known.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterator

from benchvise.why.witness.kinds import WAITS_FOR_PROCESSES
from benchvise.why.witness.model import SpentTime
from benchvise.why.witness.spans import CommandSpans, Task, TaskSpan

_DEEPEST = 16  # processes that wait for each other

_Key = tuple[str, str, str, str]


def spent_times(spans: CommandSpans) -> tuple[SpentTime, ...]:
    """The parts of the command's time, the largest first; together they are all of it."""
    walk = _Walk(spans)
    walk.through(spans.root, spans.root.first, spans.root.last, ())
    walk.share_short_calls()
    parts = [SpentTime(*key, seconds=ns / 1e9) for key, ns in walk.spent.items() if ns > 0]
    return tuple(sorted(parts, key=lambda part: -part.seconds))


class _Walk:
    def __init__(self, spans: CommandSpans) -> None:
        self.spent: defaultdict[_Key, float] = defaultdict(float)
        self._tasks = spans.tasks
        self._ran: defaultdict[int, float] = defaultdict(float)

    def through(self, task: Task, begin: int, end: int, waiting: tuple[int, ...]) -> None:
        """What a task did between two times; ``waiting`` are those who wait for it meanwhile."""
        covered = 0
        for run, low, high in _between(task.runs, begin, end):
            self._run(task, run, low, high)
            covered += high - low
        for wait, low, high in _between(task.waits, begin, end):
            self._wait(task, wait.text, low, high, waiting)
            covered += high - low
        self._add("unseen", "", task, end - begin - covered)

    def _run(self, task: Task, run: TaskSpan, begin: int, end: int) -> None:
        inside = 0
        for call, low, high in _between(task.calls, begin, end):
            self._add("kernel", call.text, task, high - low)
            inside += high - low
        outside = end - begin - inside
        interrupted = 1.0 - run.number / (run.end - run.begin)
        taken = min(max(0.0, interrupted) * (end - begin), outside)
        self._add("interrupts", "", task, taken)
        self._add("user", "", task, outside - taken)
        self._ran[task.actor] += outside - taken

    def _wait(self, task: Task, state: str, begin: int, end: int, waiting: tuple[int, ...]) -> None:
        if state == "runnable":
            self._add("runnable", "", task, end - begin)
            return
        call = task.call_at(begin)
        wake = task.woken_at(end)
        other = self._tasks.get(wake.number) if wake is not None else None
        is_followed = (
            other is not None
            and call in WAITS_FOR_PROCESSES
            and other.actor not in (*waiting, task.actor)
            and len(waiting) < _DEEPEST
        )
        if other is None or not is_followed:
            self._add("waiting", call, task, end - begin, "" if wake is None else wake.text)
            return
        since = min(end, max(begin, other.first))
        self._add("waiting", call, task, since - begin)
        self.through(other, since, end, (*waiting, task.actor))

    def _add(self, how: str, call: str, task: Task, time: float, by: str = "") -> None:
        if time > 0:
            self.spent[how, call, task.name, by] += time

    def share_short_calls(self) -> None:
        """Short calls are known by their sums: of a task that was on the way for a part of its
        CPU time, they get that part."""
        for actor, ran in self._ran.items():
            task = self._tasks[actor]
            inside = sum(
                high - low
                for run in task.runs
                for _, low, high in _between(task.calls, run.begin, run.end)
            )
            whole = sum(run.number for run in task.runs) - inside
            part = min(1.0, ran / whole) if whole > 0 else 0.0
            for name, time in task.short.items():
                user = ("user", "", task.name, "")
                moved = min(part * time, self.spent[user])
                self.spent[user] -= moved
                self._add("kernel", name, task, moved)


def _between(spans: list[TaskSpan], begin: int, end: int) -> Iterator[tuple[TaskSpan, int, int]]:
    """The spans that touch the time between two, each with its part of it; none overlap."""
    first = max(0, bisect.bisect_right(spans, begin, key=lambda span: span.begin) - 1)
    for span in itertools.islice(spans, first, None):
        if span.begin >= end:
            break
        low, high = max(span.begin, begin), min(span.end, end)
        if high > low:
            yield span, low, high
