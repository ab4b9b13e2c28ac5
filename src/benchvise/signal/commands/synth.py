"""``benchvise signal synth``: sound from a radio's four frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from benchvise.command import CommandArgument, CommandOption, CommandRecord
from benchvise.errors import UsageError
from benchvise.output_files import check_output_file, write_output
from benchvise.quantities import format_value
from benchvise.signal.commands.spectrum import (
    SPECTRUM_COLUMNS,
    SpectrumPoint,
    SymbolOptions,
    format_hertz,
    format_symbols,
    spectrum_table,
)
from benchvise.table import NamedValue, TableSpec, named_values


@dataclass(frozen=True, kw_only=True)
class SynthOptions(SymbolOptions):
    """What is to be heard, and through which receiver."""

    source: Annotated[str, CommandArgument("SOURCE", "tone:HZ, sweep:HZ,HZ,PERIOD, or a WAV file.")]
    rate: Annotated[float, CommandOption("--rate", "Symbols a second.", metavar="N", minimum=1)] = (
        100e3
    )
    band: Annotated[
        float, CommandOption("--band", "Bandwidth of the receiver.", metavar="HZ", minimum=1)
    ] = 4000
    order: Annotated[
        int,
        CommandOption("--order", "Order of the delta-sigma modulator.", minimum=1, maximum=2),
    ] = 2
    seconds: Annotated[float, CommandOption("--for", "Length of a tone or sweep.", metavar="S")] = (
        1.0
    )
    amplitude: Annotated[
        float,
        CommandOption(
            "--amplitude", "Amplitude relative to the deviation.", minimum=0.001, maximum=1.0
        ),
    ] = 0.5


@dataclass(frozen=True, slots=True)
class SynthTransmission:
    """Two-bit symbols, four a byte, in hexadecimal, and the predicted spectrum of the demodulated
    signal: dB relative to full scale by Hz; ``band`` in Hz."""

    rate: float
    symbols: str
    band: float
    signal_to_noise_db: float
    hertz: list[float]
    decibel: list[float]

    @property
    def audible(self) -> list[SpectrumPoint]:
        """The spectrum up to four bands."""
        most = min(self.rate / 2, 4 * self.band)
        return [
            SpectrumPoint(hertz, decibel)
            for hertz, decibel in zip(self.hertz, self.decibel, strict=True)
            if hertz <= most
        ]


def run(options: SynthOptions) -> SynthTransmission:
    """Symbols for a tone, a sweep or a WAV file; written to ``output``.

    UsageError for a source that is none, CaptureError for a WAV file that cannot be read.
    """
    from benchvise.signal import synth

    if options.output is not None:
        check_output_file(options.output, "the symbols")
    rate, amplitude = options.rate, options.amplitude
    kind, _, rest = options.source.partition(":")
    try:
        if kind == "tone" and rest:
            samples = synth.tone(rate, float(rest), options.seconds, amplitude)
        elif kind == "sweep" and rest:
            first, last, period = map(float, rest.split(","))
            samples = synth.sweep(rate, first, last, period, options.seconds, amplitude)
        else:
            samples = synth.audio(Path(options.source), rate, amplitude)
    except ValueError:
        raise UsageError(
            f"'{options.source}' is no source",
            "write tone:1000, sweep:300,3000,0.5 or a WAV file",
        ) from None
    signal = synth.synthesise(samples, rate, options.band, options.order)
    content = synth.packed(signal.levels)
    if options.output is not None:
        write_output(options.output, content, "the symbols")
    return SynthTransmission(
        signal.rate,
        content.hex(),
        signal.band,
        signal.signal_to_noise_db,
        signal.hertz.tolist(),
        signal.decibel.tolist(),
    )


def tables(transmission: SynthTransmission) -> list[TableSpec[Any]]:
    """The symbols, and what a receiver makes of them."""
    symbols = bytes.fromhex(transmission.symbols)
    ratio = f"{transmission.signal_to_noise_db:.1f} dB"
    return [
        named_values(
            "Two bits a symbol",
            (
                NamedValue("symbols, four a byte", format_symbols(symbols), "strong"),
                NamedValue("bytes", str(len(symbols))),
                NamedValue("symbols a second", format_value(transmission.rate, "")),
                NamedValue(
                    f"signal to noise up to {format_hertz(transmission.band)}", ratio, "strong"
                ),
            ),
        ),
        spectrum_table("Predicted spectrum of the demodulated signal", transmission.audible),
    ]


SYNTH = CommandRecord(
    name="synth",
    kind="signal-synth",
    summary="Make sound with a radio's four frequencies: two-bit symbols and their spectrum.",
    example="benchvise signal synth tone:1000 --rate 100e3 -o symbols.bin",
    options=SynthOptions,
    run=run,
    document=lambda transmission: transmission,
    tables=lambda transmission, _options: tables(transmission),
    columns=SPECTRUM_COLUMNS,
    rows=lambda transmission: transmission.audible,
)
