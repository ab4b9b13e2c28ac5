"""Work for many boards at once, within bounds; which boards are given up on Ctrl-C, and who is told
of boots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

from benchvise import interruption
from benchvise.errors import BenchviseError

_T = TypeVar("_T")

AT_ONCE = max(16, 8 * (os.cpu_count() or 1))
"""Boards of which each has a process that starts or works at the same time: more of them make each
so slow that a board seems dead, or its coordinator."""


class Held(Protocol):
    """A board that a process of its own holds for this one."""

    def give_up(self) -> None:
        """Ends that process; the board is switched off where it is to be off at the end."""


HELD: set[Held] = set()
"""Those of this process, to be given up when it is interrupted."""


class BootObserver(Protocol):
    """Who is told of all boots of this process; called by several threads."""

    def reached(self, board: str, phase: str, seconds: float) -> None:
        """A board of a rig, by its name there, has reached a phase, seconds after power on."""

    def ended(self, board: str) -> None:
        """It is up, or has failed."""


_BOOTS_TOLD_TO: list[BootObserver] = []


@contextmanager
def boots_told_to(observer: BootObserver) -> Iterator[None]:
    """Within the context, that observer is told of all boots, unless one was before."""
    if _BOOTS_TOLD_TO:
        yield
        return
    _BOOTS_TOLD_TO.append(observer)
    try:
        yield
    finally:
        _BOOTS_TOLD_TO.remove(observer)


def boot_observers() -> Sequence[BootObserver]:
    """One, or none."""
    return tuple(_BOOTS_TOLD_TO)


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
                    for held in list(HELD):
                        held.give_up()
                raise  # once the threads have seen that their boards are gone
    return done


def _ended(item: _T, work: Callable[[], object]) -> tuple[_T, Any, BenchviseError | None]:
    try:
        return item, work(), None
    except BenchviseError as error:
        return item, None, error
