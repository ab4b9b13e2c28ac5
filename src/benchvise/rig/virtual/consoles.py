"""The serial console of a simulated board: a TCP port that outlives its power cycles.

The machine connects to a UNIX socket of ours when it is switched on and goes away when it is
switched off. On the other side any number of readers may be connected at any time; each gets
everything from then on, and what any of them writes goes to the board. So a logger never steals
bytes from anyone. A reader that does not read loses bytes, as on a serial adapter, and holds up
nobody. What the line carried is in ``console.log`` too, read or not. Of this machine's users, only
the one who started the bench and root may be connected, to either side.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from benchvise.bounded_log import BoundedLog
from benchvise.local_users import is_own_connection

READER_BUFFER = 1 << 20
"""Bytes that are kept for a reader that does not read; what comes then is lost to it."""

READERS = 32
_TYPED_BUFFER = 64 << 10
_LAST_BYTES_SECONDS = 10.0


class SimulatedConsole:
    """The line between a machine and whoever listens.

    ``line`` is what the line does to the board's bytes; ``typist`` sees them first and returns
    what to type in answer.
    """

    def __init__(
        self,
        log: Path,
        line: Callable[[bytes], bytes] = bytes,
        typist: Callable[[bytes], bytes] = lambda _: b"",
    ) -> None:
        self.port = 0
        self.overrun = 0
        self._log = BoundedLog(log)
        self._line = line
        self._typist = typist
        self._readers: set[_Reader] = set()
        self._machine: asyncio.Transport | None = None
        self._silent = asyncio.Event()
        self._silent.set()
        self._servers: list[asyncio.Server] = []
        self._dead = False

    @property
    def readers(self) -> int:
        """How many are connected."""
        return len(self._readers)

    @property
    def log_lost(self) -> int:
        """Bytes that could not be written to the log."""
        return self._log.lost

    async def open(self, socket_path: str, port: int) -> None:
        """Opens both sides; any free ``port`` is taken when that one is not free. OSError."""
        loop = asyncio.get_running_loop()
        Path(socket_path).unlink(missing_ok=True)
        self._servers.append(
            await loop.create_unix_server(lambda: _Machine(self), path=socket_path)
        )
        try:
            server = await loop.create_server(lambda: _Reader(self), "127.0.0.1", port)
        except OSError:
            if not port:
                raise
            server = await loop.create_server(lambda: _Reader(self), "127.0.0.1", 0)
        self._servers.append(server)
        self.port = server.sockets[0].getsockname()[1]

    async def last_bytes(self) -> None:
        """Waits until everything that a machine which has ended sent is with the readers."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._silent.wait(), _LAST_BYTES_SECONDS)
        if self._machine is not None:
            self._machine.abort()

    def set_dead(self, dead: bool) -> None:
        """A dead console closes what is connected, and everything that connects."""
        self._dead = dead
        if dead:
            self._close_readers()

    def close(self) -> None:
        """Closes everything."""
        for server in self._servers:
            server.close()
        self._close_readers()
        if self._machine is not None:
            self._machine.abort()
        self._log.close()

    def type(self, data: bytes) -> None:
        """Sends bytes to the board. Without power, or when it does not listen, they are lost."""
        machine = self._machine
        if machine is not None and machine.get_write_buffer_size() + len(data) <= _TYPED_BUFFER:
            machine.write(data)

    def machine_connected(self, transport: asyncio.Transport) -> None:
        """A machine was switched on; one that is still connected is gone."""
        if self._machine is not None:
            self._machine.abort()
        self._machine = transport
        self._silent.clear()

    def machine_lost(self, transport: asyncio.Transport) -> None:
        """A machine has ended."""
        if transport is self._machine:
            self._machine = None
            self._silent.set()

    def heard(self, data: bytes) -> None:
        """The board sent bytes."""
        typed = self._typist(data)
        if typed:
            self.type(typed)
        data = self._line(data)
        if not data or self._dead:
            return
        self._log.write(data)
        for reader in self._readers:
            if not reader.take(data):
                self.overrun += len(data)

    def reader_connected(self, reader: _Reader) -> bool:
        """Whether the reader may stay."""
        if self._dead or len(self._readers) >= READERS:
            return False
        self._readers.add(reader)
        return True

    def reader_lost(self, reader: _Reader) -> None:
        """A reader went away."""
        self._readers.discard(reader)

    def _close_readers(self) -> None:
        for reader in tuple(self._readers):
            reader.close()
        self._readers.clear()


class _Machine(asyncio.Protocol):
    """The machine's end."""

    def __init__(self, console: SimulatedConsole) -> None:
        self._console = console
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the types
        self._transport = transport
        if is_own_connection(transport.get_extra_info("socket")):
            self._console.machine_connected(transport)
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        self._console.heard(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._console.machine_lost(self._transport)


class _Reader(asyncio.Protocol):
    """One who is connected to the console's port."""

    def __init__(self, console: SimulatedConsole) -> None:
        self._console = console
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the types
        self._transport = transport
        own = is_own_connection(transport.get_extra_info("socket"))
        if not own or not self._console.reader_connected(self):
            transport.abort()

    def data_received(self, data: bytes) -> None:
        self._console.type(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._console.reader_lost(self)

    def take(self, data: bytes) -> bool:
        """False when the reader has not read for so long that the bytes are lost to it."""
        if self._transport.get_write_buffer_size() + len(data) > READER_BUFFER:
            return False
        self._transport.write(data)
        return True

    def close(self) -> None:
        """Cuts the connection; what was not read is lost."""
        self._transport.abort()
