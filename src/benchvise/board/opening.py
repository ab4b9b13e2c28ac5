"""Opening a board by its name."""

from __future__ import annotations

from benchvise.board.address import ACCEPTED, is_ssh, parse_ssh
from benchvise.board.local import LocalBoard
from benchvise.board.protocol import Board
from benchvise.board.sanitise import printable
from benchvise.board.ssh import SshBoard
from benchvise.errors import UsageError


def open_board(name: str) -> Board:
    """Reaches the board of that name.

    Raises UsageError for a name that is none or of a kind not supported, and BoardUnreachable
    when there is no connection.
    """
    if name == "local":
        return LocalBoard()
    kind = name.partition(":")[0]
    if kind in ("rig", "console"):
        raise UsageError(
            f"'{printable(name)}': boards of a rig are not available in this version, "
            "they come with the rig package",
            ACCEPTED,
        )
    if kind == "ssh":
        return SshBoard(parse_ssh(name))
    hint = f"did you mean `ssh://{name}`? " if is_ssh(f"ssh://{name}") else ""
    raise UsageError(f"'{printable(name)}' is not the name of a board", hint + ACCEPTED)
