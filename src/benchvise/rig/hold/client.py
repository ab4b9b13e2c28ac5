"""Speaking to the processes that hold boards: one request at a time each, all boards at once."""

from __future__ import annotations

import contextlib
import json
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeAlias, TypeVar

from benchvise.errors import BenchviseError, UsageError
from benchvise.rig.boot.verdict import BootError, BootReport
from benchvise.rig.environment import Rig
from benchvise.rig.faults import Fault, FlashError, RigError
from benchvise.rig.hold.forks import Forked
from benchvise.text import last_line

EventObserver: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Is told of the board and of an event: its ``event`` is ``flash`` or ``phase``."""

_END_SECONDS = 15.0
_T = TypeVar("_T")


_held: set[HeldBoard] = set()
"""Those of this process, to be given up when it is interrupted."""


class HeldBoard:
    """One board, held by a process of its own until ``close``.

    Without a ``purpose`` it is only looked at: nothing is locked. Raises RigError (board-busy)
    when somebody else holds it, UsageError when the rig file does not describe it.
    """

    def __init__(self, rig: Rig, name: str, purpose: str, observe: EventObserver | None = None):
        self.rig = rig
        self.name = name
        self.features = rig.features.get(name, frozenset())
        self._observe = observe or (lambda _name, _event: None)
        self._number = 0
        self._lock = threading.Lock()
        # A file and no pipe: nobody has to read what labgrid's drivers warn of.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        # A session of its own: Ctrl-C is this process's to act on, in the right order.
        order = {"rig": str(rig.path.resolve()), "name": name, "purpose": purpose}
        try:
            self._child = Forked(order, self._said)
        except BaseException:
            self._said.close()
            raise
        _held.add(self)
        try:
            answer = self._line()
            if "error" in answer:
                raise _raised(answer["error"])
        except BaseException:
            self._end()
            raise

    @property
    def pid(self) -> int:
        """The process that holds the board."""
        return self._child.pid

    def request(self, operation: str, **arguments: object) -> dict[str, Any]:
        """Has the board do something, to its end; raises what went wrong there."""
        with self._lock:
            self._number += 1
            number = self._number
            line = json.dumps({"id": number, "op": operation, **arguments})
            try:
                self._child.stdin.write(line + "\n")
                self._child.stdin.flush()
            except (OSError, ValueError):  # ValueError: it was given up, and its input closed
                raise self._died() from None
            while True:
                answer = self._line()
                if answer.get("id") != number:
                    continue
                if "event" in answer:
                    self._observe(self.name, answer)
                elif "error" in answer:
                    raise _raised(answer["error"])
                else:
                    result: dict[str, Any] = answer.get("result") or {}
                    return result

    def close(self, *, off: bool) -> None:
        """Lets the board go, switched off or as it is. May be called more than once.

        Raises what kept it from being switched off; the board is let go all the same.
        """
        if self._child.stdin.closed:
            return
        try:
            self.request("close", off=off)
        finally:
            self._end()

    def abort(self) -> None:
        """Ends the process in the middle of what it does; it switches off if it was told to."""
        self._end()

    def give_up(self) -> None:
        """Has its process stop, without waiting for it: whoever waits for an answer gets none."""
        with contextlib.suppress(OSError):
            self._child.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._end()

    def _line(self) -> dict[str, Any]:
        line = self._child.stdout.readline()
        if not line.endswith("\n"):  # nothing, or what it was saying when it was killed
            raise self._died()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _died(self) -> RigError:
        code = self._child.wait(_END_SECONDS)
        self._said.seek(0)
        said = last_line(self._said.read()[-4096:])
        how = f"ended with {signal.Signals(-code).name}" if code and code < 0 else "ended"
        return RigError(
            Fault.RIG_BROKEN,
            f"{self.name}: the process that holds it {how}{f' ({said})' if said else ''}",
            "try again; `benchvise rig status` shows in which state the board is",
        )

    def _end(self) -> None:
        """Closes its input, which makes it stop; by force if that does not."""
        if self._said.closed:
            return
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        if self._child.wait(_END_SECONDS) is None:
            self._child.kill()
            self._child.wait(_END_SECONDS)
        self._child.close()
        self._said.close()
        _held.discard(self)


def all_at_once(
    items: Iterable[_T], work: Callable[[_T], object]
) -> list[tuple[_T, Any, BenchviseError | None]]:
    """Does the work for all at once: each item with its result, or with its error.

    One that fails neither delays nor ends the others. On Ctrl-C all that are held are given up,
    which switches off those that were told to be off at their end.
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


def _raised(error: Mapping[str, Any]) -> BenchviseError:
    """The error that a worker reports, as an exception here."""
    message, remedy = str(error.get("message", "")), str(error.get("remedy", ""))
    name = str(error.get("fault", ""))
    fault = Fault(name) if name in list(Fault) else Fault.RIG_BROKEN
    match error.get("kind"):
        case "UsageError":
            return UsageError(message, remedy)
        case "FlashError":
            return FlashError(fault, message, remedy)
        case "BootError":
            found = error.get("report")
            report = BootReport.from_json(found) if isinstance(found, Mapping) else None
            return BootError(fault, message, remedy, report)
        case "RigError":
            return RigError(fault, message, remedy)
    return BenchviseError(message, remedy)
