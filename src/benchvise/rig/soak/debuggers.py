"""Reading where the cores of a board stand, through a debugger.

Of a simulated board through QEMU's GDB stub (``cores_by_gdb``). Of a real one through OpenOCD and a
debug adapter: its GDB port, or the command port of an OpenOCD that runs already
(``cores_by_telnet``). ``cores_at`` takes the address that a rig file names.

Protocol of GDB: *Debugging with GDB*, appendix "GDB Remote Serial Protocol". To QEMU and to
OpenOCD, a core is a thread of it. Connecting stops all cores.
"""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path
from typing import Self

from benchvise.errors import UsageError
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.soak.cores import Core, Symbols, core_at, registers_of
from benchvise.text import last_line

TELNET = "telnet://"
"""Before the address of OpenOCD's command port: ``telnet://HOST:4444``."""


def cores_at(debugger: str, architecture: str, symbols: Symbols | None = None) -> tuple[Core, ...]:
    """All cores that a debugger knows: ``HOST:PORT`` or the path of a socket of a GDB stub, or
    ``telnet://HOST:PORT`` of OpenOCD.

    Raises RigError when there is no answer, UsageError for an unknown architecture or address.
    """
    host, colon, port = debugger.removeprefix(TELNET).rpartition(":")
    is_network = bool(host) and bool(colon) and port.isdecimal()
    if not debugger.startswith(TELNET):
        stub = (host, int(port)) if is_network else Path(debugger)
        return cores_by_gdb(stub, architecture, symbols)
    if not is_network:
        raise UsageError(
            f"{debugger} is no address of OpenOCD",
            f"say {TELNET}HOST:4444 in `debugger` of the rig file",
        )
    return cores_by_telnet((host, int(port)), architecture, symbols)


# -- GDB stubs -------------------------------------------------------------------------------------

GDB_SECONDS = 15.0
"""What an answer may take: stubs answer at once."""

_PACKET_LIMIT = 64 * 1024  # bytes of one packet; a stub's own limit is 4 to 16 KiB
_THREAD_LIMIT = 1024


class GdbStub:
    """A connection to a stub, by the path of a Unix socket or by host and port.

    Whatever goes wrong is a RigError that names the stub.
    """

    def __init__(self, address: Path | tuple[str, int], *, timeout: float = GDB_SECONDS) -> None:
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
            if len(threads) > _THREAD_LIMIT:
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

    # Packets

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
            if len(self._buffer) > _PACKET_LIMIT:
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


def read_cores(stub: GdbStub, architecture: str, symbols: Symbols | None) -> tuple[Core, ...]:
    """All cores of a stub that one is connected to, and whose cores therefore stand still."""
    wanted = registers_of(architecture)
    numbers = (wanted.pc,) if wanted.caller is None else (wanted.pc, wanted.caller)
    cores = []
    for index, thread in enumerate(stub.threads()):
        pc, *caller = stub.registers(thread, numbers, wanted.width)
        # "CPU#1 [running]", or what OpenOCD calls a core: the state is that of a stopped machine.
        name = stub.description(thread).partition("[")[0].strip() or f"core {index}"
        cores.append(core_at(name, pc, caller[0] if caller else None, symbols))
    return tuple(cores)


def cores_by_gdb(
    address: Path | tuple[str, int],
    architecture: str,
    symbols: Symbols | None = None,
    *,
    resume: bool = True,
) -> tuple[Core, ...]:
    """All cores of the machine behind a GDB stub: a Unix socket, or host and port.

    They stand still while they are read; with ``resume`` they go on afterwards. Raises RigError
    when the stub does not answer as it should, UsageError for an unknown architecture.
    """
    registers_of(architecture)
    with GdbStub(address) as stub:
        cores = read_cores(stub, architecture, symbols)
        if resume:
            stub.resume()
    return cores


def _value(digits: str, width: int) -> int | None:
    try:
        data = bytes.fromhex(digits)
    except ValueError:  # "xxxx": not to be had; "E01": none are
        return None
    return int.from_bytes(data, "little") if len(data) == width else None


# -- OpenOCD ---------------------------------------------------------------------------------------

TELNET_PORT = 4444
"""Where OpenOCD takes commands unless its configuration says otherwise."""

OPENOCD_SECONDS = 15.0
"""Longer than halting a few cores takes through a slow adapter."""

_ANSWER_LIMIT = 1024 * 1024  # bytes of an answer

# Telnet's own commands: IAC, a verb, an option.
_NEGOTIATION = re.compile(rb"\xff[\xfb-\xfe].|\xff[\xf0-\xfa]|\x00", re.DOTALL)

# A server echoes its input, so the words to match are put together by the server.
_REGISTER = re.compile(
    r"benchvise-core (\S+) (\S+) (?:(?!benchvise-)[\s\S])*?\(/\d+\): 0x([0-9a-fA-F]+)"
)
_END_OF_CORES = "benchvise-end"


def _script(architecture: str, *, resume: bool) -> str:
    """The Tcl line that halts each core, says its registers, and lets it go on.

    ``reg`` prints ``pc (/64): 0x0000000080000014``. A core that cannot be halted says nothing.
    """
    names = " ".join(registers_of(architecture).names)
    steps = (
        "targets $t; catch {halt 1000}; "
        f"foreach r {{{names}}} {{"
        'if {![catch {capture "reg $r"} said]} '
        '{echo "[format benchvise-%s core] $t $r [string trim $said]"}}; '
    )
    going = "catch {resume}; " if resume else ""
    return f'foreach t [target names] {{{steps}{going}}}; echo "[format benchvise-%s end]"'


def _parse_cores(answer: str, architecture: str, symbols: Symbols | None) -> tuple[Core, ...]:
    """The cores that an answer speaks of, in its order; none when it speaks of none."""
    pc_name, *caller_name = registers_of(architecture).names
    values: dict[str, dict[str, int]] = {}
    for core, register, value in _REGISTER.findall(answer):
        values.setdefault(core, {})[register] = int(value, 16)
    return tuple(
        core_at(
            name,
            registers.get(pc_name),
            registers.get(caller_name[0]) if caller_name else None,
            symbols,
        )
        for name, registers in values.items()
    )


def cores_by_telnet(
    address: tuple[str, int],
    architecture: str,
    symbols: Symbols | None = None,
    *,
    resume: bool = True,
    timeout: float = OPENOCD_SECONDS,
) -> tuple[Core, ...]:
    """All cores that an OpenOCD at host and port knows.

    They are halted to be read; with ``resume`` they go on afterwards. Raises RigError when there
    is no answer in ``timeout`` seconds or it names no core, UsageError for an unknown architecture.
    """
    line = _script(architecture, resume=resume)
    deadline = time.monotonic() + timeout
    try:
        with socket.create_connection(address, timeout) as connection:
            connection.sendall(line.encode("ascii") + b"\n")
            answer = _until_end(connection, deadline)
    except OSError as error:
        raise _openocd_error(
            address, f"was lost or cannot be reached ({error.strerror or error})"
        ) from error
    text = _NEGOTIATION.sub(b"", answer)
    if _END_OF_CORES.encode() not in text:
        reason = last_line(text)
        raise _openocd_error(
            address, f"has not answered (last: {reason})" if reason else "has not answered"
        )
    cores = _parse_cores(text.decode("utf-8", "replace"), architecture, symbols)
    if not cores:
        raise _openocd_error(address, "could read no core")
    return cores


def _until_end(connection: socket.socket, deadline: float) -> bytes:
    answer = bytearray()
    while _END_OF_CORES.encode() not in answer and len(answer) < _ANSWER_LIMIT:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        connection.settimeout(left)
        try:
            data = connection.recv(4096)
        except TimeoutError:
            break
        if not data:
            break
        answer += data
    return bytes(answer)


_REMEDY = "see that the adapter is plugged in and the board has power, and try `openocd` by hand"


def _openocd_error(address: tuple[str, int], what: str) -> RigError:
    return RigError(Fault.RIG_BROKEN, f"OpenOCD at {address[0]}:{address[1]} {what}", _REMEDY)
