"""What to do about an unstable series: a remedy for each cause that ``validity`` can name."""

from __future__ import annotations

import re
from collections.abc import Iterable

_REMEDIES: tuple[tuple[str, str], ...] = (
    ("too few batches", "measure at least 5 batches (--batches 21)"),
    ("placement is free", "fix the placement (--param place=core)"),
    ("requests failed", "see the server's log and its connection limit"),
    ("two modes|processes differ", "measure more processes (--processes 12)"),
    ("other work took the CPU|moved to another CPU", "measure on an idle CPU (--param cpu=N)"),
    ("other CPUs were busy", "stop what keeps the other CPUs busy"),
    ("hypervisor stole", "use a board or a host with no other guests (else --processes 12)"),
    ("CPU clock ranged", "fix the clock (--set cpu.governor=performance)"),
    ("page faults disturbed", "free memory, or stop what uses it"),
    ("while a process runs", "let the board warm up, then measure longer (--time 300)"),
    ("board was hot|temperature ranged", "cool the board, or let it warm up first"),
    ("load generator", "generate the load on a faster machine"),
)
"""A pattern of the cause, and the remedy, in the order in which remedies are listed."""

_WITHOUT_CAUSE = "measure more processes (--processes 12)"


def remedies(causes: Iterable[str]) -> tuple[str, ...]:
    """The remedies for causes of unstable series, each once; more processes where none fits."""
    listed = tuple(causes)
    if not listed:
        return ()
    fitting = [
        remedy
        for pattern, remedy in _REMEDIES
        if any(re.search(pattern, cause) for cause in listed)
    ]
    return tuple(dict.fromkeys(fitting)) or (_WITHOUT_CAUSE,)
