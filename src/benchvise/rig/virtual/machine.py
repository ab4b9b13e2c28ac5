"""One QEMU process: it starts when the power comes and is killed when the power goes.

SIGKILL is what a power cut is: nothing is shut down, RAM is lost, the card keeps what reached it.
If the daemon itself is killed, the kernel kills its machines with it (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchvise.confinement import dies_with_us
from benchvise.text import last_line

_STDERR_KEPT = 4 << 10
_SLICE_SECONDS = 0.1
"""A slowed machine runs for a part of each such slice."""


class Machine:
    """A machine that can be started and killed again and again."""

    def __init__(self) -> None:
        self._failed = ""
        self._code: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._gone = asyncio.Event()
        self._gone.set()
        self._killed = False
        self._output = bytearray()
        self._slowdown = 0.0
        self._throttle: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    @property
    def ended(self) -> str:
        """How it ended by itself, or why it did not start: a line to show.

        Empty while it runs, and after ``kill``.
        """
        if self._code is None:
            return self._failed
        code = self._code
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        reason = last_line(bytes(self._output))
        return f"the machine {how}{f': {reason}' if reason else ''}"

    @property
    def pid(self) -> int | None:
        """Its process id."""
        return self._process.pid if self._process else None

    async def start(self, command: Sequence[str], directory: Path) -> None:
        """Starts a machine. What goes wrong is in ``ended``, since a power switch cannot fail."""
        self._failed, self._code = "", None
        self._output = bytearray()  # not what the pipe of the machine before may still deliver
        self._killed = False
        try:
            process = subprocess.Popen(
                command,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
                preexec_fn=dies_with_us(),
            )
        except OSError as error:
            self._failed = f"cannot start '{command[0]}': {error.strerror}"
            return
        self._process = process
        self._gone.clear()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: _Tail(self._output), process.stdout)
        ended = os.pidfd_open(process.pid)
        loop.add_reader(ended, self._reap, ended)
        self._set_throttle()

    async def kill(self) -> None:
        """Cuts the power; returns when the process is gone."""
        if self._process is not None:
            self._killed = True
            self._signal(signal.SIGKILL)
            await self._gone.wait()
        self._failed, self._code = "", None

    def fail(self, reason: str) -> None:
        """There is no machine to start: ``reason`` is shown in its place."""
        self._failed, self._code = reason, None

    def slow_down(self, factor: float) -> None:
        """Lets the machine run for 1/factor of the time; 0 gives it all of it again."""
        self._slowdown = factor
        self._set_throttle()

    def _set_throttle(self) -> None:
        if self._throttle is not None:
            self._throttle.cancel()
            self._throttle = None
            self._signal(signal.SIGCONT)
        if self._slowdown and self._process is not None:
            self._throttle = asyncio.create_task(self._halt_and_go(self._slowdown))

    async def _halt_and_go(self, factor: float) -> None:
        while True:
            self._signal(signal.SIGCONT)
            await asyncio.sleep(_SLICE_SECONDS / factor)
            self._signal(signal.SIGSTOP)
            await asyncio.sleep(_SLICE_SECONDS * (1 - 1 / factor))

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _reap(self, descriptor: int) -> None:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
        process, self._process = self._process, None
        if process is None:
            return
        code = process.wait()
        if self._throttle is not None:
            self._throttle.cancel()
            self._throttle = None
        self._code = None if self._killed else code
        self._gone.set()


class _Tail(asyncio.Protocol):
    """Keeps the last output of a process."""

    def __init__(self, kept: bytearray) -> None:
        self._kept = kept

    def data_received(self, data: bytes) -> None:
        self._kept += data
        del self._kept[:-_STDERR_KEPT]
