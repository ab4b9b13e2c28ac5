"""The options and tables that the commands for transmitters share: symbols and spectra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from benchvise.command import CommandOption
from benchvise.quantities import format_value
from benchvise.table import ColumnSpec, TableSpec, ValueUnit

_BARS = 40
_FLOOR_DB = -80.0
_PARTS = 24
_SYMBOLS_SHOWN = 24


@dataclass(frozen=True, kw_only=True)
class SymbolOptions:
    """Where the symbols go."""

    output: Annotated[
        Path | None,
        CommandOption(
            "--output", "Write the symbols to this file, as bytes.", metavar="FILE", short="-o"
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class SpectrumPoint:
    """Power in dB at a frequency in Hz."""

    hertz: float
    decibel: float


@dataclass(frozen=True, slots=True)
class _Part:
    low: float
    high: float
    greatest: float


SPECTRUM_COLUMNS: tuple[ColumnSpec[SpectrumPoint], ...] = (
    ColumnSpec("Frequency", ValueUnit.HERTZ, lambda row: row.hertz),
    ColumnSpec("Power", ValueUnit.DECIBEL, lambda row: row.decibel),
)
_PART_COLUMNS: tuple[ColumnSpec[_Part], ...] = (
    ColumnSpec(
        "From", ValueUnit.TEXT, lambda row: f"{format_hertz(row.low)} to {format_hertz(row.high)}"
    ),
    ColumnSpec(
        "Greatest",
        ValueUnit.DECIBEL,
        lambda row: row.greatest,
        text=lambda row: f"{row.greatest:.1f} dB",
    ),
    ColumnSpec(
        "", ValueUnit.TEXT, lambda row: "█" * round(_BARS * max(0.0, 1 - row.greatest / _FLOOR_DB))
    ),
)


def spectrum_table(title: str, points: Sequence[SpectrumPoint]) -> TableSpec[_Part]:
    """A spectrum as bars: of each part the greatest."""
    # As numpy's array_split deals them out: the first parts get one more where it is uneven.
    size, longer = divmod(len(points), _PARTS)
    starts = [part * size + min(part, longer) for part in range(_PARTS + 1)]
    parts = [points[begin:end] for begin, end in pairwise(starts) if end > begin]
    rows = [
        _Part(part[0].hertz, part[-1].hertz, max(point.decibel for point in part)) for part in parts
    ]
    return TableSpec(title, _PART_COLUMNS, rows)


def format_hertz(value: float) -> str:
    """A frequency, below the carrier with a minus."""
    return f"{'-' if value < 0 else ''}{format_value(abs(value), 'Hz')}"


def format_symbols(symbols: bytes) -> str:
    """The first symbols in hexadecimal."""
    text = symbols[:_SYMBOLS_SHOWN].hex(" ")
    return text + (" …" if len(symbols) > _SYMBOLS_SHOWN else "")
