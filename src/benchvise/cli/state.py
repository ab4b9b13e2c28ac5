"""``benchvise snapshot | diff | restore``: what boards are set to, compared, and put back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from benchvise.board import full_name
from benchvise.cli.output import JsonOption, StoreOption, print_json, stderr, stdout, text_line
from benchvise.flows import state as flow
from benchvise.output_files import check_output_file
from benchvise.report.rendering import rendered
from benchvise.report.state_tables import diff_rows, observed_rows, snapshot_rows, unseen_rows
from benchvise.state.restore import (
    SETTLED,
    Restored,
    RestoreOutcome,
    RestoreVerdict,
    SessionResult,
    advice,
    exit_code,
    others_due,
    restore_sessions,
    result_data,
)
from benchvise.terminal_colors import BAD
from benchvise.text import printable


def snapshot(
    board: Annotated[
        str,
        typer.Argument(
            metavar="BOARD", help="local, or USER@HOST, an IP address, ssh://HOST:PORT."
        ),
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
    """List the settings in which two snapshots differ.

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


# -- restore ---------------------------------------------------------------------------------------


def restore(
    board: Annotated[
        str | None,
        typer.Argument(metavar="[BOARD]", help="As it was named when it was set; all without."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Put back also what someone else has changed since.")
    ] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Leave what someone else has changed since, for good."),
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over",
            help="Restore also what another user or host has left set, if its run is gone.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Restore settings that a run left behind when it was killed or lost its board.

    A run puts back by itself what it sets, also after an error or Ctrl-C; this is for the rest.
    What other users and hosts have set, the board itself tells; --take-over restores that.

    Example: benchvise restore local
    """
    board = full_name(board) if board else None
    results = restore_sessions(board, force=force, keep=keep, others=take_over)
    if as_json:
        print_json("restore", [result_data(result) for result in results])
    else:
        for result in results:
            _print(result)
        if not results:
            stdout().print("No setting waits to be restored" + (f" on {board}." if board else "."))
            others = others_due(board) if board else []
            if others:
                stderr().print(text_line(f"but on {', '.join(others)}: benchvise restore"))
    raise typer.Exit(exit_code(results))


def _print(result: SessionResult) -> None:
    session = result.session
    heading = f"{session.board or session.file}, set {session.started[:16].replace('T', ' ')} UTC"
    heading = f"{heading}: {result.outcome}" + (f": {result.reason}" if result.reason else "")
    good = result.outcome in (RestoreOutcome.DONE, RestoreOutcome.ALIVE)
    stdout().print(text_line(heading, style="bold" if good else BAD))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 2))
    for restored in result.changes:
        if restored.change.new is not None or restored.verdict is not RestoreVerdict.ALREADY:
            table.add_row(*map(Text, _row(restored)))
    if table.row_count:
        stdout().print(table)
    if remedy := advice(result):
        stdout().print(text_line(f"→ {remedy}", style="dim"))


def _row(restored: Restored) -> tuple[str, str, str]:
    change = restored.change
    value = "nothing" if restored.found is None else printable(restored.found, 60)
    if restored.verdict is RestoreVerdict.RESTORED:
        value += f" → {change.old}"
    if restored.verdict not in SETTLED:
        value += f", was {change.old}"
    reason = f": {restored.reason}" if restored.reason else ""
    return change.knob, value, f"{restored.verdict}{reason}"
