"""Captures for tests: made here edge by edge, and the real ones where they are."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import skips

from benchvise.signal.capture import Capture, SignalLine, clock_of_rate, edges_of

SHARED = Path(__file__).parents[2] / "shared" / "data"
CAPTURES = SHARED / "captures"
RESPONSES = SHARED / "irq-response"

needs_captures = skips.needs_that(CAPTURES.is_dir(), "captures")


def sampled(rate: int, **lines: Sequence[int] | np.ndarray) -> Capture:
    """A capture of lines given sample by sample."""
    made = []
    for name, levels in lines.items():
        starts_high, edges = edges_of(np.asarray(levels, dtype=bool))
        made.append(SignalLine(name, starts_high, edges))
    length = len(next(iter(lines.values())))
    return Capture(Path("made.sr"), "made", clock_of_rate(rate), length, tuple(made))


def sent_serially(
    data: bytes, rate: int, baud: float, *, parity: str = "none", bits: int = 8, idle: float = 12.0
) -> np.ndarray:
    """The levels of a serial line, idle before, between and after for ``idle`` bits."""
    levels: list[tuple[float, int]] = [(idle, 1)]
    for byte in data:
        word = [byte >> place & 1 for place in range(bits)]
        frame = [0, *word]
        if parity != "none":
            frame.append((sum(word) + (parity == "odd")) % 2)
        levels += [(1.0, level) for level in frame]
        levels.append((1.0 + idle / 10, 1))
    levels.append((idle, 1))
    ends = np.rint(np.cumsum([length for length, _ in levels]) * rate / baud).astype(int)
    out = np.empty(ends[-1], dtype=np.uint8)
    begin = 0
    for end, (_, level) in zip(ends, levels, strict=True):
        out[begin:end] = level
        begin = end
    return out


def session(path: Path, metadata: str, **members: bytes) -> Path:
    """A sigrok session as given."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("version", "2")
        archive.writestr("metadata", metadata)
        for name, content in members.items():
            archive.writestr(name.replace("_", "-"), content)
    return path


ONE_DEVICE = (
    "[device 1]\ncapturefile=logic-1\ntotal probes=2\nsamplerate=1 MHz\nprobe1=A\nprobe2=B\n"
    "unitsize=1\n"
)


def tick(rate: int) -> Fraction:
    """The period of a clock."""
    return Fraction(1, rate)
