"""``benchvise suites``: lists of benchmarks that are measured together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from benchvise.cli.output import JsonOption, print_json, stdout
from benchvise.measure.suite import Suite, load_suite, suite_names
from benchvise.text import counted


@dataclass(frozen=True, slots=True)
class SuiteEntryDocument:
    """A benchmark of a suite, with the parameters that the suite sets; each has its values."""

    benchmark: str
    params: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SuiteDocument:
    """What ``--json`` prints of a suite."""

    name: str
    summary: str
    entries: tuple[SuiteEntryDocument, ...]


def list_suites(as_json: JsonOption = False) -> None:
    """List the suites.

    Example: benchvise suites list
    """
    suites = [load_suite(name) for name in suite_names()]
    if as_json:
        print_json("suites", [_document(suite) for suite in suites])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("suite", "benchmarks", "what it is for"):
        table.add_column(heading, no_wrap=heading == "suite")
    for suite in suites:
        count = len({entry.benchmark for entry in suite.entries})
        table.add_row(Text(suite.name), str(count), Text(suite.summary))
    stdout().print(table)
    stdout().print("\nMore on one: benchvise suites show NAME", style="dim")


def show_suite(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A suite, or the path of a .toml file.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Show the benchmarks of a suite.

    Example: benchvise suites show quick
    """
    suite = load_suite(name)
    if as_json:
        print_json("suite", _document(suite))
        return
    console = stdout()
    console.print(Text(suite.name, style="bold"), Text(f"— {suite.summary}"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("benchmark", "parameters"):
        table.add_column(heading, no_wrap=heading == "benchmark")
    for entry in suite.entries:
        params = ", ".join(f"{key}={'+'.join(v)}" for key, v in entry.params.items())
        table.add_row(Text(entry.benchmark), Text(params or "its defaults"))
    console.print(table)
    entries = counted(len(suite.entries), "entry", "entries")
    console.print(f"\n{entries}. Measure them: benchvise run --suite {name}", style="dim")


def _document(suite: Suite) -> SuiteDocument:
    return SuiteDocument(
        suite.name,
        suite.summary,
        tuple(SuiteEntryDocument(entry.benchmark, entry.params) for entry in suite.entries),
    )
