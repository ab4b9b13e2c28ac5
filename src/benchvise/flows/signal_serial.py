"""What ``benchvise signal serial`` does: both ends of the line, and the soak between them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from benchvise.board import open_board
from benchvise.signal.serial.classify import Tested
from benchvise.signal.serial.far import FarEnd, plug, port_of_board, port_of_this_machine
from benchvise.signal.serial.port import Flow
from benchvise.signal.serial.soak import Observer, soak


def serial(
    port: str,
    far: str | None,
    board: str | None,
    *,
    flows: Sequence[Flow],
    bauds: Sequence[int],
    chunks: Sequence[int],
    size: int,
    seed: int,
    observe: Observer,
) -> list[Tested]:
    """Tests the line from ``port``: to a plug, to the port ``far``, or to that of a ``board``."""
    with ExitStack() as stack:
        end: FarEnd = plug
        if far is not None and board is not None:
            end = port_of_board(stack.enter_context(open_board(board)), far)
        elif far is not None:
            end = port_of_this_machine(far)
        return soak(
            port,
            end,
            flows=flows,
            bauds=bauds,
            chunks=chunks,
            size=size,
            seed=seed,
            observe=observe,
        )
