"""``benchvise signal fsk``: the frequencies of a keyed line and their symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from benchvise.command import CommandOption, CommandRecord
from benchvise.errors import UsageError
from benchvise.signal.commands.options import LineOptions
from benchvise.table import ColumnSpec, TableSpec, ValueUnit

if TYPE_CHECKING:
    from benchvise.signal.fsk import Keying, KeyingTone

_SEPARATE = 4
"""Spreads that tones must lie apart."""


@dataclass(frozen=True, kw_only=True)
class FskOptions(LineOptions):
    """How the line is keyed, and what was sent."""

    baud: Annotated[float, CommandOption("--baud", "Symbols a second.", metavar="N", minimum=0.001)]
    levels: Annotated[
        int | None,
        CommandOption("--levels", "Frequencies.", metavar="2|4", default_text="found"),
    ] = None
    sent: Annotated[
        str,
        CommandOption("--sent", "Symbols that were sent, over and over.", metavar="DIGITS"),
    ] = ""


def run(options: FskOptions) -> Keying:
    """The frequencies of a keyed line. UsageError, CaptureError."""
    from benchvise.signal.fsk import keying

    if options.levels not in (None, 2, 4):
        raise UsageError(f"--levels {options.levels}", "2 or 4")
    try:
        symbols = tuple(int(digit, 16) for digit in options.sent)
    except ValueError:
        raise UsageError(f"'{options.sent}' are no symbols", "write digits: 0132") from None
    capture = options.open()
    return keying(
        capture,
        options.line or capture.busiest.name,
        options.baud,
        levels=options.levels,
        sent=symbols,
    )


COLUMNS: tuple[ColumnSpec[KeyingTone], ...] = (
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


def table(keying: Keying) -> TableSpec[KeyingTone]:
    """Frequencies, lowest first, with the symbols that they stand for."""
    remarks = list(keying.notes)
    if keying.separation < _SEPARATE:
        remarks.append(
            f"tones are only {keying.separation:.1f} spreads apart: they cannot be told for sure"
        )
    title = f"{keying.line}: keyed at {keying.baud:g} baud"
    return TableSpec(title, COLUMNS, keying.tones, tuple(remarks))


FSK = CommandRecord(
    name="fsk",
    kind="signal-fsk",
    summary="Find the frequencies of a keyed line and the symbol of each.",
    example="benchvise signal fsk radio.sr --line IF --baud 2400 --sent 0132",
    options=FskOptions,
    run=run,
    document=lambda keying: keying,
    tables=lambda keying, _options: [table(keying)],
    columns=COLUMNS,
    rows=lambda keying: keying.tones,
)
