"""Stacks of programs that ``perf record --call-graph dwarf`` copied, unwound into functions.

The decoder unwinds them by the files that the programs had in memory, so far as these are here.
What it finds is no part of the cache, as it changes with the files. A stack that ends before its
thread's first function has a frame of its own in place of the callers, which says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchvise.trace.analysis.flame.frame_names import FrameNames
from benchvise.trace.analysis.model import Ints, Rows
from benchvise.trace.decoder import decoder, translated
from benchvise.trace.loaded import LoadedTrace

if TYPE_CHECKING:
    from benchvise.trace.native import Table

_COMPLETE = "complete"
_UNKNOWN = "[callers not known]"


def unwound(loaded: LoadedTrace, namer: FrameNames, event: str) -> Table:
    """The samples of an event with the stacks of programs in ``user_stack``.

    ``user_stack_end`` says how each ends, and is null where no program was.

    Raises:
        TraceError: the trace cannot be read any more.
    """
    with translated():
        trace = decoder().open_unwinding(str(loaded.path), namer.program_files())
        table: Table = trace.decode({event: None}, index=False).table(event)
    return table


def unknown_callers(rows: Rows, namer: FrameNames) -> tuple[Ints, Ints]:
    """A frame for each stack that ends early: how many each sample has (0 or 1), and the frames."""
    codes, texts = rows.texts("user_stack_end")
    frames: Ints = np.array(
        [-1 if text in ("", _COMPLETE) else namer.code(_UNKNOWN, f"({text})") for text in texts],
        dtype=np.int64,
    )
    own = frames[codes] if texts else np.empty(0, dtype=np.int64)
    return (own >= 0).astype(np.int64), own[own >= 0]
