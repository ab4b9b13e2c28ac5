"""The process that stands for a command on a board that has only a console.

    python -m benchvise.rig.console.bridge FD NAME PLACE -- COMMAND...

``FD`` is a socket that carries the console's bytes. A command that ends in ``serve`` is the probe:
each request that comes on standard input is run on the board by itself, with its answer in a file
there, and the answer is fetched as a file and passed on line by line. So the probe's own protocol
goes on unchanged at this end, while the board does not speak over the console as it measures. What
a request would wait for in between (``--paced``) is taken away from it: acknowledgements that come
here have nothing to release. What the probe keeps between requests (large test files) it makes
anew for each.

Any other command runs once, without input, and its two outputs are passed on when it has ended.

Exit status: that of the command; 255 when the console was lost.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from collections.abc import Sequence

from benchvise.board.channel import SILENCE_SECONDS
from benchvise.errors import BenchviseError, BoardUnreachable
from benchvise.rig.console.board import LOST_STATUS, ConsoleBoard, Job
from benchvise.rig.console.files import ConsoleTools

_SOME_SECONDS = SILENCE_SECONDS / 3
"""After so long, what there is of an answer is passed on: its reader must see life."""

_READY_SECONDS = 30.0
_FOR_EVER = 7 * 86400.0
_PID_LINE = b"benchvise-pid "


class _SocketShell:
    """The console's bytes, carried by a socket."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read(self, timeout: float) -> bytes:
        if not select.select([self._socket], [], [], max(timeout, 0))[0]:
            return b""
        data = self._socket.recv(65536)
        if not data:
            raise EOFError("the other end closed it")
        return data


class _Requests:
    """Lines of standard input, read as they come."""

    def __init__(self) -> None:
        self._rest = b""

    def next(self) -> bytes | None:
        """The next line that is no acknowledgement, or None at the end of input."""
        while True:
            line, newline, rest = self._rest.partition(b"\n")
            if newline:
                self._rest = rest
                if line.strip():
                    return line
                continue
            data = os.read(0, 65536)
            if not data:
                return None
            self._rest += data


def main(argv: Sequence[str]) -> int:
    """Runs the bridge; returns its exit status."""
    descriptor, name, place, dashes, *command = argv
    if dashes != "--" or not command:
        raise SystemExit(__doc__)
    try:
        board = ConsoleBoard(_SocketShell(int(descriptor)), name, ConsoleTools(**json.loads(place)))
        if command[-1] == "serve":
            return _serve(board, command)
        return _once(board, command)
    except BrokenPipeError:
        return 1
    except BoardUnreachable as error:
        _say(2, f"{error}\n".encode())
        return LOST_STATUS
    except BenchviseError as error:
        _say(2, f"{error}\n".encode())
        return 1


def _serve(board: ConsoleBoard, command: Sequence[str]) -> int:
    requests = _Requests()
    answer = _Answer(board.start(command))
    status = answer.pass_on(_READY_SECONDS, give_up=True)
    if status is None or not answer.ready:
        _say(2, b"the probe does not start\n")
        return status or 1
    while (line := requests.next()) is not None:
        answer = _Answer(board.start(command, without_pace(line) + b"\n"), repeated=True)
        status = answer.pass_on(_SOME_SECONDS)
        if status:
            return status
    return 0


def _once(board: ConsoleBoard, command: Sequence[str]) -> int:
    job = board.start(command)
    state = job.wait(_FOR_EVER)
    if state is None or state.status is None:
        return 1
    _say(1, job.stdout(state.stdout))
    _say(2, job.stderr(state.stderr))
    job.drop()
    return state.status


class _Answer:
    """What the probe says to one request, passed on in whole lines as far as it is fetched.

    ``repeated`` is for one that is not the first: its ``ready`` was said before.
    """

    def __init__(self, job: Job, *, repeated: bool = False) -> None:
        self.ready = False
        self._job = job
        self._repeated = repeated
        self._fetched = 0
        self._rest = b""

    def pass_on(self, seconds: float, *, give_up: bool = False) -> int | None:
        """Passes on until it has ended; with ``give_up`` no longer than ``seconds``."""
        while True:
            state = self._job.wait(seconds)
            ended = state is not None and state.status is not None
            if state is None:
                if give_up:
                    return None
                state = self._job.state()
            if state.stdout > self._fetched:
                self._take(self._job.stdout(state.stdout, self._fetched))
                self._fetched = state.stdout
            if ended:
                _say(2, self._job.stderr(state.stderr))
                self._job.drop()
                return state.status

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if not self.ready:
                self.ready = b'"ready"' in line
                if self._repeated or line.startswith(_PID_LINE):
                    continue
            _say(1, line + b"\n")


def without_pace(line: bytes) -> bytes:
    """A request without what makes the probe wait for acknowledgements."""
    try:
        request = json.loads(line.decode("utf-8", "surrogateescape"))
        args = request["args"]
        at = args.index("--paced")
    except (ValueError, KeyError, TypeError, AttributeError):
        return line
    request["args"] = args[:at] + args[at + 2 :]
    text = json.dumps(request, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogateescape")


def _say(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
