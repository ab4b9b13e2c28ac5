"""Options that commands and analyses of traces share, each described once.

They stand apart from the catalogue, whose analyses take longer to import than ``trace events``
takes to begin.
"""

from __future__ import annotations

from benchvise.command import CommandArgument, CommandOption

FILE = CommandArgument(
    "FILE",
    "A trace.dat, a perf.data, a directory with a CTF trace, ftrace's text, Chrome's JSON or "
    "Perfetto.",
)
CACHE = CommandOption(
    "--cache/--no-cache",
    "Keep all that is decoded beside the trace; or do not use what is kept. By default what is "
    "kept is used, and nothing more is kept.",
)
MEMORY = CommandOption(
    "--memory",
    "Memory for decoded events and tables: 2G, say. What needs more lies in a file, below "
    "~/.cache/benchvise, so that a trace may be larger than the memory.",
    metavar="SIZE",
)
