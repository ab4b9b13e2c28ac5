"""Measuring one board by a plan.

``measure`` is a generator: it yields what happens, and lets the next batch begin only when it is
resumed after a sample. Whoever consumes it decides when that is, normally once the
sample is on disk.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchvise.board.channel import NotAvailable, ProbeChannel
from benchvise.board.messages import BeginMessage, EndMessage, HostMessage, SampleMessage
from benchvise.documents import JsonObject
from benchvise.errors import MeasurementError, ProbeError, UsageError
from benchvise.measure.model import Sample, SeriesStatus
from benchvise.measure.plan import Plan
from benchvise.measure.sources import MessageSource, ProbeSource


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
