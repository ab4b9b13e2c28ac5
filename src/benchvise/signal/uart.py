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
_PART_EDGES = 3_000
_LEAST_CHECKED = 12
_INVERTED_DOUBT = 0.3  # few bytes with errors may look better upside down
_FRAMES = ((8, "none"), (7, "even"), (7, "odd"), (8, "even"), (8, "odd"))


class SerialFault(StrEnum):
    """What is wrong at a place of a serial line."""

    FRAME = "frame error"
    PARITY = "parity error"
    BREAK = "break"
    GLITCH = "glitch"


@dataclass(frozen=True, slots=True)
class SerialFrame:
    """How bytes are sent: ``8n1`` at a rate in baud."""

    baud: float
    data_bits: int = 8
    parity: str = "none"
    inverted: bool = False

    @property
    def name(self) -> str:
        """``9600 8n1``."""
        return f"{self.baud:.6g} {self.data_bits}{self.parity[0]}1" + (
            " inverted" if self.inverted else ""
        )


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
    """All that one line says."""

    line: str
    rate: BaudRate
    frame: SerialFrame
    data: tuple[SerialByte, ...]
    marks: tuple[SerialMark, ...]

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
    near = min(STANDARD_RATES, key=lambda standard: abs(rate / standard - 1.0))
    error = residue / np.sqrt(max(1, used.size)) + 0.3 / (bit * max(1.0, float(used.max() / bit)))
    return BaudRate(rate, near if abs(rate / near - 1.0) <= _NEAR else None, float(error), residue)


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
) -> SerialLine:
    """Decodes a line; what is not given is found: the rate, whether it idles high, and which of
    8n1, 7e1, 7o1, 8e1, 8o1 gives the fewest errors (8n1 where several do).

    CaptureError when there is nothing to decode.
    """
    line = capture.line(name)
    rate = find_rate(capture, line) if baud is None else BaudRate(baud, None, 0.0, 0.0)
    frame = _frame(capture, line, rate.measured, data_bits, parity, inverted)
    data, marks = _decoded(capture, line, frame)
    glitches = _glitches(capture, line, rate.measured)
    return SerialLine(line.name, rate, frame, tuple(data), (*marks, *glitches))


def _frame(
    capture: Capture,
    line: SignalLine,
    baud: float,
    data_bits: int | None,
    parity: str | None,
    inverted: bool | None,
) -> SerialFrame:
    """The frame with the fewest errors on the first part of the line."""
    frames = [
        SerialFrame(baud, bits, kind, upside_down)
        for upside_down in ((False, True) if inverted is None else (inverted,))
        for bits, kind in _FRAMES
        if data_bits in (None, bits) and parity in (None, kind)
    ] or [SerialFrame(baud, data_bits or 8, parity or "none", bool(inverted))]
    if len(frames) == 1:
        return frames[0]
    part = capture.cut(*_first_part(line, capture))
    tried = []
    for place, frame in enumerate(frames):
        data, marks = _decoded(part, line, frame)
        wrong = sum(mark.fault is not SerialFault.BREAK for mark in marks)
        # That so many parities are right by chance is not to be believed: then there is one.
        checked = frame.parity != "none" and len(data) >= _LEAST_CHECKED
        doubt = wrong / max(1, len(data)) + (_INVERTED_DOUBT if frame.inverted else 0.0)
        tried.append((doubt, not checked, place, frame))
    return min(tried)[-1]


def _first_part(line: SignalLine, capture: Capture) -> tuple[int, int]:
    """From the start to after so many edges."""
    end = int(line.edges[_PART_EDGES]) if line.edges.size > _PART_EDGES else capture.ticks
    return 0, end


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
