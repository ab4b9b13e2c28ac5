"""Boards in tests: the fixture ``benchvise_board`` of pytest.

``pytest --benchvise-board ssh://root@board`` gives each test that names the fixture a ``bv.Board``;
in a configuration file the option is ``benchvise_board``. Without either, such tests are skipped
with that reason, so that a suite can be run where there is no board. labgrid's fixtures work beside
it: the board may be ``rig:NAME`` of the same environment.

pytest finds this module by its entry point. It imports nothing of Benchvise until a test asks for a
board, as every run of pytest on the machine loads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from benchvise.api.boards import BoardHandle

_OPTION = "benchvise_board"
_STORE = "benchvise_store"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options ``--benchvise-board`` and ``--benchvise-store``, and their settings."""
    group = parser.getgroup("benchvise")
    group.addoption(
        "--benchvise-board",
        metavar="BOARD",
        help="board of the fixture benchvise_board: local, ssh://USER@HOST, rig:NAME",
    )
    group.addoption(
        "--benchvise-store",
        metavar="URL",
        help="where its runs are kept: a file for SQLite, or a postgresql:// URL",
    )
    parser.addini(_OPTION, "the same as --benchvise-board")
    parser.addini(_STORE, "the same as --benchvise-store")


@pytest.fixture(scope="session")
def benchvise_board(request: pytest.FixtureRequest) -> BoardHandle:
    """The board that was named, as ``bv.Board``; the test is skipped where none was."""
    name = _chosen(request.config, _OPTION)
    if not name:
        pytest.skip("no board: give --benchvise-board BOARD, or set benchvise_board")
    from benchvise.api.boards import BoardHandle

    return BoardHandle(name, store=_chosen(request.config, _STORE) or None)


def _chosen(config: pytest.Config, name: str) -> str:
    return str(config.getoption(name) or config.getini(name) or "")
