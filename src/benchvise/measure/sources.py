"""Where the messages of a series come from: the board's probe, or a benchmark driven from here.

Either way they are those of docs/probe-protocol.md, and the next batch begins only when the next
message is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol, Self

from benchvise.board import Board, open_board
from benchvise.board.channel import SILENCE_SECONDS, ProbeChannel, open_channel
from benchvise.board.messages import (
    BeginMessage,
    EndMessage,
    HostMessage,
    SampleMessage,
    SeriesMessage,
)
from benchvise.measure.companion import Companion
from benchvise.measure.hostside import HOST_BENCHMARKS
from benchvise.measure.hostside.base import HostBenchmark, Order
from benchvise.measure.model import SeriesSpec
from benchvise.measure.registry import Registry


class MessageSource(Protocol):
    """Gives the messages of one process of a series."""

    def messages(self, spec: SeriesSpec, batches: int | None) -> Iterator[SeriesMessage]:
        """``host``, ``begin``, ``sample`` and ``end``; ``batches`` None: as many as by default.

        Raises NotAvailable, MeasurementError, ProbeError, UsageError and BoardUnreachable.
        """


class ProbeSource:
    """Benchmarks that the probe has.

    ``marker`` is a file of the board that takes a line at the begin and end of each batch,
    ``attributes`` are words that give the measuring process attributes of its own.
    """

    def __init__(self, channel: ProbeChannel) -> None:
        self._channel = channel
        self.marker = ""
        self.attributes: tuple[str, ...] = ()

    def messages(self, spec: SeriesSpec, batches: int | None) -> Iterator[SeriesMessage]:
        """A fresh process of the probe; a batch each time the next message is asked for."""
        words = ["run", spec.benchmark]
        if batches is not None:
            words += ["--batches", str(batches)]
        if self.marker:
            words += ["--marker", self.marker]
        words += self.attributes
        params = dict(spec.params)
        for name, value in params.items():
            words += [f"--{name}", value]
        request = partial(self._channel.request, words, paced=True)
        if "timeout_s" in params:
            request = partial(request, silence_timeout=_patience(params))
        for message in request():
            if isinstance(message, HostMessage | BeginMessage | SampleMessage | EndMessage):
                yield message
            if isinstance(message, SampleMessage):
                self._channel.acknowledge()


def _patience(params: dict[str, str]) -> float:
    """Seconds of silence from a benchmark that has a time limit of its own for what it runs."""
    runs = int(params.get("warmup", "0")) + 1
    return SILENCE_SECONDS + runs * float(params["timeout_s"])


class Sources:
    """All sources of one board; leaving its context ends what was started on this machine."""

    def __init__(
        self,
        board: Board,
        channel: ProbeChannel,
        hosted: Sequence[HostBenchmark] = HOST_BENCHMARKS,
    ) -> None:
        self._board = board
        self._channel = channel
        self._hosted = {benchmark.description.id: benchmark for benchmark in hosted}
        self._probe = ProbeSource(channel)
        self._companion = Companion(board)

    def messages(self, spec: SeriesSpec, batches: int | None) -> Iterator[SeriesMessage]:
        """From this machine, or from the probe with this machine as the other end if need be."""
        hosted = self._hosted.get(spec.benchmark)
        if hosted is not None:
            count = int(hosted.description.defaults["batches"]) if batches is None else batches
            params, words = dict(spec.params), self._probe.attributes
            return hosted.messages(Order(self._board, self._channel, params, count, words))
        if ("peer", "auto") in spec.params and ("protocol", "iperf3") not in spec.params:
            return self._over_the_network(spec, batches)
        return self._probe.messages(spec, batches)

    def mark_batches(self, marker: str) -> None:
        """From here on the probe says in that file of the board when a batch begins and ends."""
        self._probe.marker = marker

    def run_as(self, attributes: Mapping[str, str]) -> None:
        """From here on what is measured has these attributes, by name; those of
        ``bvprobe run --as``."""
        text = ",".join(f"{name}={value}" for name, value in attributes.items())
        self._probe.attributes = ("--as", text) if text else ()

    def close(self) -> None:
        """Ends what was started on this machine. May be called more than once."""
        self._companion.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _over_the_network(self, spec: SeriesSpec, batches: int | None) -> Iterator[SeriesMessage]:
        """With this machine as the other end."""
        remote_host = self._companion.remote_host()
        params = {**dict(spec.params), "peer": remote_host.address, "key": remote_host.key}
        addressed = SeriesSpec(spec.benchmark, tuple(params.items()), spec.key)
        yield from self._probe.messages(addressed, batches)


def board_registry(channel: ProbeChannel) -> Registry:
    """The benchmarks of a board: those of its probe, and those that this machine drives."""
    return Registry.of_probe(channel.list_benchmarks(), HOST_BENCHMARKS)


def local_registry() -> Registry:
    """What can be measured with the packaged probe for this machine."""
    with open_board("local") as board, open_channel(board) as channel:
        return board_registry(channel)
