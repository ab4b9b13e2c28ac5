"""A simulated board that a test holds the console of: power on, wait for words, type, power off."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from waiting import PATIENCE

from benchvise.rig.virtual.kinds import BoardKind

LOGIN = r" login: "
PROMPT = r"root@[\w-]+:[^ ]+# "


class Guest:
    """A board of a kind that is powered within the context, with everything that it has said."""

    def __init__(self, kind: BoardKind, card: Path | None, directory: Path) -> None:
        self.directory = directory
        self.said = ""
        self._seen = 0  # the end of what was last waited for
        self.ssh_port = _free_port()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(directory / "console"))
        listener.listen(1)
        listener.settimeout(PATIENCE)
        command = kind.command(
            card=card,
            console=directory / "console",
            monitor=directory / "monitor",
            gdb=None,
            ssh_port=self.ssh_port,
            workdir=directory,
        )
        self._log = (directory / "qemu.log").open("w+")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT
        )
        try:
            self._console, _ = listener.accept()
        except TimeoutError:
            self.close()
            self._log.seek(0)
            raise AssertionError(f"QEMU does not start: {self._log.read()}") from None
        finally:
            listener.close()
        self._heard = threading.Condition()
        self._ended = False
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def wait_for(self, pattern: str, timeout: float) -> re.Match[str]:
        """Waits for words that were not said before what was last waited for."""
        end = time.monotonic() + timeout
        with self._heard:
            while True:
                match = re.search(pattern, self.said[self._seen :])
                if match:
                    self._seen += match.end()
                    return match
                left = end - time.monotonic()
                if self._ended or left <= 0:
                    raise AssertionError(f"no {pattern!r} on the console:\n{self.said}")
                self._heard.wait(left)

    def _listen(self) -> None:
        """Takes what the board says as it comes: a few hundred bytes unread, and it waits."""
        with contextlib.suppress(ConnectionResetError):  # the power is cut
            while data := self._console.recv(65536):
                with self._heard:
                    self.said += data.decode("utf-8", "replace")
                    self._heard.notify()
        with self._heard:
            self._ended = True
            self._heard.notify()

    def enter(self, text: str) -> None:
        """Types on the console."""
        self._console.sendall(text.encode())

    def log_in(self, timeout: float) -> None:
        """Waits for the login prompt and logs in as root."""
        self.wait_for(LOGIN, timeout)
        self.enter("root\n")
        self.wait_for(PROMPT, timeout)

    def run(self, command: str, timeout: float = 60) -> str:
        """What a command prints."""
        self.enter(f"{command}; echo DO''NE $?\n")
        start = self._seen
        end = self.wait_for(r"\nDONE \d+\r?\n|[^\n]DONE \d+\r?\n", timeout)
        text = self.said[start : self._seen - len(end[0]) + 1]
        self.wait_for(PROMPT, timeout)
        # the echo of what was typed, which the shell may have broken in two, ends with a line
        return text.partition("$?")[2].replace("\r", "").strip()

    def close(self) -> None:
        """Cuts the power."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        self._listener.join()
        self._console.close()
        self._log.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
