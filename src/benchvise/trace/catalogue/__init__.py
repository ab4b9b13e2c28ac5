"""The catalogue of trace analyses: one record each, in the order of ``benchvise trace --help``.

A new analysis is a function in ``trace.analysis`` that returns a dataclass, a record here, and its
name in ``ANALYSES``.
"""

from __future__ import annotations

from typing import Any

from benchvise.trace.catalogue.actors import ACTORS
from benchvise.trace.catalogue.causes import CRITICAL_PATH, DELAYS
from benchvise.trace.catalogue.compare import COMPARE
from benchvise.trace.catalogue.functions import FUNCTIONS
from benchvise.trace.catalogue.info import INFO
from benchvise.trace.catalogue.kernel import BLOCK, COUNTERS, IDLE, SYSCALLS, TIMERS
from benchvise.trace.catalogue.latency import LATENCY
from benchvise.trace.catalogue.modes import MODES
from benchvise.trace.catalogue.record import TraceAnalysis
from benchvise.trace.catalogue.scheduling import SCHED, WAKEUPS
from benchvise.trace.catalogue.stats import LOAD, STATS, SWITCHES

ANALYSES: tuple[TraceAnalysis[Any, Any], ...] = (
    INFO,
    STATS,
    ACTORS,
    LOAD,
    SWITCHES,
    LATENCY,
    CRITICAL_PATH,
    DELAYS,
    MODES,
    SCHED,
    WAKEUPS,
    SYSCALLS,
    BLOCK,
    TIMERS,
    IDLE,
    FUNCTIONS,
    COUNTERS,
    COMPARE,
)
