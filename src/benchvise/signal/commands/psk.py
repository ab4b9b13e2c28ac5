"""``benchvise signal psk``: BPSK from a transmitter that only knows MSK."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandArgument, CommandOption, CommandRecord
from benchvise.errors import UsageError
from benchvise.output_files import check_output_file, write_output
from benchvise.quantities import format_value
from benchvise.signal.commands.spectrum import (
    SpectrumPoint,
    SymbolOptions,
    format_symbols,
    spectrum_table,
)
from benchvise.table import ColumnSpec, NamedValue, TableSpec, ValueUnit, named_values

if TYPE_CHECKING:
    from benchvise.signal.psk import ErrorRate, PskTransmission

_PHASES_SHOWN = 16


@dataclass(frozen=True, kw_only=True)
class PskOptions(SymbolOptions):
    """What is sent, how, and the noise in which errors are counted."""

    text: Annotated[str, CommandArgument("TEXT", "What to send.")]
    hexadecimal: Annotated[bool, CommandOption("--hex", "TEXT is in hexadecimal.")] = False
    rate: Annotated[
        float, CommandOption("--rate", "MSK symbols a second.", metavar="BAUD", minimum=1)
    ] = 250e3
    per_symbol: Annotated[
        int, CommandOption("--per-bit", "MSK symbols a bit.", metavar="N", minimum=2)
    ] = 10
    differential: Annotated[
        bool,
        CommandOption("--differential/--coherent", "A 1 turns the phase; or the phase is the bit."),
    ] = True
    noise: Annotated[
        str, CommandOption("--noise", "Eb/N0 at which to count bit errors.", metavar="DB,…")
    ] = "0,2,4,6,8"
    bits: Annotated[
        int, CommandOption("--bits", "Random bits at each of them.", metavar="N", minimum=100)
    ] = 20_000

    @property
    def data(self) -> bytes:
        """What is sent; UsageError for what is no hexadecimal."""
        try:
            return bytes.fromhex(self.text) if self.hexadecimal else self.text.encode()
        except ValueError as error:
            raise _misspelt(error) from None

    @property
    def levels_db(self) -> list[float]:
        """The levels of noise; UsageError for what is no number."""
        try:
            return [float(level) for level in self.noise.split(",") if level.strip()]
        except ValueError as error:
            raise _misspelt(error) from None


def _misspelt(error: ValueError) -> UsageError:
    return UsageError(str(error), "write data as 48656c6c6f and noise as 0,2,4")


def run(options: PskOptions) -> PskTransmission:
    """The symbols for an MSK transmitter, and what becomes of them; written to ``output``.

    UsageError for data or noise that cannot be sent, OutputError.
    """
    from benchvise.signal import psk

    data, levels = options.data, options.levels_db
    if options.output is not None:
        check_output_file(options.output, "the symbols")
    per_symbol, differential = options.per_symbol, options.differential
    symbols = psk.msk_symbols(psk.bits_of(data), per_symbol=per_symbol, differential=differential)
    waveform = psk.waveform(symbols)
    bits = psk.demodulated(waveform, per_symbol=per_symbol, differential=differential)
    content = psk.packed(symbols)
    if options.output is not None:
        write_output(options.output, content, "the symbols")
    spectrum = psk.spectrum(waveform, options.rate)
    return psk.PskTransmission(
        content.hex(),
        psk.packed(bits)[: len(data)] == data,
        psk.phases(waveform, per_symbol).tolist(),
        psk.SpectrumDocument(spectrum.hertz.tolist(), spectrum.decibel.tolist(), spectrum.occupied),
        tuple(psk.error_rates(levels, bits=options.bits, per_symbol=per_symbol)),
    )


COLUMNS: tuple[ColumnSpec[ErrorRate], ...] = (
    ColumnSpec(
        "Eb/N0",
        ValueUnit.DECIBEL,
        lambda row: row.ebn0_db,
        key="ebn0_dB",
        text=lambda row: f"{row.ebn0_db:g} dB",
    ),
    ColumnSpec(
        "Bit errors",
        ValueUnit.COUNT,
        lambda row: row.rate,
        "strong",
        key="rate",
        text=lambda row: f"{row.rate:.2e}" if row.errors else f"none in {row.bits}",
    ),
    ColumnSpec(
        "95 % interval",
        ValueUnit.NUMBER_RANGE,
        lambda row: (row.low, row.high),
        "muted",
        key="rate",
        text=lambda row: f"{row.low:.1e} to {row.high:.1e}",
    ),
    ColumnSpec(
        "Ideal BPSK",
        ValueUnit.COUNT,
        lambda row: row.ideal,
        key="ideal",
        text=lambda row: f"{row.ideal:.2e}",
    ),
)


def tables(transmission: PskTransmission) -> list[TableSpec[Any]]:
    """The symbols, the phases they make, bit errors in noise, and the spectrum."""
    symbols, phases = bytes.fromhex(transmission.symbols), transmission.phases
    turns = " ".join(f"{abs(phase):.0f}°" for phase in phases[:_PHASES_SHOWN])
    turns += " …" if len(phases) > _PHASES_SHOWN else ""
    received = NamedValue("received again", "yes", "good")
    if not transmission.received:
        received = NamedValue("received again", "NO", "bad")
    spectrum = transmission.spectrum
    return [
        named_values(
            "BPSK from MSK symbols",
            (
                NamedValue("symbols, first in the highest bit", format_symbols(symbols), "strong"),
                NamedValue("bytes", str(len(symbols))),
                NamedValue("phase at the end of each bit", turns),
                received,
                NamedValue("99 % of the power within", format_value(spectrum.occupied, "Hz")),
            ),
        ),
        TableSpec(
            "Bit errors in white noise, simulated",
            COLUMNS,
            transmission.errors,
            ("the symbol in which the phase turns is not summed up: that costs 0.5 dB of ten",),
        ),
        spectrum_table(
            "Spectrum around the carrier",
            list(map(SpectrumPoint, spectrum.hertz, spectrum.decibel)),
        ),
    ]


PSK = CommandRecord(
    name="psk",
    kind="signal-psk",
    summary="Make BPSK symbols for an MSK transmitter; simulate phase, spectrum and errors.",
    example='benchvise signal psk "CQ CQ" --rate 250e3 -o symbols.bin',
    options=PskOptions,
    run=run,
    document=lambda transmission: transmission,
    tables=lambda transmission, _options: tables(transmission),
    columns=COLUMNS,
    rows=lambda transmission: transmission.errors,
)
