"""A serial port of this machine, raw, at any rate, under each flow control."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import struct
import time
from collections.abc import Mapping
from typing import Self

from benchvise.errors import BoardUnusable, UsageError
from benchvise.file_locks import try_lock_shortly
from benchvise.signal.serial.flow import XON, Flow

with contextlib.suppress(ModuleNotFoundError):  # Windows, which opens none but reads of them
    import fcntl
    import termios

_TCGETS2, _TCSETS2 = 0x802C542A, 0x402C542B
_TIOCGICOUNT = 0x545D
_BOTHER, _CBAUD = 0o010000, 0o010017
_SETTINGS2 = struct.Struct("4IB19s2I")
_COUNTERS = ("cts", "dsr", "ring", "carrier", "received", "sent", "frame", "overrun", "parity",
             "break", "buffer_overrun")  # fmt: skip
_CHUNK = 64 << 10


class Port:
    """An open port. Leaving its context puts the port's settings back as they were."""

    def __init__(self, path: str, baud: int, flow: Flow) -> None:
        """Opens a port; UsageError when there is none, BoardUnusable when it cannot be set."""
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            raise UsageError(
                f"{path}: {error.strerror}",
                "name a serial port that is there and that you may open (group dialout)"
                if error.errno in (errno.EACCES, errno.ENOENT)
                else "is another program using it?",
            ) from error
        try:
            self._before = termios.tcgetattr(self._fd)
            if not try_lock_shortly(self._fd):
                os.close(self._fd)
                raise UsageError(f"{path}: another program holds it", "close that first")
            self._set(baud, flow)
        except termios.error as error:
            os.close(self._fd)
            raise UsageError(f"{path}: it is no serial port ({error})", "name one") from error
        except OSError as error:
            os.close(self._fd)
            raise BoardUnusable(
                f"{path}: {baud} baud with flow control {flow} cannot be set ({error.strerror})",
                "try another rate or flow control",
            ) from error

    def _set(self, baud: int, flow: Flow) -> None:
        cflag = termios.CS8 | termios.CREAD | termios.CLOCAL | _BOTHER
        cflag |= termios.CRTSCTS if flow is Flow.RTSCTS else 0
        iflag = termios.IXON | termios.IXOFF if flow is Flow.XONXOFF else 0
        settings = bytearray(_SETTINGS2.size)
        fcntl.ioctl(self._fd, _TCGETS2, settings)
        old = _SETTINGS2.unpack(bytes(settings))
        control = bytearray(old[5])
        packed = _SETTINGS2.pack(
            iflag, 0, cflag & ~_CBAUD | _BOTHER, 0, old[4], bytes(control), baud, baud
        )
        fcntl.ioctl(self._fd, _TCSETS2, packed)
        termios.tcflush(self._fd, termios.TCIOFLUSH)

    def write(self, data: bytes) -> int:
        """Writes what the port takes at once; how many bytes that was. BoardUnusable when the port
        has gone."""
        try:
            return os.write(self._fd, data[:_CHUNK])
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self._gone(error) from error

    def read(self) -> bytes:
        """What has come, perhaps nothing. BoardUnusable when the port has gone."""
        try:
            return os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            if error.errno == errno.EIO:  # the other end of a pty is closed, for now
                return b""
            raise self._gone(error) from error

    def wait(self, seconds: float, *, to_write: bool) -> None:
        """Waits until something has come or may be written, or the time is over."""
        select.select([self._fd], [self._fd] if to_write else [], [], max(0.0, seconds))

    def resume(self) -> None:
        """Sends one XON past all flow control."""
        with contextlib.suppress(termios.error):
            termios.tcflow(self._fd, termios.TCOON)
        self.write(bytes([XON]))

    def discard(self, quiet_s: float = 0.05) -> None:
        """Throws away what is on its way, until nothing has come for a while."""
        with contextlib.suppress(termios.error):
            termios.tcflush(self._fd, termios.TCIOFLUSH)
        deadline = time.monotonic() + 20 * quiet_s
        last = time.monotonic()
        while time.monotonic() < min(deadline, last + quiet_s):
            self.wait(quiet_s / 5, to_write=False)
            if self.read():
                last = time.monotonic()

    def counters(self) -> Mapping[str, int] | None:
        """What the driver counted since it was loaded; None where it does not count (a pty)."""
        buffer = bytearray(4 * 20)
        try:
            fcntl.ioctl(self._fd, _TIOCGICOUNT, buffer)
        except OSError:
            return None
        return dict(zip(_COUNTERS, struct.unpack_from("11i", buffer), strict=True))

    def close(self) -> None:
        """Puts the settings back and closes; may be called more than once."""
        if self._fd < 0:
            return
        with contextlib.suppress(termios.error):
            termios.tcflush(self._fd, termios.TCOFLUSH)  # else closing waits for what is stuck
            termios.tcsetattr(self._fd, termios.TCSANOW, self._before)
        os.close(self._fd)
        self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _gone(self, error: OSError) -> BoardUnusable:
        return BoardUnusable(
            f"{self.path}: the port has gone ({error.strerror})", "is the adapter still plugged in?"
        )
