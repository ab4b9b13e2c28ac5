"""The benchmarks of the probe that comes with this Benchvise, and of Benchvise itself."""

from __future__ import annotations

from benchvise.board import open_board
from benchvise.board.channel import open_channel
from benchvise.measure.registry import Registry
from benchvise.measure.runner import board_registry


def local_registry() -> Registry:
    """What can be measured with the packaged probe for this machine."""
    with open_board("local") as board, open_channel(board) as channel:
        return board_registry(channel)
