"""What ``benchvise trace info`` and ``query`` do."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from benchvise.trace.opening import open_trace
from benchvise.trace.query import Answer, Limits, ask
from benchvise.trace.summary import Summary, summarise


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer, with what has to be said of how it came about."""

    answer: Answer
    seconds: float
    """What the query took, without the opening of the trace."""
    remarks: tuple[str, ...]


def info(path: Path, *, use_cache: bool) -> Summary:
    """What a trace holds."""
    return summarise(path, use_cache=use_cache)


def query(path: Path, sql: str, limits: Limits, *, use_cache: bool) -> Asked:
    """Asks a trace by SQL."""
    trace = open_trace(path, use_cache=use_cache)
    begin = time.monotonic()
    answer = ask(trace, sql, limits)
    return Asked(answer, time.monotonic() - begin, tuple(trace.remarks))
