"""Value change dumps (``.vcd``).

IEEE 1364-2005, section 18. Read here and not by a library, since logic analysers write names with
spaces and times and values on one line, which the known ones refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import IO

import numpy as np

from benchvise.errors import CaptureError
from benchvise.signal.capture import (
    MOST_EDGES,
    Capture,
    CaptureClock,
    SignalLine,
    Ticks,
    too_many_edges,
)
from benchvise.signal.readers.options import ReadOptions
from benchvise.text import printable

FORM = "value change dump"

_HEADER_BYTES = 4 << 20
_CHUNK_BYTES = 4 << 20
_WORD_BYTES = 1 << 16
_MOST_LINES = 1024
_SECTION = re.compile(rb"\$(\w+)\s(.*?)\$end", re.DOTALL)
_TIMESCALE = re.compile(rb"\s*(1|10|100)\s*(s|ms|us|ns|ps|fs)\s*")
_VARIABLE = re.compile(rb"\s*\w+\s+(\d{1,5})\s+(\S+)\s+(.+?)\s*(\[\s*\d+\s*(?::\s*\d+\s*)?\])?\s*")
_SECONDS = {b"s": 0, b"ms": 3, b"us": 6, b"ns": 9, b"ps": 12, b"fs": 15}
_LATEST = 1 << 62
_SHOWN = 60
"""Characters of a name, or of what is wrong."""


class _Damaged(Exception):  # noqa: N818
    """What is wrong with the dump."""


@dataclass(slots=True)
class _Bit:
    """One bit of a variable as it changes; ``name`` is empty where nobody wants it."""

    name: str
    high: bool | None = None
    starts_high: bool = False
    edges: list[int] = field(default_factory=list)
    unknown: int = 0

    def take(self, time: int, value: str) -> int:
        """A new value; how many edges it made. ``x`` and ``z`` leave the level as it is."""
        if value not in "01":
            self.unknown += 1
            return 0
        high = value == "1"
        if self.high is None:
            self.high = self.starts_high = high
            return 0
        if self.high is high:
            return 0
        self.high = high
        if self.edges and self.edges[-1] == time:  # there and back within one tick
            self.edges.pop()
            return -1
        self.edges.append(time)
        return 1

    def ticks(self, start: int) -> Ticks:
        """Its edges, counted from the start of the dump."""
        return np.array(self.edges, dtype=np.int64) - start


def read(path: Path, options: ReadOptions) -> Capture:
    """Reads a dump; CaptureError says what is wrong with it."""
    try:
        with path.open("rb") as file:
            tick, variables, rest = _header(file, options)
            start, end = _changes(path, _tokens(file, rest), variables)
    except _Damaged as error:
        raise CaptureError(
            f"{path}: the value change dump is damaged: {error}",
            "it may have been cut short, or be another kind of file",
        ) from error
    lines, notes = [], []
    for bit in (bit for bits in variables.values() for bit in bits if bit.name):
        lines.append(SignalLine(bit.name, bit.starts_high, bit.ticks(start)))
        if bit.unknown > 1:  # once is what a dump begins with
            notes.append(
                f"{bit.name} was undefined or floating {bit.unknown} times: taken as no change"
            )
    if not lines:
        raise CaptureError(
            f"{path}: it has none of the lines asked for", "leave --line away to see them all"
        )
    if end <= start:
        raise CaptureError(f"{path}: nothing changes in this capture", "record it again")
    return Capture(
        path, FORM, CaptureClock(tick, sampled=False), end - start + 1, tuple(lines), tuple(notes)
    )


def _header(
    file: IO[bytes], options: ReadOptions
) -> tuple[Fraction, dict[bytes, list[_Bit]], bytes]:
    """The time scale, the variables by their codes, and what was read beyond the header."""
    head = file.read(_HEADER_BYTES)
    end = re.search(rb"\$enddefinitions\s+\$end", head)
    if end is None:
        raise _Damaged("its header has no end")
    tick: Fraction | None = None
    variables: dict[bytes, list[_Bit]] = {}
    number = 0
    for section in _SECTION.finditer(head, 0, end.end()):
        word, body = section[1], section[2]
        if word == b"timescale":
            scale = _TIMESCALE.fullmatch(body)
            if scale is None:
                raise _Damaged(f"a time scale of '{printable(body, _SHOWN)}'")
            tick = Fraction(int(scale[1]), 10 ** _SECONDS[scale[2]])
        elif word == b"var":
            variable = _VARIABLE.fullmatch(body)
            if variable is None:
                raise _Damaged(f"a variable '{printable(body, _SHOWN)}'")
            size = int(variable[1])
            if number + size > _MOST_LINES:
                raise _Damaged(f"more than {_MOST_LINES} lines")
            bits = _bits(printable(variable[3], _SHOWN), size, number, options)
            variables.setdefault(variable[2], []).extend(bits)
            number += size
    if tick is None:
        raise _Damaged("it has no $timescale")
    return tick, variables, head[end.end() :]


def _bits(name: str, size: int, number: int, options: ReadOptions) -> list[_Bit]:
    """A line for each bit of a variable, the highest first."""
    names = [name] if size == 1 else [f"{name}[{bit}]" for bit in reversed(range(size))]
    return [
        _Bit(each if options.wants(each, number + place) or options.wants(name, -1) else "")
        for place, each in enumerate(names)
    ]


def _tokens(file: IO[bytes], rest: bytes) -> Iterator[bytes]:
    """The words of the body, however it is cut."""
    data = rest
    while True:
        chunk = file.read(_CHUNK_BYTES)
        data += chunk
        if not chunk:
            yield from data.split()
            return
        cut = max(data.rfind(b" "), data.rfind(b"\n"), data.rfind(b"\t"))
        if cut < 0 and len(data) > _WORD_BYTES:
            raise _Damaged("a word of more than 64 KiB")
        words, data = data[: cut + 1], data[cut + 1 :]
        yield from words.split()


def _changes(
    path: Path, words: Iterator[bytes], variables: dict[bytes, list[_Bit]]
) -> tuple[int, int]:
    """Follows all changes; the first and the last time."""
    time = edges = 0
    start: int | None = None
    comment = False
    for word in words:
        if comment:
            comment = word != b"$end"
            continue
        sign = word[:1]
        if sign == b"#":
            now = _time(word)
            if now < time:
                raise _Damaged(f"its time goes back to {now}")
            time = now
            start = time if start is None else start
        elif sign in b"01xXzZ" and len(word) > 1:
            for bit in variables.get(word[1:], ()):
                edges += bit.take(time, word[:1].decode("ascii"))
        elif sign in b"bB":
            bits = variables.get(next(words, b""), [])
            value = word[1:].decode("ascii", "replace")
            for place, bit in enumerate(reversed(bits)):
                edges += bit.take(time, _bit_of(value, place))
        elif sign in b"rRsS":
            next(words, b"")
        elif word == b"$comment":
            comment = True
        elif sign != b"$":  # $dumpvars, $dumpoff, $end: around values
            raise _Damaged(f"'{printable(word, _SHOWN)}' is no change of a value")
        if edges > MOST_EDGES:
            raise too_many_edges(path)
    return start or 0, time


def _time(word: bytes) -> int:
    if not word[1:].isdigit() or len(word) > 20 or (time := int(word[1:])) > _LATEST:
        raise _Damaged(f"'{printable(word, _SHOWN)}' is no time")
    return time


def _bit_of(value: str, place: int) -> str:
    """A bit of a vector; what is not written is 0, or as unknown as what is on its left."""
    if place < len(value):
        return value[-1 - place]
    return "0" if value[:1] in ("0", "1", "") else value[0]
