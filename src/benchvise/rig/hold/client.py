"""Speaking to the processes that hold boards: one request at a time each, all boards at once."""

from __future__ import annotations

import base64
import contextlib
import json
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import NoneType
from typing import Any, Self, TypeAlias, TypeVar

from benchvise.documents import decode
from benchvise.errors import BenchviseError
from benchvise.rig.card.mux import MuxSide
from benchvise.rig.environment import Rig
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold import messages
from benchvise.rig.hold.forks import Forked
from benchvise.rig.hold.messages import (
    AnalyserCommand,
    BoardEvent,
    BoardStatus,
    BootedBoard,
    CardSide,
    FlashedCard,
    PowerChange,
    PowerState,
    Request,
    WorkerMessage,
    WorkerOrder,
    request_line,
)
from benchvise.text import last_line

EventObserver: TypeAlias = Callable[[str, BoardEvent], None]
"""Called with the name of a board and what has happened to it."""

_END_SECONDS = 15.0
_T = TypeVar("_T")


_held: set[HeldBoard] = set()
"""Those of this process, to be given up when it is interrupted."""


class HeldBoard:
    """One board, held by a process of its own until ``close``.

    Without a ``purpose`` only its state is read: nothing is locked. Raises RigError (board-busy)
    when somebody else holds it, UsageError when the rig file does not describe it. A board that is
    in use is waited for as long as the rig says (``Rig.wait_s``).
    """

    def __init__(self, rig: Rig, name: str, purpose: str, observe: EventObserver | None = None):
        self.rig = rig
        self.name = name
        self.features = rig.features.get(name, frozenset())
        self._observe = observe or (lambda _name, _event: None)
        self._number = 0
        self._lock = threading.Lock()
        # A file and no pipe: nobody has to read what labgrid's drivers warn of.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        order = WorkerOrder(str(rig.path.resolve()), name, purpose, rig.wait_s)
        try:
            self._child = Forked(order, self._stderr)
        except BaseException:
            self._stderr.close()
            raise
        _held.add(self)
        try:
            self._answer(0)
        except BaseException:
            self._end()
            raise

    @property
    def pid(self) -> int:
        """The process that holds the board."""
        return self._child.pid

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

    def give_up(self) -> None:
        """Has its process stop, without waiting for it: whoever waits for an answer gets none."""
        with contextlib.suppress(OSError):
            self._child.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._end()

    def _ask(self, request: Request, answer: type[_T]) -> _T:
        """Has the board do something, to its end; raises what went wrong there."""
        with self._lock:
            self._number += 1
            try:
                self._child.stdin.write(request_line(self._number, request))
                self._child.stdin.flush()
            except (OSError, ValueError):  # ValueError: it was given up, and its input closed
                raise self._died() from None
            return decode(answer, self._answer(self._number))

    def _answer(self, number: int) -> object:
        """The result of a request; its events are passed on, and its error is raised."""
        while True:
            line = self._child.stdout.readline()
            if not line.endswith("\n"):  # nothing, or what it was saying when it was killed
                raise self._died()
            message = decode(WorkerMessage, json.loads(line))
            if message.id != number:
                continue
            if message.error is not None:
                raise message.error.exception()
            if message.ended:
                return message.result
            if message.event is not None:
                self._observe(self.name, message.event)

    def _died(self) -> RigError:
        code = self._child.wait(_END_SECONDS)
        self._stderr.seek(0)
        reason = last_line(self._stderr.read()[-4096:])
        how = f"ended with {signal.Signals(-code).name}" if code and code < 0 else "ended"
        return RigError(
            Fault.RIG_BROKEN,
            f"{self.name}: the process that holds it {how}{f' ({reason})' if reason else ''}",
            "try again; `benchvise rig status` shows in which state the board is",
        )

    def _end(self) -> None:
        """Closes its input, which makes it stop; by force if that does not."""
        if self._stderr.closed:
            return
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        if self._child.wait(_END_SECONDS) is None:
            self._child.kill()
            self._child.wait(_END_SECONDS)
        self._child.close()
        self._stderr.close()
        _held.discard(self)


def all_at_once(
    items: Iterable[_T], work: Callable[[_T], object]
) -> list[tuple[_T, Any, BenchviseError | None]]:
    """Does the work for all at once: each item with its result, or with its error.

    One that fails neither delays nor ends the others. On Ctrl-C all that are held are given up,
    which switches off those that are to be off at their end.
    """
    listed = list(items)
    if not listed:
        return []
    done: list[tuple[_T, Any, BenchviseError | None]] = []
    with ThreadPoolExecutor(len(listed)) as pool:
        futures = [pool.submit(work, item) for item in listed]
        for item, future in zip(listed, futures, strict=True):
            try:
                done.append((item, future.result(), None))
            except BenchviseError as error:
                done.append((item, None, error))
            except BaseException:
                for held in list(_held):
                    held.give_up()
                raise  # once the threads have seen that their boards are gone
    return done
