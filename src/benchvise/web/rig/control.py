"""Actions of a page on a board, where ``--allow-control`` says so: the same as the commands.

Each action takes the board's lock, so nothing is done to one that is being measured. A boot takes
minutes and goes on without the page; the live stream reports its result.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchvise.rig.card.mux import MuxSide
from benchvise.rig.environment import Rig
from benchvise.rig.hold import actions
from benchvise.rig.hold.actions import BoardOutcome
from benchvise.rig.hold.messages import PowerChange
from benchvise.web.errors import NotFound


@dataclass(frozen=True, slots=True)
class BoardAction:
    """An action on a board: its name for people, and the function that does it."""

    name: str
    act: Callable[[Rig, Sequence[str]], Sequence[BoardOutcome[object]]]


ACTIONS = {
    ("power", "on"): BoardAction("Switch on", partial(actions.power, to=PowerChange.ON)),
    ("power", "off"): BoardAction("Switch off", partial(actions.power, to=PowerChange.OFF)),
    ("power", "cycle"): BoardAction("Power cycle", partial(actions.power, to=PowerChange.CYCLE)),
    ("card", "host"): BoardAction("Card to this machine", partial(actions.mux, to=MuxSide.HOST)),
    ("card", "dut"): BoardAction("Card to the board", partial(actions.mux, to=MuxSide.DUT)),
    ("boot", "shell"): BoardAction("Boot", actions.boot),
}
"""By how the address says it: ``/rig/NAME/power/off``."""

_WAIT_SECONDS = 8.0


@dataclass
class Control:
    """The actions that are under way, and what became of the last one on each board."""

    last: dict[str, dict[str, Any]] = field(default_factory=dict)
    _busy: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def act(self, rig: Rig, name: str, what: str, to: str) -> dict[str, Any]:
        """Does it, waits some seconds for its end, and returns its state.

        ``state`` is ``running``, ``done`` or ``failed``. NotFound for what cannot be done.
        """
        action = ACTIONS.get((what, to))
        if action is None or name not in rig.names:
            raise NotFound("this cannot be done to a board", "see `benchvise rig --help`")
        with self._lock:
            if name in self._busy:
                return self.last[name]
            self._busy.add(name)
            self.last[name] = _state(action, "running")
        thread = threading.Thread(target=self._do, args=(action, rig, name), daemon=True)
        thread.start()
        thread.join(_WAIT_SECONDS)
        return self.last[name]

    def _do(self, action: BoardAction, rig: Rig, name: str) -> None:
        state = _state(action, "failed", "it broke: see the terminal of `benchvise serve`")
        try:
            (outcome,) = action.act(rig, [name])
            state = _state(action, "done")
            if outcome.error is not None:
                state = _state(action, "failed", outcome.error.message, outcome.error.remedy)
        finally:
            with self._lock:
                self.last[name] = state
                self._busy.discard(name)


def _state(action: BoardAction, state: str, message: str = "", remedy: str = "") -> dict[str, Any]:
    return {
        "action": action.name,
        "state": state,
        "at": time.time(),
        "message": message,
        "remedy": remedy,
    }
