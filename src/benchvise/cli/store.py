"""``benchvise store``: a store copied, thinned, and shared."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from benchvise.cli.output import JsonOption, StoreOption, print_json, stderr, stdout, text_line
from benchvise.errors import UsageError
from benchvise.quantities import seconds_or_none
from benchvise.text import counted

if TYPE_CHECKING:
    from benchvise.flows.retention import Thinning
    from benchvise.store.copying import CopiedTable

_LISTED = 20


def copy(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="A new file, or the URL of an empty database."),
    ],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the store into an empty one: SQLite to PostgreSQL, back, or as a backup.

    The copy is the store at one moment, whatever is measured meanwhile. It has everything but the
    traces of runs, which lie in the directory FILE.traces. To restore a backup, copy it into an
    empty store.

    Example: benchvise store copy backup.db
    """
    from benchvise.store import Store
    from benchvise.store.copying import CopiedStore

    def progress(table: CopiedTable) -> None:
        if table.rows and not as_json:
            stderr().print(text_line(f"{table.name}: {table.rows}", style="dim"))

    with Store.open(store) as source, Store.open(target) as opened:
        tables = source.copy_to(opened, progress)
        done = CopiedStore(source.name, opened.name, tables)
    if as_json:
        print_json("store-copy", done)
        return
    rows = sum(table.rows for table in tables)
    runs = next(table.rows for table in tables if table.name == "run")
    line = f"{counted(runs, 'run')} ({rows} rows) copied from {done.source} to {done.target}"
    stdout().print(text_line(line), soft_wrap=True)


def roles(
    schema: Annotated[
        str, typer.Option("--schema", metavar="NAME", help="The schema with the tables.")
    ] = "public",
    as_json: JsonOption = False,
) -> None:
    """Print SQL that makes the roles of a store in PostgreSQL: reader, runner, keeper.

    A reader sees all and changes nothing, a runner measures, a keeper upgrades and thins. Run it
    once the store has been opened, and again after an upgrade.

    Example: benchvise store roles | psql bench
    """
    from benchvise.store.roles import RolesScript, roles_sql

    script = RolesScript(roles_sql(schema))
    if as_json:
        print_json("store-roles", script)
    else:
        sys.stdout.write(script.sql)


def thin(
    evidence_after: Annotated[
        str | None,
        typer.Option(
            "--evidence-after",
            metavar="AGE",
            help="Remove the evidence of samples in runs older than this, such as 90d.",
        ),
    ] = None,
    samples_after: Annotated[
        str | None,
        typer.Option(
            "--samples-after",
            metavar="AGE",
            help="Remove the samples of runs older than this; medians and intervals stay.",
        ),
    ] = None,
    keep: Annotated[
        int,
        typer.Option("--keep", min=0, help="Runs of each board and suite that stay whole."),
    ] = 20,
    apply: Annotated[
        bool, typer.Option("--apply", help="Do it. Without this, only show what would be done.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove evidence and samples of old runs; show first what that would be.

    Runs with a tag, baselines of gates and nightly jobs, runs that a diagnosis names, and the
    newest of each board and suite stay whole. A thinned run keeps its series, state, notes and
    files, and says what was removed when. Removed samples cannot be had back.

    Example: benchvise store thin --evidence-after 90d --samples-after 365d
    """
    from benchvise.flows import retention as flow
    from benchvise.store import Store
    from benchvise.store.retention import RetentionPolicy

    policy = RetentionPolicy(_age(evidence_after), _age(samples_after), keep)
    with Store.open(store) as opened:
        thinning = flow.thin(opened, policy, apply=apply)
    if as_json:
        print_json("store-thin", thinning)
    else:
        _show(thinning)


def _age(text: str | None) -> timedelta | None:
    if text is None:
        return None
    seconds = seconds_or_none(text)
    if seconds is None or not 0 <= seconds < 1e10:
        raise UsageError(f"'{text}' is no age", "write 90d, or 24h")
    return timedelta(seconds=seconds)


def _show(thinning: Thinning) -> None:
    from rich import box
    from rich.table import Table

    console = stdout()
    count = len(thinning.runs)
    if count:
        title = f"{counted(count, 'run')} {'thinned' if thinning.applied else 'would be thinned'}"
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for column in ("Started", "Board", "Suite", "Label", "Run", "Removed"):
            table.add_column(column)
        for run in thinning.runs[:_LISTED]:
            cells = (run.started[:10], run.board, run.suite, run.label, run.id, run.step)
            table.add_row(*map(text_line, cells))
        console.print(text_line(title, style="bold"))
        console.print(table)
        if count > _LISTED:
            console.print(text_line(f"and {counted(count - _LISTED, 'more run', 'more runs')}"))
        console.print("")
    else:
        console.print(text_line("No run is due for thinning."))
    for reason, runs in thinning.kept.items():
        console.print(text_line(f"kept whole: {counted(runs, 'run')}, {reason}"), soft_wrap=True)
    if thinning.applied:
        console.print(text_line(f"{counted(thinning.samples, 'sample')} thinned."))
    elif count:
        console.print(text_line("Nothing was changed: add --apply."))
