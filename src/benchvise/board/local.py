"""This machine as a board."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Self

from benchvise.board import process
from benchvise.board.protocol import RUN_SECONDS, Completed
from benchvise.errors import BoardUnreachable, BoardUnusable

LOOPBACK = "127.0.0.1"


class LocalBoard:
    """This machine. Nothing to connect to, so nothing that could be lost."""

    name = "local"
    kind = "local"

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - named as in subprocess.run
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        """Runs a command of this machine to its end."""
        try:
            child = process.spawn(argv)
        except OSError as error:
            status = 127 if isinstance(error, FileNotFoundError) else 126
            return Completed(status, b"", f"{argv[0]}: {error.strerror}\n".encode())
        try:
            status, stdout, stderr = process.finish(child, input, timeout)
        except TimeoutError:
            raise BoardUnusable(
                f"local: '{argv[0]}' did not finish within {timeout:g} s",
                "the machine may be overloaded: look at its load and kernel log",
            ) from None
        except process.OutputTooLong:
            raise BoardUnusable(
                f"local: '{argv[0]}' wrote more than {process.OUTPUT_LIMIT >> 20} MiB",
                "it was stopped; ask it for less",
            ) from None
        return Completed(128 - status if status < 0 else status, stdout, stderr)

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts a command of this machine."""
        try:
            return process.spawn(argv)
        except OSError as error:
            raise BoardUnusable(
                f"local: cannot execute '{argv[0]}' ({error.strerror})",
                "check that it exists and may be executed",
            ) from error

    def contact_lost(self, returncode: int, stderr: bytes) -> BoardUnreachable | None:  # noqa: ARG002
        """Never: see Board.contact_lost."""
        return None

    def host_address(self) -> str:
        """This machine's own, as board and host are one."""
        return LOOPBACK

    def board_address(self) -> str:
        """This machine's own."""
        return LOOPBACK

    def close(self) -> None:
        """Nothing to do."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
