"""``benchvise versus``: commands timed in turn on a board, with its state before and after."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from random import SystemRandom

from benchvise.board.channel import open_channel
from benchvise.errors import BenchviseError, Interrupted
from benchvise.flows.boards import open_boards
from benchvise.measure.runner import board_registry
from benchvise.measure.versus import (
    Observer,
    VersusRequest,
    VersusResult,
    compare_commands,
    measure_commands,
    variants,
)
from benchvise.state.conditions import conditions
from benchvise.state.interrupts import deferred, let_through
from benchvise.state.model import Snapshot
from benchvise.state.snapshot import take_snapshot


def versus(
    board_name: str,
    request: VersusRequest,
    observe: Observer,
    *,
    snapshots: bool = True,
    rig: str | None = None,
) -> VersusResult:
    """Times the commands on the board and compares them; nothing is stored.

    With ``snapshots``, the board's state is read before and after. Raises UsageError,
    MeasurementError for a command that fails, Interrupted, and what a connection raises; what
    ``cleanup`` is for is done in every case.
    """
    variants(request)  # what is wrong with the request is said before a board is opened
    if request.seed is None:
        request = replace(request, seed=SystemRandom().randrange(1 << 31))
    with deferred(), ExitStack() as stack:
        try:
            with let_through():
                ((board, prepared),), _ = open_boards([board_name], stack, rig_file=rig)
                channel = stack.enter_context(open_channel(board))
                registry = board_registry(channel)
                remarks: list[str] = []

                def seen() -> Snapshot | None:
                    try:
                        return take_snapshot(board, channel) if snapshots else None
                    except BenchviseError as error:
                        if not channel.is_open:
                            raise
                        remarks.append(f"the board's state is not known: {error.message}")
                        return None

                before = seen()
                measured = measure_commands(board, channel, registry, request, observe)
                after = seen()
        except KeyboardInterrupt:
            raise Interrupted(
                "interrupted; nothing of `versus` is kept",
                "benchvise run --command keeps each sample",
            ) from None
    if before is not None and after is not None:
        remarks += [condition.sentence for condition in conditions(before, after)]
    return VersusResult(
        board.name,
        prepared.simulated,
        request.seed or 0,
        tuple(measured),
        tuple(compare_commands(measured)),
        tuple(remarks),
    )
