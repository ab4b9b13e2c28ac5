"""What lines of the kernel's log mean: rules kept as data, and what reads logs by them.

Pure: nothing here speaks to a board. Snapshots, the notes of a run and ``benchvise health`` read
logs by the same rules.
"""

from benchvise.kernel_log.events import Event, Events
from benchvise.kernel_log.lines import Line, lines
from benchvise.kernel_log.rules import Finding, LogClass, Rule, classes, classify, rules

__all__ = [
    "Event",
    "Events",
    "Finding",
    "Line",
    "LogClass",
    "Rule",
    "classes",
    "classify",
    "lines",
    "rules",
]
