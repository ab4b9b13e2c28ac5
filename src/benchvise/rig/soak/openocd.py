"""Where the cores of a real board stand, by OpenOCD and a debug adapter.

Two ways: the command port of an OpenOCD that runs already (``cores_by_telnet``, port 4444 by
default), or labgrid's OpenOCDDriver, which starts one (``cores_by_driver``), on the exporter too.
Both are given the same few lines of Tcl and read the same answer.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
from typing import Protocol

from labgrid.util.helper import processwrapper

from benchvise.rig.faults import Fault, RigError
from benchvise.rig.soak.cores import Core, Symbols, core_at, registers_of
from benchvise.text import last_line

TELNET_PORT = 4444
"""Where OpenOCD takes commands unless its configuration says otherwise."""

SECONDS = 15.0
"""Longer than halting a few cores takes through a slow adapter."""

_MOST = 1024 * 1024  # bytes of an answer

# Telnet's own commands: IAC, a verb, an option.
_NEGOTIATION = re.compile(rb"\xff[\xfb-\xfe].|\xff[\xf0-\xfa]|\x00", re.DOTALL)

# A server echoes its input, so the words to match are put together by the server.
_LINE = re.compile(
    r"benchvise-core (\S+) (\S+) (?:(?!benchvise-)[\s\S])*?\(/\d+\): 0x([0-9a-fA-F]+)"
)
_END = "benchvise-end"


class OpenOCD(Protocol):
    """What is used of labgrid's ``OpenOCDDriver``."""

    def execute(self, commands: list[str]) -> None:
        """Starts OpenOCD, and ends it when it has done the commands."""


def script(architecture: str, *, resume: bool) -> str:
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


def parse(answer: str, architecture: str, symbols: Symbols | None) -> tuple[Core, ...]:
    """The cores that an answer speaks of, in its order; none when it speaks of none."""
    pc_name, *caller_name = registers_of(architecture).names
    values: dict[str, dict[str, int]] = {}
    for core, register, value in _LINE.findall(answer):
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
    timeout: float = SECONDS,
) -> tuple[Core, ...]:
    """All cores that an OpenOCD at host and port knows.

    They are halted to be read; with ``resume`` they go on afterwards. Raises RigError when there
    is no answer in ``timeout`` seconds or it names no core, UsageError for an unknown architecture.
    """
    line = script(architecture, resume=resume)
    deadline = time.monotonic() + timeout
    try:
        with socket.create_connection(address, timeout) as connection:
            connection.sendall(line.encode("ascii") + b"\n")
            answer = _until_end(connection, deadline)
    except OSError as error:
        raise _error(
            address, f"was lost or cannot be reached ({error.strerror or error})"
        ) from error
    text = _NEGOTIATION.sub(b"", answer)
    if _END.encode() not in text:
        reason = last_line(text)
        raise _error(
            address, f"has not answered (last: {reason})" if reason else "has not answered"
        )
    cores = parse(text.decode("utf-8", "replace"), architecture, symbols)
    if not cores:
        raise _error(address, "could read no core")
    return cores


def _until_end(connection: socket.socket, deadline: float) -> bytes:
    answer = bytearray()
    while _END.encode() not in answer and len(answer) < _MOST:
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


def cores_by_driver(
    driver: OpenOCD,
    architecture: str,
    symbols: Symbols | None = None,
    *,
    resume: bool = True,
) -> tuple[Core, ...]:
    """All cores of a board whose target has an active labgrid ``OpenOCDDriver``.

    OpenOCD is started where the adapter is plugged in, and ends again. Raises RigError when it
    fails or names no core, UsageError for an unknown architecture.
    """
    output: list[bytes] = []

    def keep(line: bytes, _process: object) -> None:
        if sum(map(len, output)) < _MOST:
            output.append(line)

    commands = ["init", script(architecture, resume=resume), "shutdown"]
    # The driver keeps what OpenOCD says to itself, but all that labgrid runs can be listened to.
    processwrapper.register(keep)
    try:
        driver.execute(commands)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = last_line(b"\n".join(output)) or str(error)
        raise RigError(Fault.RIG_BROKEN, f"OpenOCD failed: {reason}", _REMEDY) from error
    finally:
        processwrapper.unregister(keep)
    cores = parse(b"\n".join(output).decode("utf-8", "replace"), architecture, symbols)
    if not cores:
        raise RigError(Fault.RIG_BROKEN, "OpenOCD could read no core of the board", _REMEDY)
    return cores


_REMEDY = "see that the adapter is plugged in and the board has power, and try `openocd` by hand"


def _error(address: tuple[str, int], what: str) -> RigError:
    return RigError(Fault.RIG_BROKEN, f"OpenOCD at {address[0]}:{address[1]} {what}", _REMEDY)
