"""Reaching a board, putting the probe there, and speaking to it.

``open_board`` reaches a board by name; ``channel.open_channel`` puts the probe there when it is
not there yet and starts ``bvprobe serve``.

Two environment variables of the host are read:

``BENCHVISE_SSH_CONFIG``
    a file that ssh reads instead of the user's configuration (``ssh -F``)
``BENCHVISE_BOARD_DIR``
    the only directory *on the board* that may hold the probe; without it several are tried
"""

from benchvise.board.opening import open_board
from benchvise.board.protocol import Board, Completed

__all__ = ["Board", "Completed", "open_board"]
