"""Looking at a board once: a connection that is kept, and what one reading becomes."""

from __future__ import annotations

import contextlib
import time

from benchvise.board import Board
from benchvise.board.channel import FileValue, open_channel
from benchvise.health.watch.cost import Cost
from benchvise.health.watch.observation import Figure, Kind, Observation


class Looking:
    """An open board with its probe. ``on_close`` is closed with it: what holds the board."""

    def __init__(self, board: Board, *, simulated: bool) -> None:
        self.simulated = simulated
        self.on_close: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        self._channel = open_channel(board)
        self._cost = Cost(board, self._channel)

    def look(self) -> Observation:
        """See flows.watch.Eye."""
        found = self._channel.read(
            ["/proc/uptime", "/proc/sys/kernel/random/boot_id", "/sys/class/thermal/*/temp"]
        )
        texts = {k: str(v.value) for k, v in found.items() if isinstance(v, FileValue)}
        figures = [
            Figure(path.split("/")[4], Kind.SENSOR, float(text) / 1000, "°C")
            for path, text in texts.items()
            if path.startswith("/sys")
        ]
        return Observation(
            time.time(),
            texts["/proc/sys/kernel/random/boot_id"].strip(),
            float(texts["/proc/uptime"].split()[0]),
            tuple(figures),
        )

    def cpu(self) -> float | None:
        """See flows.watch.Eye."""
        return self._cost.seconds()

    def close(self) -> None:
        """See flows.watch.Eye."""
        self._channel.close()
        with self.on_close:
            pass
