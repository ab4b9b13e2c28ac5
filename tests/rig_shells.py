"""A real shell on a pseudo-terminal, and a wire to it that talks, loses and alters bytes."""

from __future__ import annotations

import os
import pty
import random
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from waiting import PATIENCE

KERNEL_LINES = (
    "usb 1-1: new high-speed USB device number 2 using xhci_hcd",
    "mmc0: error -110 whilst initialising SD card",
    "random: crng init done",
    "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
)


class Wire:
    """A shell on a pseudo-terminal. ``chatter`` is the chance that a kernel line comes into the
    middle of what is read, ``loss`` that a byte is lost on the way here, ``loss_there`` on the way
    to the board."""

    def __init__(
        self,
        argv: Sequence[str] = ("dash", "-i"),
        *,
        chatter: float = 0.0,
        stamped: bool = True,
        loss: float = 0.0,
        loss_there: float = 0.0,
        seed: int = 1,
        path: str | None = None,
    ) -> None:
        self.chatter, self.loss, self.loss_there = chatter, loss, loss_there
        self.read_bytes = self.written_bytes = 0
        self._stamped = stamped
        self._chance = random.Random(seed)
        self._mid = b""
        self._begun = time.monotonic()
        self.directory = Path(tempfile.mkdtemp(prefix="benchvise-wire-"))
        self._master, slave = pty.openpty()
        environment = {
            "PATH": path or os.environ["PATH"],
            "PS1": "root@board:~# ",
            "HOME": "/nonexistent",
            "TERM": "vt100",
            "TMPDIR": str(self.directory),
        }
        self.process = subprocess.Popen(
            [*argv],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(slave)
        self._await_prompt()

    def _await_prompt(self) -> None:
        """An interrupt that comes before the shell is ready would end it."""
        said = b""
        while b"# " not in said and select.select([self._master], [], [], PATIENCE)[0]:
            said += os.read(self._master, 4096)

    def write(self, data: bytes) -> None:
        self.written_bytes += len(data)
        kept = bytes(b for b in data if self._chance.random() >= self.loss_there)
        while kept:
            kept = kept[os.write(self._master, kept[:512]) :]

    def read(self, timeout: float) -> bytes:
        if not select.select([self._master], [], [], max(timeout, 0))[0]:
            return b""
        data = os.read(self._master, self._chance.choice([1, 20, 300, 4096]))
        self.read_bytes += len(data)
        if self.chatter and self._chance.random() < self.chatter:
            at = self._chance.randrange(len(data) + 1)
            data = data[:at] + self._kernel_line() + data[at:]
        return bytes(b for b in data if self._chance.random() >= self.loss)

    def _kernel_line(self) -> bytes:
        line = self._chance.choice(KERNEL_LINES)
        if not self._stamped:
            return f"\r\n{line}\r\n".encode()
        return f"[{time.monotonic() - self._begun + 3:12.6f}] {line}\r\n".encode()

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._master)
        shutil.rmtree(self.directory)


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
