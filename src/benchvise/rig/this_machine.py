"""The lock of this machine, on which one command at a time measures: ``local``, and boards on it.

What a command starts belongs to what it does: a child of the holder, such as a command of a bisect
that measures by itself, needs no lock of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchvise.errors import BenchviseError
from benchvise.rig import locks
from benchvise.rig.environment import patience_s
from benchvise.rig.faults import RigError
from benchvise.rig.locks import Holder

KEY = "this machine"
_MOST_PARENTS = 100


@contextmanager
def held(
    what: str,
    observe: Callable[[Holder], None] | None = None,
    *,
    name: str = "local (this machine)",
    wait_s: float | None = None,
) -> Iterator[None]:
    """Holds this machine within the context, for ``what``, which others see; ``name`` is what it is
    called to who is refused.

    Waits ``wait_s`` seconds for it, or as long as BENCHVISE_WAIT says (``--wait``), in turn;
    ``observe`` is told whom for.
    Raises RigError (board-busy) where another process of any user measures here. Where this machine
    has no place for locks it is measured without one.
    """
    with ExitStack() as stack:
        try:
            holder = locks.holder(KEY)
            if holder is None or not (holder.is_numbered_here and _is_part_of(holder.pid)):
                patience = patience_s() if wait_s is None else wait_s
                lock = locks.held(KEY, what, name=name, wait_s=patience, observe=observe)
                stack.enter_context(lock)
        except RigError:
            raise
        except BenchviseError:  # no directory can be made for it, or another user's lock not opened
            pass
        yield


def _is_part_of(pid: int) -> bool:
    """Whether this process is that one, or was started by it or its children."""
    parent = os.getpid()
    for _ in range(_MOST_PARENTS):
        if parent == pid:
            return True
        try:
            stat = Path(f"/proc/{parent}/stat").read_text(errors="replace")
            parent = int(stat.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
        if parent <= 1:
            return False
    return False
