"""A small client of GDB's remote serial protocol: which threads there are, and where they stand.

QEMU (``-gdb``) and OpenOCD both speak it; to both, a core is a thread. Connecting stops all cores.
Protocol: *Debugging with GDB*, appendix "GDB Remote Serial Protocol".
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Self

from benchvise.rig.faults import Fault, RigError

SECONDS = 5.0
"""What an answer may take: stubs answer at once."""

_LONGEST = 64 * 1024  # bytes of one packet; a stub's own limit is 4 to 16 KiB
_MOST_THREADS = 1024


class GdbStub:
    """A connection to a stub, by the path of a Unix socket or by host and port.

    Whatever goes wrong is a RigError that names the stub.
    """

    def __init__(self, address: Path | tuple[str, int], *, timeout: float = SECONDS) -> None:
        self.name = str(address) if isinstance(address, Path) else f"{address[0]}:{address[1]}"
        self._timeout = timeout
        self._buffer = bytearray()
        try:
            if isinstance(address, Path):
                self._socket = socket.socket(socket.AF_UNIX)
                self._socket.settimeout(timeout)
                self._socket.connect(str(address))
            else:
                self._socket = socket.create_connection(address, timeout)
        except OSError as error:
            raise self._error(f"cannot be reached ({error.strerror or error})") from error
        self._send(b"+")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; cores that were not resumed stay halted."""
        self._socket.close()

    def threads(self) -> list[str]:
        """The names by which the protocol calls the cores, in their order."""
        threads: list[str] = []
        answer = self._ask("qfThreadInfo")
        while answer.startswith("m"):
            threads += answer[1:].split(",")
            if len(threads) > _MOST_THREADS:
                raise self._error("has more cores than there can be")
            answer = self._ask("qsThreadInfo")
        return threads

    def description(self, thread: str) -> str:
        """What the stub says of a core, printable: ``CPU#1 [running]``; empty when nothing."""
        answer = self._ask(f"qThreadExtraInfo,{thread}")
        try:
            return bytes.fromhex(answer).decode("utf-8", "replace")
        except ValueError:
            return ""

    def registers(self, thread: str, numbers: tuple[int, ...], width: int) -> list[int | None]:
        """Registers of a core by GDB's numbers; None for one that cannot be read.

        ``width`` is the bytes of each; those before the ones asked for must be as wide. All are
        fetched at once, as QEMU gives single ones only to who has read its description of them.
        """
        if self._ask(f"Hg{thread}") != "OK":
            raise self._error(f"does not know its own core {thread}")
        answer = self._ask("g")
        digits = 2 * width
        return [
            _value(answer[number * digits : (number + 1) * digits], width) for number in numbers
        ]

    def memory(self, address: int, length: int) -> bytes:
        """``length`` bytes from an address on, as the core asked last sees them."""
        answer = self._ask(f"m{address:x},{length:x}")
        try:
            data = bytes.fromhex(answer)
        except ValueError:
            data = b""
        if len(data) != length:
            raise self._error(f"does not give the memory at 0x{address:x}")
        return data

    def resume(self) -> None:
        """Lets all cores go on, and ends the session; the connection is still to be closed."""
        self._ask("D")

    # -- packets --------------------------------------------------------------------------------

    def _ask(self, command: str) -> str:
        payload = command.encode("ascii")
        self._send(b"$%b#%02x" % (payload, sum(payload) % 256))
        deadline = time.monotonic() + self._timeout
        while True:
            answer = self._packet(deadline)
            # Said unasked: that the cores have stopped (T, S), and console output (O and hex).
            if not answer.startswith(("T", "S")) and (answer == "OK" or answer[:1] != "O"):
                return answer

    def _packet(self, deadline: float) -> str:
        while True:
            begin = self._buffer.find(b"$")
            end = self._buffer.find(b"#", begin) if begin >= 0 else -1
            if end >= 0 and len(self._buffer) >= end + 3:
                payload = bytes(self._buffer[begin + 1 : end])
                checksum = bytes(self._buffer[end + 1 : end + 3])
                del self._buffer[: end + 3]
                if checksum.lower() == b"%02x" % (sum(payload) % 256):
                    self._send(b"+")
                    return payload.decode("ascii", "replace")
                self._send(b"-")
                continue
            if len(self._buffer) > _LONGEST:
                raise self._error("says something that is not GDB's protocol")
            self._receive(deadline)

    def _receive(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._error(f"has not answered in {self._timeout:g} s")
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(4096)
        except TimeoutError:
            return
        except OSError as error:
            raise self._error(f"was lost ({error.strerror})") from error
        if not data:
            raise self._error("has closed the connection")
        self._buffer += data

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._error(f"was lost ({error.strerror})") from error

    def _error(self, what: str) -> RigError:
        return RigError(
            Fault.RIG_BROKEN,
            f"the GDB stub at {self.name} {what}",
            "see that the machine or OpenOCD runs, and that no other debugger is connected",
        )


def _value(digits: str, width: int) -> int | None:
    try:
        data = bytes.fromhex(digits)
    except ValueError:  # "xxxx": not to be had; "E01": none are
        return None
    return int.from_bytes(data, "little") if len(data) == width else None
