"""Speaking to ``bvprobe serve`` on a board: requests out, typed messages in."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Self

from benchvise.board import messages, process
from benchvise.board.deploy import deploy
from benchvise.board.messages import (
    DoneMessage,
    ErrorMessage,
    FactMessage,
    FileError,
    FileValue,
    FileWritten,
    LinkMessage,
    ListMessage,
    Message,
    ReadyMessage,
    SampleMessage,
    ValueMessage,
    WriteMessage,
    first_of,
    read_message,
)
from benchvise.board.protocol import Board
from benchvise.errors import BenchviseError, ProbeError, UsageError
from benchvise.text import last_line, printable

PROTOCOL = 1

SILENCE_SECONDS = 120.0
"""Longer than anything that the probe does by default without saying something."""

READY_SECONDS = 30.0

_NOISE_LINES = 100
_NOISE_BYTES = 64 << 10
_QUOTED = 60
_MESSAGE = 500

_GRACE_SECONDS = 2.0
_KILL_SECONDS = 5.0

_INPUTS_A_REQUEST = 1000
_INPUT_BYTES_A_REQUEST = 48 << 10

AS_IN_A_LOGIN = '[ -z "$BASH_VERSION$ZSH_VERSION" ]; SHLVL=$((1 + $?)); export SHLVL; exec "$@"'
"""Script of sh that becomes its arguments, with the variable that a user's shell gives to what it
starts. By it a bash tells whether sshd has started it, and then reads its rc file in place of
``BASH_ENV``: a command that a user starts does not. Two shells take one away as they ``exec``."""

# The probe's process number there, for ending it should it no longer listen. The empty line
# parts it from what a login shell may have said without a line end.
_PID_WORD = "benchvise-pid"
_START = f'echo; echo "{_PID_WORD} $$"; {AS_IN_A_LOGIN}'

# Only while that number still belongs to the program that was started.
_KILL = r'case $(tr "\0" " " < "/proc/$1/cmdline") in *"$2"*) kill -9 "$1";; esac'

_SIGNAL_REMEDIES = {
    "SIGKILL": "often the kernel ran out of memory: look at the end of `dmesg` there",
    "SIGILL": "this processor lacks an instruction that the probe uses: please report it",
    "SIGBUS": "memory or the file system failed there: look at the end of `dmesg`",
}


class NotAvailable(ProbeError):  # noqa: N818
    """What was asked for is not possible on this board; the message is the reason."""


class ProbeChannel:
    """One running ``bvprobe serve``; leaving its context ends it.

    ``command`` is the probe as started on the board, without ``serve``. Raises ProbeError when
    it does not get ready, BoardUnreachable when contact is lost, here and in every method.
    """

    def __init__(
        self, board: Board, command: Sequence[str], *, ready_timeout: float = READY_SECONDS
    ) -> None:
        self._board = board
        self._program = command[0]
        self._pid: int | None = None
        self._number = 0
        self._pending = True  # until it is ready
        self._unacknowledged = False
        self._dead = False
        child = board.spawn(["sh", "-c", _START, "sh", *command, "serve"])
        self._process: subprocess.Popen[bytes] = child
        self._pipes = process.Pipes(child)
        try:
            self.ready = self._wait_until_ready(ready_timeout)
            self._pending = False
        except BaseException:
            self.close()
            raise

    @property
    def is_open(self) -> bool:
        """Whether another request can be made: the probe lives and no request is under way."""
        return not self._dead and not self._pending

    def request(
        self,
        args: Sequence[str],
        *,
        input: Sequence[str] = (),  # noqa: A002 - named as in the protocol
        paced: bool = False,
        silence_timeout: float = SILENCE_SECONDS,
    ) -> Iterator[Message]:
        """The messages that answer a request, up to ``done``, which is not among them.

        With ``paced``, the probe waits after each ``sample`` until ``acknowledge`` is called,
        which has to happen before the next message is asked for. ``silence_timeout`` is in seconds
        and counts while the probe is being waited for.

        Raises, after ``done`` and with the channel still usable: NotAvailable, UsageError (the
        request itself is wrong) or ProbeError (it failed, or its process was killed). With the
        channel closed: ProbeError and BoardUnreachable. An iterator that is not used up leaves
        the channel unusable.
        """
        arguments = [*args, "--paced", "1"] if paced else list(args)
        try:
            request = messages.request(self._number + 1, arguments, input)
        except ValueError as error:  # too long, or text that is no Unicode
            raise UsageError(
                f"the probe cannot take the request '{printable(' '.join(arguments))}' ({error})",
                "shorten it, or leave out what is no text",
            ) from error
        if not self.is_open:
            raise ProbeError(
                f"the probe on {self._board.name} takes no more requests",
                "an earlier one did not come to its end; connect again",
            )
        self._number += 1
        self._pending = True
        self._pipes.send(request)
        return self._answers(paced, silence_timeout)

    def acknowledge(self) -> None:
        """Lets the probe go on after a ``sample`` of a paced request."""
        if not self._unacknowledged:
            raise RuntimeError("there is no sample to acknowledge")
        self._unacknowledged = False
        self._pipes.send(b"\n")

    def list_benchmarks(self) -> ListMessage:
        """What the probe can measure."""
        listing = first_of(ListMessage, list(self.request(["list"])))
        if listing is None:
            raise self._fatal("does not list its benchmarks")
        return listing

    def facts(self, *names: str) -> Iterator[FactMessage]:
        """What no file of the board tells; with the name ``log`` the kernel log alone."""
        for message in self.request(["facts", *names]):
            if isinstance(message, FactMessage):
                yield message

    def read(self, globs: Iterable[str], *, limit: int = 0) -> dict[str, FileValue | FileError]:
        """Reads files of the board by glob patterns: path to content, or to why there is none.

        A pattern that matches nothing is in the answer itself, with ENOENT. ``limit`` is the
        number of bytes after which a file is cut, when that is not to be the probe's own.
        """
        args = ["read", "--limit", str(limit)] if limit else ["read"]
        return {
            message.path: message.content
            for batch in _batches(globs)
            for message in self.request(args, input=batch)
            if isinstance(message, ValueMessage)
        }

    def links(self, globs: Iterable[str]) -> dict[str, str | FileError]:
        """Reads symbolic links by glob patterns: path to where it leads, or to why there is none.

        Patterns that match nothing are in the answer as in that of ``read``.
        """
        return {
            message.path: message.target
            for batch in _batches(globs)
            for message in self.request(["links"], input=batch)
            if isinstance(message, LinkMessage)
        }

    def write(self, path: str, value: str) -> FileWritten:
        """Writes a file of the board and reads it back; a refusal is part of the answer."""
        written: FileWritten | None = None
        try:
            for message in self.request(["write", path, value]):
                if isinstance(message, WriteMessage):
                    written = message.written
        except ProbeError:  # it fails without an error line when the value was refused
            if written is None or not self.is_open:
                raise
        if written is None:
            raise self._fatal(f"does not say what became of '{printable(path)}'")
        return written

    @property
    def place(self) -> tuple[int, str] | None:
        """The probe's process on the board, and the path of its program, where known."""
        return None if self._pid is None else (self._pid, self._program)

    def end_other(self, pid: int, program: str) -> None:
        """Ends another probe on the same board, left by a connection that broke, if it is one."""
        with contextlib.suppress(BenchviseError):
            self._board.run(["sh", "-c", _KILL, "sh", str(pid), program], timeout=_KILL_SECONDS)

    def close(self) -> None:
        """Ends the probe, on the board too, within seconds. May be called more than once."""
        at_rest = self.is_open
        self._dead = True
        if self._process.returncode is None:
            self._pipes.end_input()
            if not (at_rest and self._exits_within(_GRACE_SECONDS)):
                self._kill_on_board()
        process.end(self._process)

    def _kill_on_board(self) -> None:
        """Ends a probe that does not listen, or is measuring; ending ssh would not do it."""
        if self._pid is not None:
            self.end_other(self._pid, self._program)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _wait_until_ready(self, timeout: float) -> ReadyMessage:
        """Reads up to ``ready``, past what a login shell has to say."""
        noise_lines = noise_bytes = 0
        while True:
            raw = self._next_line(timeout)
            word, _, number = raw.decode("ascii", "replace").partition(" ")
            if word == _PID_WORD and number.isdecimal() and self._pid is None:
                self._pid = int(number[:10])
                continue
            with contextlib.suppress(ValueError):
                message = read_message(raw)
                if isinstance(message, ReadyMessage):
                    break
            noise_lines += 1
            noise_bytes += len(raw)
            if noise_lines > _NOISE_LINES or noise_bytes > _NOISE_BYTES:
                raise self._fatal(
                    f"does not get ready, but says much else, at last '{printable(raw, _QUOTED)}'",
                    "make the login shell there silent when it is not interactive",
                )
        if message.protocol != PROTOCOL:
            raise self._fatal(
                f"speaks version {message.protocol} of the protocol, not {PROTOCOL}",
                "remove it from the board, so that the one of this version is put there",
            )
        return message

    def _answers(self, paced: bool, timeout: float) -> Iterator[Message]:
        failure: BenchviseError | None = None
        while True:
            if self._unacknowledged:
                raise RuntimeError("a sample was not acknowledged: the probe waits for that")
            message = self._next_message(timeout)
            if isinstance(message, DoneMessage):
                break
            if isinstance(message, ErrorMessage):
                failure = failure or failure_of(message)
                continue
            self._unacknowledged = paced and isinstance(message, SampleMessage)
            yield message
        if message.request != self._number and failure is None:
            raise self._fatal(f"answers request {message.request} instead of {self._number}")
        self._pending = False
        if failure is not None:
            raise failure
        if message.signal is not None:
            raise self._killed("the benchmark's process", message.signal)
        if message.exit != 0:
            raise ProbeError(
                f"the request failed on {self._board.name} without saying why "
                f"(exit {message.exit})",
                "try it again; if it stays, please report it",
            )

    def _next_message(self, timeout: float) -> Message:
        raw = self._next_line(timeout)
        try:
            return read_message(raw)
        except ValueError as error:
            raise self._fatal(
                f"said something that is not its protocol: '{printable(raw, _QUOTED)}' "
                f"({printable(str(error))})",
                "see whether something else writes to the same output there",
            ) from None

    def _next_line(self, timeout: float) -> bytes:
        """The next line without its end."""
        deadline = time.monotonic() + timeout
        buffer = self._pipes.stdout
        while True:
            length = buffer.find(b"\n")
            if length > messages.LINE_LIMIT or (length < 0 and len(buffer) > messages.LINE_LIMIT):
                raise self._fatal(
                    f"said a line of more than {messages.LINE_LIMIT >> 20} MiB: "
                    f"'{printable(bytes(buffer[:1000]), _QUOTED)}'",
                    "see whether something else writes to the same output there",
                )
            if length >= 0:
                raw = bytes(buffer[:length])
                del buffer[: length + 1]
                return raw
            if self._dead:
                raise ProbeError(
                    f"the connection to the probe on {self._board.name} was closed",
                    "connect again",
                )
            if self._pipes.output_at_end:
                raise self._ended()
            if not self._pipes.pump(deadline - time.monotonic()):
                raise self._fatal(
                    f"has been silent for {timeout:g} s",
                    "see whether the board is overloaded, or ask for less at once",
                )

    def _ended(self) -> BenchviseError:
        """The error for an output that ended before the answer did."""
        if not self._exits_within(_GRACE_SECONDS):
            return self._fatal("closed its output", "try again; if it stays, please report it")
        status = self._process.returncode
        stderr = bytes(self._pipes.stderr)
        self.close()
        lost = self._board.contact_lost(status, stderr)
        if lost is not None:
            return lost
        number = -status if status < 0 else status - 128
        if number in {int(member) for member in signal.Signals}:
            return self._killed("the probe", number)
        remark = last_line(stderr)
        return ProbeError(
            f"the probe on {self._board.name} ended by itself (exit {status})"
            + (f": {remark}" if remark else ""),
            "try again; if it stays, please report it",
        )

    def _killed(self, what: str, number: int) -> ProbeError:
        try:
            member = signal.Signals(number)
        except ValueError:
            name, remedy = f"signal {number}", ""
        else:
            name, remedy = f"signal {number} ({member.name})", _SIGNAL_REMEDIES.get(member.name, "")
        return ProbeError(
            f"{what} on {self._board.name} was killed by {name}",
            remedy or "see who or what did that there",
        )

    def _fatal(self, what: str, remedy: str = "please report it") -> ProbeError:
        """Closes the channel, as nothing more can be made of it."""
        self.close()
        return ProbeError(f"the probe on {self._board.name} {what}", remedy)

    def _exits_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self._pipes.at_end:
            self._pipes.stdout.clear()
            if not self._pipes.pump(deadline - time.monotonic()):
                return False
        try:
            self._process.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            return False
        return True


def open_channel(board: Board) -> ProbeChannel:
    """Puts the probe onto the board unless it is there, and starts it.

    Raises what ``deploy`` and ``ProbeChannel`` raise.
    """
    return ProbeChannel(board, [deploy(board).path])


def failure_of(message: ErrorMessage) -> BenchviseError:
    """The exception for an ``error`` line; the probe's text names the thing and the remedy."""
    kinds: Mapping[int, type[BenchviseError]] = {77: NotAvailable, 2: UsageError}
    return kinds.get(message.exit, ProbeError)(f"{message.message:{_MESSAGE}}")


def _batches(globs: Iterable[str]) -> Iterator[list[str]]:
    """As many patterns at once as a request takes."""
    batch: list[str] = []
    size = 0
    for pattern in globs:
        length = len(json.dumps(pattern)) + 1  # at most: a request may be of fewer escapes
        if batch and (len(batch) == _INPUTS_A_REQUEST or size + length > _INPUT_BYTES_A_REQUEST):
            yield batch
            batch, size = [], 0
        batch.append(pattern)
        size += length
    if batch:
        yield batch
