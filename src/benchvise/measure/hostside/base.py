"""What a benchmark that this machine drives is, and what it is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Protocol

from benchvise.board import Board
from benchvise.board.channel import ProbeChannel
from benchvise.board.messages import SeriesMessage
from benchvise.documents import JsonObject
from benchvise.measure.model import Benchmark


@dataclass(frozen=True, slots=True)
class Order:
    """One process to be measured: where, with which parameters, and how many batches.

    ``channel`` speaks to the board's probe, for whatever only the board itself can tell.
    ``attributes`` are the words that give what is measured attributes of its own
    (docs/probe-protocol.md), for the probe's ``run``.
    """

    board: Board
    channel: ProbeChannel
    params: Mapping[str, str]
    batches: int
    attributes: tuple[str, ...] = ()


class HostBenchmark(Protocol):
    """A benchmark that this machine drives."""

    @property
    def description(self) -> Benchmark:
        """What a reader, the registry and the documentation are told."""

    def check(self, params: Mapping[str, str]) -> None:
        """Raises UsageError for values that fit their parameters' types but make no sense."""

    def messages(self, order: Order) -> Iterator[SeriesMessage]:
        """``host``, ``begin``, ``sample`` and ``end``, as the probe would say them.

        The next batch begins only when the generator is resumed after a sample. Raises
        NotAvailable, MeasurementError, UsageError, and what the channel raises; every request to
        it has come to its end then, and no process started here is left.
        """


def described(benchmark: Benchmark, order: Order) -> JsonObject:
    """What every ``begin`` message says of the benchmark itself and of what is asked of it."""
    params = {p.name: order.params[p.name] for p in benchmark.parameters}
    return {
        "params": {**params, "batches": str(order.batches)},
        "unit": benchmark.unit,
        "better": benchmark.better,
        "counted": benchmark.counted,
        "batches": order.batches,
        "figures": [asdict(figure) for figure in benchmark.figures],
    }
