"""What pages do to boards, where ``--allow-control`` says so: actions, and typing on consoles.

Each action is the same as the command, and takes the board's lock, so nothing is done to a board
that is being measured. A boot takes minutes and goes on without the page; the live stream reports
its result.

Who types holds the board as `benchvise rig console` does, and its console is recorded; the live
console shows the record, here as for any other command. The board is released after five idle
minutes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from benchvise.errors import BenchviseError, UsageError
from benchvise.rig.card.mux import MuxSide
from benchvise.rig.console.recorder import logs_directory
from benchvise.rig.environment import Rig
from benchvise.rig.hold import actions
from benchvise.rig.hold.actions import BoardOutcome
from benchvise.rig.hold.client import HeldBoard
from benchvise.rig.hold.messages import PowerChange
from benchvise.web.http import NotFound, Refused
from benchvise.web.rig.size_query import SizeQuery

# -- actions ---------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class ActionState:
    """How an action stands, since ``at`` (seconds since 1970); what went wrong, and the remedy."""

    action: str
    state: Literal["running", "done", "failed"]
    at: float = field(default_factory=time.time, kw_only=True)
    message: str = ""
    remedy: str = ""

    @property
    def outcome(self) -> str:
        """The state in a line."""
        return f"{self.state}: {self.message}" if self.message else self.state


@dataclass
class Control:
    """The actions that are under way, and what became of the last one on each board."""

    last: dict[str, ActionState] = field(default_factory=dict)
    _busy: set[str] = field(default_factory=set)
    _told_at_end: dict[str, Callable[[ActionState], None]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def act(
        self, rig: Rig, name: str, what: str, to: str, ended: Callable[[ActionState], None]
    ) -> ActionState:
        """Does it, waits some seconds for its end, and returns its state; ``ended`` is told the
        end when it comes later.

        Raises NotFound for what cannot be done.
        """
        action = ACTIONS.get((what, to))
        if action is None or name not in rig.names:
            raise NotFound("this cannot be done to a board", "see `benchvise rig --help`")
        with self._lock:
            if name in self._busy:
                return self.last[name]
            self._busy.add(name)
            self.last[name] = ActionState(action.name, "running")
        thread = threading.Thread(target=self._do, args=(action, rig, name), daemon=True)
        thread.start()
        thread.join(_WAIT_SECONDS)
        with self._lock:
            if self.last[name].state == "running":
                self._told_at_end[name] = ended
            return self.last[name]

    def _do(self, action: BoardAction, rig: Rig, name: str) -> None:
        state = ActionState(
            action.name, "failed", "it broke: see the terminal of `benchvise serve`"
        )
        try:
            (outcome,) = action.act(rig, [name])
            state = ActionState(action.name, "done")
            if outcome.error is not None:
                state = ActionState(
                    action.name, "failed", outcome.error.message, outcome.error.remedy
                )
        finally:
            with self._lock:
                self.last[name] = state
                self._busy.discard(name)
                ended = self._told_at_end.pop(name, None)
            if ended is not None:
                ended(state)


# -- typing on consoles ----------------------------------------------------------------------------


PURPOSE = "typing in the workbench"
IDLE_S = 300.0
MOST_BYTES = 4096
"""Of one message: a pasted script, not a file."""

_READ_S = 0.1
_BUSY_READ_S = 0.02
"""While keys and answers go to and fro: whoever types waits for a reading to end."""
_BUSY_S = 10.0


@dataclass
class _ConsoleSession:
    """One board that is held, with what has come of it."""

    held: HeldBoard
    typed: float = field(default_factory=time.monotonic)
    """When the last key was sent."""
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Held by whoever sends something, so that the next reading waits: readings follow each other
    so closely that a lock alone would let none between them."""
    ending: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None


@dataclass(frozen=True, slots=True)
class ConsoleState:
    """Whether a page types on a board's console; if that ended by itself why, and the remedy."""

    typing: bool
    message: str = ""
    remedy: str = ""


class ConsoleSessions:
    """The boards on whose consoles pages type. May be used by any thread."""

    def __init__(self) -> None:
        self._boards: dict[str, _ConsoleSession] = {}
        self._ended: dict[str, ConsoleState] = {}
        self._lock = threading.Lock()

    def state(self, name: str) -> ConsoleState:
        """How typing on this board stands."""
        with self._lock:
            if name in self._boards:
                return ConsoleState(typing=True)
            return self._ended.get(name, ConsoleState(typing=False))

    def begin(self, rig: Rig, name: str) -> ConsoleState:
        """Takes the board and its console.

        Raises NotFound, and RigError when somebody holds it or its console cannot be used.
        """
        if name not in rig.names:
            raise NotFound("there is no such board in the rig", "see the list of boards")
        with self._lock:
            is_open = name in self._boards
        if not is_open:
            held = HeldBoard(rig, name, PURPOSE)
            try:
                held.open_console(logs_directory(name) / "console.log")
            except BaseException:
                held.abort()
                raise
            session = _ConsoleSession(held)
            session.thread = threading.Thread(
                target=self._record, args=(name, session), daemon=True
            )
            with self._lock:
                self._boards[name] = session
                self._ended.pop(name, None)
                session.thread.start()  # before anybody can find it, who may wait for its end
        return self.state(name)

    def type(self, name: str, text: str) -> ConsoleState:
        """Sends text as it is; lines end in CR, as from a terminal's keyboard.

        Raises Refused when this console is not held (any more), UsageError for too much at once,
        and RigError.
        """
        data = text.encode("utf-8", "replace")
        if not 0 < len(data) <= MOST_BYTES:
            raise UsageError("nothing, or too much at once", f"send up to {MOST_BYTES} bytes")
        session = self._there(name)
        session.typed = time.monotonic()
        with session.turn:
            session.held.write_console(data)
        return self.state(name)

    def cycle(self, name: str) -> ConsoleState:
        """Switches the board off and on again, with the console in hand from its first byte on."""
        session = self._there(name)
        session.typed = time.monotonic()
        with session.turn:
            session.held.switch_power(PowerChange.CYCLE)
        return self.state(name)

    def end(self, name: str) -> ConsoleState:
        """Releases the board as it is; it may have been released before."""
        with self._lock:
            session = self._boards.get(name)
        if session is not None and session.thread is not None:
            session.ending.set()
            session.thread.join()
        return self.state(name)

    def close(self) -> None:
        """Releases all."""
        for name in list(self._boards):
            self.end(name)

    def _there(self, name: str) -> _ConsoleSession:
        with self._lock:
            session = self._boards.get(name)
        if session is None:
            raise Refused("this console is not open for typing", "open it first")
        return session

    def _record(self, name: str, session: _ConsoleSession) -> None:
        """Reads, so that it is recorded, until the end."""
        ended: ConsoleState | None = None
        size = SizeQuery()
        try:
            while not session.ending.is_set():
                with session.turn:
                    pass
                idle_s = time.monotonic() - session.typed
                output = session.held.read_console(_BUSY_READ_S if idle_s < _BUSY_S else _READ_S)
                if answer := size.answer(output):
                    session.held.write_console(answer)
                if idle_s > IDLE_S:
                    message = f"released after {IDLE_S / 60:g} idle minutes"
                    ended = ConsoleState(False, message, "open it again to go on")
                    break
            session.held.close(off=False)
        except BenchviseError as error:
            ended = ConsoleState(False, str(error), error.remedy)
        finally:
            session.held.abort()  # nothing is left to do where it was closed
            with self._lock:
                self._boards.pop(name, None)
                if ended is not None:
                    self._ended[name] = ended
