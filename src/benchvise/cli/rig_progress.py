"""Progress of boards on their way to a shell, on a terminal only."""

from __future__ import annotations

import threading
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from benchvise.rig.card.flash import FlashProgress
from benchvise.rig.hold.messages import BoardEvent, PhaseReached


class RigProgress:
    """A line a board: how far its card is written, then how far it has booted.

    Called by several threads at once. Silent where standard error is no terminal.
    """

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.fields[board]}"),
            BarColumn(bar_width=30),
            TextColumn("{task.description}", style="dim"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> RigProgress:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def observe(self, board: str, event: BoardEvent) -> None:
        """Shows an event of a board."""
        with self._lock:
            if board not in self._tasks:
                self._tasks[board] = self._progress.add_task("", total=None, board=board)
            task = self._tasks[board]
            match event:
                case FlashProgress():
                    self._progress.update(
                        task, completed=event.done, total=event.total, description=_flash(event)
                    )
                case PhaseReached():
                    reached = f"{event.phase} at {event.seconds:.1f} s"
                    self._progress.update(task, total=None, description=reached)


def _flash(progress: FlashProgress) -> str:
    verb = "writing" if progress.phase == "write" else "reading back"
    text = f"{verb}, {progress.rate / 1e6:.0f} MB/s"
    remaining = progress.remaining_s
    return text if remaining is None else f"{text}, {remaining:.0f} s left"
