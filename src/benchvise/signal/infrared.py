"""Infrared remote controls: pulses and spaces on a timeline, the protocol named and decoded.

Protocols are decoded by libsigrokdecode. Which one it is shows from the first pulse and space and
from whether the lengths or the places of the changes carry the bits: S. Bergmans, "IR remote
control theory", SB-Projects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchvise.errors import CaptureError
from benchvise.signal.capture import Capture, SignalLine
from benchvise.signal.decoders import Annotation, Decoder, decode

_GAP_S = 0.014  # longer than any space within a frame, shorter than the rest between frames
_CARRIER_HZ = (30e3, 60e3)
_NEAR = 0.25


@dataclass(frozen=True, slots=True)
class InfraredSpan:
    """A pulse (light) or a space, in seconds since the start of the capture."""

    at: float
    seconds: float
    pulse: bool

    @property
    def kind(self) -> str:
        """``pulse`` or ``space``."""
        return "pulse" if self.pulse else "space"


@dataclass(frozen=True, slots=True)
class InfraredProtocol:
    """A protocol that can be told by its first pulse and space, in seconds; ``decoder`` is
    libsigrokdecode's name of it, empty where it has none."""

    name: str
    decoder: str
    pulse: float
    space: float
    options: tuple[tuple[str, str], ...] = ()


PROTOCOLS = (
    InfraredProtocol("NEC", "ir_nec", 9.0e-3, 4.5e-3),
    InfraredProtocol("NEC repeat", "ir_nec", 9.0e-3, 2.25e-3),
    InfraredProtocol("Samsung", "", 4.5e-3, 4.5e-3),
    InfraredProtocol("Sony SIRC", "ir_sirc", 2.4e-3, 0.6e-3),
    InfraredProtocol("RC-6", "ir_rc6", 2.666e-3, 0.889e-3),
    InfraredProtocol("RC-5", "ir_rc5", 0.889e-3, 0.889e-3),
    InfraredProtocol("JVC", "", 8.4e-3, 4.2e-3),
    InfraredProtocol("Kaseikyo", "", 3.456e-3, 1.728e-3),
)


@dataclass(frozen=True, slots=True)
class InfraredFrame:
    """One transmission: its pulses and spaces, and the protocol that it begins like."""

    spans: tuple[InfraredSpan, ...]
    protocol: InfraredProtocol | None

    @property
    def at(self) -> float:
        """When it begins, in seconds."""
        return self.spans[0].at


@dataclass(frozen=True, slots=True)
class Infrared:
    """All frames of a line, what the decoder says of them, and the carrier where it is there."""

    line: str
    active_low: bool
    carrier_hz: float | None
    frames: tuple[InfraredFrame, ...]
    protocol: InfraredProtocol | None
    decoded: tuple[Annotation, ...]
    notes: tuple[str, ...]


def infrared(capture: Capture, name: str, protocol: str | None = None) -> Infrared:
    """Reads a line of an infrared receiver, or of the light itself with its carrier.

    ``protocol`` names one in place of the one that the pulses look like. CaptureError when
    nothing is on the line.
    """
    line = capture.line(name)
    if line.edges.size < 4:
        raise CaptureError(
            f"{capture.path}: {line.name} changes {line.edges.size} times: there is no remote "
            "control on it",
            "name another line with --line",
        )
    active_low = _rests_high(capture, line)
    carrier, envelope = _without_carrier(capture, line, active_low=active_low)
    frames = tuple(_frames(_spans(capture, envelope, active_low=active_low)))
    named = _named(protocol) if protocol else _most_common(frames)
    notes: list[str] = []
    decoded: list[Annotation] = []
    if named is None:
        notes.append("the pulses begin like no protocol that is known here: they are listed only")
    elif not named.decoder:
        notes.append(f"{named.name} has no decoder in libsigrokdecode: its pulses are listed only")
    else:
        without_carrier = capture
        if carrier is not None:
            lines = tuple(envelope if other is line else other for other in capture.lines)
            without_carrier = Capture(
                capture.path, "without carrier", capture.clock, capture.ticks, lines
            )
        polarity = "active-low" if active_low else "active-high"
        options = {"polarity": polarity, **dict(named.options)}
        decoded = decode(without_carrier, [Decoder(named.decoder, {"ir": line.name}, options)])
    return Infrared(line.name, active_low, carrier, frames, named, tuple(decoded), tuple(notes))


def _rests_high(capture: Capture, line: SignalLine) -> bool:
    """Whether the line is high in its longest rest: a receiver's output is, a diode's is not."""
    bounds = np.concatenate(([0], line.edges, [capture.ticks]))
    longest = int(np.argmax(np.diff(bounds)))
    return bool(line.starts_high ^ (longest % 2 == 1))


def _without_carrier(
    capture: Capture, line: SignalLine, *, active_low: bool
) -> tuple[float | None, SignalLine]:
    """The carrier's frequency, and the line as a receiver would give it; None without one."""
    light = line.of("falling" if active_low else "rising")
    periods = np.diff(light) * capture.clock.tick_s
    short = periods[periods < 1.2 / _CARRIER_HZ[0]]
    if short.size < 0.6 * max(1, periods.size) or short.size < 20:
        return None, line
    period = float(np.median(short))
    if not _CARRIER_HZ[0] * 0.9 <= 1 / period <= _CARRIER_HZ[1] * 1.1:
        return None, line
    # A rest of more than two periods ends a burst; it lasts until half a period after its last.
    gap = np.flatnonzero(periods > 2.5 * period)
    starts = light[np.concatenate(([0], gap + 1))]
    ends = light[np.concatenate((gap, [light.size - 1]))] + round(period / capture.clock.tick_s / 2)
    edges = np.column_stack((starts, ends)).reshape(-1)
    return 1 / period, SignalLine(line.name, active_low, edges.astype(np.int64))


def _spans(capture: Capture, line: SignalLine, *, active_low: bool) -> list[InfraredSpan]:
    tick = capture.clock.tick_s
    spans = []
    for number in range(line.edges.size - 1):
        begin, end = int(line.edges[number]), int(line.edges[number + 1])
        high = line.starts_high ^ (number % 2 == 0)
        spans.append(InfraredSpan(begin * tick, (end - begin) * tick, high is not active_low))
    return spans


def _frames(spans: Sequence[InfraredSpan]) -> list[InfraredFrame]:
    """Split at long spaces; a frame begins and ends with a pulse."""
    frames: list[InfraredFrame] = []
    current: list[InfraredSpan] = []
    for span in (*spans, InfraredSpan(0.0, 1.0, pulse=False)):
        if not span.pulse and span.seconds > _GAP_S:
            while current and not current[-1].pulse:
                current.pop()
            if current:
                frames.append(InfraredFrame(tuple(current), _protocol(current)))
            current = []
        elif current or span.pulse:
            current.append(span)
    return frames


def _protocol(spans: Sequence[InfraredSpan]) -> InfraredProtocol | None:
    """The protocol whose first pulse and space these are; RC-5 by all of them being one or two
    half bits long."""
    if len(spans) < 2:
        return None
    pulse, space = spans[0].seconds, spans[1].seconds
    for protocol in PROTOCOLS:
        if protocol.name == "RC-5":
            half = protocol.pulse
            if len(spans) > 8 and all(
                min(abs(span.seconds / half - n) for n in (1, 2)) < _NEAR for span in spans
            ):
                return protocol
        elif abs(pulse / protocol.pulse - 1) < _NEAR and abs(space / protocol.space - 1) < _NEAR:
            return protocol
    return None


def _most_common(frames: Sequence[InfraredFrame]) -> InfraredProtocol | None:
    named = [frame.protocol for frame in frames if frame.protocol is not None]
    full = [protocol for protocol in named if not protocol.name.endswith("repeat")] or named
    return max(full, key=full.count) if full else None


def _named(name: str) -> InfraredProtocol:
    for protocol in PROTOCOLS:
        if protocol.name.lower().replace(" ", "") == name.lower().replace(" ", ""):
            return protocol
    names = ", ".join(p.name for p in PROTOCOLS)
    raise CaptureError(f"there is no infrared protocol '{name}'", f"one of {names}")
