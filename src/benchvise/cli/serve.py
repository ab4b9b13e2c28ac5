"""``benchvise serve``."""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli.output import JsonOption, RigOption, StoreOption, print_json, stderr, stdout


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
            help="Where to listen. Without it, only this user's programs can connect.",
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="BENCHVISE_TOKEN",
            metavar="TEXT",
            help="Access token that clients must present.",
            show_default="the user's own on this machine, else one that is made up",
        ),
    ] = None,
    no_token: Annotated[
        bool,
        typer.Option("--no-token", help="Ask for no token: all users of this machine can connect."),
    ] = False,
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
    """Serve the workbench in the browser: boards, runs, diagnoses, traces; until Ctrl-C.

    Only this user's programs on this machine can use it, unless --host says otherwise.

    Example: benchvise serve --open --traces ~/traces
    """
    # Only here: no other command needs a web server to be loaded.
    from benchvise.web.context import Settings
    from benchvise.web.serving import Listening
    from benchvise.web.serving import serve as until_ended

    settings = Settings(
        host=host,
        port=port,
        token=token,
        no_token=no_token,
        store=store,
        rig=rig,
        traces=tuple(traces or ()),
        captures=tuple(captures or ()),
        control=control,
    )

    def listening(at: Listening) -> None:
        if no_token:
            may = "use its boards and read everything" if control else "read everything"
            stderr().print(f"No access token: all users of this machine can {may}.")
        if as_json:
            print_json("serve", ServedAddress(at.address))
            sys.stdout.flush()  # it is waited for, and nothing follows
        else:
            stdout().print(f"The workbench is at {at.address}", soft_wrap=True, markup=False)
            stdout().print("Ctrl-C ends it.")
        if show:
            webbrowser.open(at.login)

    until_ended(settings, listening)
