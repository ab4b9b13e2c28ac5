"""Runts on a clock line: levels far too short, after which the clock goes on where it was.

A short level alone is no runt: the pulses of PWM may be short as well. A runt is one without which
the period it lies in is as long as the others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchvise.signal.capture import SignalLine, Ticks

_SHORT = 0.25
"""Of the tenth percentile of the levels on its side."""
_LEAST_LEVELS = 16
_AS_OTHERS = 0.25


def without_runts(line: SignalLine) -> tuple[SignalLine, Ticks]:
    """The line without its runts, and the begin and length of each in ticks."""
    lengths = np.diff(line.edges)
    if lengths.size < _LEAST_LEVELS:
        return line, np.empty((0, 2), dtype=np.int64)
    limits = np.empty(lengths.size)
    for side in (0, 1):
        limits[side::2] = _SHORT * np.percentile(lengths[side::2], 10)
    short = np.flatnonzero(lengths < limits)
    short = short[np.append(True, np.diff(short) > 1)] if short.size else short
    short = short[_is_extra(line, short)]
    if not short.size:
        return line, np.empty((0, 2), dtype=np.int64)
    kept = np.delete(line.edges, np.concatenate((short, short + 1)))
    return replace(line, edges=kept), np.column_stack((line.edges[short], lengths[short]))


def _is_extra(line: SignalLine, short: Ticks) -> npt.NDArray[np.bool_]:
    """Whether the period around each is as long as the median one when it is left out."""
    if not short.size:
        return np.empty(0, dtype=bool)
    kept = np.delete(line.edges, np.concatenate((short, short + 1)))
    starts = kept[line.first_rising :: 2]
    if starts.size < _LEAST_LEVELS // 2:
        return np.zeros(short.size, dtype=bool)
    periods = np.diff(starts)
    places = np.searchsorted(starts, line.edges[short], side="right") - 1
    inside = (places >= 0) & (places < periods.size)
    around = periods[np.clip(places, 0, periods.size - 1)]
    extra: npt.NDArray[np.bool_] = inside & (np.abs(around / np.median(periods) - 1) <= _AS_OTHERS)
    return extra
