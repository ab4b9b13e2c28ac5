"""``benchvise trace``."""

from __future__ import annotations

import typer

from benchvise.cli.trace_record import record

app = typer.Typer(help="Kernel traces: record them on a board.", no_args_is_help=True)
app.command("record")(record)
