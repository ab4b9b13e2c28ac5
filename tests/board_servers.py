"""What tests of boards behind SSH servers share; their fixtures are in ``board_fixtures``."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import skips
from sshd import SshServer, children, processes_with

from benchvise.board import Board, open_board, ssh
from benchvise.board.probes import packaged_architectures

ARCH = os.uname().machine
DASH = Path("/bin/dash")

needs_root = skips.needs_root

needs_probe = skips.needs_that(ARCH in packaged_architectures(), "probe", ARCH)


def login(path: Path | None = None, shell: str = "sh", before: str = "") -> str:
    """A login that runs what is asked for by ``shell``, with PATH being just that directory."""
    environment = f"env -i HOME=/nowhere PATH={path} " if path else ""
    return f'{before}\nexec {environment}{shell} -c "$SSH_ORIGINAL_COMMAND"'


@contextlib.contextmanager
def opened(server: SshServer, monkeypatch: pytest.MonkeyPatch, name: str = "") -> Iterator[Board]:
    """The server as a board; when it is closed no process of it may be left."""
    monkeypatch.setenv(ssh.CONFIG_VARIABLE, str(server.config))
    with open_board(name or server.name) as board:
        yield board
    eventually(lambda: not processes_with(str(server.config)), "ssh goes on on the host")
    eventually(lambda: not children(server.process.pid), "a session goes on on the board")


def eventually(condition: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def private(home: Path) -> Path:
    return home / f"benchvise-{os.geteuid()}"
