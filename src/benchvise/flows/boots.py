"""Boots that go on now, said in the store: other hosts cannot read this machine's locks."""

from __future__ import annotations

import contextlib
import getpass
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

from benchvise.errors import StoreError
from benchvise.rig.environment import PREFIX

if TYPE_CHECKING:
    from benchvise.rig.hold.connection import EventObserver
    from benchvise.rig.hold.messages import BoardEvent
    from benchvise.store import Store


class ReportedBoots:
    """Boards that boot within the context: from their first phase on, until all are up or failed.

    ``observe`` is given to those that boot them, and passes on what it is told to ``inner``. What
    the store does not take is left out: a boot is worth more than the word of it.
    """

    def __init__(self, store: Store, purpose: str, inner: EventObserver | None) -> None:
        self._store = store
        self._purpose = purpose
        self._inner = inner
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def observe(self, name: str, event: BoardEvent) -> None:
        """Notes the phase that a board has reached; called by several threads."""
        from benchvise.rig.hold.messages import PhaseReached  # late: most boards do not boot

        if isinstance(event, PhaseReached):
            with contextlib.suppress(StoreError), self._lock:
                if name not in self._numbers:
                    self._numbers[name] = self._store.begin_boot(
                        f"{PREFIX}{name}", self._purpose, _user()
                    )
                self._store.note_phase(self._numbers[name], event.phase, event.seconds)
        if self._inner is not None:
            self._inner(name, event)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number in self._numbers.values():
            with contextlib.suppress(StoreError):
                self._store.end_boot(number)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user who has no name here
        return ""
