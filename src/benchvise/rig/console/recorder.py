"""Keeps what a console says, byte for byte, and when.

``FILE`` holds what was received, raw, so that any pager shows it. ``FILE.times`` has one line for
each piece: the host's monotonic time in nanoseconds, and ``rx LENGTH``, ``tx LENGTH`` or ``mark
NAME``. Of what was sent only the length is kept, as it may be a password; the board's echo shows
the rest.

Everything is written at once, without a buffer of this process: what was received before a
``kill -9`` is in the file. Bytes go first, then their record, so a kill in between leaves bytes
without a time, which the next writer makes up for.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchvise.user_directories import user_directory

LOG_LIMIT = 64 << 20
"""Bytes of a log after which no more is kept: a board may talk without end."""

POWER_ON = "power on"
"""The mark from which a boot is counted."""

_NAME_LIMIT = 80
_TIMES_LIMIT = 256 << 20


class ConsoleDriver(Protocol):
    """What of a labgrid console driver is used: the two methods under all its others."""

    def _read(self, *args: Any, **options: Any) -> bytes: ...

    def _write(self, data: bytes) -> Any: ...


class ConsoleRecorder:
    """Appends to a log; ``listen`` is called with the time and the bytes of each piece received.

    Raises OSError when the log cannot be made. A disk that is full later does not stop a boot: it
    sets ``failure``, and from then on nothing is kept.
    """

    def __init__(
        self,
        path: Path,
        *,
        limit: int = LOG_LIMIT,
        clock: Callable[[], int] = time.monotonic_ns,
        listen: Callable[[int, bytes], None] | None = None,
    ) -> None:
        self.path = path
        self.listen = listen
        self.failure: str | None = None
        self._clock = clock
        self._limit = limit
        self._data, self._times = -1, -1
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self._data = os.open(path, flags, 0o644)
            self._times = os.open(times_path(path), flags, 0o644)
        except BaseException:
            self.close()
            raise
        self._size = os.fstat(self._data).st_size
        self._mend()

    def received(self, data: bytes) -> None:
        """Keeps what the board said."""
        now = self._clock()
        if data:
            self._keep(now, data)
            if self.listen is not None:
                self.listen(now, data)

    def note_input(self, data: bytes) -> None:
        """Notes that something was sent to the board."""
        if data:
            self._note(f"{self._clock()} tx {len(data)}\n")

    def mark(self, name: str) -> None:
        """Notes something that the host did, such as POWER_ON."""
        plain = "".join(c for c in name if c.isprintable())[:_NAME_LIMIT]
        self._note(f"{self._clock()} mark {plain}\n")

    def close(self) -> None:
        """Closes the log. May be called more than once."""
        for descriptor in (self._data, self._times):
            if descriptor >= 0:
                os.close(descriptor)
        self._data = self._times = -1

    def __enter__(self) -> ConsoleRecorder:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _keep(self, now: int, data: bytes) -> None:
        room = max(self._limit - self._size, 0)
        kept = data[:room]
        if kept and self._write(self._data, kept):
            self._size += len(kept)
            self._note(f"{now} rx {len(kept)}\n")
        if len(kept) < len(data) and room and self.failure is None:
            self.failure = f"the log has reached {self._limit} bytes"
            self._note(f"{now} mark log is full\n", even_so=True)

    def _note(self, record: str, *, even_so: bool = False) -> None:
        if self.failure is None or even_so:
            self._write(self._times, record.encode())

    def _write(self, descriptor: int, data: bytes) -> bool:
        if descriptor < 0:
            return False
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        except OSError as error:
            self.failure = self.failure or f"the log cannot be written ({error.strerror})"
            return False
        return True

    def _mend(self) -> None:
        """After a writer that was killed: ends a torn record, and accounts for bytes without."""
        times = times_path(self.path)
        size = os.fstat(self._times).st_size
        if size and os.pread(self._times, 1, size - 1) != b"\n":
            self._note("\n")
        missing = self._size - sum(n for _, kind, n, _ in _records(times) if kind == "rx")
        if missing > 0:
            self._note(f"{self._clock()} rx {missing}\n")


@dataclass(frozen=True, slots=True)
class LogPiece:
    """A record of a log: what was received (``data``), how much was sent, or a mark."""

    at_ns: int
    data: bytes = b""
    sent_bytes: int = 0
    mark: str = ""


def read_log(path: Path) -> Iterator[LogPiece]:
    """The pieces of a log in their order, one that a killed writer left included."""
    last = 0
    with path.open("rb") as file:
        for at, kind, number, name in _records(times_path(path)):
            last = at
            if kind == "rx":
                data = file.read(number)
                if data:
                    yield LogPiece(at, data)
            elif kind == "tx":
                yield LogPiece(at, sent_bytes=number)
            else:
                yield LogPiece(at, mark=name)
        rest = file.read(LOG_LIMIT)
        if rest:
            yield LogPiece(last, rest)


def times_path(path: Path) -> Path:
    """Where the times of a log lie."""
    return path.with_name(path.name + ".times")


def boots_directory(name: str) -> Path:
    """Where the logs of a board's boots lie, under the user's state directory."""
    return user_directory("state") / "boots" / name


def logs_directory(name: str) -> Path:
    """A new directory for one boot's console log; those of a board sort by time.

    To the microsecond: a page follows the last one, and a board may boot, and somebody begin to
    type on it, within a second.
    """
    parent = boots_directory(name)
    parent.mkdir(parents=True, exist_ok=True)
    seconds, rest_ns = divmod(time.time_ns(), 1_000_000_000)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds))
    return Path(tempfile.mkdtemp(prefix=f"{stamp}-{rest_ns // 1000:06d}_", dir=parent))


def attach(console_driver: ConsoleDriver, recorder: ConsoleRecorder) -> None:
    """Lets everything that goes through a labgrid console driver go through the recorder too.

    It is done to the one instance, so a stock driver stays of its stock class. Another recorder
    takes the place of an earlier one. What was attached is taken off by ``detach``.
    """
    driver: Any = console_driver
    detach(driver)
    read, write = driver._read, driver._write

    def recorded_read(*args: Any, **options: Any) -> bytes:
        data: bytes = read(*args, **options)
        recorder.received(data)
        return data

    def recorded_write(data: bytes) -> Any:
        recorder.note_input(data)
        return write(data)

    driver._read, driver._write = recorded_read, recorded_write


def detach(console_driver: ConsoleDriver) -> None:
    """Takes the recorder off a driver again; nothing happens where there is none."""
    for name in ("_read", "_write"):
        vars(console_driver).pop(name, None)


def _records(path: Path) -> Iterator[tuple[int, str, int, str]]:
    """The records of a file of times; what is none is passed over."""
    try:
        with path.open("rb") as file:
            for raw in file.read(_TIMES_LIMIT).splitlines():
                fields = raw.decode("utf-8", "replace").split(" ", 2)
                if len(fields) != 3 or not fields[0].isdecimal():
                    continue
                at, kind, rest = int(fields[0]), fields[1], fields[2]
                if kind in ("rx", "tx") and rest.isdecimal():
                    yield at, kind, int(rest), ""
                elif kind == "mark":
                    yield at, kind, 0, rest
    except FileNotFoundError:
        return
