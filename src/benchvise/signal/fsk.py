"""Which symbol is which frequency: frequency-shift keying in a capture.

The frequency of each symbol is measured from the edges within it, the frequencies are put into as
many groups as there are, and with the symbols that were sent known, each group gets its symbol.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchvise.errors import CaptureError
from benchvise.signal.capture import Capture
from benchvise.text import counted

_GROUPS = (2, 4)
_LEAST_SYMBOLS = 8


@dataclass(frozen=True, slots=True)
class KeyingTone:
    """One of the frequencies: its mean and standard deviation in Hz, how many symbols had it,
    and the symbol that it stands for (None where that is not known), with the share of its
    symbols that agree."""

    hertz: float
    deviation: float
    count: int
    symbol: int | None
    agreement: float | None


@dataclass(frozen=True, slots=True)
class Keying:
    """All tones from the lowest, the symbols as places among them, and how far apart tones are
    compared with their spread: below about 4 they cannot be told."""

    line: str
    baud: float
    tones: tuple[KeyingTone, ...]
    places: tuple[int, ...]
    separation: float
    notes: tuple[str, ...]


def keying(
    capture: Capture,
    name: str,
    baud: float,
    *,
    levels: int | None = None,
    sent: tuple[int, ...] = (),
) -> Keying:
    """Finds the frequencies of a line that is keyed at ``baud`` symbols a second.

    ``sent`` are symbols that were sent, over and over: they are tried at each offset. ``levels``
    is 2 or 4, found by itself otherwise. CaptureError when there is too little to go by.
    """
    line = capture.line(name)
    edges = line.edges.astype(np.float64) * capture.clock.tick_s
    if edges.size < 4 * _LEAST_SYMBOLS:
        raise CaptureError(
            f"{capture.path}: {line.name} changes {counted(edges.size, 'time')}: too few for its "
            "frequencies",
            "name another line with --line, or record longer",
        )
    hertz = _frequencies(edges, baud)
    measured = hertz[np.isfinite(hertz)]
    if measured.size < _LEAST_SYMBOLS:
        raise CaptureError(
            f"{capture.path}: no symbol of {line.name} has two edges",
            "the carrier must be several times faster than the symbols: is --baud right?",
        )
    centres = _grouped(measured, levels)
    places = np.full(hertz.size, -1)
    finite = np.isfinite(hertz)
    places[finite] = np.abs(hertz[finite, None] - centres[None, :]).argmin(axis=1)
    mapping, agreement, notes = _mapped(places, sent, len(centres))
    tones, spreads = [], []
    for place, centre in enumerate(centres):
        mine = hertz[places == place]
        spreads.append(float(mine.std()) if mine.size > 1 else 0.0)
        tones.append(
            KeyingTone(
                float(mine.mean()) if mine.size else float(centre),
                spreads[-1],
                int(mine.size),
                mapping.get(place),
                agreement.get(place),
            )
        )
    apart = float(np.diff(centres).min()) if len(centres) > 1 else 0.0
    return Keying(
        line.name,
        baud,
        tuple(tones),
        tuple(int(place) for place in places),
        apart / max(max(spreads), capture.clock.tick_s * float(centres[-1]) ** 2 / 10),
        notes,
    )


def _frequencies(edges: npt.NDArray[np.float64], baud: float) -> npt.NDArray[np.float64]:
    """The frequency in each symbol, at the offset of the symbols at which frequencies change least
    within them; no number where a symbol has no edges."""
    halves = np.diff(edges)
    middles = edges[:-1] + halves / 2
    momentary = 0.5 / halves
    best: tuple[float, npt.NDArray[np.float64]] | None = None
    for part in range(16):
        start = edges[0] - part / 16 / baud
        numbers = np.floor((middles - start) * baud).astype(np.int64)
        inside = np.modf((middles - start) * baud)[0]
        core = (inside > 0.15) & (inside < 0.85)  # what straddles a change says nothing
        count = np.bincount(numbers[core], minlength=int(numbers[-1]) + 1)
        time = np.bincount(numbers[core], halves[core], minlength=count.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            hertz = np.where(count >= 2, 0.5 * count / time, np.nan)
        rest = np.abs(momentary[core] - hertz[numbers[core]])
        if not np.isfinite(rest).any():
            continue  # no symbol at this offset has two edges
        score = float(np.nanmean(rest))
        if best is None or score < best[0]:
            best = (score, hertz)
    return best[1] if best is not None else np.full(1, np.nan)


def _grouped(values: npt.NDArray[np.float64], levels: int | None) -> npt.NDArray[np.float64]:
    """Centres of groups, by Lloyd's algorithm from evenly spread ones; four where that leaves a
    quarter of the scatter of two or less, and each has members."""
    groupings = {}
    for number in (levels,) if levels else _GROUPS:
        low, high = np.quantile(values, (0.01, 0.99))
        centres = np.linspace(low, high, number)
        for _ in range(50):
            place = np.abs(values[:, None] - centres[None, :]).argmin(axis=1)
            counts = np.bincount(place, minlength=number)
            sums = np.bincount(place, values, minlength=number)
            moved = np.where(counts > 0, sums / np.maximum(counts, 1), centres)
            if np.allclose(moved, centres):
                break
            centres = moved
        scatter = float(np.abs(values - centres[place]).mean())
        groupings[number] = (scatter, np.bincount(place, minlength=number).min(), centres)
    if levels:
        return groupings[levels][2]
    two, four = groupings[2], groupings[4]
    return four[2] if four[1] > 0 and four[0] < 0.25 * two[0] else two[2]


def _mapped(
    places: npt.NDArray[np.int64], sent: tuple[int, ...], levels: int
) -> tuple[dict[int, int], dict[int, float], tuple[str, ...]]:
    """Which symbol each tone is, by what was sent, at the offset at which they agree best."""
    if not sent:
        return {}, {}, ("which tone is which symbol takes symbols that are known: --sent",)
    best: tuple[float, dict[int, Counter[int]]] | None = None
    for offset in range(len(sent)):
        votes: dict[int, Counter[int]] = {place: Counter() for place in range(levels)}
        for at, place in enumerate(places.tolist()):
            if place >= 0:
                votes[place][int(sent[(at + offset) % len(sent)])] += 1
        agreed = sum(max(vote.values(), default=0) for vote in votes.values())
        score = agreed / max(1, sum(vote.total() for vote in votes.values()))
        if best is None or score > best[0]:
            best = (score, votes)
    assert best is not None  # noqa: S101 - sent is not empty
    mapping, agreement = {}, {}
    for place, vote in best[1].items():
        if vote:
            symbol, count = vote.most_common(1)[0]
            mapping[place], agreement[place] = symbol, count / vote.total()
    notes = ()
    if len(set(mapping.values())) < len(mapping):
        return {}, {}, ("two tones fit the same symbol: is that what was sent?",)
    return mapping, agreement, notes
