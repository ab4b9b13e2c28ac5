"""All serial lines of a capture together: their bytes, flow control, and a host's log.

At the level of chips the control lines are low for *go* and high for *stop* (TIA-232's inverted
levels), whatever their names. A byte whose start bit began before the line rose may be sent to its
end; what begins after that is excess, and is lost where the receiver has no room for it.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchvise.errors import CaptureError, UsageError
from benchvise.signal.aligning import (
    Discrepancy,
    DiscrepancyDocument,
    discrepancies,
    discrepancy_document,
)
from benchvise.signal.capture import Capture, Ticks
from benchvise.signal.serial.byte_faults import SerialCause, log_causes
from benchvise.signal.uart import BaudRate, SerialFault, SerialLine, decode_line

_PARITIES = {"n": "none", "e": "even", "o": "odd"}


@dataclass(frozen=True, slots=True)
class SerialLines:
    """The serial lines of a capture; of one of them (``beside``) what a host's log has otherwise.

    ``skipped`` says of other lines why they are none, ``logged`` is the size of the log in bytes,
    ``causes`` why it differs from the line, where that shows.
    """

    capture: Capture
    lines: tuple[SerialLine, ...]
    skipped: tuple[str, ...]
    excesses: tuple[Excess, ...]
    beside: str | None
    differences: tuple[Discrepancy, ...]
    logged: int
    causes: tuple[SerialCause, ...] = ()


def serial_lines(
    capture: Capture,
    names: Sequence[str] = (),
    *,
    baud: float | None = None,
    frame: str | None = None,
    inverted: bool | None = None,
    log: Path | None = None,
) -> SerialLines:
    """Decodes the lines named, or all that may be serial, and compares the first with a host's log.

    Clocks and pulse widths fit some frame, too, and are decoded where they are named. ``frame`` is
    written ``8n1``. UsageError, and CaptureError for a named line that is none.
    """
    bits, parity, stop_bits = parse_frame(frame)
    lines, skipped = [], []
    controls = control_lines(capture)
    changing = [o.name for o in capture.lines if o.edges.size > 0 and o.name not in controls]
    for name in names or changing:
        if not names and is_periodic(capture.line(name).edges):
            named = f"--line {shlex.quote(name)}"
            skipped.append(f"{name}: changes like a clock; {named} decodes it all the same")
            continue
        try:
            lines.append(
                decode_line(
                    capture,
                    name,
                    baud=baud,
                    data_bits=bits,
                    parity=parity,
                    inverted=inverted,
                    stop_bits=stop_bits,
                )
            )
        except CaptureError as error:
            if names:
                raise
            skipped.append(f"{name}: {error.message}")
    beside, differences, logged = None, list[Discrepancy](), 0
    causes: tuple[SerialCause, ...] = ()
    if log is not None and lines:
        try:
            received = log.read_bytes()
        except OSError as error:
            raise UsageError(f"{log}: {error.strerror}", "name the host's log") from error
        beside, logged = lines[0].line, len(received)
        differences = discrepancies(lines[0].content, received)
        causes = tuple(log_causes(differences, Counter(lines[0].content)))
    excesses = tuple(excess(capture, line, control) for control in controls for line in lines)
    return SerialLines(
        capture, tuple(lines), tuple(skipped), excesses, beside, tuple(differences), logged, causes
    )


_PERIODS = 16
"""A line with fewer is not judged: a few bytes may be regular by chance."""
_ALIKE = 0.1
_MOSTLY = 0.8
"""The clock of a bus rests after each word: of eight periods seven are alike."""


def is_periodic(edges: Ticks) -> bool:
    """Whether a line changes like a clock or pulses of one rate: most of its periods are alike.

    ``edges`` are the times of its changes, in order. A period is from one to the next in the same
    direction, and the more regular direction counts, since the other one carries the widths.
    """
    for first in (0, 1):
        periods = np.diff(edges[first::2])
        if periods.size < _PERIODS:
            continue
        middle = float(np.median(periods))
        if np.mean(np.abs(periods - middle) <= _ALIKE * middle) >= _MOSTLY:
            return True
    return False


def parse_frame(text: str | None) -> tuple[int | None, str | None, float | None]:
    """``8n1`` as data bits, parity and stop bits; UsageError for what is none."""
    if text is None:
        return None, None, None
    match = re.fullmatch(r"([5-9])([neo])(1|1\.5|2)", text.lower())
    if match is None:
        raise UsageError(f"'{text}' is no frame", "write 8n1, 7e1, 8e2, 5n1.5")
    return int(match[1]), _PARITIES[match[2]], float(match[3])


@dataclass(frozen=True, slots=True)
class FaultDocument:
    """Something wrong on a line; times in seconds."""

    at: float
    seconds: float
    fault: SerialFault


@dataclass(frozen=True, slots=True)
class SerialLineDocument:
    """One line as JSON: ``content`` in hexadecimal, ``at`` the second of each of its bytes."""

    line: str
    rate: BaudRate
    frame: str
    content: str
    at: list[float]
    faults: dict[SerialFault, int]
    marks: tuple[FaultDocument, ...]
    also_fits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SerialLinesDocument:
    """All lines as JSON, byte by byte."""

    lines: tuple[SerialLineDocument, ...]
    skipped: tuple[str, ...]
    excess: tuple[Excess, ...]
    beside: str | None
    differences: tuple[DiscrepancyDocument, ...]
    causes: tuple[SerialCause, ...]


def serial_document(serial: SerialLines) -> SerialLinesDocument:
    """All lines as JSON."""
    return SerialLinesDocument(
        tuple(_line_document(serial.capture, line) for line in serial.lines),
        serial.skipped,
        serial.excesses,
        serial.beside,
        tuple(map(discrepancy_document, serial.differences)),
        serial.causes,
    )


def _line_document(capture: Capture, line: SerialLine) -> SerialLineDocument:
    return SerialLineDocument(
        line.line,
        line.rate,
        line.frame.name,
        line.content.hex(),
        [capture.time(byte.begin) for byte in line.data],
        dict(line.faults()),
        tuple(
            FaultDocument(capture.time(mark.begin), capture.time(mark.end - mark.begin), mark.fault)
            for mark in line.marks
        ),
        tuple(frame.name for frame in line.also_fits),
    )


# -- flow control: bytes that come after RTS or CTS said stop --------------------------------------

_CONTROL = re.compile(r"(?:[/~!n]|not_?)?(?:rts|cts)[#n_bl]*\d*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Excess:
    """Bytes of a serial line that began while a control line said stop.

    ``stops`` is how often it did, ``overrun`` how often bytes came all the same, ``most`` how many
    at one of them, ``total`` all of them.
    """

    control: str
    line: str
    stops: int
    overrun: int
    most: int
    total: int


def control_lines(capture: Capture) -> list[str]:
    """The lines that are named as flow control: RTS, CTS#, nRTS."""
    return [line.name for line in capture.lines if _CONTROL.fullmatch(line.name.strip())]


def excess(capture: Capture, serial: SerialLine, control: str) -> Excess:
    """Counts the bytes that began after ``control`` rose and before it fell again."""
    line = capture.line(control)
    stops = line.of("rising")
    if line.starts_high:
        stops = np.concatenate((np.zeros(1, dtype=np.int64), stops))
    goes = np.append(line.of("falling"), capture.ticks)
    bit = capture.clock.rate / serial.frame.baud
    starts = np.array([byte.begin - bit for byte in serial.data])
    until = goes[np.minimum(np.searchsorted(goes, stops, side="right"), goes.size - 1)]
    counts = np.searchsorted(starts, until) - np.searchsorted(starts, stops, side="right")
    return Excess(
        line.name,
        serial.line,
        int(stops.size),
        int((counts > 0).sum()),
        int(counts.max()) if counts.size else 0,
        int(counts.sum()),
    )
