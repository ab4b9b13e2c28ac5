"""Infrared remote controls: pulses and spaces on a timeline, and the code of each frame.

Frames are decoded here (``remote_protocols``); what libsigrokdecode says of them stands beside it
where it has a decoder of that protocol.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchvise.errors import CaptureError
from benchvise.signal.capture import Capture, SignalLine
from benchvise.signal.decoders import Annotation, Decoder, decode
from benchvise.signal.remote_codes import RemoteCode
from benchvise.signal.remote_protocols import read_frame
from benchvise.text import counted

_GAP_S = 0.0035  # longer than any space within a frame but that of a header
_HEADER_S = 0.0030  # a mark that only headers have
_HEADER_GAP_S = 0.0070
_GLITCH_S = 0.1e-3  # shorter than any mark or space of any protocol
_HELD_S = 0.13  # from the end of a frame to its repetition, at the slowest
_NEC_PERIOD_S = 0.108
_CARRIER_HZ = (30e3, 60e3)


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
    """A protocol's name, and libsigrokdecode's name of it, empty where it has none."""

    name: str
    decoder: str = ""


PROTOCOLS = (
    InfraredProtocol("NEC", "ir_nec"),
    InfraredProtocol("Samsung"),
    InfraredProtocol("Sony SIRC", "ir_sirc"),
    InfraredProtocol("RC-6", "ir_rc6"),
    InfraredProtocol("RC-5", "ir_rc5"),
    InfraredProtocol("JVC"),
    InfraredProtocol("Kaseikyo"),
    InfraredProtocol("Denon"),
    InfraredProtocol("Sharp"),
)
_VARIANTS = {"NEC extended": "NEC", "RC-5X": "RC-5", "RC-6A": "RC-6"}


@dataclass(frozen=True, slots=True)
class InfraredFrame:
    """One transmission: its pulses and spaces without glitches, how many glitches there were, and
    its code, None where it begins like no known protocol."""

    spans: tuple[InfraredSpan, ...]
    code: RemoteCode | None
    glitches: int = 0

    @property
    def at(self) -> float:
        """When it begins, in seconds."""
        return self.spans[0].at

    @property
    def end(self) -> float:
        """When its last pulse ends, in seconds."""
        return self.spans[-1].at + self.spans[-1].seconds

    @property
    def protocol(self) -> InfraredProtocol | None:
        """The protocol of its code."""
        return None if self.code is None else _family(self.code.protocol)


@dataclass(frozen=True, slots=True)
class Infrared:
    """All frames of a line, what libsigrokdecode says of them, and the carrier where it is there.

    ``protocol`` is that of most frames.
    """

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
            f"{capture.path}: {line.name} changes {counted(line.edges.size, 'time')}: there is "
            "no remote control on it",
            "name another line with --line",
        )
    wanted = None if protocol is None else _named(protocol)
    rests_high = _rests_high(capture, line)
    read = _read(capture, line, wanted, active_low=rests_high)
    if not any(frame.code is not None and frame.code.complete for frame in read.frames):
        # A capture without a rest before and after its frames does not show which level is light.
        other = _read(capture, line, wanted, active_low=not rests_high)
        if any(frame.code is not None and frame.code.complete for frame in other.frames):
            read = other
    named = wanted or _most_common(read.frames)
    notes = [] if named else ["the pulses begin like no protocol that is known here"]
    decoded: list[Annotation] = []
    if named is not None and named.decoder:
        try:
            decoded = _by_sigrok(capture, line, read, named)
        except CaptureError as error:
            notes.append(f"libsigrokdecode's {named.decoder} says nothing beside this: {error}")
    return Infrared(
        line.name,
        read.active_low,
        read.carrier_hz,
        read.frames,
        named,
        tuple(decoded),
        tuple(notes),
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """The frames of a line that is light at one of its levels."""

    active_low: bool
    carrier_hz: float | None
    envelope: SignalLine
    frames: tuple[InfraredFrame, ...]


def _read(
    capture: Capture, line: SignalLine, wanted: InfraredProtocol | None, *, active_low: bool
) -> _Reading:
    carrier, envelope = _without_carrier(capture, line, active_low=active_low)
    spans, glitches = _without_glitches(_spans(capture, envelope, active_low=active_low))
    frames = list(_frames(spans, glitches, wanted.name if wanted else None))
    return _Reading(active_low, carrier, envelope, tuple(_repeats(_shortened(frames))))


def _by_sigrok(
    capture: Capture, line: SignalLine, read: _Reading, protocol: InfraredProtocol
) -> list[Annotation]:
    without_carrier = capture
    if read.carrier_hz is not None:
        lines = tuple(read.envelope if other is line else other for other in capture.lines)
        without_carrier = Capture(
            capture.path, "without carrier", capture.clock, capture.ticks, lines
        )
    polarity = "active-low" if read.active_low else "active-high"
    return decode(
        without_carrier, [Decoder(protocol.decoder, {"ir": line.name}, {"polarity": polarity})]
    )


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


def _without_glitches(spans: Sequence[InfraredSpan]) -> tuple[list[InfraredSpan], list[float]]:
    """Spans with those too short for any protocol joined to what is around them, and when those
    were."""
    joined: list[InfraredSpan] = []
    glitches: list[float] = []
    for span in spans:
        if span.seconds < _GLITCH_S:
            glitches.append(span.at)
            if joined:
                joined[-1] = replace(joined[-1], seconds=span.at + span.seconds - joined[-1].at)
        elif joined and joined[-1].pulse is span.pulse:
            joined[-1] = replace(joined[-1], seconds=span.at + span.seconds - joined[-1].at)
        else:
            joined.append(span)
    return joined, glitches


def _frames(
    spans: Sequence[InfraredSpan], glitches: Sequence[float], only: str | None
) -> Iterator[InfraredFrame]:
    """Split at long spaces; a frame begins and ends with a pulse."""
    current: list[InfraredSpan] = []
    for span in (*spans, InfraredSpan(0.0, 1.0, pulse=False)):
        after_header = bool(current) and current[-1].seconds > _HEADER_S
        if not span.pulse and span.seconds > (_HEADER_GAP_S if after_header else _GAP_S):
            if current and not current[-1].pulse:  # the capture ends within a space
                current.pop()
            if current:
                begin, end = current[0].at, current[-1].at + current[-1].seconds
                code = read_frame([pulse.seconds for pulse in current], only)
                inside = int(np.count_nonzero([begin <= at <= end for at in glitches]))
                yield InfraredFrame(tuple(current), code, inside)
            current = []
        elif current or span.pulse:
            current.append(span)


def _shortened(frames: Sequence[InfraredFrame]) -> list[InfraredFrame]:
    """Frames that say the beginning of one beside them were cut short, whatever number of bits
    they have."""
    out = []
    for number, frame in enumerate(frames):
        code = frame.code
        beside = [
            other.code
            for other in (*frames[max(0, number - 1) : number], *frames[number + 1 : number + 2])
            if other.code is not None
            and max(other.at - frame.end, frame.at - other.end) < _HELD_S
            and code is not None
            and code.protocol in _BEGINS_LIKE.get(other.code.protocol, ())
            and code.bits < other.code.bits
            and _first_bits(other.code, code.bits) == code.value
        ]
        if code is not None and beside and code.bits:
            fault = f"cut short or disturbed: {code.bits} of {beside[0].bits} bits"
            code = RemoteCode(
                beside[0].protocol, code.bits, code.value, complete=False, faults=(fault,)
            )
        out.append(replace(frame, code=code))
    return _without_strangers(out)


def _without_strangers(frames: Sequence[InfraredFrame]) -> list[InfraredFrame]:
    """Frames without the code of those that end early at the same place with the same bits: they
    are whole, and of a protocol that only begins like a known one."""
    cut = Counter(_cut_as(frame) for frame in frames)
    return [
        replace(frame, code=None) if _cut_as(frame) and cut[_cut_as(frame)] > 1 else frame
        for frame in frames
    ]


def _cut_as(frame: InfraredFrame) -> tuple[str, int, int] | None:
    code = frame.code
    if code is None or code.complete or code.bits == 0:
        return None
    return code.protocol, code.bits, code.value


def _first_bits(code: RemoteCode, bits: int) -> int:
    """The first bits sent, as a number in the order of the protocol."""
    if code.protocol == "RC-6A":
        return code.value >> (code.bits - bits)
    return code.value & (1 << bits) - 1


_BEGINS_LIKE = {
    "Sony SIRC": ("Sony SIRC",),
    "RC-6A": ("RC-6A",),
    "NEC": ("JVC",),
    "NEC extended": ("JVC",),
}


def _repeats(frames: Sequence[InfraredFrame]) -> Iterator[InfraredFrame]:
    """Frames marked that repeat one before: the same bits while the key is held, the inverted copy
    of Denon and Sharp, NEC's short frame with the address and command that it stands for."""
    held: dict[tuple[str, int, int | None, int | None, bool | None], InfraredFrame] = {}
    for frame in frames:
        code = frame.code
        if code is not None and code.complete:
            recent = [earlier for earlier in held.values() if frame.at - earlier.end < _HELD_S]
            if code.protocol == "NEC" and code.bits == 0:
                code = _of_repeat(frame, recent) or code
            key = (code.protocol, code.bits, code.address, code.command, code.toggle)
            before = held.get(key)
            again = before is not None and frame.at - before.end < _HELD_S
            code = replace(code, repeat=code.repeat or again)
            frame = replace(frame, code=code)
            held[key] = frame
        yield frame


def _of_repeat(frame: InfraredFrame, recent: Sequence[InfraredFrame]) -> RemoteCode | None:
    """What NEC's repetition says again: the frame that began one period before, as nearly as any.

    Two remote controls at once are told apart by that, as long as their frames are not in step."""
    begun = [
        (abs(frame.at - earlier.at - _NEC_PERIOD_S), earlier.code)
        for earlier in recent
        if earlier.code is not None and earlier.code.protocol.startswith("NEC")
    ]
    if not begun:
        return None
    misfit, nearest = min(begun, key=lambda pair: pair[0])
    others = [code for late, code in begun if code is not nearest and late < misfit + 5e-3]
    also = tuple(f"a repetition of {code.protocol} 0x{code.value:x}" for code in others)
    return replace(nearest, repeat=True, also_fits=also, faults=())


def _family(name: str) -> InfraredProtocol:
    return next(p for p in PROTOCOLS if p.name == _VARIANTS.get(name, name))


def _most_common(frames: Sequence[InfraredFrame]) -> InfraredProtocol | None:
    named = [frame.protocol for frame in frames if frame.protocol is not None]
    return max(named, key=named.count) if named else None


def _named(name: str) -> InfraredProtocol:
    for protocol in PROTOCOLS:
        if protocol.name.lower().replace(" ", "") == name.lower().replace(" ", ""):
            return protocol
    names = ", ".join(p.name for p in PROTOCOLS)
    raise CaptureError(f"there is no infrared protocol '{name}'", f"one of {names}")
