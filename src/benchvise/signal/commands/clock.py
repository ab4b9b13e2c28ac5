"""``benchvise signal clock``: frequency, jitter, duty cycle and drift of a clock line, beside what
its registers should give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from benchvise.command import CommandOption, CommandRecord
from benchvise.errors import UsageError
from benchvise.quantities import format_number
from benchvise.signal.commands.options import LineOptions, format_seconds
from benchvise.table import ColumnSpec, NamedValue, TableSpec, ValueUnit, named_values

if TYPE_CHECKING:
    from benchvise.signal.clock import ClockReport, ClockSlice, PeriodSpread, RegisterComparison

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
    unknown = (
        clock.spread_of_frequency if clock.error is None else 3 * clock.error / clock.frequency
    )
    tolerance = options.ppm * 1e-6 + unknown
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
    """Frequency, jitter, duty cycle, drift; which registers would explain the rate; how these
    change over time where they do."""
    jitter = f"{format_seconds(clock.jitter_rms)} rms, {format_seconds(clock.jitter_peak)} peak"
    rows = [
        NamedValue("frequency", _frequency(clock)),
        NamedValue("period", _spread(clock.period, format_seconds)),
        NamedValue("periods", str(clock.periods)),
        NamedValue("duty cycle", f"{_share(clock.duty)} high over the whole capture"),
        NamedValue("duty cycle of a period", _spread(clock.period_duty, _share)),
        NamedValue("high time", _spread(clock.high, format_seconds)),
        NamedValue("period jitter", jitter),
        NamedValue("cycle to cycle", f"{format_seconds(clock.cycle_jitter)} at most"),
        NamedValue("drift", _drift(clock)),
    ]
    if clock.pauses:
        paused = sum(length for _, length in clock.pauses)
        rows.append(NamedValue("pauses", f"{len(clock.pauses)}, {format_seconds(paused)} in all"))
    if clock.missing:
        rows.append(NamedValue("missing edges", str(clock.missing)))
    if clock.nominal is not None:
        text = f"{clock.nominal:.6g} Hz: it is {clock.off_ppm:+.1f} ppm off"
        rows.append(NamedValue("nominal", text))
    kind = "PWM" if clock.is_pwm else "Clock"
    title, headings = f"{kind} on {clock.line}", ("Metric", "Value")
    specs: list[TableSpec[Any]] = [named_values(title, rows, _remarks(clock), headings)]
    if clock.is_pwm or clock.pauses or clock.no_interval:
        specs.append(TableSpec("Over time", _SLICE_COLUMNS, clock.over_time))
    return specs


def _frequency(clock: ClockReport) -> str:
    running = " while it runs" if clock.pauses else ""
    if clock.interval is None or clock.error is None:
        return f"{clock.frequency:.6g} Hz{running}, no interval"
    half = (clock.interval.high - clock.interval.low) / 2
    digits = max(0, 1 - math.floor(math.log10(max(half, 1e-9))))
    return f"{clock.frequency:.{digits}f} Hz ± {format_number(half)} Hz{running} (95 %)"


def _drift(clock: ClockReport) -> str:
    bounds = clock.drift_interval
    if clock.drift_ppm is None or bounds is None:
        return "no interval"
    text = f"{clock.drift_ppm:+.3g} ppm from start to end, {bounds.low:+.3g} to {bounds.high:+.3g}"
    return text + (": not shown" if bounds.low <= 0 <= bounds.high else "")


def _share(share: float) -> str:
    return f"{100 * share:.2f} %"


def _spread(spread: PeriodSpread, write: Callable[[float], str]) -> str:
    return f"{write(spread.median)} (median), {write(spread.low)} to {write(spread.high)}"


def _remarks(clock: ClockReport) -> list[str]:
    remarks = []
    if clock.no_interval is not None:
        remarks.append(f"no interval: {clock.no_interval}")
    if clock.interval_allows is not None:
        remarks.append(clock.interval_allows)
    if clock.missing:
        every = clock.periods + clock.missing
        remarks.append(
            f"{clock.missing} of {every} periods are missing: frequency, period and duty cycle of "
            "a period are those of the clock without the gaps"
        )
    if clock.runts:
        at, length = clock.runts[0]
        longest = max(length for _, length in clock.runts)
        remarks.append(
            f"{len(clock.runts)} runts (levels of at most {format_seconds(longest)}), the first at "
            f"{format_seconds(at)} of {format_seconds(length)}: period and duty cycle are without "
            "them"
        )
    if clock.edge == "falling":
        remarks.append("periods are those of the falling edges: the rising ones are less regular")
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


def _slice_spread(
    heading: str,
    read: Callable[[ClockSlice], PeriodSpread | None],
    write: Callable[[float], str],
    unit: ValueUnit,
    key: str,
) -> list[ColumnSpec[ClockSlice]]:
    """The median of a slice, and the range beside it."""

    def text(part: ClockSlice) -> str:
        spread = read(part)
        return "" if spread is None else f"{write(spread.low)} to {write(spread.high)}"

    def median(part: ClockSlice) -> float | None:
        spread = read(part)
        return None if spread is None else spread.median

    return [
        ColumnSpec(heading, unit, median, key=key),
        ColumnSpec("range", ValueUnit.TEXT, text, "muted", key=f"{key}_range"),
    ]


_SLICE_COLUMNS: tuple[ColumnSpec[ClockSlice], ...] = (
    ColumnSpec("From", ValueUnit.SECONDS, lambda part: part.at),
    ColumnSpec("Periods", ValueUnit.COUNT, lambda part: part.periods),
    ColumnSpec("Frequency", ValueUnit.HERTZ, lambda part: part.frequency),
    *_slice_spread("Duty cycle", lambda part: part.duty, _share, ValueUnit.COARSE_SHARE, "duty"),
    *_slice_spread(
        "High time", lambda part: part.high, format_seconds, ValueUnit.SECONDS, "high_s"
    ),
    ColumnSpec("Pauses", ValueUnit.SECONDS, lambda part: part.paused or None),
)


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
    if comparison.by_crystal is not None:
        remarks.append(
            f"a crystal of {comparison.by_crystal / 1e6:g} MHz would explain it with these "
            "registers: --crystal sets the one that is there"
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
    ColumnSpec(
        "95 % interval",
        ValueUnit.NUMBER_RANGE,
        lambda clock: clock.interval and (clock.interval.low, clock.interval.high),
        key="frequency_Hz",
    ),
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
    ColumnSpec(
        "95 % interval",
        ValueUnit.NUMBER_RANGE,
        lambda clock: (
            clock.drift_interval and (clock.drift_interval.low, clock.drift_interval.high)
        ),
        key="drift_ppm",
    ),
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
