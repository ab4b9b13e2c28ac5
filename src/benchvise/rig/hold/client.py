"""Boards that processes hold, asked from here: all boards at once, within bounds."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar

from benchvise import interruption
from benchvise.errors import BenchviseError
from benchvise.rig.card.mux import MuxSide
from benchvise.rig.environment import Rig
from benchvise.rig.hold import messages
from benchvise.rig.hold.connection import EventObserver, WorkerConnection
from benchvise.rig.hold.messages import (
    AnalyserCommand,
    BoardStatus,
    BootedBoard,
    CardSide,
    FlashedCard,
    PowerChange,
    PowerState,
    WorkerOrder,
)

_T = TypeVar("_T")

AT_ONCE = max(16, 8 * (os.cpu_count() or 1))
"""Boards of which each has a process that starts or works at the same time: more of them make each
so slow that a board seems dead, or its coordinator."""


_held: set[HeldBoard] = set()
"""Those of this process, to be given up when it is interrupted."""


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

    def _begin(self) -> None:
        _held.add(self)

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
        return self._ask(messages.BootBoard(str(directory)), BootedBoard)

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
        _held.discard(self)


def all_at_once(
    items: Iterable[_T], work: Callable[[_T], object]
) -> list[tuple[_T, Any, BenchviseError | None]]:
    """Does the work for all at once, a bounded number at a time: each item with its result, or with
    its error.

    One that fails neither delays nor ends the others. On Ctrl-C all that are held are given up,
    which switches off those that are to be off at their end.
    """
    listed = list(items)
    if not listed:
        return []
    if len(listed) == 1 and interruption.in_thread():
        return [_ended(listed[0], partial(work, listed[0]))]
    done: list[tuple[_T, Any, BenchviseError | None]] = []
    with ThreadPoolExecutor(min(len(listed), AT_ONCE)) as pool:
        futures = [pool.submit(interruption.carried(work), item) for item in listed]
        for item, future in zip(listed, futures, strict=True):
            try:
                done.append(_ended(item, future.result))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                if not interruption.in_thread():  # there each ends by itself, and its own alone
                    for held in list(_held):
                        held.give_up()
                raise  # once the threads have seen that their boards are gone
    return done


def _ended(item: _T, work: Callable[[], object]) -> tuple[_T, Any, BenchviseError | None]:
    try:
        return item, work(), None
    except BenchviseError as error:
        return item, None, error
