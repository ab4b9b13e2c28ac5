"""Commands that map files which others may cut short, in a process that may die of it.

The kernel ends a process that reads of a mapped file what is not there any more (SIGBUS), and with
it whatever it was about to say. So a child runs the command, and this process says what ended it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

_OTHERS = ("record", "query")
"""Commands of ``trace`` that open none, or do it in a process of their own."""

_ENDED_BY_SIGNAL = 128


def maps_files(arguments: Sequence[str]) -> bool:
    """Whether a command line of ``trace`` maps files."""
    return len(arguments) > 2 and arguments[1] not in _OTHERS


def run_in_child(run: Callable[[list[str]], int], arguments: list[str]) -> int:
    """What ``run`` returns for the arguments, in a child; this process waits and ends as it does.

    The child ends with ``run``, which has to flush what it wrote.

    Where no child can be forked (Windows), a mapped file cannot be truncated either, and ``run``
    is called here.

    Raises TraceError where a file became shorter while it was read.
    """
    if not hasattr(os, "fork"):
        return run(arguments)
    from benchvise.confinement import dies_with_us

    before = _sizes(arguments[2:])
    with_us = dies_with_us()
    child = os.fork()
    if child == 0:
        with_us()
        # NumPy's threads for algebra spin as they start, and no analysis of a trace has a use for
        # them: a tenth of a second of both CPUs, beside the decoder's.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os._exit(run(arguments))  # its memory goes at once, not object by object

    def pass_on(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):  # it ended just now
            os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    _, status = os.waitpid(child, 0)
    ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if ended_by == signal.SIGBUS:
        from benchvise.trace.query_limits import became_shorter

        after = _sizes(before)
        cut = [name for name, size in before.items() if after.get(name, -1) < size]
        # Where none is, it was what is kept beside one of them.
        raise became_shorter(" or ".join(Path(name).name for name in cut or before))
    if ended_by:
        with suppress(OSError):  # SIGKILL has no other
            signal.signal(ended_by, signal.SIG_DFL)
        os.kill(os.getpid(), ended_by)
        # Process 1 of a container is not ended by a signal of its own: as a shell says it.
        os._exit(_ENDED_BY_SIGNAL + ended_by)
    os._exit(os.WEXITSTATUS(status))  # nothing is left to be done here


def _sizes(names: Iterable[str]) -> dict[str, int]:
    """The sizes of those that are files or directories."""
    sizes = {}
    for name in names:
        with suppress(OSError, ValueError):
            sizes[name] = Path(name).stat().st_size
    return sizes
