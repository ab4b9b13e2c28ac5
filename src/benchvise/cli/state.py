"""``benchvise snapshot`` and ``benchvise diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from benchvise.cli.output import JsonOption, StoreOption, print_json, stdout
from benchvise.flows import state as flow
from benchvise.output_files import check_output_file
from benchvise.report.rendering import rendered
from benchvise.report.state_tables import diff_rows, observed_rows, snapshot_rows, unseen_rows


def snapshot(
    board: Annotated[
        str, typer.Argument(metavar="BOARD", help="local, or ssh://user@host[:port].")
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Keep the snapshot in this file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Record what a board is set to and made of, without changing anything.

    Example: benchvise snapshot ssh://root@10.0.0.7 -o before.json
    """
    if output is not None:
        check_output_file(output, flow.CONTENT)
    taken = flow.snapshot(board)
    if output is not None:
        flow.write(taken, output)
    if as_json:
        print_json("snapshot", taken)
        return
    stdout().print(rendered(snapshot_rows(taken)))
    if output is not None:
        stdout().print(
            Text(f"\nKept in {output}. Next: benchvise diff {output} OTHER", style="dim")
        )
    else:
        stdout().print(Text("\nNot kept: -o FILE keeps it, --json prints it", style="dim"))


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A snapshot's file, a board, or a run.")],
    b: Annotated[str, typer.Argument(metavar="B", help="A snapshot's file, a board, or a run.")],
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also long lists in full, what one side could not read, and observations.",
        ),
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say in which settings two snapshots differ.

    Example: benchvise diff before.json ssh://root@10.0.0.7
    """
    result = flow.diff(a, b, store)
    if as_json:
        print_json("state-diff", result)
        return
    console = stdout()
    console.print(rendered(diff_rows(result, a, b, everything=everything)))
    if everything:
        for table in (unseen_rows(result), observed_rows(result)):
            console.print()
            console.print(rendered(table))
