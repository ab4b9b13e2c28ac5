"""Causes of unstable series in few words, and what to do about each that ``validity`` can name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class _Kind(NamedTuple):
    """``pattern`` finds it in a cause with figures; ``label`` says it without, for many series."""

    pattern: str
    label: str
    remedy: str


_KINDS = (
    _Kind("too few batches", "too few batches", "measure at least 5 batches (--batches 21)"),
    _Kind("placement is free", "placement is free", "fix the placement (--param place=core)"),
    _Kind("requests failed", "requests failed", "see the server's log and its connection limit"),
    _Kind("two modes", "two modes", "measure more processes (--processes 12)"),
    _Kind("processes differ", "processes differ", "measure more processes (--processes 12)"),
    _Kind(
        "other work took the CPU",
        "other work took the CPU",
        "measure on an idle CPU (--param cpu=N)",
    ),
    _Kind("moved to another CPU", "moved to another CPU", "measure on an idle CPU (--param cpu=N)"),
    _Kind("other CPUs were busy", "other CPUs were busy", "stop what keeps the other CPUs busy"),
    _Kind(
        "hypervisor stole",
        "the hypervisor stole CPU time",
        "use a board or a host with no other guests (else --processes 12)",
    ),
    _Kind(
        "CPU clock ranged",
        "the CPU clock was not steady",
        "fix the clock (--set cpu.governor=performance)",
    ),
    _Kind("page faults disturbed", "page faults disturbed it", "free memory, or stop what uses it"),
    _Kind(
        "while a process runs",
        "values drift while a process runs",
        "let the board warm up, then measure longer (--time 300)",
    ),
    _Kind(
        "board was hot|temperature ranged",
        "the board was hot or warmed up",
        "cool the board, or let it warm up first",
    ),
    _Kind(
        "load generator",
        "the load generator was at its limit",
        "generate the load on a faster machine",
    ),
)
"""In the order in which remedies are listed."""

_WITHOUT_CAUSE = "measure more processes (--processes 12)"


def remedies(causes: Iterable[str]) -> tuple[str, ...]:
    """The remedies for causes of unstable series, each once; more processes where none fits."""
    listed = tuple(causes)
    if not listed:
        return ()
    fitting = [
        kind.remedy for kind in _KINDS if any(re.search(kind.pattern, cause) for cause in listed)
    ]
    return tuple(dict.fromkeys(fitting)) or (_WITHOUT_CAUSE,)


def shared_causes(causes: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Each kind of cause in few words, with the series that have it, the most frequent first.

    ``causes`` are those of each series. A cause of no known kind is its own words.
    """
    having: defaultdict[str, list[str]] = defaultdict(list)
    for series, of_series in causes.items():
        for label in dict.fromkeys(_in_few_words(cause) for cause in of_series):
            having[label].append(series)
    frequent_first = sorted(having.items(), key=lambda kind: -len(kind[1]))
    return {label: tuple(names) for label, names in frequent_first}


def _in_few_words(cause: str) -> str:
    labels = (kind.label for kind in _KINDS if re.search(kind.pattern, cause))
    return next(labels, cause)
