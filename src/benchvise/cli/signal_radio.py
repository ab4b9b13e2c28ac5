"""``benchvise signal psk``, ``synth`` and ``fsk``: what small radios can be made to send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli.output import JsonOption, print_json, stdout
from benchvise.cli.signal_options import (
    CaptureArgument,
    HysteresisOption,
    LineOption,
    RateOption,
    ThresholdOption,
    read_options,
)
from benchvise.errors import UsageError
from benchvise.flows import signal as flow
from benchvise.report import signal_json, signal_radio_tables
from benchvise.report.terminal import rendered

OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write the symbols here, as bytes."),
]


def psk(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to send.")],
    hexadecimal: Annotated[bool, typer.Option("--hex", help="TEXT is in hexadecimal.")] = False,
    rate: Annotated[
        float, typer.Option("--rate", metavar="BAUD", min=1, help="MSK symbols a second.")
    ] = 250e3,
    per_symbol: Annotated[
        int, typer.Option("--per-bit", metavar="N", min=2, help="MSK symbols a bit.")
    ] = 10,
    differential: Annotated[
        bool,
        typer.Option(
            "--differential/--coherent", help="A 1 turns the phase; or the phase is the bit."
        ),
    ] = True,
    noise: Annotated[
        str, typer.Option("--noise", metavar="DB,…", help="Eb/N0 at which to count bit errors.")
    ] = "0,2,4,6,8",
    bits: Annotated[
        int, typer.Option("--bits", metavar="N", min=100, help="Random bits at each of them.")
    ] = 20_000,
    output: OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make BPSK with a transmitter for MSK: its symbols, and phase, spectrum, errors simulated.

    Example: benchvise signal psk "CQ CQ" --rate 250e3 -o symbols.bin
    """
    try:
        data = bytes.fromhex(text) if hexadecimal else text.encode()
        levels = [float(word) for word in noise.split(",") if word.strip()]
    except ValueError as error:
        raise UsageError(str(error), "write data as 48656c6c6f and noise as 0,2,4") from None
    found = flow.keyed(
        data,
        rate=rate,
        per_symbol=per_symbol,
        differential=differential,
        levels_db=levels,
        bits=bits,
        output=output,
    )
    said = (found.packed, found.phases, found.spectrum, found.errors)
    received = found.received == found.data
    if as_json:
        print_json("signal-psk", signal_json.keyed(*said, received=received))
        return
    for table in signal_radio_tables.keyed_rows(*said, received=received):
        stdout().print(rendered(table))
        stdout().print()


def synth(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="tone:HZ, sweep:HZ,HZ,PERIOD, or a WAV file."),
    ],
    rate: Annotated[
        float, typer.Option("--rate", metavar="N", min=1, help="Symbols a second.")
    ] = 100e3,
    band: Annotated[
        float, typer.Option("--band", metavar="HZ", min=1, help="What a receiver lets through.")
    ] = 4000,
    order: Annotated[
        int, typer.Option("--order", min=1, max=2, help="Of the delta-sigma modulator.")
    ] = 2,
    seconds: Annotated[
        float, typer.Option("--for", metavar="S", help="How long a tone or sweep lasts.")
    ] = 1.0,
    amplitude: Annotated[
        float,
        typer.Option("--amplitude", min=0.001, max=1.0, help="Relative to the deviation."),
    ] = 0.5,
    output: OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make sound with a radio's four frequencies: two-bit symbols, and their spectrum.

    Example: benchvise signal synth tone:1000 --rate 100e3 -o symbols.bin
    """
    found, symbols = flow.synthesised(
        source,
        rate=rate,
        band=band,
        order=order,
        seconds=seconds,
        amplitude=amplitude,
        output=output,
    )
    if as_json:
        print_json("signal-synth", signal_json.synthesised(found, symbols))
        return
    for table in signal_radio_tables.synthesised_rows(found, symbols):
        stdout().print(rendered(table))
        stdout().print()


def fsk(
    capture: CaptureArgument,
    baud: Annotated[
        float, typer.Option("--baud", metavar="N", min=0.001, help="Symbols a second.")
    ],
    line: LineOption = None,
    levels: Annotated[
        int | None,
        typer.Option("--levels", metavar="2|4", help="Frequencies.", show_default="found"),
    ] = None,
    sent: Annotated[
        str,
        typer.Option("--sent", metavar="DIGITS", help="Symbols that were sent, over and over."),
    ] = "",
    threshold: ThresholdOption = None,
    hysteresis: HysteresisOption = None,
    rate: RateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the frequencies of a keyed line, and which symbol each of them is.

    Example: benchvise signal fsk radio.sr --line IF --baud 2400 --sent 0132
    """
    if levels not in (None, 2, 4):
        raise UsageError(f"--levels {levels}", "2 or 4")
    options = read_options(None, threshold, hysteresis, rate)
    found = flow.shifted(capture, options, line, baud=baud, levels=levels, sent=sent)
    if as_json:
        print_json("signal-fsk", signal_json.shifted(found))
        return
    stdout().print(rendered(signal_radio_tables.shifted_rows(found)))
