"""``benchvise signal clock``: frequency, jitter, duty cycle and drift of a clock line, beside what
its registers should give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandOption, CommandRecord
from benchvise.errors import UsageError
from benchvise.quantities import format_number
from benchvise.signal.commands.options import LineOptions, format_seconds
from benchvise.table import ColumnSpec, NamedValue, TableSpec, ValueUnit, named_values

if TYPE_CHECKING:
    from benchvise.signal.clock import ClockReport, RegisterComparison

_PAUSES_LISTED = 5


@dataclass(frozen=True, kw_only=True)
class ClockOptions(LineOptions):
    """What the clock is compared with; ``bits`` are bits a period of the line."""

    nominal: Annotated[
        float | None,
        CommandOption("--nominal", "Nominal frequency.", metavar="HZ"),
    ] = None
    radio: Annotated[
        str | None,
        CommandOption(
            "--radio", "The line is the data clock of a cc1100, cc1101 or cc2500.", metavar="CHIP"
        ),
    ] = None
    registers: Annotated[
        str | None,
        CommandOption("--registers", "MDMCFG4 and MDMCFG3 as set: 0x8a,0x83.", metavar="A,B"),
    ] = None
    crystal: Annotated[
        float | None,
        CommandOption(
            "--crystal", "Frequency of the radio's crystal.", metavar="HZ", default_text="26e6"
        ),
    ] = None
    bits: Annotated[float, CommandOption("--bits", "Bits a period of the line.", metavar="N")] = 1.0
    ppm: Annotated[
        float,
        CommandOption(
            "--ppm",
            "Error of crystal and analyser together that is allowed.",
            metavar="PPM",
            minimum=0,
        ),
    ] = 100.0


def run(options: ClockOptions) -> ClockReport:
    """A clock line beside its nominal frequency or the registers of its radio.

    UsageError for a radio or registers that are none, CaptureError for a line without a clock.
    """
    from benchvise.signal.clock import (
        CRYSTALS,
        clock_report,
        compare_registers,
        data_rate,
        measure_clock,
    )

    capture = options.open()
    clock = measure_clock(capture, options.line or capture.busiest.name)
    tolerance = options.ppm * 1e-6 + 3 * clock.error / clock.frequency
    if options.radio is None:
        return clock_report(clock, options.nominal, None, tolerance)
    if options.radio.lower() not in CRYSTALS:
        raise UsageError(f"no radio '{options.radio}' is known", f"one of {', '.join(CRYSTALS)}")
    if options.registers is None:
        raise UsageError("which registers were set?", "say --registers 0x8a,0x83")
    crystal = options.crystal or CRYSTALS[options.radio.lower()]
    nominal = data_rate(*_parse_registers(options.registers), crystal)
    comparison = compare_registers(nominal, clock.frequency * options.bits, crystal, tolerance)
    return clock_report(clock, nominal.rate / options.bits, comparison, tolerance)


def _parse_registers(text: str) -> tuple[int, int]:
    try:
        high, low = (int(register, 0) for register in text.split(","))
    except ValueError:
        raise UsageError(
            f"'{text}' is no pair of registers", "write MDMCFG4,MDMCFG3: 0x8a,0x83"
        ) from None
    return high, low


def tables(clock: ClockReport) -> list[TableSpec[Any]]:
    """Frequency, jitter, duty cycle, drift; which registers would explain the rate."""
    digits = max(0, 1 - math.floor(math.log10(max(clock.error, 1e-9))))
    jitter = f"{format_seconds(clock.jitter_rms)} rms, {format_seconds(clock.jitter_peak)} peak"
    drift = (
        "too short to tell"
        if clock.drift_ppm is None
        else f"{clock.drift_ppm:+.0f} ppm from start to end"
    )
    rows = [
        NamedValue(
            "frequency", f"{clock.frequency:.{digits}f} Hz ± {format_number(clock.error)} Hz"
        ),
        NamedValue("period", format_seconds(1 / clock.frequency)),
        NamedValue("periods", str(clock.periods)),
        NamedValue("duty cycle", f"{100 * clock.duty:.2f} % high"),
        NamedValue("period jitter", jitter),
        NamedValue("cycle to cycle", f"{format_seconds(clock.cycle_jitter)} at most"),
        NamedValue("drift", drift),
    ]
    if clock.nominal is not None:
        text = f"{clock.nominal:.6g} Hz: it is {clock.off_ppm:+.1f} ppm off"
        rows.append(NamedValue("nominal", text))
    title, headings = f"Clock on {clock.line}", ("Metric", "Value")
    return [named_values(title, rows, _remarks(clock), headings)]


def _remarks(clock: ClockReport) -> list[str]:
    remarks = []
    if clock.jitter_rms < clock.resolution:
        remarks.append(
            f"jitter is below the resolution of the capture, {format_seconds(clock.resolution)}: "
            "it says nothing of the clock"
        )
    remarks.append(
        "the sampling clock's own error comes on top of the ±: the file does not state it "
        "(50 ppm is usual, 0.5 % for an RC oscillator)"
    )
    for at, length in clock.pauses[:_PAUSES_LISTED]:
        remarks.append(f"it pauses at {format_seconds(at)} for {format_seconds(length)}")
    if len(clock.pauses) > _PAUSES_LISTED:
        remarks.append(f"{len(clock.pauses)} pauses in all")
    if clock.explained is not None:
        remarks += _register_remarks(clock.explained, clock.tolerance)
    return remarks


def _register_remarks(comparison: RegisterComparison, tolerance: float) -> Sequence[str]:
    nominal = comparison.wanted
    remarks = [
        f"registers {nominal} set {nominal.rate:.1f} baud, measured "
        f"{comparison.measured:.1f} baud ({100 * comparison.off:+.2f} %, "
        f"{1e6 * tolerance:.0f} ppm allowed)"
    ]
    if comparison.agrees:
        return [*remarks, "they agree"]
    if comparison.by_mantissa is not None:
        remarks.append(
            f"MDMCFG3 0x{comparison.by_mantissa.mdmcfg3:02x} in place of "
            f"0x{nominal.mdmcfg3:02x} would explain it ({comparison.by_mantissa.rate:.1f} baud)"
        )
    if comparison.by_exponent is not None:
        remarks.append(
            f"MDMCFG4 0x{comparison.by_exponent.mdmcfg4:02x} in place of "
            f"0x{nominal.mdmcfg4:02x} would explain it ({comparison.by_exponent.rate:.1f} baud)"
        )
    if comparison.by_mantissa is None and comparison.by_exponent is None:
        remarks.append(
            f"no single register explains it; nearest is {comparison.nearest} "
            f"({comparison.nearest.rate:.1f} baud)"
        )
    return remarks


COLUMNS: tuple[ColumnSpec[ClockReport], ...] = (
    ColumnSpec("Line", ValueUnit.TEXT, lambda clock: clock.line),
    ColumnSpec("Frequency", ValueUnit.HERTZ, lambda clock: clock.frequency),
    ColumnSpec("Standard error", ValueUnit.HERTZ, lambda clock: clock.error, key="error_Hz"),
    ColumnSpec("Periods", ValueUnit.COUNT, lambda clock: clock.periods),
    ColumnSpec("Duty cycle", ValueUnit.COARSE_SHARE, lambda clock: clock.duty, key="duty_share"),
    ColumnSpec(
        "Period jitter, rms", ValueUnit.SECONDS, lambda clock: clock.jitter_rms, key="jitter_rms_s"
    ),
    ColumnSpec(
        "Period jitter, peak",
        ValueUnit.SECONDS,
        lambda clock: clock.jitter_peak,
        key="jitter_peak_s",
    ),
    ColumnSpec(
        "Cycle to cycle", ValueUnit.SECONDS, lambda clock: clock.cycle_jitter, key="cycle_jitter_s"
    ),
    ColumnSpec("Drift", ValueUnit.PPM, lambda clock: clock.drift_ppm),
    ColumnSpec("Nominal frequency", ValueUnit.HERTZ, lambda clock: clock.nominal, key="nominal_Hz"),
    ColumnSpec("Off the nominal", ValueUnit.PPM, lambda clock: clock.off_ppm, key="off_ppm"),
)

CLOCK = CommandRecord(
    name="clock",
    kind="signal-clock",
    summary="Measure a clock: frequency, jitter, duty cycle, drift; compare it with its registers.",
    example="benchvise signal clock radio.sr --line CLK --radio cc1101 --crystal 27e6 "
    "--registers 0x8a,0x83",
    options=ClockOptions,
    run=run,
    document=lambda clock: clock,
    tables=lambda clock, _options: tables(clock),
    columns=COLUMNS,
    rows=lambda clock: (clock,),
)
