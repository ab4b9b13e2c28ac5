"""What a board can do, whatever the way to it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from benchvise.errors import BoardUnreachable

RUN_SECONDS = 60.0
"""Longer than it takes to notice a dead connection, so that one is not reported as the other."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ended. ``returncode`` is 128 + N when signal N ended it, as in a shell.

    126 and 127 mean, as in a shell, that it could not be executed or was not found.
    """

    returncode: int
    stdout: bytes
    stderr: bytes


class Board(Protocol):
    """A system that commands can be run on. Leaving its context closes it."""

    @property
    def name(self) -> str:
        """The name it was opened by."""

    @property
    def kind(self) -> str:
        """``local`` or ``ssh``."""

    def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - named as in subprocess.run
        timeout: float = RUN_SECONDS,
    ) -> Completed:
        """Runs a command to its end; ``timeout`` is in seconds.

        Raises BoardUnreachable when contact is lost, and BoardUnusable when the board runs no
        commands, when the command does not end in time, or when its output is unreasonably long.
        """

    def spawn(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Starts a command with pipes for its three streams, in a session of its own.

        Its standard output may begin with what a talkative login shell says.
        """

    def contact_lost(self, returncode: int, stderr: bytes) -> BoardUnreachable | None:
        """The error to raise if a spawned process that ended so did because contact was lost."""

    def host_address(self) -> str | None:
        """The address of this machine as the board sees it, numeric; None where nobody knows.

        Raises BoardUnreachable when contact is lost.
        """

    def board_address(self) -> str | None:
        """The board's own address on the way to this machine, numeric; None where nobody knows.

        Raises BoardUnreachable when contact is lost.
        """

    def close(self) -> None:
        """Ends the connection. May be called more than once."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_exception: object) -> None: ...
