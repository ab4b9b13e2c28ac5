"""Kernel and user-space traces as Arrow tables: CTF 1.8 and 2, trace.dat, perf.data, Perfetto,
Chrome JSON.

    import tracefile

    trace = tracefile.open("trace.dat")
    print(trace.count().counts)                       # events by name; nothing is kept of them
    decoded = trace.decode({"sched_switch": None})    # all fields of one event
    table = decoded.table("sched_switch")             # time, cpu, fields

Tables have Arrow's PyCapsule interface: ``pyarrow.table(table)``, ``polars.DataFrame(table)``.

Times are nanoseconds of the trace's clock. ``losses`` and ``damage`` of what is decoded say what is
missing. Faults of a trace are subclasses of ``TraceError``; its files are read in this process, so
open those of strangers in one that may die of it.
"""

from tracefile.native import (
    VERSION,
    Counted,
    Damaged,
    Decoded,
    NotATrace,
    TooMuch,
    Trace,
    TraceError,
    UnknownName,
    Unreadable,
    Unsupported,
    open,
)

__all__ = [
    "VERSION",
    "Counted",
    "Damaged",
    "Decoded",
    "NotATrace",
    "TooMuch",
    "Trace",
    "TraceError",
    "UnknownName",
    "Unreadable",
    "Unsupported",
    "open",
]
