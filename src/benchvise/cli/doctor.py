"""``benchvise doctor``."""

from __future__ import annotations

import typer
from rich.table import Table

from benchvise.cli.output import JsonOption, StoreOption, print_json, stdout, text_line
from benchvise.flows.doctor import CheckState, examine
from benchvise.terminal_colors import BAD, DOUBT, GOOD

_STYLES = {CheckState.OK: GOOD, CheckState.LIMITED: DOUBT, CheckState.MISSING: BAD}


def doctor(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List what this machine has, what is missing, and how to get it.

    Example: benchvise doctor
    """
    findings = examine(store)
    if as_json:
        print_json("doctor", findings)
    else:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for finding in findings:
            detail = text_line(finding.detail)
            if finding.remedy:
                detail.append(f"\n→ {finding.remedy}", style="dim")
            state = text_line(finding.state, style=_STYLES[finding.state])
            table.add_row(state, finding.name, detail)
        stdout().print(table)
    if any(finding.state is CheckState.MISSING for finding in findings):
        raise typer.Exit(1)
