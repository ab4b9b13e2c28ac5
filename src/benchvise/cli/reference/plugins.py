"""``benchvise plugins``: what users and packages add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import typer
from rich.table import Table

from benchvise.cli.output import JsonOption, print_json, stdout, text_line
from benchvise.errors import UsageError
from benchvise.extensions import entry_points_of, extension_files, package_of
from benchvise.kernel_log import rules
from benchvise.measure import hostside
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
    """Ids of rules or benchmarks."""
    problem: str


def plugins(as_json: JsonOption = False) -> None:
    """List what your own files and installed packages add, and what is wrong in it.

    Exit code 1 when one of them cannot be used.

    Example: benchvise plugins
    """
    found = [*_kernel_log(), *_benchmarks()]
    if as_json:
        print_json("plugins", found)
    elif not found:
        place = user_directory("config") / rules.KIND
        stdout().print(text_line(f"nothing is added: put kernel-log rules into {place}"))
    else:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for heading in ("kind", "name", "from", "adds"):
            table.add_column(heading, no_wrap=heading == "kind", overflow="fold")
        for plugin in found:
            adds = text_line(plugin.problem or ", ".join(plugin.adds), BAD * bool(plugin.problem))
            table.add_row(plugin.kind, text_line(plugin.name), text_line(plugin.origin), adds)
        stdout().print(table)
    if any(plugin.problem for plugin in found):
        raise typer.Exit(1)


def _kernel_log() -> Iterator[PluginDocument]:
    for file in extension_files(rules.KIND):
        ids: tuple[str, ...] = ()
        problem = ""
        try:
            ids = tuple(r.id for one in rules.added_log_classes(file) for r in one.rules)
        except UsageError as error:
            problem = error.message
        yield PluginDocument(rules.KIND, file.name, file.origin, ids, problem)


def _benchmarks() -> Iterator[PluginDocument]:
    for point in entry_points_of(hostside.KIND):
        ids: tuple[str, ...] = ()
        problem = ""
        try:
            ids = (hostside.added_benchmark(point).description.id,)
        except UsageError as error:
            problem = error.message
        yield PluginDocument(hostside.KIND, point.name, package_of(point), ids, problem)
