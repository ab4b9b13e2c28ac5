"""Ctrl-C, SIGTERM and a closed terminal, held back while a board's settings are half made.

``deferred`` holds them back from the first write until everything is undone; ``let_through``
lets one of them, and no more, interrupt what is done in between:

    with deferred():                  # whatever comes now waits
        ...                           # settings are made
        with let_through():           # the first signal raises KeyboardInterrupt
            ...                       # measuring
        ...                           # settings are undone; further signals wait

``let_through`` has to be entered inside all that must be undone: Python may raise between a block
and the first line of its context manager's exit, and then that exit is not run.

In a thread that heeds an interruption (``benchvise.interruption``) both do the same with that
one, which is what signals are to it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from benchvise import interruption

_SIGNALS = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if name in signal.Signals.__members__  # Windows closes no terminal with a signal
)


@dataclass
class _State:
    """Of this process: signals are the process's too."""

    depth: int = 0
    raising: bool = False
    waiting: bool = False
    previous: dict[signal.Signals, Any] = field(default_factory=dict)


_state = _State()


def deferred() -> AbstractContextManager[None]:
    """Holds signals back; the outermost raises KeyboardInterrupt at its end if one came."""
    return interruption.held_back() if interruption.in_thread() else _deferred_signals()


@contextmanager
def _deferred_signals() -> Iterator[None]:
    if _state.depth == 0:
        _state.waiting = False
        _install()
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1
        if _state.depth == 0:
            _restore()
    if _state.depth == 0 and _state.waiting:
        raise KeyboardInterrupt


class _LetThrough:
    def __enter__(self) -> None:
        _state.raising = _state.depth > 0
        if _state.raising and _state.waiting:
            _state.raising = _state.waiting = False
            raise KeyboardInterrupt

    def __exit__(self, *_exception: object) -> None:
        _state.raising = False


def let_through() -> AbstractContextManager[None]:
    """Lets one signal through, also one that came before; see the module. Without effect outside
    ``deferred``.
    """
    return interruption.let_through() if interruption.in_thread() else _LetThrough()


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    if _state.raising:
        _state.raising = False  # the next one waits until everything is undone
        raise KeyboardInterrupt
    _state.waiting = True


def _install() -> None:
    """Takes the signals over; those that are ignored (nohup, background jobs) stay so."""
    with _blocked(), suppress(ValueError):  # not the main thread: signals are its owner's affair
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                _state.previous[number] = signal.signal(number, _on_signal)


def _restore() -> None:
    with _blocked():
        for number, handler in _state.previous.items():
            signal.signal(number, handler)
        _state.previous.clear()


@contextmanager
def _blocked() -> Iterator[None]:
    """None of them comes within this context, where the system can hold them back."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
