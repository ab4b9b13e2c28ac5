"""``benchvise plugins``: what users and packages add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer
from rich.table import Table

from benchvise.cli.output import JsonOption, print_json, stdout, text_line
from benchvise.extensions import KINDS, Extension
from benchvise.terminal_colors import BAD
from benchvise.user_directories import user_directory


@dataclass(frozen=True, slots=True)
class PluginDocument:
    """What ``--json`` prints of an extension; ``problem`` says why it is not used, else empty."""

    kind: str
    name: str
    origin: str
    """A file of the user's, or a package and its version."""
    adds: tuple[str, ...]
    """Names of rules, settings, patterns, benchmarks or analyses."""
    problem: str


def plugins(as_json: JsonOption = False) -> None:
    """List what your own files and installed packages add, and what is wrong in it.

    Exit code 1 when one of them cannot be used.

    Example: benchvise plugins
    """
    plugins = [
        PluginDocument(e.kind.name, e.name, e.origin, e.names, e.problem) for e in all_extensions()
    ]
    if as_json:
        print_json("plugins", plugins)
    elif not plugins:
        kinds = ", ".join(kind.name for kind in KINDS)
        place = user_directory("config")
        stdout().print(text_line(f"nothing is added: put files into {place}/KIND ({kinds})"))
    else:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for heading in ("kind", "name", "from", "adds"):
            table.add_column(heading, no_wrap=heading == "kind", overflow="fold")
        for plugin in plugins:
            adds = text_line(plugin.problem or ", ".join(plugin.adds), BAD * bool(plugin.problem))
            table.add_row(plugin.kind, text_line(plugin.name), text_line(plugin.origin), adds)
        stdout().print(table)
    if any(plugin.problem for plugin in plugins):
        raise typer.Exit(1)


def all_extensions() -> Iterator[Extension[Any]]:
    """Those of all kinds, in the order of ``extensions.KINDS``."""
    # Late: together they import most of the program.
    from benchvise.health.watch.alerts import added_rules
    from benchvise.kernel_log.rules import added_log_classes
    from benchvise.measure.hostside import added_benchmarks
    from benchvise.rig.boot.patterns import added_patterns
    from benchvise.state.catalogue import added_items
    from benchvise.trace.catalogue import added_analyses

    yield from added_log_classes()
    yield from added_items()
    yield from added_patterns()
    yield from added_rules()
    yield from added_benchmarks()
    yield from added_analyses()
