"""A board without a network: its logged-in shell on the console, as a Board.

A command and its input are put on the board as files, it runs in the background with its output in
files, and these are fetched. So nothing is ever picked out of what else the console says, and a
command's output is what it wrote, byte for byte. It is slow: some ten kilobytes a second at best.

Only one thing can go through the console at a time. A process of ``spawn`` has it until it ends or
until something else is asked of the board, which ends it.
"""

from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from benchvise.board import process
from benchvise.board.protocol import RUN_SECONDS, Completed
from benchvise.board.ssh import command_line
from benchvise.documents import encode
from benchvise.errors import BoardUnreachable, BoardUnusable
from benchvise.rig.console.files import FILE_LIMIT, ConsoleFiles, ConsoleTools
from benchvise.rig.console.link import Link, Shell, new_word
from benchvise.text import last_line

LOST_STATUS = 255
"""The exit status of the bridge when the console was lost, as with ssh."""

_POLL_FIRST, _POLL_MOST = 2.0, 30.0
_CHUNK = 4096
_STATE = re.compile(r"state (?:ended (\d{1,3})|runs) (\d{1,12}) (\d{1,12})\.")
_BRIDGE_ENDS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class JobState:
    """How a job stands: its exit status when it has ended, and the bytes of its two outputs."""

    started: bool
    status: int | None
    stdout: int
    stderr: int


class Job:
    """A command that runs on the board."""

    def __init__(self, files: ConsoleFiles, number: int, argv: Sequence[str], data: bytes) -> None:
        self.name = str(number)
        self._files = files
        self._word = new_word()
        try:
            script = command_line(argv)
        except ValueError as error:
            raise BoardUnusable(f"{files.link.name}: cannot run that ({error})") from error
        files.put(f"{self.name}.c", script.encode() + b"\n")
        files.put(f"{self.name}.i", data)
        files.start(self.name, self._word)

    def wait(self, timeout: float) -> JobState | None:
        """Waits until it has ended; None after ``timeout`` seconds.

        It says so itself; should that be lost on the way it is asked, seldom, as asking costs the
        board time that may be measured.
        """
        deadline = time.monotonic() + timeout
        patience = _POLL_FIRST
        while True:
            left = deadline - time.monotonic()
            self._files.link.await_done(self._word, max(min(patience, left), 0.0))
            state = self.state()
            if state.status is not None:
                return state
            if left <= patience:
                return None
            if not state.started:
                self._files.start(self.name, self._word)
            patience = min(patience * 2, _POLL_MOST)

    def state(self) -> JobState:
        """Asks how it stands."""
        for line in self._files.call("state", self.name).lines:
            match = _STATE.search(line)
            if match:
                status, *sizes = match.groups()
                return JobState(True, int(status) if status else None, *map(int, sizes))
        return JobState(False, None, 0, 0)

    def stdout(self, size: int, begin: int = 0) -> bytes:
        """Its standard output from ``begin`` on, up to ``size``."""
        return self._files.get(f"{self.name}.o", size, begin)

    def stderr(self, size: int) -> bytes:
        """Its standard error."""
        return self._files.get(f"{self.name}.e", size)

    def drop(self) -> None:
        """Removes its files."""
        self._files.drop(self.name)


class ConsoleBoard:
    """A Board over its console. ``shell`` is at its prompt, and only this uses it meanwhile.

    ``place`` is given by a process that goes on where another has begun. Raises BoardUnreachable
    when nothing gets through and BoardUnusable when the board lacks the few programs needed.
    """

    kind = "console"

    def __init__(self, shell: Shell, name: str, place: ConsoleTools | None = None) -> None:
        self.name = name
        self._shell = shell
        self._number = 0 if place is None else time.monotonic_ns()
        self._bridge: _Bridge | None = None
        self._link = Link(shell, name)
        self._link.clear()
        self.files = ConsoleFiles(self._link, place)
        self._closed = False

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - named as in subprocess.run
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        """Runs a command; ``timeout`` (s) is the command's, transfer of its files comes on top."""
        self._take_back()
        job = self.start(argv, input)
        state = job.wait(timeout)
        if state is None or state.status is None:
            self.files.call("kill")
            job.drop()
            raise BoardUnusable(
                f"{self.name}: '{argv[0]}' did not finish within {timeout:g} s",
                "the board may be overloaded: check its load and kernel log",
            )
        if max(state.stdout, state.stderr) > FILE_LIMIT:
            job.drop()
            raise BoardUnusable(
                f"{self.name}: '{argv[0]}' wrote more than {FILE_LIMIT >> 20} MiB",
                "ask it for less",
            )
        completed = Completed(state.status, job.stdout(state.stdout), job.stderr(state.stderr))
        job.drop()
        return completed

    def start(self, argv: Sequence[str], data: bytes = b"") -> Job:
        """Starts a command on the board, with ``data`` as its input."""
        self._number += 1
        return Job(self.files, self._number, argv, data)

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts a bridge, a process of this machine that stands for the command.

        ``bvprobe serve`` is answered request by request; any other command gets no input.
        """
        self._take_back()
        self._bridge = _Bridge(self._shell, self.name, self.files.place, argv)
        return self._bridge.child

    def contact_lost(self, returncode: int, stderr: bytes) -> BoardUnreachable | None:
        """The error to raise where a bridge ended because the console was lost."""
        if returncode not in (LOST_STATUS, -1) and returncode >= 0:
            return None
        reason = last_line(stderr) or "the bridge to the console ended"
        return BoardUnreachable(
            f"{self.name}: the console was lost ({reason})", "check the cable and the board's power"
        )

    def host_address(self) -> str | None:
        """None: a console has no addresses."""
        return None

    def board_address(self) -> str | None:
        """None: a console has no addresses."""
        return None

    def close(self) -> None:
        """Removes its files from the board; the shell stays."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(BoardUnreachable):
            self._take_back()
            self.files.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _take_back(self) -> None:
        """Takes the console back from a bridge, and ends what that was running on the board."""
        if self._bridge is None:
            return
        bridge, self._bridge = self._bridge, None
        bridge.end()
        self._link.clear()
        self.files.call("kill")


class _Bridge:
    """A bridge process, and the thread that carries the console's bytes to it and back."""

    def __init__(self, shell: Shell, name: str, place: ConsoleTools, argv: Sequence[str]) -> None:
        self._shell = shell
        self._stop = threading.Event()
        here, there = socket.socketpair()
        try:
            self.child = subprocess.Popen(
                [
                    *(sys.executable, "-m", "benchvise.rig.console.bridge"),
                    *(str(there.fileno()), name, json.dumps(encode(place)), "--", *argv),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=(there.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            here.close()
            raise BoardUnreachable(
                f"{name}: cannot start the bridge to its console ({error.strerror})",
                "see whether this machine is out of processes or memory",
            ) from error
        finally:
            there.close()
        self._socket = here
        self._thread = threading.Thread(target=self._carry, name=f"console of {name}", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ends the process, if it has not, and the thread: the shell is free after that."""
        if self.child.returncode is None:
            try:
                self.child.wait(0)
            except subprocess.TimeoutExpired:
                process.end(self.child)
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def _carry(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            while not self._stop.is_set():
                for data in self._from_bridge():
                    if not data:
                        return
                    self._shell.write(data)
                data = self._shell.read(0.05)
                if data:
                    self._socket.sendall(data)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # the bridge notices that the console is lost

    def _from_bridge(self) -> Iterator[bytes]:
        if select.select([self._socket], [], [], 0)[0]:
            yield self._socket.recv(_CHUNK)
