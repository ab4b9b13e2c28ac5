"""How boards are right now: looked at when a page asks, and remembered until the next time."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from benchvise.flows.health import health
from benchvise.health.judging import Judgement
from benchvise.web.errors import Busy

AT_ONCE = 2
KEPT = 200


@dataclass
class HealthReadings:
    """The newest judgement of each board that was looked at since the server began."""

    _found: dict[str, Judgement] = field(default_factory=dict, init=False)
    _going_on: set[str] = field(default_factory=set, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def newest(self, board: str) -> Judgement | None:
        """The last judgement; None when nobody has looked."""
        with self._lock:
            return self._found.get(board)

    def look(self, board: str, rig: str | None) -> Judgement:
        """Reads the board now. Raises what ``benchvise health`` raises, and Busy."""
        with self._lock:
            if board in self._going_on or len(self._going_on) >= AT_ONCE:
                raise Busy(f"{board} or others are being looked at", "try again in a moment")
            self._going_on.add(board)
        try:
            judgement = health(board, rig=rig)
        finally:
            with self._lock:
                self._going_on.discard(board)
        with self._lock:
            self._found.pop(board, None)
            self._found[board] = judgement
            while len(self._found) > KEPT:
                del self._found[next(iter(self._found))]
        return judgement
