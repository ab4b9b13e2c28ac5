"""``benchvise next``, and ``benchvise`` alone: five things to do next on this machine."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from benchvise.board.probes import packaged_architectures
from benchvise.cli.output import JsonOption, StoreOption, print_json, stdout, text_line
from benchvise.errors import BenchviseError
from benchvise.user_directories import user_directory


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command to paste, and what it gives."""

    command: str
    result: str


def next_steps(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show five things to do next on this machine.

    Example: benchvise next
    """
    steps = steps_for(_run_ids(store))
    if as_json:
        print_json("next", steps)
        return
    console = stdout()
    console.print("Benchvise measures embedded-Linux boards and finds out why one is slow.\n")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for step in steps:
        table.add_row(text_line(step.command), Text(step.result))
    console.print(table)
    console.print("\nAll commands: benchvise --help", style="dim")


def steps_for(run_ids: list[str]) -> list[NextStep]:
    """The steps for a machine whose store has these runs, the newest first."""
    if platform.machine() not in packaged_architectures():
        first = NextStep("benchvise doctor", "say what is missing here, and how to get it")
    elif run_ids:
        first = NextStep("benchvise show @", "show the newest run")
    else:
        first = NextStep("benchvise run", "measure this machine, in about a minute")
    compare = (
        NextStep(f"benchvise compare {run_ids[1]} {run_ids[0]}", "compare the last two runs")
        if len(run_ids) > 1
        else NextStep("benchvise run --label again", "measure again, to compare two runs")
    )
    thp = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    setting = (
        NextStep(
            "benchvise run --set memory.thp=never+always --suite memory",
            "measure with and without huge pages; the setting is restored",
        )
        if os.access(thp, os.W_OK)
        else NextStep("benchvise knobs --board local", "list settings that matter, with values")
    )
    return [
        first,
        compare,
        setting,
        NextStep("benchvise health local", "check this machine's health"),
        NextStep("benchvise serve --open", "look at everything in the browser"),
    ]


def _run_ids(store: str | None) -> list[str]:
    """The ids of the last two runs; none where the store cannot be read or is not there yet."""
    if store is None and not user_directory("data").is_dir():
        return []
    from benchvise.flows.results import list_runs
    from benchvise.store import RunFilter

    try:
        return [info.id for info in list_runs(store, 2, RunFilter())]
    except BenchviseError:
        return []  # `doctor` and every command that needs it say why
