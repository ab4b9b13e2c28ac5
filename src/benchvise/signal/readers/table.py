"""Tables of samples or of changes (``.csv``): of sigrok, of Saleae, of an oscilloscope.

What they have in common: lines of remarks, perhaps a line of names, then rows of numbers with a
time first or without one. A column of nothing but 0 and 1 is a digital line, any other a voltage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchvise.errors import CaptureError
from benchvise.signal.capture import Capture, CaptureClock, SignalLine, clock_of_rate, edges_of
from benchvise.signal.readers.options import ReadOptions
from benchvise.signal.readers.samples import Range, Slicer, Threshold
from benchvise.text import printable
from benchvise.trace.decoder import decoder

FORM = "table"

_HEAD_LINES = 100
_LINE_BYTES = 1 << 20
_MOST_COLUMNS = 256
_REMARK = re.compile(r"^\s*[;#%!]")
_RATE = re.compile(r"sample\s*rate\s*[:=]\s*(\d+(?:\.\d+)?)\s*([kMG]?)(?:Hz|SPS)?", re.IGNORECASE)
_CHANNELS = re.compile(r"channels?[^:]*:\s*(.+)", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_TIMES = {
    "": 1, "s": 1, "sec": 1, "second": 1, "seconds": 1,
    "ms": 10**3, "milliseconds": 10**3, "us": 10**6, "µs": 10**6, "microseconds": 10**6,
    "ns": 10**9, "nanoseconds": 10**9,
}  # fmt: skip
_TIME_NAME = re.compile(
    r"(?:time|x-axis|t(?=\s*[\[(]|$))\s*[\[(]?\s*([a-zµ]*)\s*[\])]?|([a-z]*seconds)"
)
_EVEN = 1e-3  # how far the steps of a clock may differ, relative to the step


@dataclass(frozen=True, slots=True)
class _Head:
    """What comes before the rows: how many lines, how rows are written, the columns, the rate."""

    lines: int
    separator: str
    decimal_point: str
    names: tuple[str, ...]
    rate: Fraction | None


def read(path: Path, options: ReadOptions) -> Capture:
    """Reads a table; CaptureError says what is wrong with it."""
    try:
        head = _head(path)
        table = decoder().read_numbers(
            path, head.lines, head.separator, head.decimal_point, len(head.names)
        )
    except (UnicodeDecodeError, ValueError) as error:
        raise CaptureError(
            f"{path}: the table cannot be read ({error})",
            "a capture as a table has a row of numbers for each sample, with the time in seconds "
            "first, or with its sample rate said by --rate",
        ) from error
    return _capture(path, head, dict(zip(head.names, table, strict=True)), options)


def _head(path: Path) -> _Head:
    rate: Fraction | None = None
    channels: list[str] = []
    texts: list[str] = []
    number = 0
    with path.open("rb") as file:
        for number, raw in enumerate(islice(iter(lambda: file.readline(_LINE_BYTES), b""), 100)):
            line = raw.decode("utf-8-sig" if number == 0 else "utf-8", "replace").strip()
            if (match := _RATE.search(line)) and rate is None:
                rate = Fraction(match[1]) * _UNITS[match[2]]
            if (match := _CHANNELS.search(line)) and not channels:
                channels = [name.strip() for name in match[1].split(",")]
            if not line or _REMARK.match(line):
                continue
            row = _row_of(line)
            if row is None:
                texts.append(line)
                rate = rate or _increment(texts)
                continue
            separator, decimal_point, width = row
            if width > _MOST_COLUMNS:
                raise ValueError(f"{width} columns")
            names = _names(_names_above(texts, separator, width), channels)
            return _Head(number, separator, decimal_point, names, rate)
    raise ValueError(f"no numbers in its first {_HEAD_LINES} lines")


def _row_of(line: str) -> tuple[str, str, int] | None:
    """Separator, decimal point and columns of a row of numbers; None for another line.

    A separator at the end, as oscilloscopes write it, begins a column without values.
    """
    for separator, decimal_point in ((";", ","), ("\t", ","), (";", "."), ("\t", "."), (",", ".")):
        if separator in line or separator == ",":
            cells = _split_row(line, separator)
            values = [cell.replace(decimal_point, ".") for cell in cells]
            exact = decimal_point == "." or not any("." in cell for cell in cells)
            if exact and _are_numbers(values[:-1] if not values[-1] else values):
                return separator, decimal_point, len(cells)
    return None


def _split_row(line: str, separator: str) -> list[str]:
    return [word.strip().strip('"') for word in line.split(separator)]


def _names_above(texts: Sequence[str], separator: str, width: int) -> list[str]:
    """What the columns are called: in the last line above with as many words, else with more."""
    split = [_split_row(text, separator) for text in reversed(texts)]
    fitting = next((cells for cells in split if len(cells) == width), None)
    longer = next((cells for cells in reversed(split) if len(cells) > width), [""] * width)
    return fitting or longer[:width]


def _increment(texts: Sequence[str]) -> Fraction | None:
    """The sample rate by a line of names with ``Increment`` and the line of values below it."""
    if len(texts) < 2:
        return None
    names, values = (_split_row(text, ",") for text in texts[-2:])
    at = next((n for n, name in enumerate(names) if name.lower() == "increment"), len(values))
    if at < len(values) and _are_numbers([values[at]]) and float(values[at]) > 0:
        return 1 / Fraction(values[at])
    return None


def _are_numbers(words: Sequence[str]) -> bool:
    try:
        return bool(words) and all(np.isfinite(float(word)) for word in words)
    except ValueError:
        return False


def _names(words: Sequence[str], channels: Sequence[str]) -> tuple[str, ...]:
    """A name for each column, no two alike; sigrok writes them into a remark."""
    places = [place for place, word in enumerate(words) if not _TIME_NAME.fullmatch(word.lower())]
    names = list(words)
    if len(channels) == len(places):
        for place, channel in zip(places, channels, strict=True):
            names[place] = channel
    seen: set[str] = set()
    unique = []
    for place, name in enumerate(names):
        label = printable(name, 60) or f"column {place}"
        unique.append(label if label not in seen else f"{label} ({place})")
        seen.add(unique[-1])
    return tuple(unique)


def _capture(
    path: Path, head: _Head, table: dict[str, npt.NDArray[np.float64]], options: ReadOptions
) -> Capture:
    if next(iter(table.values())).size < 2:
        raise CaptureError(f"{path}: the capture holds no samples", "record it again")
    columns = {
        name: column
        for name, column in table.items()
        if not np.isnan(column).all()  # a separator that ends each row begins a column
    }
    if not columns:
        raise CaptureError(f"{path}: the capture holds no samples", "record it again")
    first = next(iter(columns))
    named = _TIME_NAME.fullmatch(first.lower())
    rate = options.rate or head.rate
    rising = len(columns) > 1 and bool(np.all(np.diff(columns[first]) > 0))
    if named is None and not (rising and rate is None):
        if head.rate and len(columns) > 1 and np.all(np.diff(columns[first]) == 1):
            del columns[first]  # the number of the sample
        if rate is None:
            raise CaptureError(
                f"{path}: neither a column of times nor a sample rate", "say it with --rate"
            )
        return _lines(path, columns, clock_of_rate(rate), None, options)
    unit = (named[1] or named[2] or "") if named else ""
    if unit not in _TIMES:
        raise CaptureError(f"{path}: times in '{unit}'", "use seconds, ms, us or ns")
    times = columns.pop(first) / _TIMES[unit]
    if not np.all(np.diff(times) >= 0):
        raise CaptureError(f"{path}: its times go back", "sort its rows, or record it again")
    steps = np.diff(times)
    middle = float(np.median(steps))
    if middle > 0 and len(times) > 2 and np.all(np.abs(steps - middle) <= _EVEN * middle):
        step = (float(times[-1]) - float(times[0])) / (len(times) - 1)
        even = Fraction(round(1 / step * 1000), 1000) if rate is None else rate
        return _lines(path, columns, clock_of_rate(even), None, options)
    clock = CaptureClock(_resolution(times), sampled=False)
    ticks = np.rint((times - times[0]) / clock.tick_s).astype(np.int64)
    return _lines(path, columns, clock, ticks, options)


def _resolution(times: npt.NDArray[np.float64]) -> Fraction:
    """Fine enough for the times: a thousandth of the shortest step, by powers of ten."""
    steps = np.diff(times)
    shortest = float(steps[steps > 0].min()) if np.any(steps > 0) else 1e-6
    exponent = min(12, max(0, int(np.ceil(3 - np.log10(shortest)))))
    return Fraction(1, 10**exponent)


def _lines(
    path: Path,
    columns: dict[str, npt.NDArray[np.float64]],
    clock: CaptureClock,
    ticks: npt.NDArray[np.int64] | None,
    options: ReadOptions,
) -> Capture:
    """``ticks`` are those of the rows; None where there is a row each tick."""
    lines, notes = [], []
    rows = len(next(iter(columns.values())))
    for number, (name, values) in enumerate(columns.items()):
        if not options.wants(name, number):
            continue
        if np.all((values == 0) | (values == 1)) and options.threshold is None:
            levels = values == 1
        else:
            seen = Range()
            seen.take(values)
            threshold = Threshold.of(seen, options.threshold, options.hysteresis)
            levels = Slicer(threshold).levels(values)
            notes.append(threshold.note(name))
        starts_high, edges = edges_of(levels)
        lines.append(SignalLine(name, starts_high, edges if ticks is None else ticks[edges]))
    if not lines:
        raise CaptureError(
            f"{path}: it has none of the lines asked for",
            f"its lines are {', '.join(columns)}",
        )
    length = rows if ticks is None else int(ticks[-1]) + 1
    return Capture(path, FORM, clock, length, tuple(lines), tuple(notes))
