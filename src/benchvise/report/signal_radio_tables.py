"""Tables of what radios send: phase keying, synthesis, frequencies and their symbols."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benchvise.quantities import ABSENT, format_value
from benchvise.report.tables import Cell, Column, Table
from benchvise.report.text import clean
from benchvise.signal.fsk import Keying
from benchvise.signal.psk import ErrorRate, Spectrum
from benchvise.signal.synth import Synthesised

_BARS = 40
_FLOOR_DB = -80.0
_PHASES = 16
_SYMBOLS = 24


def keyed_rows(
    symbols: bytes,
    phases: Sequence[float],
    spectrum: Spectrum,
    errors: Sequence[ErrorRate],
    *,
    received: bool,
) -> list[Table]:
    """The symbols, the phases they make, the spectrum, and bit errors in noise."""
    shown = symbols[:_SYMBOLS].hex(" ") + (" …" if len(symbols) > _SYMBOLS else "")
    turns = " ".join(f"{abs(phase):.0f}°" for phase in phases[:_PHASES])
    turns += " …" if len(phases) > _PHASES else ""
    head = (
        (Cell("symbols, first in the highest bit"), Cell(shown, "strong")),
        (Cell("bytes"), Cell(str(len(symbols)))),
        (
            Cell("phase at the end of each bit"),
            Cell(turns),
        ),
        (Cell("received again"), Cell("yes" if received else "NO", "good" if received else "bad")),
        (Cell("99 % of the power within"), Cell(format_value(spectrum.occupied, "Hz"))),
    )
    columns = (
        Column("Eb/N0", right=True),
        Column("Bit errors", right=True),
        Column("95 % interval", right=True),
        Column("Ideal BPSK", right=True),
    )
    rows = tuple(
        (
            Cell(f"{one.ebn0_db:g} dB"),
            Cell(f"{one.rate:.2e}" if one.errors else f"none in {one.bits}", "strong"),
            Cell(f"{one.low:.1e} to {one.high:.1e}", "muted"),
            Cell(f"{one.ideal:.2e}"),
        )
        for one in errors
    )
    return [
        Table("BPSK from MSK symbols", (Column(""), Column("")), head, ()),
        Table(
            "Bit errors in white noise, simulated",
            columns,
            rows,
            ("the symbol in which the phase turns is not summed up: that costs 0.5 dB of ten",),
        ),
        spectrum_rows("Spectrum around the carrier", spectrum.hertz, spectrum.decibel),
    ]


def spectrum_rows(
    title: str, hertz: npt.NDArray[np.float64], decibel: npt.NDArray[np.float64], rows: int = 24
) -> Table:
    """A spectrum as bars: of each part the greatest."""
    parts = np.array_split(np.arange(hertz.size), rows)
    cells = tuple(
        (
            Cell(f"{_hertz(float(hertz[part[0]]))} to {_hertz(float(hertz[part[-1]]))}"),
            Cell(f"{float(decibel[part].max()):.1f} dB"),
            Cell("█" * round(_BARS * max(0.0, 1 - float(decibel[part].max()) / _FLOOR_DB))),
        )
        for part in parts
        if part.size
    )
    return Table(title, (Column("From"), Column("Greatest", right=True), Column("")), cells, ())


def _hertz(value: float) -> str:
    return f"{'-' if value < 0 else ''}{format_value(abs(value), 'Hz')}"


def synthesised_rows(found: Synthesised, symbols: bytes) -> list[Table]:
    """The symbols, and what a receiver makes of them."""
    shown = symbols[:_SYMBOLS].hex(" ") + (" …" if len(symbols) > _SYMBOLS else "")
    head = (
        (Cell("symbols, four a byte"), Cell(shown, "strong")),
        (Cell("bytes"), Cell(str(len(symbols)))),
        (Cell("symbols a second"), Cell(format_value(found.rate, ""))),
        (
            Cell(f"signal to noise up to {_hertz(found.band)}"),
            Cell(f"{found.signal_to_noise_db:.1f} dB", "strong"),
        ),
    )
    heard = found.hertz <= min(found.rate / 2, 4 * found.band)
    return [
        Table("Two bits a symbol", (Column(""), Column("")), head, ()),
        spectrum_rows(
            "Predicted spectrum of the demodulated signal",
            found.hertz[heard],
            found.decibel[heard],
        ),
    ]


def shifted_rows(found: Keying) -> Table:
    """Frequencies, lowest first, with the symbols that they stand for."""
    rows = tuple(
        (
            Cell(f"{tone.hertz:.1f} Hz", "strong"),
            Cell(f"{tone.deviation:.1f} Hz", "muted"),
            Cell(str(tone.count)),
            Cell(ABSENT if tone.symbol is None else f"{tone.symbol:02b}", "strong"),
            Cell(ABSENT if tone.agreement is None else f"{100 * tone.agreement:.1f} %"),
        )
        for tone in found.tones
    )
    columns = (
        Column("Frequency", right=True),
        Column("Spread", right=True),
        Column("Symbols", right=True),
        Column("Stands for", right=True),
        Column("Agree", right=True),
    )
    told = [*found.notes]
    if found.separation < 4:
        told.append(
            f"tones are only {found.separation:.1f} spreads apart: they cannot be told for sure"
        )
    return Table(f"{clean(found.line)}: keyed at {found.baud:g} baud", columns, rows, tuple(told))
