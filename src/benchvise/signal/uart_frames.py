"""Which frame a serial line has: 5 to 9 data bits, parity, stop bits, and whether it is inverted.

Each frame is tried on the first part of the line: start bits are looked for, bits read in their
middles. The one is taken that says the same in the fewest bits (J. Rissanen, Automatica 14 (1978)
465): each different word costs its data bits, an error two words, and a frame what it is rarer than
8n1. So parity is believed when some ten different words have it right, and a
bit that is always one is the line at rest. What fits as well is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchvise.signal.capture import Capture, SignalLine, Ticks

_PARITIES = {"none": 0, "even": 1, "odd": 1}
_RARER = {(kind, bits): 10.0 for kind in _PARITIES for bits in (7, 8)} | {("none", 8): 0.0}
_RARE = 30.0
_ERROR = 16.0
_INVERTED = 40.0
_MOST_WORDS = 400
_SECOND_STOP = 0.2
_OFTEN = 0.1
_ASKEW = 0.25
"""How far an edge within a word may be from a whole bit, in bits."""
_TICKS_OFF = 1.2


@dataclass(frozen=True, slots=True)
class SerialFrame:
    """How bytes are sent: ``8n1`` at a rate in baud."""

    baud: float
    data_bits: int = 8
    parity: str = "none"
    inverted: bool = False
    stop_bits: float = 1

    @property
    def bits(self) -> str:
        """``8n1``."""
        return f"{self.data_bits}{self.parity[0]}{self.stop_bits:g}"

    @property
    def name(self) -> str:
        """``9600 8n1``."""
        return f"{self.baud:.6g} {self.bits}" + (" inverted" if self.inverted else "")


@dataclass(frozen=True, slots=True)
class _Trial:
    """The words that a frame reads of a line, how many are wrong, how many breaks are between them,
    how many have an edge where no bit ends, and the rests after them in bits beyond the first stop
    bit."""

    frame: SerialFrame
    words: tuple[int, ...]
    wrong: int
    breaks: int
    askew: int
    rests: tuple[float, ...]

    @property
    def share_wrong(self) -> float:
        """Errors a word; one where there are no words."""
        return self.wrong / len(self.words) if self.words else 1.0

    @property
    def cost(self) -> float:
        """How many bits it takes to say what is on the line."""
        frame = self.frame
        rare = _RARER.get((frame.parity, frame.data_bits), _RARE)
        rare += _INVERTED if frame.inverted else 0.0
        return len(set(self.words)) * frame.data_bits + rare + _ERROR * self.wrong


@dataclass(frozen=True, slots=True)
class FoundFrame:
    """The frame of a line, others that have as few errors, and how many errors a word it has.

    ``clean`` is whether it explains all: words without errors, no break, each edge of a word where
    a bit ends.
    """

    frame: SerialFrame
    also_fits: tuple[SerialFrame, ...]
    errors: float
    clean: bool


def find_frame(
    capture: Capture,
    line: SignalLine,
    baud: float,
    *,
    data_bits: int | None = None,
    parity: str | None = None,
    inverted: bool | None = None,
    stop_bits: float | None = None,
) -> FoundFrame:
    """The frame of a line; what is given is not looked for."""
    trials = [
        _tried(capture, line, SerialFrame(baud, bits, kind, upside_down))
        for upside_down in ((False, True) if inverted is None else (inverted,))
        for bits in ((8, 7, 9, 6, 5) if data_bits is None else (data_bits,))
        for kind in (_PARITIES if parity is None else (parity,))
    ]
    best, *others = sorted(trials, key=lambda trial: (not trial.words, trial.cost))
    fitting = [best] + [
        trial
        for trial in others
        if trial.wrong <= best.wrong
        and 2 * len(trial.words) > len(best.words)
        and trial.frame.inverted is best.frame.inverted
    ]
    frames = [_with_stop_bits(trial, stop_bits) for trial in fitting]
    clean = bool(best.words) and not best.wrong + best.breaks + best.askew
    return FoundFrame(frames[0], tuple(frames[1:]), best.share_wrong, clean)


def _with_stop_bits(trial: _Trial, stop_bits: float | None) -> SerialFrame:
    """Two stop bits, or one and a half with five data bits, where words never follow each other
    closer and often just so."""
    if stop_bits is not None:
        return replace(trial.frame, stop_bits=stop_bits)
    rests = np.array(trial.rests)
    for more in (0.5, 1.0) if trial.frame.data_bits == 5 else (1.0,):
        near = np.abs(rests - more) < _SECOND_STOP
        if near.sum() > max(2, _OFTEN * rests.size) and (rests > more - _SECOND_STOP).all():
            return replace(trial.frame, stop_bits=1 + more)
    return trial.frame


def _tried(capture: Capture, line: SignalLine, frame: SerialFrame) -> _Trial:
    """The first words of a line as such a frame reads them."""
    bit = capture.clock.rate / frame.baud
    starts = line.of("rising" if frame.inverted else "falling")
    ends = line.of("falling" if frame.inverted else "rising")
    count = 2 + frame.data_bits + _PARITIES[frame.parity]
    middles = (np.arange(count) + 0.5) * bit
    weights = 1 << np.arange(frame.data_bits)
    words: list[int] = []
    rests: list[float] = []
    wrong, breaks, askew, at, last = 0, 0, 0, -1.0, 0.0
    tolerance = max(_ASKEW, _TICKS_OFF / bit)
    for _ in range(_MOST_WORDS):
        start = _first_after(starts, at)
        if start is None or start + middles[-1] >= capture.ticks:
            break
        levels = line.is_high(np.rint(start + middles).astype(np.int64)) ^ frame.inverted
        if words:
            rests.append((start - last) / bit)
        at = last = start + middles[-1]
        last += bit / 2
        within = line.edges[np.searchsorted(line.edges, start) : np.searchsorted(line.edges, last)]
        places = (within - start) / bit
        askew += bool((np.abs(places - np.rint(places)) > tolerance).any())
        data = levels[1 : frame.data_bits + 1]
        if levels[-1]:
            words.append(int(weights[data].sum()))
            if frame.parity != "none":
                odd = bool(levels[1:-1].sum() % 2)
                wrong += odd is not (frame.parity == "odd")
        elif levels.any():
            words.append(-1 - len(words))
            wrong += 1
        else:  # a break lasts until the line rises
            breaks += 1
            rise = _first_after(ends, at)
            at = at if rise is None else float(rise)
            last = at
    return _Trial(frame, tuple(words), wrong, breaks, askew, tuple(rests))


def edges_within_words(
    capture: Capture, line: SignalLine, frame: SerialFrame
) -> npt.NDArray[np.float64]:
    """How far edges are from the start bit of their word, in ticks: rests between words, which may
    be any length, are in none of them."""
    bit = capture.clock.rate / frame.baud
    starts = line.of("rising" if frame.inverted else "falling")
    length = (1.5 + frame.data_bits + _PARITIES[frame.parity]) * bit
    distances = [np.zeros(0)]
    at = -1.0
    for _ in range(_MOST_WORDS):
        start = _first_after(starts, at)
        if start is None:
            break
        at = start + length
        first, last = np.searchsorted(line.edges, (start, at), side="right")
        distances.append((line.edges[first:last] - start).astype(np.float64))
    return np.concatenate(distances)


def _first_after(edges: Ticks, at: float) -> int | None:
    place = int(np.searchsorted(edges, at, side="left"))
    return int(edges[place]) if place < edges.size else None


def names(frames: Sequence[SerialFrame], baud: float) -> str:
    """``7n1, 8e1``, with their rate where it is another one."""
    return ", ".join(
        (frame.name if frame.baud != baud else frame.bits + (" inverted" * frame.inverted))
        for frame in frames
    )
