"""What lines of the kernel's log mean: rules kept as data, and what reads logs by them.

Nothing here speaks to a board. Snapshots, the notes of a run and ``benchvise health`` read logs by
the same rules.

    saved: a file ─┐
    a board's log ─┴→ lines: LogLine ─→ rules: LogMatch (devices: about what) ─→ events: LogEvents
    (ordinary: what no rule may take for a fault)
"""

from benchvise.kernel_log.events import LogEvent, LogEvents
from benchvise.kernel_log.lines import LogLine, log_lines, newest_boot
from benchvise.kernel_log.rules import (
    LogClass,
    LogMatch,
    LogRule,
    classify,
    log_classes,
    log_rules,
    shipped_log_classes,
)

__all__ = [
    "LogClass",
    "LogEvent",
    "LogEvents",
    "LogLine",
    "LogMatch",
    "LogRule",
    "classify",
    "log_classes",
    "log_lines",
    "log_rules",
    "newest_boot",
    "shipped_log_classes",
]
