"""The two ends of the way between this machine and a board."""

from __future__ import annotations

from benchvise.board import Board
from benchvise.board.address import is_loopback

LOOPBACK_CAVEAT = (
    "board and host are one machine: the two ends share its CPUs, and no network lies between them"
)


def shares_machine(board: Board) -> bool:
    """Whether the board is this machine, as far as its addresses tell."""
    host = board.host_address()
    return host is not None and (is_loopback(host) or host == board.board_address())


def in_url(address: str) -> str:
    """The address as the host of a URL: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def with_port(address: str, port: int) -> str:
    """``192.0.2.7:5001`` or ``[2001:db8::7]:5001``."""
    return f"{in_url(address)}:{port}"
