"""Progress of boards, on a terminal only: what they measure, how far they have booted."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from benchvise.quantities import format_duration
from benchvise.report.sinks import Terminal, sentence
from benchvise.rig.environment import PREFIX
from benchvise.text import LINE_LIMIT, printable

if TYPE_CHECKING:
    from benchvise.flows.request import RunResult
    from benchvise.measure.plan import Plan
    from benchvise.measure.runner import Event
    from benchvise.rig.card.flash import FlashProgress
    from benchvise.rig.hold.messages import BoardEvent


_REDRAW_SECONDS = 0.2


class LineColumn(TextColumn):
    """A column of one harmless line, whatever the board or the benchmark is called."""

    def render(self, task: Task) -> Text:
        """The line of a task."""
        return Text(sentence(self.text_format.format(task=task)), style=self.style)


class _BoardProgress:
    """A line a board. Silent where standard error is no terminal."""

    def __init__(
        self,
        console: Terminal,
        *columns: ProgressColumn,
        auto_refresh: bool = True,
        has_bar: bool = True,
    ) -> None:
        bar = [BarColumn(bar_width=30)] if has_bar else []
        self._progress = Progress(
            LineColumn("{task.fields[board]}"),
            *bar,
            *columns,
            LineColumn("{task.description}", style="dim"),
            console=console,
            auto_refresh=auto_refresh,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def _task(self, board: str, total: float | None = None) -> TaskID:
        if board not in self._tasks:
            self._tasks[board] = self._progress.add_task("", total=total, board=board)
        return self._tasks[board]


class RunProgress(_BoardProgress):
    """One bar a board, counting processes.

    Redrawn by events only: a bar that refreshes by itself would take CPU time from a board that
    is this machine.
    """

    def __init__(self, console: Terminal) -> None:
        super().__init__(
            console,
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            auto_refresh=False,
        )

    def observe(self, board: str, plan: Plan, event: Event) -> None:
        """Takes note of an event of a board's run."""
        from benchvise.measure.runner import ProcessBegun, ProcessEnded, SeriesEnded

        task = self._task(board, None if plan.time_s else len(plan.series) * plan.processes)
        if isinstance(event, ProcessBegun):
            self._progress.update(task, description=plan.series[event.position].key)
            self._progress.refresh()
        elif isinstance(event, ProcessEnded):
            self._progress.advance(task)
        elif isinstance(event, SeriesEnded) and event.status != "measured" and not plan.time_s:
            self._progress.advance(task, plan.processes)


class VersusProgress(_BoardProgress):
    """One bar, counting runs of commands; redrawn by events only, for the same reason."""

    def __init__(self, console: Terminal) -> None:
        super().__init__(console, MofNCompleteColumn(), TimeRemainingColumn(), auto_refresh=False)

    def observe(self, done: int, total: int | None, command: str) -> None:
        """Takes note of what runs now."""
        task = self._task("versus")
        self._progress.update(task, completed=done, total=total, description=command)
        self._progress.refresh()


class ActivityProgress(_BoardProgress):
    """What each board does now, a line each; several threads report, redrawn by events only."""

    def __init__(self, console: Terminal) -> None:
        super().__init__(console, auto_refresh=False, has_bar=False)
        self._lock = threading.Lock()

    def observe(self, board: str, text: str) -> None:
        """Takes note of what a board does now."""
        with self._lock:
            self._progress.update(self._task(board), description=text)
            self._progress.refresh()


class RigProgress(_BoardProgress):
    """A line a board: how far its card is written, then how far it has booted.

    Several threads report on their boards at once.
    """

    def __init__(self, console: Terminal) -> None:
        super().__init__(console)
        self._lock = threading.Lock()

    def observe(self, board: str, event: BoardEvent) -> None:
        """Shows an event of a board."""
        # late: loaded where there are events
        from benchvise.rig.hold.messages import BoardAwaited, PhaseReached

        with self._lock:
            task = self._task(board)
            if isinstance(event, PhaseReached | BoardAwaited):
                self._progress.update(task, total=None, description=_rig_event(event))
            else:
                self._progress.update(
                    task, completed=event.done, total=event.total, description=_flash(event)
                )


class FleetProgress(_BoardProgress):
    """A line for each board that is being booted or measured, as many as fit; above them one for
    all. Several threads report; redrawn by events only, at most a few times a second.
    """

    def __init__(self, console: Terminal) -> None:
        super().__init__(console, MofNCompleteColumn(), auto_refresh=False)
        self._lock = threading.Lock()
        self._most = max(4, console.size.height - 4)
        self._done = self._failed = 0
        self._drawn = 0.0
        self._total = self._task("fleet")

    def observe(self, board: str, plan: Plan, event: Event) -> None:
        """Takes note of an event of a board's run."""
        from benchvise.measure.runner import ProcessBegun, ProcessEnded, SeriesEnded

        with self._lock:
            task = self._board_task(board)
            total = None if plan.time_s else len(plan.series) * plan.processes
            if isinstance(event, ProcessBegun):
                key = plan.series[event.position].key
                self._progress.update(task, total=total, description=key)
            elif isinstance(event, ProcessEnded):
                self._progress.advance(task)
            elif isinstance(event, SeriesEnded) and event.status != "measured" and not plan.time_s:
                self._progress.advance(task, plan.processes)
            self._draw()

    def observe_rig(self, board: str, event: BoardEvent) -> None:
        """Shows how far a board has booted, or who has it."""
        with self._lock:
            task = self._board_task(f"{PREFIX}{board}")
            self._progress.update(task, description=_rig_event(event))
            self._draw()

    def observe_end(self, result: RunResult) -> None:
        """A board is done with: its line makes room, and is counted."""
        with self._lock:
            task = self._tasks.pop(result.board, None)
            if task is not None:
                self._progress.remove_task(task)
            self._done += 1
            self._failed += result.error is not None
            failed = f", {self._failed} failed" if self._failed else ""
            self._progress.update(
                self._total, completed=self._done, description=f"boards ended{failed}"
            )
            self._draw(now=True)

    def _board_task(self, board: str) -> TaskID:
        task = self._tasks.get(board)
        if task is None:
            is_shown = len(self._tasks) < self._most
            task = self._progress.add_task("", total=None, board=board, visible=is_shown)
            self._tasks[board] = task
        return task

    def _draw(self, *, now: bool = False) -> None:
        if now or time.monotonic() - self._drawn > _REDRAW_SECONDS:
            self._drawn = time.monotonic()
            self._progress.refresh()


def _rig_event(event: BoardEvent) -> str:
    # late: loaded where there are events
    from benchvise.rig.hold.messages import BoardAwaited, PhaseReached

    if isinstance(event, PhaseReached):
        return f"{event.phase} at {event.seconds:.1f} s"
    if isinstance(event, BoardAwaited):
        since = format_duration(max(0.0, time.time() - event.since))
        return f"in use for {since}: {printable(event.what, LINE_LIMIT)}; waiting"
    return _flash(event)


def _flash(progress: FlashProgress) -> str:
    verb = "writing" if progress.phase == "write" else "reading back"
    text = f"{verb}, {progress.rate / 1e6:.0f} MB/s"
    remaining = progress.remaining_s
    return text if remaining is None else f"{text}, {remaining:.0f} s left"
