"""Speaking to a process of a rig: one request at a time, answered by lines."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Self, TypeAlias, TypeVar

from benchvise import interruption
from benchvise.documents import decode
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.hold.forks import Forked
from benchvise.rig.hold.messages import (
    BoardEvent,
    Request,
    WorkerMessage,
    WorkerOrder,
    request_line,
)
from benchvise.text import last_line

EventObserver: TypeAlias = Callable[[str, BoardEvent], None]
"""Called with the name of a board and what has happened to it."""

_END_SECONDS = 60.0
_CHUNK = 64 << 10
_T = TypeVar("_T")


class WorkerConnection:
    """A process that was started for an order, until its context is left.

    ``name`` is what its errors are about. Raises what the process says of its order.
    """

    def __init__(self, order: WorkerOrder, name: str, observe: EventObserver | None = None) -> None:
        self.name = name
        self._observe = observe or (lambda _name, _event: None)
        self._number = 0
        self._received = bytearray()
        self._lock = threading.Lock()
        # A file and no pipe: nobody has to read what labgrid's drivers warn of.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._child = Forked(order, self._stderr)
        except BaseException:
            self._stderr.close()
            raise
        self._begin()
        try:
            self._answer(0)
        except BaseException:
            self._end()
            raise

    @property
    def pid(self) -> int:
        """The process."""
        return self._child.pid

    def give_up(self) -> None:
        """Has its process stop, without waiting for it: whoever waits for an answer gets none."""
        with contextlib.suppress(OSError):
            self._child.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._end()

    def _begin(self) -> None:
        """Called once the process has been started."""

    def _ask(self, request: Request, answer: type[_T], within_s: float | None = None) -> _T:
        """Has it do something, to its end; raises what went wrong there.

        TimeoutError where it takes longer than ``within_s``; its process is ended then.
        """
        with self._lock:
            self._number += 1
            try:
                self._child.stdin.write(request_line(self._number, request))
                self._child.stdin.flush()
            except (OSError, ValueError):  # ValueError: it was given up, and its input closed
                raise self._died() from None
            deadline = None if within_s is None else time.monotonic() + within_s
            return decode(answer, self._answer(self._number, deadline))

    def _answer(self, number: int, deadline: float | None = None) -> object:
        """The result of a request; its events are passed on, and its error is raised."""
        while True:
            line = self._line(deadline)
            if not line.endswith(b"\n"):  # nothing, or what it was saying when it was killed
                raise self._died()
            message = decode(WorkerMessage, json.loads(line))
            if message.id != number:
                continue
            if message.error is not None:
                raise message.error.exception()
            if message.ended:
                return message.result
            if message.event is not None:
                self._tell(message.event)

    def _tell(self, event: BoardEvent) -> None:
        """Passes an event on."""
        self._observe(self.name, event)

    def _line(self, deadline: float | None) -> bytes:
        """The next line, or what was left of one at the end."""
        output = self._child.stdout.fileno()
        poll = select.poll()
        poll.register(output, select.POLLIN)
        if (waking := interruption.waking()) is not None:
            poll.register(waking, select.POLLIN)
        while b"\n" not in self._received:
            left_ms = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            ready = {descriptor for descriptor, _ in poll.poll(left_ms)}
            if not ready:
                self._child.kill()
                raise TimeoutError
            if waking in ready:
                interruption.raise_if_set()
            data = os.read(output, _CHUNK)
            if not data:
                break
            self._received += data
        line, newline, self._received = self._received.partition(b"\n")
        return bytes(line + newline)

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
