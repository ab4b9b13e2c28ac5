"""Ctrl-C for threads: Python raises it in the main thread alone.

    interruption = Interruption()
    with heeding(interruption):      # in the thread
        ...                          # waits for probes, commands, places
    interruption.set()               # in the main thread

Once it is set, whatever waits in a thread that heeds it raises KeyboardInterrupt there, once, as a
signal does in the main thread. So the thread cleans up as the main thread would, and is not in a
hurry then. It wakes by a descriptor: nothing polls, since the board may be this machine.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")


class Interruption:
    """What a signal is to several threads: set once, for all that heed it."""

    def __init__(self) -> None:
        self._readable, written = os.pipe()
        self._written = [written]
        """The end whose closing wakes; taken out first, so that whoever wakes finds it set."""

    @property
    def descriptor(self) -> int:
        """Becomes readable when it is set, and stays so."""
        return self._readable

    def set(self) -> None:
        """Interrupts all threads that heed it. May be called more than once."""
        with contextlib.suppress(IndexError):  # it was set before
            os.close(self._written.pop())

    @property
    def is_set(self) -> bool:
        """Whether it was."""
        return not self._written

    def close(self) -> None:
        """Once no thread heeds it any more."""
        self.set()
        os.close(self._readable)


class _Thread(threading.local):
    """What this thread heeds, and how often it holds that back."""

    heeds: bool = False
    interruption: Interruption | None = None
    """None also after it was raised."""
    held_back: int = 0


_thread = _Thread()


@contextmanager
def heeding(interruption: Interruption) -> Iterator[None]:
    """This thread heeds it within this context."""
    _thread.heeds, _thread.interruption, _thread.held_back = True, interruption, 0
    try:
        yield
    finally:
        _thread.heeds, _thread.interruption = False, None


def carried(work: Callable[[_T], _R]) -> Callable[[_T], _R]:
    """The work as this thread does it, for further threads: they heed what this one heeds."""
    heeded = _thread.interruption
    if heeded is None:
        return work

    def heeds(item: _T) -> _R:
        with heeding(heeded):
            return work(item)

    return heeds


def in_thread() -> bool:
    """Whether this thread heeds an interruption, as it gets no signal; also after it was raised."""
    return _thread.heeds


@contextmanager
def held_back() -> Iterator[None]:
    """Nothing is raised in this thread within this context; what came meanwhile is at its end."""
    _thread.held_back += 1
    try:
        yield
    finally:
        _thread.held_back -= 1
    raise_if_set()


@contextmanager
def let_through() -> Iterator[None]:
    """Within ``held_back``: what comes, or came before, is raised in this context."""
    depth, _thread.held_back = _thread.held_back, 0
    try:
        raise_if_set()
        yield
    finally:
        _thread.held_back = depth


def waking() -> int | None:
    """The descriptor that whoever waits has to wait for too; None where nothing can come."""
    if _thread.interruption is None or _thread.held_back:
        return None
    return _thread.interruption.descriptor


def raise_if_set() -> None:
    """KeyboardInterrupt where this thread is interrupted, the first time."""
    if _thread.interruption is not None and not _thread.held_back and _thread.interruption.is_set:
        _thread.interruption = None
        raise KeyboardInterrupt


def sleep(seconds: float) -> None:
    """As ``time.sleep``; KeyboardInterrupt where this thread is interrupted meanwhile."""
    raise_if_set()
    if (descriptor := waking()) is None:
        time.sleep(seconds)
        return
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if poll.poll(max(seconds, 0) * 1000):
        raise_if_set()
