"""Numbers as people read them: scaled to a handy unit, four significant digits at most.

On the wire a value is a plain number in ``B/s``, ``ns``, ``Hz`` or another unit. Here it becomes
``21.3 GB/s``, ``112.6 ns``, ``3.98 us`` or ``4.48 GHz``. Prefixes are decimal (GB = 1e9 bytes);
only sizes of buffers and caches are binary, and then they say so (``32 KiB``).
"""

from __future__ import annotations

import math
import re
from datetime import datetime

# From small to large: what one step of the written unit is worth in the unit on the wire.
_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "B/s": ((1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")),
    "Hz": ((1.0, "Hz"), (1e3, "kHz"), (1e6, "MHz"), (1e9, "GHz")),
    "ns": ((1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")),
    "B": ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")),
    "": ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")),
    "1/s": ((1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")),
}
_SIZE_STEPS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SIZE_TEXT = re.compile(r"([0-9]+)([KMG]?)")
_SIZE_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

ABSENT = "\u2013"
"""What stands where there is no number."""


def split_value(value: float | None, unit: str) -> tuple[str, str]:
    """The number and the unit of ``value`` as they are written, apart, for aligned columns."""
    if value is None or not math.isfinite(value):
        return ABSENT, ""
    text, name = "", unit
    for factor, name in _SCALES.get(unit, ((1.0, unit),)):  # noqa: B007
        text = format_number(value / factor)
        # Compared as written: 999.96 ns must become 1.00 us, not 1000 ns.
        if abs(float(text)) < 1000:
            break
    return text, name


def format_value(value: float | None, unit: str) -> str:
    """``21.3 GB/s``: the value in its handiest unit."""
    return " ".join(part for part in split_value(value, unit) if part)


def format_range(low: float, high: float, unit: str) -> str:
    """``20.9 to 21.6 GB/s``: the unit once where both ends share it."""
    (start, first), (end, second) = split_value(low, unit), split_value(high, unit)
    return f"{start} to {end} {second}" if first == second else f"{start} {first} to {end} {second}"


def format_number(value: float) -> str:
    """Four significant digits at most, and the same decimals for all numbers of one magnitude."""
    size = abs(value)
    if size == 0:
        return "0"
    if size < 0.09995:
        return f"{value:.3g}"
    for bound, decimals in ((0.9995, 3), (9.995, 2), (999.95, 1)):
        if size < bound:
            return f"{value:.{decimals}f}"
    if size < 9999.5:
        return f"{value:.0f}"
    return f"{float(f'{value:.4g}'):.0f}"


def format_ratio(ratio: float | None) -> str:
    """``1.052x``: how many times the base."""
    if ratio is None or not math.isfinite(ratio):
        return ABSENT
    return f"{ratio:.3f}x" if 0.0995 <= ratio < 9.9995 else f"{format_number(ratio)}x"


def format_change(ratio: float | None) -> str:
    """``+5.2 %``: the change that a ratio to the base means."""
    if ratio is None or not math.isfinite(ratio):
        return ABSENT
    if ratio > 10:
        return f"x {format_number(ratio)}"
    percent = (ratio - 1) * 100
    text = f"{percent:+.0f}" if abs(percent) >= 99.95 else f"{percent:+.1f}"
    return f"{'0.0' if float(text) == 0 else text} %"


def format_percent(fraction: float | None) -> str:
    """``1.5 %``: a share of one."""
    if fraction is None or not math.isfinite(fraction):
        return ABSENT
    percent = fraction * 100
    return f"{percent:.0f} %" if abs(percent) >= 9.95 else f"{percent:.1f} %"


def format_size(size: int) -> str:
    """``32 KiB``: a number of bytes in powers of 1024."""
    for factor, name in _SIZE_STEPS:
        if size >= factor:
            return f"{size / factor:.4g} {name}"
    return f"{size} B"


def parse_size(text: str) -> int | None:
    """The bytes that a parameter such as ``64M`` asks for, or None when it is no size."""
    found = _SIZE_TEXT.fullmatch(text.strip()[:20])
    if found is None:
        return None
    return int(found[1]) * _SIZE_FACTORS[found[2]]


def format_time(iso: str | None) -> str:
    """``2026-03-14 09:26 UTC``; a text that is no ISO 8601 time comes back as it is."""
    if not iso:
        return ABSENT
    try:
        return f"{datetime.fromisoformat(iso):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return iso


def format_duration(started: str, finished: str | None) -> str:
    """``4 min 12 s`` between two ISO 8601 times, or a dash when one is missing."""
    try:
        seconds = (
            datetime.fromisoformat(finished or "") - datetime.fromisoformat(started)
        ).total_seconds()
    except (ValueError, TypeError):
        return ABSENT
    if seconds < 0:
        return ABSENT
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
