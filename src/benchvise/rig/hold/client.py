"""Boards that processes hold, asked from here."""

from __future__ import annotations

import base64
from pathlib import Path
from types import NoneType
from typing import TypeVar

from benchvise.rig.card.mux import MuxSide
from benchvise.rig.environment import Rig
from benchvise.rig.hold import messages
from benchvise.rig.hold.connection import EventObserver, WorkerConnection
from benchvise.rig.hold.messages import (
    AnalyserCommand,
    BoardEvent,
    BoardStatus,
    BootedBoard,
    CardSide,
    FlashedCard,
    PhaseReached,
    PowerChange,
    PowerState,
    WorkerOrder,
)
from benchvise.rig.hold.together import HELD, boot_observers

_T = TypeVar("_T")


class HeldBoard(WorkerConnection):
    """One board, held by a process of its own until ``close``.

    Without a ``purpose`` only its state is read: nothing is locked. Raises RigError (board-busy)
    when somebody else holds it, UsageError when the rig file does not describe it. A board that is
    in use is waited for as long as the rig says (``Rig.wait_s``); with ``number``, that of a ticket
    of this process, it comes when that one does.
    """

    def __init__(
        self,
        rig: Rig,
        name: str,
        purpose: str,
        observe: EventObserver | None = None,
        number: str = "",
    ) -> None:
        self.rig = rig
        self.features = rig.features.get(name, frozenset())
        order = WorkerOrder(str(rig.path.resolve()), name, purpose, rig.wait_s, number)
        super().__init__(order, name, observe)

    def _tell(self, event: BoardEvent) -> None:
        if isinstance(event, PhaseReached):
            for observer in boot_observers():
                observer.reached(self.name, event.phase, event.seconds)
        super()._tell(event)

    def _begin(self) -> None:
        HELD.add(self)

    def status(self) -> BoardStatus:
        """Power, card and holder; changes nothing, and needs no purpose."""
        return self._ask(messages.ReadStatus(), BoardStatus)

    def switch_power(self, to: PowerChange) -> PowerState:
        """Switches on or off, or off and on again."""
        return self._ask(messages.SwitchPower(to), PowerState)

    def turn_mux(self, to: MuxSide) -> CardSide:
        """Turns the card to a side; RigError (board-busy) while the board has power."""
        return self._ask(messages.TurnMux(to), CardSide)

    def write_card(self, image: str | Path) -> FlashedCard:
        """Writes the card, with the board off; FlashError when it does not hold the image then."""
        return self._ask(messages.WriteCard(str(image)), FlashedCard)

    def boot(self, directory: Path) -> BootedBoard:
        """From off to a shell, with the console recorded in a directory; BootError says why not."""
        try:
            return self._ask(messages.BootBoard(str(directory)), BootedBoard)
        finally:
            for observer in boot_observers():
                observer.ended(self.name)

    def open_console(self, log: Path) -> None:
        """Opens the console as it is, recorded in a file."""
        self._ask(messages.OpenConsole(str(log)), NoneType)

    def write_console(self, data: bytes) -> None:
        """Sends bytes to the console as they are."""
        encoded = base64.b64encode(data).decode("ascii")
        self._ask(messages.WriteConsole(encoded), NoneType)

    def read_console(self, timeout: float) -> bytes:
        """What the board says on its console, or nothing after ``timeout`` seconds."""
        return base64.b64decode(self._ask(messages.ReadConsole(timeout), str))

    def find_analyser(self) -> AnalyserCommand:
        """How the board's logic analyser is reached; RigError when the rig file has none."""
        return self._ask(messages.FindAnalyser(), AnalyserCommand)

    def find_debugger(self) -> str:
        """Where a GDB stub for the board's cores answers; empty when the rig file has none."""
        return self._ask(messages.FindDebugger(), str)

    def switch_off_at_end(self, off: bool) -> None:
        """Whether the board is switched off when this process is gone, however it went."""
        self._ask(messages.SwitchOffAtEnd(off), NoneType)

    def close(self, *, off: bool) -> None:
        """Releases the board, switched off or as it is. May be called more than once.

        Raises what kept it from being switched off; the board is released all the same.
        """
        if self._child.stdin.closed:
            return
        try:
            self._ask(messages.Release(off), NoneType)
        finally:
            self._end()

    def abort(self) -> None:
        """Ends the process in the middle of what it does; it switches off if that was asked for."""
        self._end()

    def _end(self) -> None:
        super()._end()
        HELD.discard(self)
