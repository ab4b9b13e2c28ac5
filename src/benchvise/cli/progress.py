"""Progress of a run, on a terminal only."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from benchvise.measure.plan import Plan
from benchvise.measure.runner import Event, ProcessBegun, ProcessEnded, SeriesEnded


class RunProgress:
    """One bar a board, counting processes. Silent where standard error is no terminal.

    Redrawn by events only: a bar that refreshes by itself would take CPU time from a board that
    is this machine.
    """

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.fields[board]}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TimeRemainingColumn(),
            TextColumn("{task.description}", style="dim"),
            console=console,
            auto_refresh=False,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> RunProgress:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def observe(self, board: str, plan: Plan, event: Event) -> None:
        """Takes note of an event of a board's run."""
        if board not in self._tasks:
            total = None if plan.time_s else len(plan.series) * plan.processes
            self._tasks[board] = self._progress.add_task("", total=total, board=board)
        task = self._tasks[board]
        if isinstance(event, ProcessBegun):
            self._progress.update(task, description=plan.series[event.position].key)
            self._progress.refresh()
        elif isinstance(event, ProcessEnded):
            self._progress.advance(task)
        elif isinstance(event, SeriesEnded) and event.status != "measured" and not plan.time_s:
            self._progress.advance(task, plan.processes)
