"""``benchvise signal fsk``, ``psk`` and ``synth``: what radios send by keyed frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandArgument, CommandOption, CommandRecord
from benchvise.errors import UsageError
from benchvise.output_files import check_output_file, write_output
from benchvise.quantities import format_value
from benchvise.signal.commands.options import LineOptions
from benchvise.table import ColumnSpec, NamedValue, TableSpec, ValueUnit, named_values

if TYPE_CHECKING:
    from benchvise.signal.fsk import Keying, KeyingTone
    from benchvise.signal.psk import ErrorRate, PskTransmission


# -- fsk: the frequencies of a keyed line and their symbols ----------------------------------------

_SEPARATE = 4
"""Spreads that tones must lie apart."""


@dataclass(frozen=True, kw_only=True)
class FskOptions(LineOptions):
    """How the line is keyed, and what was sent."""

    baud: Annotated[float, CommandOption("--baud", "Symbols a second.", metavar="N", minimum=0.001)]
    levels: Annotated[
        int | None,
        CommandOption("--levels", "Frequencies.", metavar="2|4", default_text="detected"),
    ] = None
    sent: Annotated[
        str,
        CommandOption("--sent", "Symbols that were sent, over and over.", metavar="DIGITS"),
    ] = ""


def _find_tones(options: FskOptions) -> Keying:
    """The frequencies of a keyed line. UsageError, CaptureError."""
    from benchvise.signal.fsk import keying

    if options.levels not in (None, 2, 4):
        raise UsageError(f"--levels {options.levels}", "2 or 4")
    most = options.levels or 4
    if not set(options.sent) <= set("0123"[:most]):
        raise UsageError(
            f"'{options.sent}' are no symbols of {most} frequencies",
            f"write digits from 0 to {most - 1}: {'0132' if most > 2 else '0110'}",
        )
    symbols = tuple(int(digit) for digit in options.sent)
    capture = options.open()
    return keying(
        capture,
        options.line or capture.busiest.name,
        options.baud,
        levels=options.levels,
        sent=symbols,
    )


_TONE_COLUMNS: tuple[ColumnSpec[KeyingTone], ...] = (
    ColumnSpec(
        "Frequency",
        ValueUnit.HERTZ,
        lambda tone: tone.hertz,
        "strong",
        text=lambda tone: f"{tone.hertz:.1f} Hz",
    ),
    ColumnSpec(
        "Spread",
        ValueUnit.HERTZ,
        lambda tone: tone.deviation,
        "muted",
        text=lambda tone: f"{tone.deviation:.1f} Hz",
    ),
    ColumnSpec(
        "Symbols", ValueUnit.COUNT, lambda tone: tone.count, text=lambda tone: str(tone.count)
    ),
    ColumnSpec(
        "Stands for",
        ValueUnit.COUNT,
        lambda tone: tone.symbol,
        "strong",
        key="symbol",
        text=lambda tone: f"{tone.symbol:02b}",
    ),
    ColumnSpec("Agree", ValueUnit.COARSE_SHARE, lambda tone: tone.agreement, key="agreement_share"),
)


def _tone_table(keying: Keying) -> TableSpec[KeyingTone]:
    """Frequencies, lowest first, with the symbols that they stand for."""
    remarks = list(keying.notes)
    if keying.separation < _SEPARATE:
        remarks.append(
            f"tones are only {keying.separation:.1f} spreads apart: they cannot be told for sure"
        )
    title = f"{keying.line}: keyed at {keying.baud:g} baud"
    return TableSpec(title, _TONE_COLUMNS, keying.tones, tuple(remarks))


FSK = CommandRecord(
    name="fsk",
    kind="signal-fsk",
    summary="Find the frequencies of a keyed line and the symbol of each.",
    example="benchvise signal fsk radio.sr --line IF --baud 2400 --sent 0132",
    options=FskOptions,
    run=_find_tones,
    document=lambda keying: keying,
    tables=lambda keying, _options: [_tone_table(keying)],
    columns=_TONE_COLUMNS,
    rows=lambda keying: keying.tones,
)


# -- what psk and synth share: symbols and spectra -------------------------------------------------

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
class _SpectrumPart:
    low: float
    high: float
    greatest: float


_SPECTRUM_COLUMNS: tuple[ColumnSpec[SpectrumPoint], ...] = (
    ColumnSpec("Frequency", ValueUnit.HERTZ, lambda row: row.hertz),
    ColumnSpec("Power", ValueUnit.DECIBEL, lambda row: row.decibel),
)
_PART_COLUMNS: tuple[ColumnSpec[_SpectrumPart], ...] = (
    ColumnSpec(
        "From", ValueUnit.TEXT, lambda row: f"{_format_hertz(row.low)} to {_format_hertz(row.high)}"
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


def _spectrum_table(title: str, points: Sequence[SpectrumPoint]) -> TableSpec[_SpectrumPart]:
    """A spectrum as bars: of each part the greatest."""
    # As numpy's array_split deals them out: the first parts get one more where it is uneven.
    size, longer = divmod(len(points), _PARTS)
    starts = [part * size + min(part, longer) for part in range(_PARTS + 1)]
    parts = [points[begin:end] for begin, end in pairwise(starts) if end > begin]
    rows = [
        _SpectrumPart(part[0].hertz, part[-1].hertz, max(point.decibel for point in part))
        for part in parts
    ]
    return TableSpec(title, _PART_COLUMNS, rows)


def _format_hertz(value: float) -> str:
    """A frequency, below the carrier with a minus."""
    return f"{'-' if value < 0 else ''}{format_value(abs(value), 'Hz')}"


def _format_symbols(symbols: bytes) -> str:
    """The first symbols in hexadecimal."""
    text = symbols[:_SYMBOLS_SHOWN].hex(" ")
    return text + (" …" if len(symbols) > _SYMBOLS_SHOWN else "")


# -- psk: BPSK from a transmitter that only knows MSK ----------------------------------------------

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


def _modulate(options: PskOptions) -> PskTransmission:
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
        tuple(
            psk.error_rates(
                levels, bits=options.bits, per_symbol=per_symbol, differential=differential
            )
        ),
    )


_ERROR_COLUMNS: tuple[ColumnSpec[ErrorRate], ...] = (
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


def _psk_tables(transmission: PskTransmission) -> list[TableSpec[Any]]:
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
                NamedValue("symbols, first in the highest bit", _format_symbols(symbols), "strong"),
                NamedValue("bytes", str(len(symbols))),
                NamedValue("phase at the end of each bit", turns),
                received,
                NamedValue("99 % of the power within", format_value(spectrum.occupied, "Hz")),
            ),
        ),
        TableSpec(
            "Bit errors in white noise, simulated",
            _ERROR_COLUMNS,
            transmission.errors,
            ("the symbol in which the phase turns is not summed up: that costs 0.5 dB of ten",),
        ),
        _spectrum_table(
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
    run=_modulate,
    document=lambda transmission: transmission,
    tables=lambda transmission, _options: _psk_tables(transmission),
    columns=_ERROR_COLUMNS,
    rows=lambda transmission: transmission.errors,
)


# -- synth: sound from a radio's four frequencies --------------------------------------------------


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


def _synthesise(options: SynthOptions) -> SynthTransmission:
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


def _synth_tables(transmission: SynthTransmission) -> list[TableSpec[Any]]:
    """The symbols, and what a receiver makes of them."""
    symbols = bytes.fromhex(transmission.symbols)
    ratio = f"{transmission.signal_to_noise_db:.1f} dB"
    return [
        named_values(
            "Two bits a symbol",
            (
                NamedValue("symbols, four a byte", _format_symbols(symbols), "strong"),
                NamedValue("bytes", str(len(symbols))),
                NamedValue("symbols a second", format_value(transmission.rate, "")),
                NamedValue(
                    f"signal to noise up to {_format_hertz(transmission.band)}", ratio, "strong"
                ),
            ),
        ),
        _spectrum_table("Predicted spectrum of the demodulated signal", transmission.audible),
    ]


SYNTH = CommandRecord(
    name="synth",
    kind="signal-synth",
    summary="Make sound with a radio's four frequencies: two-bit symbols and their spectrum.",
    example="benchvise signal synth tone:1000 --rate 100e3 -o symbols.bin",
    options=SynthOptions,
    run=_synthesise,
    document=lambda transmission: transmission,
    tables=lambda transmission, _options: _synth_tables(transmission),
    columns=_SPECTRUM_COLUMNS,
    rows=lambda transmission: transmission.audible,
)
