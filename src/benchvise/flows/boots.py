"""Boots that go on now, said in the store: other hosts cannot read this machine's locks."""

from __future__ import annotations

import contextlib
import getpass
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from benchvise.configuration import default_store
from benchvise.errors import BenchviseError, StoreError
from benchvise.rig.environment import PREFIX
from benchvise.rig.hold.together import boots_told_to

if TYPE_CHECKING:
    from benchvise.store import Store

_PATIENCE_S = 2.0  # for a store that does not answer: a boot is worth more than the word of it


@contextmanager
def reported_boots(store: Store | str | None, purpose: str) -> Iterator[None]:
    """Says every boot of a board of a rig, by any thread of this process, in the store: from its
    first phase on until the board is up or has failed. Others see it as ``purpose``.

    ``store`` is one that is open, or the place of one that is opened when a board boots; None is
    the one that commands take, and an SQLite file is not made for this. What the store does not
    take is left out.
    Within another such context, that one says it.
    """
    with ExitStack() as stack:
        boots = _ReportedBoots(store, purpose, stack)
        try:
            with boots_told_to(boots):
                yield
        finally:
            boots.end_all()


class _ReportedBoots:
    """Those that go on, each with its number in the store (``rig.hold.together.BootObserver``)."""

    def __init__(self, store: Store | str | None, purpose: str, stack: ExitStack) -> None:
        self._store = None if isinstance(store, str) else store
        self._place = store if isinstance(store, str) else None
        self._is_tried = self._store is not None
        self._purpose = purpose
        self._stack = stack
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def reached(self, board: str, phase: str, seconds: float) -> None:
        """Notes the phase that a board has reached."""
        with contextlib.suppress(StoreError), self._lock:
            store = self._opened()
            if store is None:
                return
            if board not in self._numbers:
                self._numbers[board] = store.begin_boot(f"{PREFIX}{board}", self._purpose, _user())
            store.note_phase(self._numbers[board], phase, seconds)

    def ended(self, board: str) -> None:
        """A board is up, or has failed."""
        with contextlib.suppress(StoreError), self._lock:
            number = self._numbers.pop(board, None)
            if number is not None and self._store is not None:
                self._store.end_boot(number)

    def end_all(self) -> None:
        """None goes on."""
        for board in list(self._numbers):
            self.ended(board)

    def _opened(self) -> Store | None:
        """The store; None where there is none. It is tried once."""
        if not self._is_tried:
            self._is_tried = True
            from benchvise.store import Store  # late: most boards do not boot
            from benchvise.store.location import locate

            with contextlib.suppress(BenchviseError):
                place = self._place or default_store()
                file = locate(place).file
                if file is None or file.exists():
                    self._store = self._stack.enter_context(Store.open(place, timeout=_PATIENCE_S))
        return self._store


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user who has no name here
        return ""
