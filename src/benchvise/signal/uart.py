"""Serial lines in a capture: the baud rate found by itself, the bytes, and what is wrong.

Bytes are decoded by libsigrokdecode. What it does not do is done here: finding the rate and the
frame from the edges, telling glitches from bits, and lining the bytes up with what a host got.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from benchvise.documents import computed
from benchvise.errors import CaptureError
from benchvise.signal.capture import Capture, SignalLine
from benchvise.signal.decoders import Decoder, decode
from benchvise.signal.uart_frames import FoundFrame, SerialFrame, find_frame

STANDARD_RATES = (
    110, 300, 600, 1200, 2400, 4800, 9600, 14400, 19200, 28800, 31250, 38400, 57600, 74880,
    76800, 100000, 115200, 128000, 230400, 250000, 256000, 460800, 500000, 576000, 921600,
    1000000, 1152000, 1500000, 2000000, 3000000, 4000000,
)  # fmt: skip

_NEAR = 0.025  # a rate this near to a standard one is that, clocked badly
_GLITCH_BITS = 0.4
_LEAST_EDGES = 6
_NEAR_BITS = 0.15
_LONGEST_RUN = 10  # bits of one level within a frame with its start and stop bit
_MOST_LENGTHS = 20_000
_WRONG_RATE = 0.02


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

    The shortest length that recurs is a first guess; whole fractions of it are tried too, as
    there may be no single bit on its own. A line through lengths against their bits gives the
    rate itself.
    """
    lengths = np.diff(line.edges)[:_MOST_LENGTHS].astype(np.float64)
    if lengths.size < _LEAST_EDGES:
        raise CaptureError(
            f"{capture.path}: {line.name} changes {line.edges.size} times: too few for a baud rate",
            "say it with --baud, or record longer",
        )
    best: tuple[float, float, float, npt.NDArray[np.float64]] | None = None
    for guess in _guesses(lengths):
        fit = _fitted(lengths, guess)
        if fit is None:
            continue
        bit, residue, used = fit
        score = residue + 0.02 * float(np.median(np.rint(used / bit)) - 1)
        if best is None or score < best[0]:
            best = (score, bit, residue, used)
    if best is None or best[2] > 0.2:
        raise CaptureError(
            f"{capture.path}: the levels of {line.name} are no multiples of any bit: this is no "
            "serial line of one rate, or too few samples a bit",
            "say the rate with --baud, or record with a higher sample rate",
        )
    _, bit, residue, used = best
    rate = capture.clock.rate / bit
    error = residue / np.sqrt(max(1, used.size)) + 0.3 / (bit * max(1.0, float(used.max() / bit)))
    return _near_standard(rate, float(error), residue)


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


def _fitted(
    lengths: npt.NDArray[np.float64], guess: float
) -> tuple[float, float, npt.NDArray[np.float64]] | None:
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
    rate = find_rate(capture, line) if baud is None else BaudRate(baud, None, 0.0, 0.0)

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

    frame = frame_at(rate)
    if baud is None and frame.errors > _WRONG_RATE:
        # Half bits, as those of one and a half stop bits, may have been taken for bits.
        half = _near_standard(rate.measured / 2, rate.error, rate.residue / 2)
        slower = frame_at(half)
        if slower.errors < frame.errors / 2:
            rate, frame = half, slower
    data, marks = _decoded(capture, line, frame.frame)
    glitches = _glitches(capture, line, rate.measured)
    return SerialLine(
        line.name, rate, frame.frame, tuple(data), (*marks, *glitches), frame.also_fits
    )


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
