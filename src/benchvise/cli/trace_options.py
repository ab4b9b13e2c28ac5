"""What the analyses of traces take alike."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from benchvise.cli.output import stdout
from benchvise.report.tables import Table
from benchvise.report.terminal import rendered

TraceArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A trace.dat, a perf.data, or a directory with a CTF trace."
    ),
]
CacheOption = Annotated[
    bool,
    typer.Option(
        "--cache/--no-cache",
        help="Keep what was decoded beside the trace, for the next time.",
    ),
]
NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME]...",
        help="Actors: task:NAME, task:NAME/TID, irq:NAME, irq:N, softirq:NET_RX, or patterns "
        "like 'task:kworker*'. All when none is named.",
        show_default=False,
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="S",
        help="Begin here: seconds of the trace's clock, or +S from its first event.",
        show_default=False,
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option("--until", metavar="S", help="End before this moment.", show_default=False),
]
TopOption = Annotated[
    int, typer.Option("--top", metavar="N", min=1, help="Lines of a table; --json has all.")
]
ByNameOption = Annotated[
    bool, typer.Option("--by-name", help="Put all threads of one name together.")
]
UnsureOption = Annotated[
    bool,
    typer.Option(
        "--unsure",
        help="Keep instances that an end of the trace cuts, or that lost events meet.",
    ),
]
BinsOption = Annotated[
    int, typer.Option("--bins", metavar="N", min=1, max=10_000, help="Parts of the time span.")
]


def show(tables: Iterable[Table | RenderableType]) -> None:
    """Prints tables, an empty line between them."""
    console = stdout()
    for number, table in enumerate(tables):
        if number:
            console.print()
        console.print(rendered(table) if isinstance(table, Table) else table)
