"""A real trace of a PREEMPT_RT kernel, whose interrupt handlers are threads."""

from __future__ import annotations

from pathlib import Path

import skips
from trace_data import recorded

from benchvise.trace.analysis.model import NONE, Analysis
from benchvise.trace.loaded import load_trace

skips.need_decoder()

THREADED = ("rtc0", "irq/8-rtc0", "kworker/0:2", "listener")
"""From the clock's interrupt to who waits for it: its handler's thread, then a work queue."""


def chains(analysis: Analysis, name: str) -> list[tuple[str, ...]]:
    """The names of the causes of each instance of a thread, the first cause first."""
    rows, names = analysis.instances, [actor.name for actor in analysis.actors]
    found = []
    for instance in range(len(rows)):
        if names[rows["actor"][instance]] != name:
            continue
        chain: list[str] = []
        at = instance
        while at != NONE and len(chain) < 10:
            chain.append(names[rows["actor"][at]])
            at = int(rows["cause"][at])
        found.append(tuple(reversed(chain)))
    return found


def test_who_waits_for_an_interrupt_is_woken_by_its_thread(tmp_path: Path) -> None:
    analysis = load_trace(recorded("preempt-rt.dat", tmp_path), cache=False).analysis
    found = chains(analysis, "listener")
    assert found.count(THREADED) == 2 and len(found) == 3
    # Of a thousand interrupts none wakes anybody but its own thread.
    threads = chains(analysis, "irq/8-rtc0")
    assert len(threads) > 1000
    assert sum(chain == ("rtc0", "irq/8-rtc0") for chain in threads) >= len(threads) - 5
