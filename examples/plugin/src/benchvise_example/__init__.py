"""A benchmark of a lab's own: how fast a board gives random numbers.

It runs a command on the board and takes the number that it prints, as ``command.output`` does. A
benchmark that does more yields the messages of ``benchvise.measure.hostside.base.HostBenchmark``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from benchvise.board.messages import SeriesMessage
from benchvise.measure.hostside.base import Order
from benchvise.measure.hostside.command_output import CommandOutput
from benchvise.measure.model import Benchmark

_COMMAND = (
    "LC_ALL=C dd if=/dev/urandom of=/dev/null bs=64k count=64 2>&1 | "
    "awk '/copied|bytes/ {for (i = 1; i < NF; i++) if ($(i + 1) ~ /^s(econds)?,?$/) t = $i} "
    "END {print 4194304 / t}'"
)
_AS_COMMAND = {
    "run": _COMMAND,
    "match": r"^([0-9.e+]+)$",
    "better": "higher",
    "unit": "B/s",
    "warmup": "1",
    "timeout_s": "60",
    "observe": "nothing",
}


class Entropy:
    """``lab.random``, as a source of messages."""

    description = Benchmark(
        id="lab.random",
        summary="bytes a second from /dev/urandom",
        unit="B/s",
        better="higher",
        counted="bytes a second that dd reads",
        method="dd reads 4 MiB in blocks of 64 KiB; a batch is one run",
        pitfalls="the time of dd is printed with few digits",
        not_measured="/dev/random before the kernel's pool is initialised",
        peer="dd by hand: equal",
        parameters=(),
        defaults={"batches": "5"},
        driven_by="host",
    )

    def check(self, params: Mapping[str, str]) -> None:
        """There is nothing that could be wrong."""

    def messages(self, order: Order) -> Iterator[SeriesMessage]:
        """Those of the command."""
        params = {**_AS_COMMAND, **order.params}
        yield from CommandOutput().messages(replace(order, params=params))
