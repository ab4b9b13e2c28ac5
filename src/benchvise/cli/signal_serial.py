"""``benchvise signal serial``: a serial line under every setting, and what is wrong with it."""

from __future__ import annotations

from typing import Annotated

import typer

from benchvise.cli.output import JsonOption, print_json, stderr, stdout
from benchvise.errors import UsageError
from benchvise.flows import signal_serial as flow_of
from benchvise.report import signal_serial_tables as tables
from benchvise.report.terminal import rendered
from benchvise.signal.serial.classify import classify
from benchvise.signal.serial.exchange import Exchange
from benchvise.signal.serial.port import Flow


def serial(
    port: Annotated[str, typer.Argument(metavar="PORT", help="A serial port: /dev/ttyUSB0.")],
    far: Annotated[
        str | None,
        typer.Option(
            "--far",
            metavar="PORT",
            help="The port at the other end.",
            show_default="a loop-back plug on PORT",
        ),
    ] = None,
    board: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="BOARD",
            help="The port at the other end is this board's: its probe sends back what comes.",
            show_default=False,
        ),
    ] = None,
    flows: Annotated[
        list[Flow] | None,
        typer.Option("--flow", help="Flow control; repeatable.", show_default="all three"),
    ] = None,
    bauds: Annotated[
        list[int] | None,
        typer.Option("--baud", metavar="N", min=1, help="Rate; repeatable.", show_default="115200"),
    ] = None,
    chunks: Annotated[
        list[int] | None,
        typer.Option(
            "--chunk",
            metavar="BYTES",
            min=1,
            help="Bytes written at a time; repeatable.",
            show_default="16 and 1024",
        ),
    ] = None,
    size: Annotated[
        int, typer.Option("--size", metavar="BYTES", help="About how many each pattern has.")
    ] = 16384,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the random patterns.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Put a serial line to the test: lost, doubled, altered, stuck bytes, and their cause.

    Exit code 1 when something went wrong on the line.

    Example: benchvise signal serial /dev/ttyUSB0 --far /dev/ttyUSB1 --flow none --baud 115200
    """
    console = stderr()

    def observe(flow: Flow, baud: int, chunk: int, exchange: Exchange) -> None:
        if console.is_terminal:
            console.print(f"{flow}, {baud} baud, chunks of {chunk}: {exchange.pattern.name}")

    if any(baud > 4_000_000_000 for baud in bauds or []):
        raise UsageError("a rate above 4 Gbaud", "name one that the port has")
    if board is not None and far is None:
        raise UsageError("which port of the board?", f"--on {board} --far /dev/ttyS1")
    if far is not None and far == port and board is None:
        raise UsageError(f"{port} is both ends", "leave --far away for a loop-back plug")
    tested = flow_of.serial(
        port,
        far,
        board,
        flows=flows or list(Flow),
        bauds=bauds or [115200],
        chunks=chunks or [16, 1024],
        size=size,
        seed=seed,
        observe=observe,
    )
    causes = classify(tested)
    if as_json:
        print_json("signal-serial", tables.document(tested, causes))
    else:
        for table in (tables.exchange_rows(tested), tables.cause_rows(causes)):
            stdout().print(rendered(table))
            stdout().print()
    if causes:
        raise typer.Exit(1)
