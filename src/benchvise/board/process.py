"""A child process and its three pipes, of which none can block the host."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Sequence
from typing import IO

from benchvise import interruption
from benchvise.host_system import SIGKILL

OUTPUT_LIMIT = 16 << 20
"""Bytes of output after which a command is given up."""

_STDERR_KEPT = 64 << 10
_CHUNK = 64 << 10


class OutputTooLong(Exception):  # noqa: N818
    """A command wrote more than OUTPUT_LIMIT."""


class Pipes:
    """Reads and writes the pipes of a process as they become ready.

    ``stdout`` is what was read and not yet taken; of ``stderr`` the last 64 KiB are kept.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._unsent = bytearray()
        self._stdin, self._out, self._err = process.stdin, process.stdout, process.stderr
        self._close_when_sent = False
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)

    @property
    def at_end(self) -> bool:
        """Whether both outputs were read to their end."""
        return self._out is None and self._err is None

    @property
    def output_at_end(self) -> bool:
        """Whether standard output was read to its end."""
        return self._out is None

    def send(self, data: bytes) -> None:
        """Queues data for standard input; ``pump`` writes it."""
        self._unsent += data

    def end_input(self) -> None:
        """Closes standard input once everything queued is written."""
        self._close_when_sent = True
        self._close_stdin_if_due()

    def pump(self, timeout: float) -> bool:
        """Waits until a pipe is ready and serves it; False when ``timeout`` seconds went by.

        KeyboardInterrupt where this thread is interrupted meanwhile.
        """
        poll = select.poll()
        waking = interruption.waking()
        if waking is not None:
            poll.register(waking, select.POLLIN)
        if self._stdin is not None and self._unsent:
            poll.register(self._stdin, select.POLLOUT)
        for pipe in (self._out, self._err):
            if pipe is not None:
                poll.register(pipe, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(max(timeout, 0) * 1000)}
        if waking in ready:
            interruption.raise_if_set()
        if self._stdin is not None and self._stdin.fileno() in ready:
            self._write()
        if self._out is not None and self._out.fileno() in ready:
            self._out = _read(self._out, self.stdout)
        if self._err is not None and self._err.fileno() in ready:
            self._err = _read(self._err, self.stderr)
            del self.stderr[:-_STDERR_KEPT]
        return bool(ready)

    def _write(self) -> None:
        assert self._stdin is not None  # noqa: S101 - pump looked
        try:
            written = os.write(self._stdin.fileno(), self._unsent[:_CHUNK])
            del self._unsent[:written]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent.clear()  # it does not want more; its exit code says whether that is bad
            self._close_when_sent = True
        self._close_stdin_if_due()

    def _close_stdin_if_due(self) -> None:
        if self._stdin is not None and self._close_when_sent and not self._unsent:
            self._stdin.close()
            self._stdin = None


def _read(pipe: IO[bytes], into: bytearray) -> IO[bytes] | None:
    """Reads what is there; returns the pipe, or None when it came to its end."""
    try:
        data = os.read(pipe.fileno(), _CHUNK)
    except BlockingIOError:
        return pipe
    into += data
    if data:
        return pipe
    pipe.close()
    return None


def spawn(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts a program with pipes, in its own session: Ctrl-C is the host's to handle.

    Raises OSError as Popen does.
    """
    return subprocess.Popen(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills a process of ``spawn`` with everything in its session's group, and reaps it."""
    if process.returncode is None:  # not reaped, so the number is still its own
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, SIGKILL)
            else:
                process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def finish(
    process: subprocess.Popen[bytes], data: bytes, timeout: float
) -> tuple[int, bytes, bytes]:
    """Feeds a process and collects its output: exit status, standard output and error.

    Raises TimeoutError after ``timeout`` seconds and OutputTooLong; the process is gone in any
    case. The exit status is negative when a signal ended it, as Popen has it.
    """
    deadline = time.monotonic() + timeout
    if not hasattr(select, "poll"):
        return _communicated(process, data, timeout)
    pipes = Pipes(process)
    pipes.send(data)
    pipes.end_input()
    try:
        while not pipes.at_end:
            if not pipes.pump(deadline - time.monotonic()):
                raise TimeoutError
            if len(pipes.stdout) > OUTPUT_LIMIT:
                raise OutputTooLong
        try:
            process.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        return process.returncode, bytes(pipes.stdout), bytes(pipes.stderr)
    finally:
        end(process)


def _communicated(
    process: subprocess.Popen[bytes], data: bytes, timeout: float
) -> tuple[int, bytes, bytes]:
    """As ``finish``, on Windows, where pipes cannot be waited for: by threads of Python's own."""
    try:
        stdout, stderr = process.communicate(data, timeout)
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    finally:
        end(process)
    if len(stdout) > OUTPUT_LIMIT:
        raise OutputTooLong
    return process.returncode, stdout, stderr[-_STDERR_KEPT:]
