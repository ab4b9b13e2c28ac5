"""Benchmarks that this machine drives: one file each.

They yield the same messages as the probe (docs/probe-protocol.md), so that nothing behind
the runner can tell them apart.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint

from benchvise.errors import UsageError
from benchvise.extensions import entry_points_of, package_of
from benchvise.measure.hostside.base import HostBenchmark
from benchvise.measure.hostside.command_output import CommandOutput
from benchvise.measure.hostside.http_requests import HttpRequests
from benchvise.measure.model import Benchmark

HOST_BENCHMARKS: tuple[HostBenchmark, ...] = (CommandOutput(), HttpRequests())
"""Those that Benchvise brings, in the order in which they are listed."""

KIND = "benchmarks"
"""Of extensions."""


def added_benchmark(point: EntryPoint) -> HostBenchmark:
    """The benchmark that an entry point names: a ``HostBenchmark``, or a class of one. UsageError
    for anything else."""
    try:
        value = point.load()
        benchmark = value() if isinstance(value, type) else value
        if not isinstance(benchmark.description, Benchmark):
            raise TypeError("its description is no Benchmark")
    except Exception as error:  # whatever a package of somebody else does
        raise UsageError(
            f"{package_of(point)}: {point.value} is no benchmark: {error}",
            "correct or remove the package; `benchvise plugins` lists what is added",
        ) from error
    added: HostBenchmark = benchmark
    return added


@cache
def host_benchmarks() -> tuple[HostBenchmark, ...]:
    """All of them, and then those that packages add (entry points ``benchvise.benchmarks``).
    UsageError for one that is none, or whose id is taken."""
    benchmarks = list(HOST_BENCHMARKS)
    for point in entry_points_of(KIND):
        benchmark = added_benchmark(point)
        name = benchmark.description.id
        if name in {known.description.id for known in benchmarks}:
            raise UsageError(
                f"{package_of(point)}: there is a benchmark {name} already", "remove one of them"
            )
        benchmarks.append(benchmark)
    return tuple(benchmarks)
