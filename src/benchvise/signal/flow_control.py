"""Whether a sender stops when it is told to: bytes that come after RTS or CTS said stop.

At the level of chips the lines are low for *go* and high for *stop* (TIA-232's inverted levels),
whatever their names. A byte whose start bit began before the line rose may be sent to its end; what
begins after that is excess, and is lost where the receiver has no room for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from benchvise.signal.capture import Capture
from benchvise.signal.uart import SerialLine

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
