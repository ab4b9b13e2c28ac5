"""What a watch costs the board: the CPU time of everything that it runs there.

That is the probe with the processes that answer its requests, and, on a board behind SSH, the
session of the SSH server with all that was started in it. Where this machine is the board, the
watch itself runs there too and is counted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.board.messages import FileValue

_SERVERS = ("sshd", "dropbear")
_TICK = 0.01  # USER_HZ is 100 on all that Linux runs on but Alpha and ia64


class Cost:
    """The CPU time that one connection costs the board."""

    def __init__(self, board: Board, channel: ProbeChannel) -> None:
        self._local = board.kind == "local"
        self._channel = channel
        self._server: int | None = None
        if channel.place is not None and not self._local:
            probe = _stats(channel, [channel.place[0]])
            parent = next((stat.parent for stat in probe.values()), 0)
            server = _stats(channel, [parent]).get(parent) if parent > 1 else None
            if server is not None and server.name.startswith(_SERVERS):
                self._server = parent

    def seconds(self) -> float | None:
        """The CPU time so far; None where it cannot be read."""
        if self._channel.place is None:
            return None
        probe = self._channel.place[0]
        pids = [probe] if self._server is None else [probe, self._server]
        found = _stats(self._channel, pids)
        if probe not in found:
            return None
        own = sum(os.times()[:4]) if self._local else 0.0
        return own + sum(stat.spent for stat in found.values())


@dataclass(frozen=True, slots=True)
class _Stat:
    """Name, parent and CPU time of a process, that of its ended children counted."""

    name: str
    parent: int
    spent: float


def _stats(channel: ProbeChannel, pids: Sequence[int]) -> dict[int, _Stat]:
    paths = {f"/proc/{pid}/stat": pid for pid in pids}
    found = {}
    for path, answer in channel.read(paths).items():
        if path not in paths or not isinstance(answer, FileValue):
            continue
        head, _, rest = str(answer.value).rpartition(")")
        items = rest.split()
        try:
            ticks = sum(int(items[index]) for index in (11, 12, 13, 14))
            found[paths[path]] = _Stat(head.partition("(")[2], int(items[1]), ticks * _TICK)
        except (IndexError, ValueError):
            continue
    return found
