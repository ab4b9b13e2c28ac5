"""The catalogue of trace analyses: one record each, in the order of ``benchvise trace --help``.

A new analysis is a function in ``trace.analysis`` that returns a dataclass, a record here, and its
name in ``ANALYSES``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from typing import Any

from benchvise import extensions
from benchvise.extensions import Extension, ExtensionError, ExtensionSource
from benchvise.trace.catalogue.actors import ACTORS
from benchvise.trace.catalogue.causes import CRITICAL_PATH, DELAYS
from benchvise.trace.catalogue.compare import COMPARE
from benchvise.trace.catalogue.flame import FLAME
from benchvise.trace.catalogue.functions import FUNCTIONS
from benchvise.trace.catalogue.info import INFO
from benchvise.trace.catalogue.kernel import BLOCK, COUNTERS, IDLE, SYSCALLS, TIMERS
from benchvise.trace.catalogue.latency import LATENCY
from benchvise.trace.catalogue.modes import MODES
from benchvise.trace.catalogue.noise import OSNOISE, TIMERLAT
from benchvise.trace.catalogue.record import OneTrace, TraceAnalysis
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
    OSNOISE,
    TIMERLAT,
    FUNCTIONS,
    FLAME,
    COUNTERS,
    COMPARE,
)

OTHER_COMMANDS = ("query", "events", "record", "export")
"""What else stands after ``benchvise trace``: no analysis can be called so."""


@cache
def added_analyses() -> tuple[Extension[TraceAnalysis[Any, Any]], ...]:
    """What users added; one that cannot be used says why."""
    taken = {*(analysis.name for analysis in ANALYSES), *OTHER_COMMANDS}
    return extensions.load_extensions(
        extensions.ANALYSES, _added, lambda analysis: (analysis.name,), taken
    )


@cache
def all_analyses() -> tuple[TraceAnalysis[Any, Any], ...]:
    """Those that Benchvise brings, and then those that users added."""
    return (*ANALYSES, *extensions.usable(added_analyses()))


def _added(source: ExtensionSource) -> Iterator[TraceAnalysis[Any, Any]]:
    for value in source.objects():
        if not isinstance(value, TraceAnalysis):
            raise ExtensionError(f"{value!r:.90} is no TraceAnalysis")
        if not value.name.replace("-", "").isalnum() or value.name != value.name.lower():
            raise ExtensionError(f"{value.name!r:.90}: a command has letters, digits and - only")
        if not (isinstance(value.request, type) and issubclass(value.request, OneTrace)):
            raise ExtensionError(f"{value.name}: its request is no OneTrace")
        if not is_dataclass(value.request) or not value.shapes:
            raise ExtensionError(f"{value.name}: it needs a dataclass of options, and tables")
        yield value
