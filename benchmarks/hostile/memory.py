"""What a process and all below it have of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_EACH_SECONDS = 0.1


@dataclass
class Memory:
    """The highest that was seen of ``root`` and all below it, bytes, looked at ten times a second:
    of all together, and of one process."""

    root: int
    highest_sum: int = 0
    highest: int = 0
    _done: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Until ``end``."""
        while not self._done.wait(_EACH_SECONDS):
            sizes = [own_memory(pid) for pid in _below(self.root)]
            self.highest_sum = max(self.highest_sum, sum(sizes))
            self.highest = max([self.highest, *sizes])

    def end(self) -> None:
        """Ends the watch."""
        self._done.set()


def own_memory(pid: int) -> int:
    """What is the process's own, swapped or not; 0 for one that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    own = ("Private_Dirty:", "Swap:")
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(own))


def _below(pid: int) -> Iterator[int]:
    yield pid
    children: list[str] = []
    with suppress(OSError):  # it ends meanwhile
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):
            children += listed.read_text().split()
    for child in children:
        yield from _below(int(child))
