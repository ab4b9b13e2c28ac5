"""Reaching a board, putting the probe there, and speaking to it.

    open_board("local" | "ssh://…") ─→ Board        run, spawn, put: what a board can do
      └ deploy     the probe, under a content-addressed name, in a private directory
      └ channel    `bvprobe serve`: requests out, lines in
            └ messages                              lines checked, bounded, typed: in one place

Everything behind ``messages`` gets typed messages (``SampleMessage``, ``HostMessage``, …); text in
them that is only shown is ``Untrusted``.

Two environment variables of the host are read:

``BENCHVISE_SSH_CONFIG``
    a file that ssh reads instead of the user's configuration (``ssh -F``)
``BENCHVISE_BOARD_DIR``
    the only directory *on the board* that may hold the probe; without it several are tried
"""

from __future__ import annotations

from collections.abc import Callable

from benchvise.board.address import ACCEPTED, full_name, is_ssh, parse_ssh
from benchvise.board.local import LocalBoard
from benchvise.board.protocol import Board, Completed
from benchvise.board.ssh import SshBoard
from benchvise.errors import UsageError
from benchvise.host_system import require

__all__ = ["Board", "Completed", "full_name", "open_board", "register_kind"]

_openers: dict[str, Callable[[str], Board]] = {}


def register_kind(kind: str, opener: Callable[[str], Board]) -> None:
    """Has names that begin with ``kind:`` opened by ``opener``, from a package above this one."""
    _openers[kind] = opener


def open_board(name: str) -> Board:
    """Reaches the board of that name.

    Raises UsageError for a name that is none or of a kind not supported, BoardUnreachable
    when there is no connection, and UnsupportedSystem where this machine cannot reach it.
    """
    name = full_name(name)
    if name == "local":
        require("linux", "measuring this machine", "name a Linux board: ssh://USER@HOST")
        return LocalBoard()
    require("unix", "measuring a board")
    kind = name.partition(":")[0]
    if kind in _openers:
        return _openers[kind](name)
    if kind == "ssh":
        return SshBoard(parse_ssh(name))
    hint = f"did you mean `ssh://{name}`? " if is_ssh(f"ssh://{name}") else ""
    raise UsageError(f"'{name}' is not the name of a board", hint + ACCEPTED)
