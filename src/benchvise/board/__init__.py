"""Reaching a board, putting the probe there, and speaking to it.

    open_board("local" | "ssh://…") ─→ Board        run, spawn, put: what a board can do
      └ deploy     the probe, under a content-addressed name, in a private directory
      └ channel    `bvprobe serve`: requests out, lines in
            └ wire ─→ messages                      lines checked, bounded, typed: in one place

Everything behind ``messages`` gets typed messages (``SampleMessage``, ``HostMessage``, …); text in
them that is only shown is ``Untrusted``.

Two environment variables of the host are read:

``BENCHVISE_SSH_CONFIG``
    a file that ssh reads instead of the user's configuration (``ssh -F``)
``BENCHVISE_BOARD_DIR``
    the only directory *on the board* that may hold the probe; without it several are tried
"""

from benchvise.board.opening import open_board
from benchvise.board.protocol import Board, Completed

__all__ = ["Board", "Completed", "open_board"]
