"""Benchmarks that this machine drives: one file each.

They yield the same messages as the probe (docs/probe-protocol.md), so that nothing behind
the runner can tell them apart.
"""

from __future__ import annotations

from functools import cache

from benchvise.extensions import BENCHMARKS, Extension, load_extensions, usable
from benchvise.measure.hostside.added import read_benchmarks
from benchvise.measure.hostside.base import HostBenchmark
from benchvise.measure.hostside.command_output import CommandOutput
from benchvise.measure.hostside.http_requests import HttpRequests

HOST_BENCHMARKS: tuple[HostBenchmark, ...] = (CommandOutput(), HttpRequests())
"""Those that Benchvise brings, in the order in which they are listed."""


@cache
def added_benchmarks() -> tuple[Extension[HostBenchmark], ...]:
    """What users added; one that cannot be used says why."""
    shipped = {benchmark.description.id for benchmark in HOST_BENCHMARKS}
    return load_extensions(
        BENCHMARKS, read_benchmarks, lambda added: (added.description.id,), shipped
    )


@cache
def host_benchmarks() -> tuple[HostBenchmark, ...]:
    """All of them, and then those that users added."""
    return (*HOST_BENCHMARKS, *usable(added_benchmarks()))
