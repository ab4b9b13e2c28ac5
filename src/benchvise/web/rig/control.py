"""What a page may do to a board, where ``--allow-control`` says so: the same as the commands.

Each action takes the board's lock, so nothing is done to one that is being measured. A boot takes
minutes and goes on without the page; what became of it is told by the live stream.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchvise.board.sanitise import printable
from benchvise.flows import rig as flow
from benchvise.flows.rig import BoardOutcome
from benchvise.rig.environment import Rig
from benchvise.web.errors import NotFound


@dataclass(frozen=True, slots=True)
class Action:
    """What can be done to a board: its name for people, and the doing."""

    name: str
    do: Callable[[Rig, str], list[BoardOutcome]]


ACTIONS = {
    ("power", "on"): Action("Switch on", lambda rig, name: flow.power(rig, [name], "on")),
    ("power", "off"): Action("Switch off", lambda rig, name: flow.power(rig, [name], "off")),
    ("power", "cycle"): Action("Power cycle", lambda rig, name: flow.power(rig, [name], "cycle")),
    ("card", "host"): Action(
        "Card to this machine", lambda rig, name: flow.mux(rig, [name], "host")
    ),
    ("card", "dut"): Action("Card to the board", lambda rig, name: flow.mux(rig, [name], "dut")),
    ("boot", "shell"): Action("Boot", lambda rig, name: flow.boot(rig, [name])),
}
"""By how the address says it: ``/rig/NAME/power/off``."""

_WAITED_SECONDS = 8.0


@dataclass
class Control:
    """The actions that are under way, and what became of the last one on each board."""

    last: dict[str, dict[str, Any]] = field(default_factory=dict)
    _busy: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def act(self, rig: Rig, name: str, what: str, to: str) -> dict[str, Any]:
        """Does it, waits some seconds for its end, and says what came of it so far.

        ``state`` is ``running``, ``done`` or ``failed``. NotFound for what cannot be done.
        """
        action = ACTIONS.get((what, to))
        if action is None or name not in rig.names:
            raise NotFound("this cannot be done to a board", "see `benchvise rig --help`")
        with self._lock:
            if name in self._busy:
                return self.last[name]
            self._busy.add(name)
            self.last[name] = _said(action, "running")
        thread = threading.Thread(target=self._do, args=(action, rig, name), daemon=True)
        thread.start()
        thread.join(_WAITED_SECONDS)
        return self.last[name]

    def _do(self, action: Action, rig: Rig, name: str) -> None:
        said = _said(action, "failed", "it broke: see the terminal of `benchvise serve`")
        try:
            (outcome,) = action.do(rig, name)
            said = _said(action, "done")
            if outcome.error is not None:
                said = _said(action, "failed", outcome.error.message, outcome.error.remedy)
        finally:
            with self._lock:
                self.last[name] = said
                self._busy.discard(name)


def _said(action: Action, state: str, message: str = "", remedy: str = "") -> dict[str, Any]:
    return {
        "action": action.name,
        "state": state,
        "at": time.time(),
        "message": printable(message, 400),
        "remedy": printable(remedy, 400),
    }
