"""How the server's connections get to a reader: one for each request.

Where a descriptor can be passed (Unix), a pair of sockets is made for each request and one end goes
over a socket that is the reader's standard input. Elsewhere (Windows) the reader is told a port of
the loopback and a secret for each connection, and connects; who shows no secret is hung up on.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

STARTING_SECONDS = 60.0
"""A reader may take so long to start, on a machine that is busy."""

_SECRET_BYTES = 32
_SHOWING_SECONDS = 1.0
"""Who connects has so long to show the secret."""
_LOOK_SECONDS = 0.2
_LOOPBACK = "127.0.0.1"


class ReaderLink(Protocol):
    """The server's end: a reader that was started, and the way to it."""

    process: subprocess.Popen[bytes]

    def connect(self) -> socket.socket:
        """A new connection to the reader. OSError where it has died."""

    def close(self) -> None:
        """Tells the reader to end."""


class ReaderControl(Protocol):
    """The reader's end. ``channel`` is readable when a connection is to be taken."""

    channel: socket.socket

    def say_ready(self) -> None:
        """Tells the server that the reader has started."""

    def next_connection(self) -> socket.socket | None:
        """The next one that the server passes, with a request; None when it has ended."""


def start_reader(command: Sequence[str], environment: Mapping[str, str]) -> ReaderLink:
    """Starts a reader, which takes ``control`` from its standard input."""
    if hasattr(socket, "send_fds"):
        return _PassingLink(command, environment)
    return _LoopbackLink(command, environment)


def reader_control() -> ReaderControl:
    """The reader's end, of what the server has given it as standard input."""
    if hasattr(socket, "recv_fds"):
        return PassedControl(socket.socket(fileno=os.dup(0)))
    return _LoopbackControl()


# -- descriptors are passed ------------------------------------------------------------------------


class _PassingLink:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(STARTING_SECONDS)
        self._is_ready = False
        with theirs:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    def connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                if not self._is_ready and not self._control.recv(1):
                    raise ConnectionResetError
                self._is_ready = True
                socket.send_fds(self._control, [b"+"], [theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        return ours

    def close(self) -> None:
        self._control.close()


class PassedControl:
    """The reader's end of a socket by which descriptors are passed."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel

    def say_ready(self) -> None:
        """Tells the server, by one byte, that the reader has started."""
        _say_ready(self.channel)

    def next_connection(self) -> socket.socket | None:
        """The socket of the next descriptor that comes; None when the server has ended."""
        try:
            _, descriptors, _, _ = socket.recv_fds(self.channel, 1, 1)
        except ConnectionResetError:  # without having read that we are ready
            return None
        return socket.socket(fileno=descriptors[0]) if descriptors else None


# -- the reader connects ---------------------------------------------------------------------------


class _LoopbackLink:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._listener = socket.create_server((_LOOPBACK, 0))
        self._control: socket.socket | None = None
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        assert self.process.stdin is not None  # noqa: S101 - a pipe, just above
        self._first_secret = secrets.token_bytes(_SECRET_BYTES)
        with suppress(OSError), self.process.stdin as told:  # it died: connect says so
            told.write(f"{self._listener.getsockname()[1]} {self._first_secret.hex()}\n".encode())

    def connect(self) -> socket.socket:
        if self._control is None:
            self._control = self._accepted(self._first_secret)
            self._control.settimeout(STARTING_SECONDS)
            if not self._control.recv(1):
                raise ConnectionResetError
        secret = secrets.token_bytes(_SECRET_BYTES)
        self._control.sendall(secret)
        return self._accepted(secret)

    def close(self) -> None:
        if self._control is not None:
            self._control.close()
        self._listener.close()

    def _accepted(self, secret: bytes) -> socket.socket:
        """The connection of who shows the secret."""
        self._listener.settimeout(_LOOK_SECONDS)
        end = time.monotonic() + STARTING_SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            with suppress(TimeoutError):
                connection, _ = self._listener.accept()
                connection.settimeout(_SHOWING_SECONDS)
                with suppress(OSError, EOFError):
                    if hmac.compare_digest(exactly(connection, _SECRET_BYTES), secret):
                        connection.settimeout(None)
                        return connection
                connection.close()
        raise ConnectionResetError


class _LoopbackControl:
    def __init__(self) -> None:
        port, secret = sys.stdin.readline().split()
        self._port = int(port)
        self.channel = self._connected(bytes.fromhex(secret))

    def say_ready(self) -> None:
        _say_ready(self.channel)

    def next_connection(self) -> socket.socket | None:
        try:
            first = self.channel.recv(1)  # none, or BlockingIOError, where nothing is asked
        except ConnectionResetError:
            return None
        if not first:
            return None
        waits = self.channel.gettimeout()
        self.channel.settimeout(_SHOWING_SECONDS)  # the rest came with it
        try:
            return self._connected(first + exactly(self.channel, _SECRET_BYTES - 1))
        except (OSError, EOFError):
            return None
        finally:
            self.channel.settimeout(waits)

    def _connected(self, secret: bytes) -> socket.socket:
        connection = socket.create_connection((_LOOPBACK, self._port))
        connection.sendall(secret)
        return connection


def _say_ready(control: socket.socket) -> None:
    with suppress(OSError):  # the server has ended meanwhile, which the reader sees next
        control.send(b"+")


def exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes of a connection. EOFError where it ends early."""
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
