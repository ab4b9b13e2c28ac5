"""``benchvise serve``."""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli.output import JsonOption, RigOption, StoreOption, print_json, stdout


@dataclass(frozen=True, slots=True)
class ServedAddress:
    """Where the workbench is, printed once it answers."""

    address: str


def serve(
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="The port; 0 is any that is free."),
    ] = 8765,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Where to listen. Others than this machine's own programs need a token.",
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="BENCHVISE_TOKEN",
            metavar="TEXT",
            help="Access token that clients must present.",
            show_default="none on this machine, else one that is made up",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the browser.")] = False,
    traces: Annotated[
        list[Path] | None,
        typer.Option(
            "--traces", metavar="DIR", help="Show the traces in this directory; repeatable."
        ),
    ] = None,
    captures: Annotated[
        list[Path] | None,
        typer.Option(
            "--captures", metavar="DIR", help="Show the captures in this directory; repeatable."
        ),
    ] = None,
    control: Annotated[
        bool,
        typer.Option(
            "--allow-control",
            help="Let pages switch boards' power, turn their cards, and type on their consoles.",
        ),
    ] = False,
    rig: RigOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """The workbench in the browser: boards, runs, diagnoses, traces; until Ctrl-C.

    Only programs of this machine can reach it, unless --host says otherwise.

    Example: benchvise serve --open --traces ~/traces
    """
    # Only here: no other command needs a web server to be loaded.
    from benchvise.web.context import Settings
    from benchvise.web.serving import serve as until_ended

    settings = Settings(
        host=host,
        port=port,
        token=token,
        store=store,
        rig=rig,
        traces=tuple(traces or ()),
        captures=tuple(captures or ()),
        control=control,
    )

    def listening(address: str) -> None:
        if as_json:
            print_json("serve", ServedAddress(address))
            sys.stdout.flush()  # it is waited for, and nothing follows
        else:
            stdout().print(f"The workbench is at {address}", soft_wrap=True, markup=False)
            stdout().print("Ctrl-C ends it.")
        if show:
            webbrowser.open(address)

    until_ended(settings, listening)
