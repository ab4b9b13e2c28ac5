"""Progress of boards on their way to a shell, on a terminal only."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn


class RigProgress:
    """A line a board: how far its card is written, then how far it has booted.

    Told by several threads at once. Silent where standard error is no terminal.
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

    def observe(self, board: str, event: Mapping[str, Any]) -> None:
        """Takes note of an event of a board."""
        with self._lock:
            if board not in self._tasks:
                self._tasks[board] = self._progress.add_task("", total=None, board=board)
            task = self._tasks[board]
            if event.get("event") == "flash":
                self._progress.update(
                    task,
                    completed=event.get("done", 0),
                    total=event.get("total"),
                    description=_flash(event),
                )
            elif event.get("event") == "phase":
                self._progress.update(
                    task, total=None, description=f"{event['phase']} at {event['seconds']:.1f} s"
                )


def _flash(event: Mapping[str, Any]) -> str:
    verb = "writing" if event.get("phase") == "write" else "reading back"
    text = f"{verb}, {float(event.get('rate') or 0) / 1e6:.0f} MB/s"
    left = event.get("remaining_s")
    return f"{text}, {left:.0f} s left" if isinstance(left, int | float) else text
