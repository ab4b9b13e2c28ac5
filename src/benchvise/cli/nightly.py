"""``benchvise nightly``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchvise.cli.output import (
    JsonOption,
    StoreOption,
    WaitOption,
    be_patient,
    print_json,
    stderr,
    stdout,
    text_line,
)
from benchvise.cli.progress import FleetProgress


def nightly(
    job: Annotated[
        Path, typer.Argument(metavar="FILE.toml", help="The job: boards, suites, baseline, image.")
    ],
    again: Annotated[
        bool, typer.Option("--again", help="Measure a night that is over once more.")
    ] = False,
    wait: WaitOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the boards of a job file every night, and say what regressed.

    For cron, a systemd timer or CI. Started again, after kill -9 too, it continues with what is not
    measured yet; started while it runs, it does nothing and exits with 5.

    Exit codes: 0 no regression; 1 a series is slower by more than the threshold; 3 a board was not
    measured; 4 interrupted; 5 undecided, or being measured by another process.

    Example: benchvise nightly nightly.toml
    """
    from benchvise.flows import nightly as flow
    from benchvise.report.nightly import gate_tables, night_data, night_table
    from benchvise.report.rendering import rendered
    from benchvise.store import Store

    checked = flow.read_job(job)
    be_patient(wait)
    with Store.open(store) as results, FleetProgress(stderr()) as fleet:
        observers = flow.NightObservers(
            lambda line: stderr().print(text_line(line)),
            fleet.observe,
            fleet.observe_rig,
            fleet.observe_end,
        )
        night = flow.nightly(checked, results, observers, again=again)
    data = night_data(night)
    if as_json:
        print_json("nightly", data)
    else:
        for table in (night_table(night), *gate_tables(night)):
            stdout().print(rendered(table))
            stdout().print()
        stdout().print(text_line(f"Page: {data.page}", style="dim"), soft_wrap=True)
    if code := flow.exit_code(night):
        raise typer.Exit(code)
