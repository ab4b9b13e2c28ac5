"""SSH servers that behave like boards of several kinds, as fixtures.

A plugin, so that modules share the servers: name it in ``pytest_plugins``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from board_servers import DASH, login, opened
from sshd import SshServer, busybox_directory, processes_with, ssh_server

from benchvise.board import Board, deploy


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh_server(tmp_path_factory.mktemp("plain")) as server:
        yield server


@pytest.fixture(scope="session")
def busybox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    directory = tmp_path_factory.mktemp("busybox")
    path = busybox_directory(directory / "bin", {})
    with ssh_server(directory, login(path, "/bin/busybox sh")) as server:
        yield server


@pytest.fixture(scope="session")
def applets_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    """Another shell with just a dozen programs: busybox's finds all of its own by itself."""
    directory = tmp_path_factory.mktemp("applets")
    path = busybox_directory(directory / "bin", {}, DASH)
    with ssh_server(directory, login(path, str(DASH))) as server:
        yield server


@pytest.fixture(scope="session")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    say = "printf '\\033[1mWelcome to the board!\\033[0m\\n{\"type\": 1}\\n$ '; echo motd >&2"
    with ssh_server(tmp_path_factory.mktemp("talkative"), login(before=say)) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one directory on the board that may hold the probe."""
    directory = tmp_path / "home of the probe's"
    directory.mkdir()
    monkeypatch.setenv(deploy.DIRECTORY_VARIABLE, str(directory))
    return directory


@pytest.fixture
def board(plain: SshServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    with opened(plain, monkeypatch) as reached:
        yield reached
    assert processes_with(str(home)) == {}, "the probe goes on on the board"
