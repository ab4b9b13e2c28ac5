"""Benchmarks that this machine drives: one file each.

They yield the same messages as the probe (docs/probe-protocol.md), so that nothing behind
the runner can tell them apart.
"""

from __future__ import annotations

from benchvise.measure.hostside.base import HostBenchmark
from benchvise.measure.hostside.command_output import CommandOutput
from benchvise.measure.hostside.http_requests import HttpRequests

HOST_BENCHMARKS: tuple[HostBenchmark, ...] = (CommandOutput(), HttpRequests())
"""All of them, in the order in which they are listed."""
