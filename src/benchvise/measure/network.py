"""The two ends of the way between this machine and a board; this machine's as a sink.

``bvprobe sink``, the remote host of network benchmarks, listens on the address that the board knows
this machine by, on a port of its own choice, and serves only who knows a key that is drawn for the
run. It is started when the first benchmark needs it and ends with the run: when it is told to, and
at the end of its standard input should nobody be left to tell it.
"""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from benchvise import interruption
from benchvise.board import Board, messages, open_board, process
from benchvise.board.address import is_loopback
from benchvise.board.channel import NotAvailable
from benchvise.board.deploy import deploy
from benchvise.board.messages import ErrorMessage, ListeningMessage, Message, read_message
from benchvise.errors import BenchviseError
from benchvise.text import AnyText, last_line, printable

_T = TypeVar("_T")

LOOPBACK_CAVEAT = (
    "board and host are one machine: the two ends share its CPUs, and no network lies between them"
)


def shares_machine(board: Board) -> bool:
    """Whether the board is this machine, as far as its addresses tell."""
    host = board.host_address()
    return host is not None and (is_loopback(host) or host == board.board_address())


def in_url(address: str) -> str:
    """The address as the host of a URL: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def with_port(address: str, port: int) -> str:
    """``192.0.2.7:5001`` or ``[2001:db8::7]:5001``."""
    return f"{in_url(address)}:{port}"


# -- this machine's own probe as a sink ------------------------------------------------------------

READY_SECONDS = 60.0
_TURN_SECONDS = 0.2  # between two looks whether it is interrupted
_KEY_BYTES = 16
_READS = 16  # at a time: more than a pipe holds
_REMEDY = "name another other end by peer=ADDRESS[:PORT]"


_remote_host_turn = threading.Lock()
"""This machine as the remote host: of one board at a time, also of several measured at once."""


def in_turn(process_messages: Iterator[_T]) -> Iterator[_T]:
    """The same messages of one process, while this machine is the remote host of no other board."""
    while not _remote_host_turn.acquire(timeout=_TURN_SECONDS):
        interruption.raise_if_set()
    try:
        yield from process_messages
    finally:
        _remote_host_turn.release()


@dataclass(frozen=True, slots=True)
class RemoteHost:
    """Where the sink listens, as ``ADDRESS:PORT``, and the key that it asks for."""

    address: str
    key: str


class Companion:
    """The sink of one run over one board; leaving its context ends it."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._process: subprocess.Popen[bytes] | None = None
        self._pipes: process.Pipes | None = None
        self._remote: RemoteHost | None = None
        self._refused: NotAvailable | None = None

    def remote_host(self) -> RemoteHost:
        """The sink, started if need be; NotAvailable, every time, when there can be none."""
        if self._refused is not None:
            raise self._refused
        if self._remote is not None and self._lives():
            return self._remote
        self.close()
        try:
            self._remote = self._start()
        except NotAvailable as error:
            self._refused = error
            self.close()
            raise
        return self._remote

    def close(self) -> None:
        """Ends the sink. May be called more than once."""
        if self._process is not None:
            process.end(self._process)
        self._process = self._pipes = self._remote = None

    def __enter__(self) -> Companion:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _start(self) -> RemoteHost:
        address = self._board.host_address()
        if address is None or "%" in address:
            raise NotAvailable(
                f"{self._board.name}: the address of this machine as the board sees it is not "
                "known",
                "give it: peer=ADDRESS[:PORT] of a `bvprobe sink`, or of an iperf3 server",
            )
        key = secrets.token_hex(_KEY_BYTES)
        try:
            with open_board("local") as here:
                program = deploy(here).path
                child = here.spawn(
                    [program, "sink", "--bind", address, "--port", "0", "--key", key]
                )
        except BenchviseError as error:
            raise NotAvailable(
                f"this machine has no probe that could be the other end ({error.message})", _REMEDY
            ) from error
        self._process, self._pipes = child, process.Pipes(child)
        return RemoteHost(with_port(address, self._port(self._pipes, address)), key)

    def _port(self, pipes: process.Pipes, address: str) -> int:
        """Waits until it listens; NotAvailable with what it says when it does not."""
        deadline = time.monotonic() + READY_SECONDS
        while True:
            raw, newline, _ = bytes(pipes.stdout).partition(b"\n")
            if newline:
                break
            if len(raw) > messages.LINE_LIMIT or pipes.output_at_end:
                raise self._failed(address, last_line(bytes(pipes.stderr)) or printable(raw))
            if not pipes.pump(deadline - time.monotonic()):
                raise self._failed(address, f"it said nothing for {READY_SECONDS:g} s")
        del pipes.stdout[: len(raw) + 1]
        message: Message | None = None
        with contextlib.suppress(ValueError):
            message = read_message(raw)
        if isinstance(message, ListeningMessage) and 0 < message.port < 65536:
            return message.port
        raise self._failed(
            address, message.message if isinstance(message, ErrorMessage) else printable(raw)
        )

    def _failed(self, address: str, reason: AnyText) -> NotAvailable:
        return NotAvailable(
            f"this machine cannot be the other end on {address}, by which {self._board.name} "
            f"knows it ({str(reason) or 'it ended by itself'})",
            f"behind a jump host or NAT that address is not its own: {_REMEDY}",
        )

    def _lives(self) -> bool:
        """Takes what it has said meanwhile, so that it hardly ever waits for a reader."""
        assert self._pipes is not None  # noqa: S101 - there is a remote host
        for _ in range(_READS):
            if self._pipes.output_at_end or not self._pipes.pump(0):
                break
            self._pipes.stdout.clear()
        return not self._pipes.output_at_end
