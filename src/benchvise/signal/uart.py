"""Serial lines in a capture: the baud rate found by itself, the bytes, and what is wrong.

Bytes are decoded by libsigrokdecode. What it does not do is done here: finding the rate and the
frame from the edges, telling glitches from bits, and lining the bytes up with what a host got.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from benchvise.documents import computed
from benchvise.errors import CaptureError
from benchvise.signal.capture import Capture, SignalLine
from benchvise.signal.decoders import Decoder, decode
from benchvise.signal.uart_frames import FoundFrame, SerialFrame, edges_within_words, find_frame
from benchvise.text import counted

STANDARD_RATES = (
    110, 300, 600, 1200, 2400, 4800, 9600, 14400, 19200, 28800, 31250, 38400, 57600, 74880,
    76800, 100000, 115200, 128000, 230400, 250000, 256000, 460800, 500000, 576000, 921600,
    1000000, 1152000, 1500000, 2000000, 3000000, 4000000,
)  # fmt: skip

_NEAR = 0.025  # a rate this near to a standard one is that, clocked badly
_GLITCH_BITS = 0.4
_LEAST_EDGES = 6
_NEAR_BITS = 0.15
_ASKEW_BITS = 0.25
_LONGEST_RUN = 10  # bits of one level within a frame with its start and stop bit
_MOST_LENGTHS = 20_000
_WRONG_RATE = 0.02
_SAME_RATE = 0.03

_Fit = tuple[float, float, npt.NDArray[np.float64]]
"""The length of a bit, the residue in bits, and the lengths it holds for."""


class SerialFault(StrEnum):
    """What is wrong at a place of a serial line."""

    FRAME = "frame error"
    PARITY = "parity error"
    BREAK = "break"
    GLITCH = "glitch"


@dataclass(frozen=True, slots=True)
class SerialByte:
    """A byte on the line: its first data bit begins and its last ends at these ticks."""

    begin: int
    end: int
    value: int


@dataclass(frozen=True, slots=True)
class SerialMark:
    """Something wrong on the line, in ticks."""

    begin: int
    end: int
    fault: SerialFault


@dataclass(frozen=True, slots=True)
class BaudRate:
    """A baud rate found from the edges: ``measured``, and the standard one that it is near.

    ``error`` is the relative standard error of the measurement; ``residue`` how far levels are
    from whole numbers of bits on the average, in bits.
    """

    measured: float
    standard: int | None
    error: float
    residue: float

    @computed
    def off(self) -> float:
        """How far the sender is from the standard rate, relative; 0 where it is near none."""
        return self.measured / self.standard - 1.0 if self.standard else 0.0


@dataclass(frozen=True, slots=True)
class SerialLine:
    """All that one line says; ``also_fits`` are other frames with as few errors."""

    line: str
    rate: BaudRate
    frame: SerialFrame
    data: tuple[SerialByte, ...]
    marks: tuple[SerialMark, ...]
    also_fits: tuple[SerialFrame, ...]

    @property
    def content(self) -> bytes:
        """The bytes."""
        return bytes(byte.value & 0xFF for byte in self.data)

    def faults(self) -> Counter[SerialFault]:
        """How many there are of each kind."""
        return Counter(mark.fault for mark in self.marks)


def find_rate(capture: Capture, line: SignalLine) -> BaudRate:
    """The baud rate of a line by the lengths of its levels, each of which is a whole number of
    bits. CaptureError when there are too few edges or nothing fits.
    """
    return _find_rates(capture, line)[0]


def _find_rates(capture: Capture, line: SignalLine) -> list[BaudRate]:
    """The likeliest rate of a line, then others that its levels may have as well, slowest first.

    The shortest length that recurs is a first guess; whole fractions of it are tried too, as
    there may be no single bit on its own. A line through lengths against their bits gives the
    rate itself. The likeliest leaves the least over; rests between words, which may be any length,
    can speak for a wrong one: so others are those at which one side's levels, data all of them, are
    whole bits.
    """
    lengths = np.diff(line.edges)[:_MOST_LENGTHS].astype(np.float64)
    if lengths.size < _LEAST_EDGES:
        raise CaptureError(
            f"{capture.path}: {line.name} changes {counted(line.edges.size, 'time')}: too few "
            "for a baud rate",
            "say it with --baud, or record longer",
        )
    fits = [fit for guess in _guesses(lengths) if (fit := _fitted(lengths, guess)) is not None]
    best = min(fits, key=_unlikeliness, default=None)
    if best is None or best[1] > 0.2:
        raise CaptureError(
            f"{capture.path}: the levels of {line.name} are no multiples of any bit: this is no "
            "serial line of one rate, or too few samples a bit",
            "say the rate with --baud, or record with a higher sample rate",
        )
    chosen = [best]
    for fit in sorted((*fits, *_one_sided(lengths)), key=lambda fit: -fit[0]):
        if _one_side_fits(lengths, fit[0]) and all(
            abs(fit[0] / other[0] - 1.0) > _SAME_RATE for other in chosen
        ):
            chosen.append(fit)
    return [_rate_of(capture, fit) for fit in chosen]


def _one_sided(lengths: npt.NDArray[np.float64]) -> Iterator[_Fit]:
    """Bits that fit the low levels, or the high ones: rests are on one side alone."""
    for side in (lengths[0::2], lengths[1::2]):
        for guess in _guesses(side):
            fit = _fitted(side, guess)
            if fit is not None and fit[1] < _NEAR_BITS:
                yield fit


def _unlikeliness(fit: _Fit) -> float:
    bit, residue, used = fit
    return residue + 0.02 * float(np.median(np.rint(used / bit)) - 1)


def _one_side_fits(lengths: npt.NDArray[np.float64], bit: float) -> bool:
    """Whether no level is much shorter than a bit, and those of one side are whole bits."""
    if bit < 4:  # quantised to ticks, levels hardly tell
        return False
    bits = lengths / bit
    if (bits < 1 - _NEAR_BITS).mean() > _WRONG_RATE:
        return False
    near = np.abs(bits - np.rint(bits)) < max(_NEAR_BITS, 1.2 / bit)
    return bool(max(near[0::2].mean(), near[1::2].mean()) > 1 - _WRONG_RATE)


def _rate_of(capture: Capture, fit: _Fit) -> BaudRate:
    bit, residue, used = fit
    error = residue / np.sqrt(max(1, used.size)) + 0.3 / (bit * max(1.0, float(used.max() / bit)))
    return _near_standard(capture.clock.rate / bit, float(error), residue)


def _near_standard(rate: float, error: float, residue: float) -> BaudRate:
    near = min(STANDARD_RATES, key=lambda standard: abs(rate / standard - 1.0))
    return BaudRate(rate, near if abs(rate / near - 1.0) <= _NEAR else None, error, residue)


def _guesses(lengths: npt.NDArray[np.float64]) -> list[float]:
    """Bit lengths worth trying: short lengths that recur, and halves and thirds of them."""
    values, counts = np.unique(lengths, return_counts=True)
    often = values[counts >= max(2, 0.005 * lengths.size)]
    if often.size == 0:
        often = values
    shortest = often[often <= 4 * often[0]][:40]
    return sorted({float(value) / part for value in shortest for part in (1, 2, 3)})


def _fitted(lengths: npt.NDArray[np.float64], guess: float) -> _Fit | None:
    """The bit length near a guess, the residue in bits, and the lengths it holds for."""
    bit = guess
    used = lengths
    for turn in range(8):
        bits = np.rint(lengths / bit)
        inside = (bits >= 1) & (bits <= _LONGEST_RUN)
        if inside.sum() < _LEAST_EDGES or inside.sum() < 0.3 * lengths.size:
            return None
        if turn > 1:  # a rest between two bytes may be any length, and must not pull
            near = inside & (np.abs(lengths / bit - bits) < _NEAR_BITS)
            inside = near if near.sum() >= 0.5 * inside.sum() else inside
        used, counts = lengths[inside], bits[inside]
        bit = float((used * counts).sum() / (counts**2).sum())
    bits = np.rint(lengths / bit)
    within = (bits >= 1) & (bits <= _LONGEST_RUN)
    residue = float(np.abs(lengths[within] / bit - bits[within]).mean())
    return bit, residue, used


def decode_line(
    capture: Capture,
    name: str,
    *,
    baud: float | None = None,
    data_bits: int | None = None,
    parity: str | None = None,
    inverted: bool | None = None,
    stop_bits: float | None = None,
) -> SerialLine:
    """Decodes a line; what is not given is found: the rate, whether it idles high, and the frame.

    CaptureError when there is nothing to decode.
    """
    line = capture.line(name)
    rates = _find_rates(capture, line) if baud is None else [BaudRate(baud, None, 0.0, 0.0)]

    def frame_at(rate: BaudRate) -> FoundFrame:
        return find_frame(
            capture,
            line,
            rate.measured,
            data_bits=data_bits,
            parity=parity,
            inverted=inverted,
            stop_bits=stop_bits,
        )

    rate, frame, also_fits = _best_rate([(rate, frame_at(rate)) for rate in rates])
    if baud is None and frame.clean:
        first, rate = rate.measured, _rate_within_words(capture, line, rate, frame.frame)
        frame = replace(frame, frame=replace(frame.frame, baud=rate.measured))
        also_fits = tuple(
            replace(other, baud=rate.measured) if other.baud == first else other
            for other in also_fits
        )
    data, marks = _decoded(capture, line, frame.frame)
    glitches = _glitches(capture, line, rate.measured)
    return SerialLine(line.name, rate, frame.frame, tuple(data), (*marks, *glitches), also_fits)


def _rate_within_words(
    capture: Capture, line: SignalLine, rate: BaudRate, frame: SerialFrame
) -> BaudRate:
    """The rate by distances within words alone. Rests of about a whole number of bits pass for
    bits where words are still unknown, and pull the rate by up to a hundredth."""
    distances = edges_within_words(capture, line, frame)
    bit = float(capture.clock.rate / rate.measured)
    for _ in range(2):
        bits = np.rint(distances / bit)
        near = (bits >= 1) & (np.abs(distances / bit - bits) < _ASKEW_BITS)
        if near.sum() < _LEAST_EDGES:
            return rate
        used, counts = distances[near], bits[near]
        bit = float((used * counts).sum() / (counts**2).sum())
    return _rate_of(capture, (bit, float(np.abs(used / bit - counts).mean()), used))


def _best_rate(
    candidates: Sequence[tuple[BaudRate, FoundFrame]],
) -> tuple[BaudRate, FoundFrame, tuple[SerialFrame, ...]]:
    """Of rates with their frames, the likeliest first, the one to take; with other frames and rates
    that explain the line as well.

    A frame without errors is better than one with errors, and so is one with half of them. The
    slowest is taken: at a faster rate all levels would be whole multiples of several bits, by
    chance. So a faster one than the likeliest is only named, as short parts of words fit easily.
    """
    likeliest = candidates[0]
    slower = [
        candidate for candidate in candidates if candidate[0].measured <= likeliest[0].measured
    ]
    slowest_first = sorted(slower, key=lambda candidate: candidate[0].measured)
    chosen = next((candidate for candidate in slowest_first if candidate[1].clean), None)
    if chosen is None:
        chosen = min(slower, key=lambda candidate: candidate[1].errors)
        if likeliest[1].errors <= _WRONG_RATE or chosen[1].errors >= likeliest[1].errors / 2:
            chosen = likeliest
    others = tuple(
        candidate.frame
        for _, candidate in candidates
        if candidate.clean and candidate is not chosen[1]
    )
    return *chosen, (*chosen[1].also_fits, *others)


def _decoded(
    capture: Capture, line: SignalLine, frame: SerialFrame
) -> tuple[list[SerialByte], list[SerialMark]]:
    decoder = Decoder(
        "uart",
        {"rx": line.name},
        {
            "baudrate": f"{round(frame.baud)}",
            "data_bits": str(frame.data_bits),
            "parity": frame.parity,
            "invert_rx": "yes" if frame.inverted else "no",
        },
    )
    annotations = decode(capture, [decoder], ["uart=rx-data:rx-warnings:rx-parity-err:rx-break"])
    data: list[SerialByte] = []
    marks: list[SerialMark] = []
    for annotation in annotations:
        text = annotation.text.raw.strip().lower()
        if text.startswith("frame"):
            marks.append(SerialMark(annotation.begin, annotation.end, SerialFault.FRAME))
        elif text.startswith("parity"):
            marks.append(SerialMark(annotation.begin, annotation.end, SerialFault.PARITY))
        elif text.startswith("break"):
            marks.append(SerialMark(annotation.begin, annotation.end, SerialFault.BREAK))
        else:
            data.append(SerialByte(annotation.begin, annotation.end, int(text, 16)))
    return data, marks


def _glitches(capture: Capture, line: SignalLine, baud: float) -> list[SerialMark]:
    """Levels too short for a bit."""
    bit = capture.clock.rate / baud
    if bit < 4:
        return []
    short = np.flatnonzero(np.diff(line.edges) < _GLITCH_BITS * bit)
    return [
        SerialMark(int(line.edges[at]), int(line.edges[at + 1]), SerialFault.GLITCH)
        for at in short[:100_000]
    ]
