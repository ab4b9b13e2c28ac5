"""Measuring one board by a plan.

``measure`` is a generator: it yields what happens, and lets the next batch begin only when it is
resumed after a sample. Whoever consumes it decides when that is, normally once the
sample is on disk.

The messages of a series come from a *source*: the board's probe, or a benchmark driven from here.
Either way they are those of docs/probe-protocol.md, and the next batch begins only when the next
message is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, Self

from benchvise.board import Board, open_board
from benchvise.board.channel import SILENCE_SECONDS, NotAvailable, ProbeChannel, open_channel
from benchvise.board.messages import (
    BeginMessage,
    EndMessage,
    HostMessage,
    SampleMessage,
    SeriesMessage,
)
from benchvise.documents import JsonObject
from benchvise.errors import MeasurementError, ProbeError, UsageError
from benchvise.measure.hostside import host_benchmarks, http_requests
from benchvise.measure.hostside.base import HostBenchmark, Order
from benchvise.measure.model import Sample, SeriesSpec, SeriesStatus
from benchvise.measure.network import Companion, in_turn
from benchvise.measure.plan import Plan
from benchvise.measure.registry import Registry


@dataclass(frozen=True, slots=True)
class HostSeen:
    """The probe's description of the board; the first event of a run."""

    host: JsonObject


@dataclass(frozen=True, slots=True)
class ProcessBegun:
    """A fresh process has calibrated and is about to measure."""

    position: int
    process: int
    begin: JsonObject


@dataclass(frozen=True, slots=True)
class SampleTaken:
    """A batch was measured; the next one waits until the generator is resumed."""

    position: int
    process: int
    sample: Sample


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    """A process ended; ``complete`` when it measured all its batches."""

    position: int
    process: int
    complete: bool


@dataclass(frozen=True, slots=True)
class SeriesEnded:
    """A series is done with: measured, not available here, or failed for a reason."""

    position: int
    status: SeriesStatus
    reason: str


Event = HostSeen | ProcessBegun | SampleTaken | ProcessEnded | SeriesEnded


def measure(
    channel: ProbeChannel, plan: Plan, source: MessageSource | None = None
) -> Iterator[Event]:
    """Measures the plan's series round by round over one channel.

    ``source`` gives the messages of each series; without it, all come from the channel's probe. A
    series that is not possible here, or whose process fails, ends with its reason, and the
    others go on. Raises BoardUnreachable when contact is lost and ProbeError when the probe can
    serve no more requests; all events up to then have been yielded.
    """
    source = source or ProbeSource(channel)
    begun = time.monotonic()
    ended: set[int] = set()
    host_seen = False
    for number, order in enumerate(plan.rounds()):
        for position in order:
            time_is_up = plan.time_s is not None and time.monotonic() - begun >= plan.time_s
            if position in ended or (time_is_up and number > 0):
                continue
            for event in _process(channel, source, plan, position, number):
                if isinstance(event, HostSeen):
                    if host_seen:
                        continue
                    host_seen = True
                if isinstance(event, SeriesEnded):
                    ended.add(position)
                yield event
        if len(ended) == len(plan.series) or (
            plan.time_s is not None and time.monotonic() - begun >= plan.time_s
        ):
            break
    for position in range(len(plan.series)):
        if position not in ended:
            yield SeriesEnded(position, SeriesStatus.MEASURED, "")


def _process(
    channel: ProbeChannel, source: MessageSource, plan: Plan, position: int, number: int
) -> Iterator[Event]:
    """One fresh process of one series."""
    begun = complete = False
    try:
        for message in source.messages(plan.series[position], plan.batches):
            match message:
                case HostMessage(host):
                    yield HostSeen(host)
                case BeginMessage(_, begin):
                    begun = True
                    yield ProcessBegun(position, number, begin)
                case SampleMessage():
                    yield SampleTaken(position, number, _sample(message))
                case EndMessage():
                    complete = True
    except NotAvailable as error:
        yield SeriesEnded(position, SeriesStatus.NOT_AVAILABLE, str(error))
        return
    except (MeasurementError, ProbeError, UsageError) as error:
        if begun:
            yield ProcessEnded(position, number, complete=False)
        yield SeriesEnded(position, SeriesStatus.FAILED, str(error))
        if not channel.is_open:
            raise
        return
    yield ProcessEnded(position, number, complete)


def _sample(message: SampleMessage) -> Sample:
    if message.value is None:
        raise ProbeError(
            "the probe sent a sample without a number",
            "the board's timer may be broken: see `benchvise doctor`",
        )
    return Sample(message.index, message.value, message.evidence)


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
        arguments = ["run", spec.benchmark]
        if batches is not None:
            arguments += ["--batches", str(batches)]
        if self.marker:
            arguments += ["--marker", self.marker]
        arguments += self.attributes
        params = dict(spec.params)
        for name, value in params.items():
            arguments += [f"--{name}", value]
        request = partial(self._channel.request, arguments, paced=True)
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
        hosted: Sequence[HostBenchmark] | None = None,
    ) -> None:
        self._board = board
        self._channel = channel
        of_this_machine = host_benchmarks() if hosted is None else hosted
        self._hosted = {benchmark.description.id: benchmark for benchmark in of_this_machine}
        self._probe = ProbeSource(channel)
        self._companion = Companion(board)

    def messages(self, spec: SeriesSpec, batches: int | None) -> Iterator[SeriesMessage]:
        """From this machine, or from the probe with this machine as the other end if need be."""
        hosted = self._hosted.get(spec.benchmark)
        if hosted is not None:
            count = int(hosted.description.defaults["batches"]) if batches is None else batches
            params, attributes = dict(spec.params), self._probe.attributes
            order = Order(self._board, self._channel, params, count, attributes)
            loads_network = spec.benchmark == http_requests.ID
            return in_turn(hosted.messages(order)) if loads_network else hosted.messages(order)
        if ("peer", "auto") in spec.params and ("protocol", "iperf3") not in spec.params:
            return in_turn(self._over_the_network(spec, batches))
        return self._probe.messages(spec, batches)

    def mark_batches(self, marker: str) -> None:
        """From here on the probe says in that file of the board when a batch begins and ends."""
        self._probe.marker = marker

    def run_as(self, attributes: Mapping[str, str]) -> None:
        """From here on what is measured has these attributes, by name; those of
        ``bvprobe run --as``."""
        self._probe.attributes = attribute_words(attributes)

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


def attribute_words(attributes: Mapping[str, str]) -> tuple[str, ...]:
    """The words that give a process of the probe these attributes."""
    text = ",".join(f"{name}={value}" for name, value in attributes.items())
    return ("--as", text) if text else ()


def board_registry(channel: ProbeChannel) -> Registry:
    """The benchmarks of a board: those of its probe, and those that this machine drives."""
    return Registry.of_probe(channel.list_benchmarks(), host_benchmarks())


def local_registry() -> Registry:
    """What can be measured with the packaged probe for this machine."""
    with open_board("local") as board, open_channel(board) as channel:
        return board_registry(channel)
