"""``benchvise signal``: what a logic analyser or an oscilloscope recorded."""

from __future__ import annotations

from typing import Any

import typer

from benchvise.cli.records import command_line
from benchvise.command import CommandRecord
from benchvise.flows.signal_capture import ANALYSERS, CAPTURE
from benchvise.flows.signal_response import RESPONSE
from benchvise.signal.commands.clock import CLOCK
from benchvise.signal.commands.decode import DECODE
from benchvise.signal.commands.fsk import FSK
from benchvise.signal.commands.info import INFO
from benchvise.signal.commands.infrared import INFRARED
from benchvise.signal.commands.psk import PSK
from benchvise.signal.commands.serial import SERIAL
from benchvise.signal.commands.synth import SYNTH
from benchvise.signal.commands.uart import UART

RECORDS: tuple[CommandRecord[Any, Any], ...] = (
    INFO, RESPONSE, CLOCK, UART, INFRARED, DECODE, PSK, SYNTH, FSK, SERIAL, CAPTURE, ANALYSERS,
)  # fmt: skip

app = typer.Typer(
    help="Analyse captures: electrical signals, and what they show of a board.",
    no_args_is_help=True,
)
for record in RECORDS:
    app.command(record.name)(command_line(record))
