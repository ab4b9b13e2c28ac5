"""What tests of boards behind SSH servers share; their fixtures are in ``board_fixtures``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import skips
from sshd import SshServer, children, processes_with
from waiting import wait_until

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
    wait_until(lambda: not processes_with(str(server.config)), "ssh goes on on the host")
    wait_until(lambda: not children(server.process.pid), "a session goes on on the board")


def private(home: Path) -> Path:
    return home / f"benchvise-{os.geteuid()}"
