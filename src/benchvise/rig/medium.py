"""Media: where a card can be written, and the process that writes it there."""

from __future__ import annotations

import contextlib
import mmap
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, cast

from benchvise.board.shell import command_line
from benchvise.rig import writer
from benchvise.rig.faults import Fault, RigError
from benchvise.rig.writer import CHUNK
from benchvise.text import printable

SLOTS = 8
"""Chunks that are under way between reading and the card."""

_KILL_S = 10.0
_PIPE = 1 << 20  # bytes; the largest that a user may ask for

_SSH_OPTIONS = (
    *("LogLevel=ERROR", "BatchMode=yes", "ConnectTimeout=10"),
    *("ServerAliveInterval=10", "ServerAliveCountMax=3", "ClearAllForwardings=yes"),
    *("ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no", "RequestTTY=no"),
)


@dataclass(frozen=True, slots=True)
class Medium:
    """A card in a reader or mux: the path of its block device, or of a file that stands for one.

    ``host`` is the machine that the reader hangs on, as ssh knows it; None is this one.
    """

    path: str
    host: str | None = None

    @property
    def shown(self) -> str:
        """For messages."""
        return printable(f"{self.host}:{self.path}" if self.host else self.path)


class Way(Enum):
    """How the bytes of an image come to its writer: see ``feeder``."""

    FILE = "file"
    MEMORY = "memory"
    FRAMES = "frames"


@dataclass(frozen=True, slots=True)
class WriterProcess:
    """A running writer (see ``writer``), the file that gets what it says on standard error, and
    memory for SLOTS chunks. ``given`` is what its order has to say of how it gets the bytes.
    """

    child: subprocess.Popen[bytes]
    said: IO[bytes]
    way: Way
    given: dict[str, object]
    slots: list[memoryview]

    def kill(self) -> None:
        """Ends it. It may live on for as long as the kernel waits for a card."""
        self.child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(_KILL_S)

    def close(self) -> None:
        """Ends it if need be, and closes what leads to it."""
        self.kill()
        self.said.close()
        for pipe in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(OSError):
                cast("IO[bytes]", pipe).close()


def start_writer(medium: Medium, image: int | None) -> WriterProcess:
    """Starts the writer where the card is, its program already sent; the order is next.

    ``image`` is the descriptor of an image that can be written as it is, and None of another.
    It is in a session of its own, so that Ctrl-C is ours alone to handle. Raises RigError
    (rig-broken) when it cannot be started.
    """
    program = Path(writer.__file__).read_bytes()
    # exec reads it from standard input, which stays open for what comes behind it
    loader = (
        f"import sys; exec(compile(sys.stdin.buffer.read({len(program)}), 'writer', 'exec'), "
        "{'__name__': '__main__'})"
    )
    python = [sys.executable if medium.host is None else "python3", "-I", "-S", "-c", loader]
    command = python if medium.host is None else [*_ssh(medium.host), command_line(python)]
    said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    memory = os.memfd_create("benchvise-slots")
    way, given, passed = Way.FRAMES, dict[str, object](), tuple[int, ...]()
    if not medium.host and image is None:
        way, given, passed = Way.MEMORY, {"memory": [memory, SLOTS]}, (memory,)
    elif not medium.host and image is not None:
        way, given, passed = Way.FILE, {"image": image}, (image,)
    try:
        os.ftruncate(memory, SLOTS * CHUNK)
        whole = memoryview(mmap.mmap(memory, SLOTS * CHUNK))
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            bufsize=0,
            pipesize=_PIPE,
            start_new_session=True,
            pass_fds=passed,
        )
    except OSError as error:
        said.close()
        raise RigError(
            Fault.RIG_BROKEN,
            f"'{command[0]}' cannot be started ({error.strerror})",
            "apt install openssh-client" if medium.host else "is this Python's installation whole?",
        ) from error
    finally:
        os.close(memory)
    slots = [whole[at : at + CHUNK] for at in range(0, len(whole), CHUNK)]
    process = WriterProcess(child, said, way, given, slots)
    send(process, memoryview(program))
    return process


def send(process: WriterProcess, *parts: memoryview | bytes) -> bool:
    """Writes all of the parts to the writer; False when it has gone."""
    assert process.child.stdin is not None  # noqa: S101 - it was asked for
    fd = process.child.stdin.fileno()
    left = [memoryview(part) for part in parts]
    try:
        while left:
            done = os.writev(fd, left)
            while left and done >= len(left[0]):
                done -= len(left.pop(0))
            if left:
                left[0] = left[0][done:]
    except OSError:
        return False
    return True


def _ssh(host: str) -> list[str]:
    command = ["ssh"]
    if config := os.environ.get("BENCHVISE_SSH_CONFIG"):
        command += ["-F", config]
    for option in _SSH_OPTIONS:
        command += ["-o", option]
    return [*command, "--", host]
