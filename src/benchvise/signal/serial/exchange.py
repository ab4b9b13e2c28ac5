"""Sending patterns over a line and collecting what comes out, until all or nothing more comes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchvise.signal.aligning import Discrepancy, discrepancies
from benchvise.signal.serial.flow import XOFF, XON, Flow
from benchvise.signal.serial.port import Port

_BITS_A_BYTE = 10
_LEAST_STALL_S = 0.6
_SLOW_CHUNK = 16  # fits the FIFO of a 16550


@dataclass(frozen=True, slots=True)
class Way:
    """One direction of one pattern: what was sent and what came out.

    ``stalled`` is whether it stopped before its end, after ``stalled_at`` bytes had come out;
    ``resumed`` is whether an XON brought it on again, ``dead`` whether nothing at all came through
    after that. ``discrepancies`` tell what differs.
    """

    name: str
    sent: int
    received: int
    discrepancies: tuple[Discrepancy, ...]
    stalled: bool
    stalled_at: int
    resumed: bool
    dead: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """A pattern over a line: each direction, and what the drivers counted meanwhile."""

    pattern: Pattern
    chunk: int
    ways: tuple[Way, ...]
    counted: Mapping[str, int] | None


class _Stream:
    """One direction: what is still to be sent, and what has come."""

    def __init__(self, name: str, source: Port, sink: Port, data: bytes, chunk: int) -> None:
        self.name, self.source, self.sink = name, source, sink
        self.data, self.chunk = data, chunk
        self.sent = 0
        self.received = bytearray()
        self.moved = time.monotonic()
        self.next_at = 0.0
        self.stalled_at: int | None = None
        self.resumed = False
        self.dead = False

    @property
    def is_done(self) -> bool:
        """Whether as much came out as went in."""
        return self.sent == len(self.data) and len(self.received) >= len(self.data)

    def take(self) -> bytes:
        """What has come. The XON that was to bring a halted line on is no part of the data."""
        got = self.sink.read()
        if self.stalled_at is not None and not self.resumed and got[:1] == bytes([XON]):
            got = got[1:]
        return got

    def push(self, pause_s: float) -> None:
        """Writes a chunk, or what of it the port takes."""
        now = time.monotonic()
        if self.sent == len(self.data) or now < self.next_at:
            return
        end = min(len(self.data), self.sent - self.sent % self.chunk + self.chunk)
        count = self.source.write(self.data[self.sent : end])
        self.sent += count
        if count and pause_s:
            self.next_at = now + pause_s


def exchange(near: Port, far: Port | None, pattern: Pattern, chunk: int, baud: int) -> Exchange:
    """Sends a pattern from ``near`` to ``far``, or both ways; without ``far`` what is sent comes
    back to ``near``.

    A direction has stalled when nothing has come for longer than a chunk and three tenths of a
    second take. Raises BoardUnusable when a port goes.
    """
    ports = (near,) if far is None else (near, far)
    before = _counters(ports)
    for port in ports:
        port.discard()
    if pattern.pause_s:
        chunk = min(chunk, _SLOW_CHUNK)
    streams = [_Stream("there", near, far or near, pattern.data, chunk)]
    if pattern.both_ways and far is not None:
        streams.append(_Stream("back", far, near, pattern.data[::-1], chunk))
    begun = time.monotonic()
    stall_s = max(_LEAST_STALL_S, 0.3 + 4 * chunk * _BITS_A_BYTE / baud + 4 * pattern.pause_s)
    _run(streams, pattern, stall_s)
    seconds = time.monotonic() - begun
    ways = tuple(_way(stream, seconds) for stream in streams)
    after = _counters(ports)
    counted = None
    if before is not None and after is not None:
        counted = {key: after[key] - before[key] for key in after if after[key] != before[key]}
    return Exchange(pattern, chunk, ways, counted)


def _run(streams: list[_Stream], pattern: Pattern, stall_s: float) -> None:
    for stream in streams:
        stream.moved = time.monotonic()
    waiting = list(streams)
    while waiting:
        for stream in waiting:
            stream.push(pattern.pause_s)
        pending = any(stream.sent < len(stream.data) for stream in waiting)
        waiting[0].sink.wait(0.002 if pending or len(waiting) > 1 else 0.02, to_write=False)
        for stream in list(waiting):
            got = stream.take()
            if got:
                stream.received += got
                stream.moved = time.monotonic()
                stream.resumed = stream.resumed or stream.stalled_at is not None
            if stream.is_done and not got and time.monotonic() - stream.moved > 0.05:
                waiting.remove(stream)  # a little longer, for what was doubled
            elif time.monotonic() - stream.moved > stall_s:
                if stream.stalled_at is not None:
                    stream.dead = not stream.resumed and not _carries(stream, stall_s)
                    waiting.remove(stream)
                    continue
                stream.stalled_at = len(stream.received)
                stream.source.resume()
                stream.moved = time.monotonic()


def _carries(stream: _Stream, stall_s: float) -> bool:
    """Whether anything at all still comes through."""
    stream.source.write(b"are you there?")
    deadline = time.monotonic() + stall_s
    while time.monotonic() < deadline:
        stream.sink.wait(0.02, to_write=False)
        if stream.sink.read():
            stream.sink.discard()
            return True
    return False


def _way(stream: _Stream, seconds: float) -> Way:
    received = bytes(stream.received)
    # Less came than was sent, and nothing more: that is a halt only where a sender had to wait,
    # where XON brought it on, or where nothing comes through any more; else bytes are gone.
    held = stream.sent < len(stream.data)
    stalled = stream.stalled_at is not None and (held or stream.resumed or stream.dead)
    sent = stream.data if not held else stream.data[: stream.sent]
    return Way(
        stream.name,
        stream.sent,
        len(received),
        tuple(discrepancies(sent, received)),
        stalled,
        stream.stalled_at or 0,
        stream.resumed,
        stream.dead,
        seconds,
    )


def _counters(ports: Sequence[Port]) -> dict[str, int] | None:
    """What the drivers of these ports counted, together; None where none does."""
    counters = [counts for port in ports if (counts := port.counters()) is not None]
    return (
        {key: sum(counts[key] for counts in counters) for key in counters[0]} if counters else None
    )


# -- patterns: each asks for one way to go wrong ---------------------------------------------------

_FLOW_BYTES = frozenset({XON, XOFF})


@dataclass(frozen=True, slots=True)
class Pattern:
    """Bytes to be sent, and why. ``both_ways`` sends them from either end at the same time."""

    name: str
    asks: str
    data: bytes
    both_ways: bool = False
    pause_s: float = 0.0
    """A rest after each chunk."""


BACK_ALONE = Pattern("back alone", "is the other direction dead too?", b"")
"""Sent by the far port alone, where nothing arrived there."""


def patterns(flow: Flow, size: int, seed: int) -> Iterator[Pattern]:
    """The patterns for a line under a flow control, of about ``size`` bytes each.

    Under software flow control XON and XOFF belong to the line and are in no pattern. A lone
    XOFF comes last, as it may halt what does not get over it.
    """
    rest = [byte for byte in range(256) if flow is not Flow.XONXOFF or byte not in _FLOW_BYTES]
    maker = random.Random(seed)  # noqa: S311 - a pattern that can be repeated
    every = bytes(rest) * max(1, size // len(rest))
    yield Pattern("every byte", "is each value carried?", every)
    yield Pattern("random", "are bytes lost, doubled or altered?", _random(maker, rest, size))
    yield Pattern(
        "slow",
        "does it go wrong without haste too?",
        _random(maker, rest, max(64, size // 16)),
        pause_s=0.002,
    )
    runs = b"".join(bytes([value]) * (size // 8) for value in (0x00, 0xFF, 0x55, 0x7F))
    yield Pattern("long runs", "does a repeated byte stay as often?", runs)
    yield Pattern(
        "both ways",
        "does traffic in one direction hurt the other?",
        _random(maker, rest, size),
        both_ways=True,
    )
    if flow is not Flow.XONXOFF:
        text = bytes(range(0x41, 0x5B))
        yield Pattern(
            "XON alone", "does anything take XON out?", (text + bytes([XON])) * max(1, size // 108)
        )
        yield Pattern(
            "XOFF and XON",
            "does anything take pairs of XOFF and XON out?",
            (text + bytes([XOFF, XON])) * max(1, size // 112),
        )
        yield Pattern(
            "XOFF alone", "does a lone XOFF halt the line?", text + bytes([XOFF]) + text * 4
        )


def _random(maker: random.Random, allowed: list[int], size: int) -> bytes:
    return bytes(maker.choices(allowed, k=size))
