"""The evidence of a run as counter tracks on the clock of the trace that was recorded with it.

Samples say when they began on CLOCK_MONOTONIC, which is the clock ``mono`` of a trace. What a watch
polled has the wall clock of this machine. What cannot be lined up is a track that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from benchvise.documents import JsonObject, text_at
from benchvise.health.model import WatchedKind
from benchvise.health.watch.history import History, WatchedMetric
from benchvise.measure.model import RunRecord, Sample, SeriesRecord
from benchvise.quantities import format_count, number_or_none

MOST_TRACKS = 100
"""Of a run; a suite may have thousands of series."""

MOST_LINES = 20_000
"""Of one track: what a page draws in each frame."""

_REASON = 200
"""Characters of a reason that the board gives."""

_NO_TIME = "the samples do not say when they began"
_UPTIME = (
    "not measured on the board: its times are those of /proc/uptime, which counts suspended time "
    "and has steps of 10 ms"
)
_OTHER_MACHINE = (
    "a watch has the time of this machine, and nothing compares that with the clock of the board"
)


_NO_OFFSET = "the recording does not say how its clock and the wall clock relate"


class ReadingSpan(NamedTuple):
    """From ``begin`` to ``end``, ns of a clock, what was read lies between ``low`` and ``high``."""

    begin: int
    end: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class EvidenceTrack:
    """What is drawn of one quantity: lines in order of time, ns since the trace's first event.

    Between two lines nothing was read. ``reason`` is why there are none, empty where there are.
    """

    name: str
    unit: str
    begin: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RecordedClock:
    """The clock of a trace: ``name`` as ftrace calls it, ``origin`` its value at the first event.

    ``wall_offset`` leads from it to the time since 1970. None where nobody knows. All in ns.
    """

    name: str
    origin: int | None
    wall_offset: int | None

    @classmethod
    def of(cls, recorded: JsonObject, first: int, epoch_offset: int | None) -> RecordedClock:
        """The clock of a recording, as a run keeps it (``trace.recording.Recorded``).

        ``first`` is when the first event happened, as the trace is read: its clock as it was, where
        ``epoch_offset`` is None; else that is from its times to the time since 1970, 0 for those
        that have been made such times.
        """
        begin, end = (recorded.get(part) for part in ("begin", "end"))
        offset = number_or_none(end.get("wall_offset_ns")) if isinstance(end, Mapping) else None
        name = text_at(begin, "clock") if isinstance(begin, dict) else ""
        wall_offset = None if offset is None else int(offset)
        if epoch_offset is None:
            return cls(name, first, wall_offset)
        return cls(
            name, None if wall_offset is None else first + epoch_offset - wall_offset, wall_offset
        )

    @property
    def fault(self) -> str:
        """Why samples have no place on it; empty where they have."""
        if self.name == "mono":
            return "" if self.origin is not None else _NO_OFFSET
        named = f"has the clock {self.name[:40]}" if self.name else "does not name its clock"
        return f"the trace {named}, samples have CLOCK_MONOTONIC (mono)"


def evidence_tracks(
    run: RunRecord, clock: RecordedClock, health: History | None = None
) -> list[EvidenceTrack]:
    """What was read beside the samples of a run, then the samples by series, then its health.

    ``health`` is what a watch kept of the board while it was measured.
    """
    tracks = [*_readings(run, clock), *_values(run, clock)]
    if health is not None:
        tracks += _health(run, health, clock)
    return tracks[:MOST_TRACKS]


# -- samples ---------------------------------------------------------------------------------------


def _clock_rates(sample: Sample) -> tuple[float, ...]:
    """Before and after the batch."""
    read = (number_or_none(sample.evidence.get(f"clock_{when}_hz")) for when in ("before", "after"))
    return tuple(hz for hz in read if hz)


def _temperature(sample: Sample) -> tuple[float, ...]:
    millidegrees = number_or_none(sample.evidence.get("temperature_mc"))
    return () if millidegrees is None else (millidegrees / 1000,)


def _waited(sample: Sample) -> tuple[float, ...]:
    waited, window = (number_or_none(sample.evidence.get(f"{n}_ns")) for n in ("wait", "window"))
    return () if waited is None or not window or window < 0 else (100 * waited / window,)


def _busy(field: str) -> Callable[[Sample], tuple[float, ...]]:
    """CPUs: in a batch that is shorter than a tick it is no more than a hint."""

    def read(sample: Sample) -> tuple[float, ...]:
        ticks, rate, window = (
            number_or_none(sample.evidence.get(name))
            for name in (field, "ticks_per_second", "window_ns")
        )
        if ticks is None or not rate or not window or window < 0:
            return ()
        return (ticks / rate / (window / 1e9),)

    return read


_READINGS: tuple[tuple[str, str, str, Callable[[Sample], tuple[float, ...]]], ...] = (
    ("CPU clock", "Hz", "clock_before_hz", _clock_rates),
    ("temperature", "°C", "temperature_mc", _temperature),
    ("waited for the CPU", "%", "wait_ns", _waited),
    ("other CPUs busy", "CPU", "other_busy_ticks", _busy("other_busy_ticks")),
    ("stolen by the hypervisor", "CPU", "steal_ticks", _busy("steal_ticks")),
)


def _readings(run: RunRecord, clock: RecordedClock) -> Iterator[EvidenceTrack]:
    samples = [sample for series in run.series for sample in _samples(series)]
    if not samples:
        return
    for name, unit, field, read in _READINGS:
        track = EvidenceTrack(name, unit)
        read_samples = [sample for sample in samples if read(sample)]
        if not read_samples:
            yield replace(track, reason=_not_read(samples, field))
        else:
            yield _of_samples(track, read_samples, read, clock)


def _values(run: RunRecord, clock: RecordedClock) -> Iterator[EvidenceTrack]:
    for series in run.series:
        samples = [s for s in _samples(series) if number_or_none(s.value) is not None]
        if samples:
            track = EvidenceTrack(series.spec.key, series.unit)
            yield _of_samples(track, samples, lambda sample: (sample.value,), clock)


def _samples(series: SeriesRecord) -> Iterator[Sample]:
    return (sample for process in series.processes for sample in process.samples)


def _not_read(samples: Iterable[Sample], field: str) -> str:
    answers = (sample.evidence.get(field) for sample in samples)
    reasons = (answer.get("na") for answer in answers if isinstance(answer, Mapping))
    texts = (reason[:_REASON] for reason in reasons if isinstance(reason, str) and reason)
    return next(texts, "not read")


def _of_samples(
    track: EvidenceTrack,
    samples: list[Sample],
    read: Callable[[Sample], tuple[float, ...]],
    clock: RecordedClock,
) -> EvidenceTrack:
    if clock.fault:
        return replace(track, reason=clock.fault)
    lines = []
    for sample in samples:
        start, window = (number_or_none(sample.evidence.get(n)) for n in ("start_ns", "window_ns"))
        if start is None or window is None or window < 0 or _is_from_outside(sample):
            continue
        begin, values = int(start), read(sample)
        lines.append(ReadingSpan(begin, begin + max(int(window), 1), min(values), max(values)))
    if not lines:
        reason = _UPTIME if any(map(_is_from_outside, samples)) else _NO_TIME
        return replace(track, reason=reason)
    return _with_spans(track, lines, clock)


def _is_from_outside(sample: Sample) -> bool:
    """Whether this machine measured it: then it ran on no CPU of the board."""
    return isinstance(sample.evidence.get("cpu"), Mapping)


def _with_spans(
    track: EvidenceTrack, lines: list[ReadingSpan], clock: RecordedClock
) -> EvidenceTrack:
    """Lines of the trace's clock in order of time, none of which overlaps the next."""
    if len(lines) > MOST_LINES:
        reason = f"more than {format_count(MOST_LINES)} samples: too many to draw"
        return replace(track, reason=reason)
    lines.sort()
    origin = clock.origin or 0
    ends = [min(line.end, following.begin) for line, following in pairwise(lines)]
    return replace(
        track,
        begin=tuple(line.begin - origin for line in lines),
        end=tuple(end - origin for end in [*ends, lines[-1].end]),
        low=tuple(line.low for line in lines),
        high=tuple(line.high for line in lines),
    )


# -- health ----------------------------------------------------------------------------------------


def _health(run: RunRecord, health: History, clock: RecordedClock) -> Iterator[EvidenceTrack]:
    """Sensors, and counters that rose. Times of a watch are seconds of this machine's wall clock,
    which is the board's where the board is this machine."""
    fault = ""
    if run.board != "local":
        fault = _OTHER_MACHINE
    elif clock.wall_offset is None or clock.origin is None:
        fault = _NO_OFFSET
    offset = clock.wall_offset or 0

    def line(begin: float, end: float, low: float, high: float) -> ReadingSpan:
        first, last = (round(seconds * 1e9) - offset for seconds in (begin, end))
        return ReadingSpan(first, max(last, first + 1), low, high)

    for metric in health.metrics:
        track = EvidenceTrack(f"watch: {metric.name}", metric.unit)
        if metric.kind is WatchedKind.SENSOR:
            lines = [line(span.began, span.until, span.low, span.high) for span in metric.ranges]
        else:
            lines = [line(*values) for values in _held(metric, health)]
        if lines:
            yield replace(track, reason=fault) if fault else _with_spans(track, lines, clock)


def _held(metric: WatchedMetric, health: History) -> Iterator[tuple[float, float, float, float]]:
    """How long each value of a counter held while it was watched; none where it never changed."""
    if not any(change.delta and change.at >= health.since for change in metric.changes):
        return
    following = [*metric.changes[1:], None]
    for change, after in zip(metric.changes, following, strict=True):
        until = health.until if after is None else after.since
        for span in health.spans:
            begin, end = max(change.at, span.began), min(until, span.until)
            if begin < end:
                yield begin, end, change.value, change.value
