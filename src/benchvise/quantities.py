"""Numbers as people read and write them: values, sizes, durations, points in time, lists of CPUs.

On the wire a value is a plain number in ``B/s``, ``ns``, ``Hz`` or another unit. Here it becomes
``21.3 GB/s``, ``112.6 ns``, ``3.98 us`` or ``4.48 GHz``: scaled to a handy unit, four significant
digits at most. Prefixes are decimal (GB = 1e9 bytes); only sizes of buffers and caches are binary,
and then they say so (``32 KiB``).

``parse_*`` raise ValueError for a text that holds none, ``*_or_none`` say None.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TypeGuard

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
_SIZE = re.compile(r"([0-9]{1,20})(?:([KMGTkmgt])(?:iB)?)?")
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_DURATION = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*(ns|us|ms|s|min|h|d)")
_NANOSECONDS = {
    "ns": 1, "us": 1000, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}  # fmt: skip
_AGES = ((86400.0 * 7, "week"), (86400.0, "day"), (3600.0, "hour"), (60.0, "minute"))

CPU_LIMIT = 1 << 16
"""No list of CPUs or nodes is taken to be longer than that."""

ABSENT = "\u2013"
"""What stands where there is no number."""


# -- numbers ---------------------------------------------------------------------------------------


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value of JSON is a finite number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # a whole number may be too large for a float


def number_or_none(value: object) -> float | None:
    """A value of JSON as a float; None for what is no finite number."""
    return float(value) if is_number(value) else None


def finite(value: float | None) -> float | None:
    """The value where JSON can hold it; None for infinity and for what is no number."""
    return value if value is not None and math.isfinite(value) else None


# -- values with a unit ----------------------------------------------------------------------------


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


def format_unstable(value: float | None, unit: str) -> str:
    """``~159.7 ns ⚠``: the median of a series that no single value describes."""
    return f"~{format_value(value, unit)} ⚠"


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


def format_count(count: int) -> str:
    """``1 234 567``: a number of things in groups of three digits."""
    return f"{count:,}".replace(",", " ")


def format_ratio(ratio: float | None) -> str:
    """``1.052x``: how many times the base."""
    if ratio is None or not math.isfinite(ratio):
        return ABSENT
    return f"{ratio:.3f}x" if 0.0995 <= ratio < 9.9995 else f"{format_number(ratio)}x"


def format_change(ratio: float | None) -> str:
    """``+5.2 %``: the change that a ratio to the base means; ``12.3x`` from ten times on."""
    if ratio is None or not math.isfinite(ratio):
        return ABSENT
    if ratio > 10:
        return format_ratio(ratio)
    percent = (ratio - 1) * 100
    text = f"{percent:+.0f}" if abs(percent) >= 99.95 else f"{percent:+.1f}"
    return f"{'0.0' if float(text) == 0 else text} %"


def format_percent(fraction: float | None) -> str:
    """``1.5 %``: a share of one."""
    if fraction is None or not math.isfinite(fraction):
        return ABSENT
    percent = fraction * 100
    return f"{percent:.0f} %" if abs(percent) >= 9.95 else f"{percent:.1f} %"


# -- sizes -----------------------------------------------------------------------------------------


def format_size(size: float) -> str:
    """``32 KiB``: a number of bytes in powers of 1024."""
    for factor, name in _SIZE_STEPS:
        if size >= factor:
            return f"{size / factor:.4g} {name}"
    return f"{size:.4g} B"


def spell_size(size: int) -> str:
    """The shortest exact spelling of a number of bytes: ``1048576`` is ``1M``."""
    for unit in ("G", "M", "K"):
        if size and size % (1 << _POWERS[unit]) == 0:
            return f"{size >> _POWERS[unit]}{unit}"
    return str(size)


def parse_size(text: str) -> int:
    """Bytes behind ``64M``, ``4k``, ``4KiB``, ``1T`` or ``4096``; ValueError for anything else."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError("not a size")
    return int(match[1]) << _POWERS[(match[2] or "").upper()]


def size_or_none(text: str) -> int | None:
    """As ``parse_size``; None where the text is no size."""
    try:
        return parse_size(text)
    except ValueError:
        return None


# -- durations and points in time ------------------------------------------------------------------


def nanoseconds_or_none(text: str) -> float | None:
    """Nanoseconds of ``500us``, ``30 s``, ``5min``, ``1.5 h``, ``7 d``; None for other texts."""
    match = _DURATION.fullmatch(text.strip())
    return None if match is None else float(match[1]) * _NANOSECONDS[match[2]]


def seconds_or_none(text: str) -> float | None:
    """As ``nanoseconds_or_none``, in seconds."""
    nanoseconds = nanoseconds_or_none(text)
    return None if nanoseconds is None else nanoseconds / 1e9


def format_duration(seconds: float) -> str:
    """``0.3 s``, ``42 s``, ``4 min 12 s``, ``2 h 1 min``."""
    if 0 < seconds < 9.95:
        return f"{seconds:.1f} s".replace(".0 ", " ")
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def format_elapsed(started: str, finished: str | None) -> str:
    """``4 min 12 s`` between two ISO 8601 times, or a dash when one is missing."""
    try:
        elapsed = datetime.fromisoformat(finished or "") - datetime.fromisoformat(started)
    except (ValueError, TypeError):
        return ABSENT
    seconds = elapsed.total_seconds()
    return ABSENT if seconds < 0 else format_duration(seconds)


def format_time(when: str | None) -> str:
    """``2026-03-14 09:26 UTC``; a text that is no ISO 8601 time comes back as it is."""
    if not when:
        return ABSENT
    try:
        return f"{datetime.fromisoformat(when):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return when


def in_utc(when: str | float | datetime) -> datetime:
    """ISO 8601 text or seconds since 1970, in UTC."""
    if isinstance(when, str):
        when = datetime.fromisoformat(when)
    if isinstance(when, datetime):
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    return datetime.fromtimestamp(when, UTC)


def format_stamp(when: str | float | datetime) -> str:
    """``2026-11-22 08:04:36 UTC``."""
    return f"{in_utc(when):%Y-%m-%d %H:%M:%S} UTC"


def format_ago(when: str | float | datetime, now: datetime | None = None) -> str:
    """``3 hours ago``; of what lies ahead, or years back, the date."""
    then = in_utc(when)
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if seconds < -60 or seconds > 86400 * 365:
        return f"{then:%Y-%m-%d}"
    for length, name in _AGES:
        count = int(seconds / length)
        if count:
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    return "just now"


def format_clock(nanoseconds: int) -> str:
    """``12.000345678``: a time of a trace's clock in seconds, every digit of it."""
    seconds, rest = divmod(abs(nanoseconds), 1_000_000_000)
    return f"{'-' if nanoseconds < 0 else ''}{seconds}.{rest:09d}"


# -- lists of CPUs ---------------------------------------------------------------------------------


def parse_cpus(text: str) -> set[int]:
    """The CPUs of a list (``0-3,7``); ValueError when it is none. cpufreq parts them by spaces."""
    cpus: set[int] = set()
    for part in text.replace(",", " ").split():
        first, dash, last = part.partition("-")
        low, high = int(first), int(last if dash else first)
        if not 0 <= low <= high < CPU_LIMIT:
            raise ValueError("not a list of CPUs")
        cpus.update(range(low, high + 1))
    return cpus


def parse_cpu_mask(text: str) -> set[int]:
    """The CPUs of a hexadecimal mask (``f``, ``00000000,0000000f``); ValueError for others."""
    digits = text.strip().replace(",", "")
    if len(digits) > CPU_LIMIT // 4:
        raise ValueError("a mask of too many CPUs")
    mask = int(digits, 16)
    return {cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1}


def format_cpus(cpus: Iterable[int]) -> str:
    """The shortest list for CPUs (``0-3,7``); nothing for none."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
