"""``benchvise find``: everything that a name may mean, with the command that shows it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from benchvise.cli.commands import PROGRAM, Command, Group
from benchvise.cli.output import JsonOption, print_json, stdout, text_line
from benchvise.errors import BenchviseError
from benchvise.measure.runner import local_registry
from benchvise.measure.suite import load_suite, suite_names
from benchvise.names import NamedEntry, search
from benchvise.state.catalogue import load_catalogue
from benchvise.state.knob_names import knob_entries
from benchvise.terminal_colors import COMMAND
from benchvise.trace.recording import SETS


@dataclass(frozen=True, slots=True)
class NameMatch:
    """What ``--json`` prints of a match; ``command`` shows or uses it."""

    kind: str
    name: str
    summary: str
    command: str


def find(
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...",
            help="A name you know: thp, swappiness, a file of the kernel, lat_mem_rd, irq.",
        ),
    ],
    limit: Annotated[int, typer.Option("--limit", min=1, help="Matches, the best first.")] = 12,
    as_json: JsonOption = False,
) -> None:
    """Find a setting, benchmark, suite, trace analysis or event by a name you know.

    Tools that Benchvise does not have are found, too: what does the same, or takes their number.

    Example: benchvise find transparent_hugepage
    """
    query = " ".join(text)
    matches = search(query, named_entries(), limit)
    # Names of one tool are often alike.
    matches = list({(match.kind, match.command): match for match in reversed(matches)}.values())
    matches.reverse()
    if as_json:
        print_json("names", [NameMatch(m.kind, m.name, m.summary, m.command) for m in matches])
        return
    if not matches:
        stdout().print(text_line(f"Nothing is called '{query}'."))
        stdout().print("All names: benchvise knobs, benchvise bench, benchvise suites", style="dim")
        raise typer.Exit(1)
    _print(matches)


def _print(matches: Sequence[NamedEntry]) -> None:
    """Kind, name and summary in columns; the command whole below them, to be copied."""
    kind = max(len(match.kind) for match in matches)
    name = max(len(match.name) for match in matches)
    console = stdout()
    for match in matches:
        row = Table.grid(padding=(0, 2, 0, 0))
        row.add_column(width=kind, style="dim")
        row.add_column(width=name, style="bold", no_wrap=True)
        row.add_column()
        row.add_row(match.kind, Text(match.name), Text(match.summary))
        console.print(row)
        console.print(Text(f"    {match.command}", COMMAND), soft_wrap=True)


def named_entries() -> Iterator[NamedEntry]:
    """All that has a name. Without a probe for this machine, all but the benchmarks."""
    yield from knob_entries()
    yield from _benchmarks()
    for name in suite_names():
        suite = load_suite(name)
        text = " ".join(entry.benchmark for entry in suite.entries)
        yield NamedEntry("suite", name, suite.summary, f"benchvise suites show {name}", text=text)
    for name in SETS:
        command = f"benchvise trace record BOARD --events {name}"
        yield NamedEntry("events", name, f"the kernel's {name} events, recorded together", command)
    yield from _read_only_state()
    yield from _commands(PROGRAM, "benchvise")
    yield from _other_tools()


def _read_only_state() -> Iterator[NamedEntry]:
    """Items of a board's state that have no setting of their own."""
    for item in load_catalogue():
        if not item.knobs:
            aliases = (item.id.rpartition(".")[2],)
            command = "benchvise snapshot BOARD"
            yield NamedEntry("state", item.id, item.title, command, aliases, item.summary)


def _other_tools() -> Iterator[NamedEntry]:
    file = Path(__file__).with_name("other_tools.toml")
    for tool in tomllib.loads(file.read_text(encoding="utf-8"))["tool"]:
        for name in tool["names"]:
            yield NamedEntry("tool", name, tool["summary"], tool["command"])


def _benchmarks() -> Iterator[NamedEntry]:
    try:
        registry = local_registry()
    except BenchviseError:
        return
    yield from registry.named_entries()


def _commands(group: Group, path: str) -> Iterator[NamedEntry]:
    for entry in group.entries:
        name = f"{path} {entry.name}"
        if isinstance(entry, Group):
            yield from _commands(entry, name)
        elif isinstance(entry, Command):
            is_analysis = entry.source == "records.analysis_command"
            kind = "analysis" if is_analysis else "command"
            short = name.removeprefix("benchvise ")
            yield NamedEntry(kind, short, entry.summary, f"{name} --help", (entry.name,))
