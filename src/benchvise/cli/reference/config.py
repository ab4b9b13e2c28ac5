"""``benchvise config``: each default that a configuration file can set, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from benchvise.cli.output import JsonOption, print_json, stdout, text_line
from benchvise.configuration import FILE_NAME, configuration_files, configured_values
from benchvise.terminal_colors import DOUBT
from benchvise.user_directories import user_directory


@dataclass(frozen=True, slots=True)
class ConfigurationEntry:
    """What ``--json`` prints of a key; ``value`` is a text, a number or a list of texts."""

    key: str
    option: str
    value: str | float | list[str]
    origin: str
    """A file, an environment variable with ``$``, or ``built in``."""


@dataclass(frozen=True, slots=True)
class ConfigurationDocument:
    """What ``--json`` prints; ``ignored`` are files that are not read, each with the reason."""

    entries: tuple[ConfigurationEntry, ...]
    files: tuple[str, ...]
    ignored: tuple[str, ...]


def config(as_json: JsonOption = False) -> None:
    """Show each default from the configuration files, and where it comes from.

    Files: benchvise.toml in the working directory or above it, then the user's own.

    Example: benchvise config
    """
    files = configuration_files()
    entries = tuple(
        ConfigurationEntry(v.option.key, v.option.option, v.value, v.origin)
        for v in configured_values()
    )
    document = ConfigurationDocument(
        entries,
        tuple(str(file.path) for file in files if not file.ignored),
        tuple(f"{file.path}: {file.ignored}" for file in files if file.ignored),
    )
    if as_json:
        print_json("configuration", document)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("key", "option", "value", "from"):
        table.add_column(heading, no_wrap=heading in ("key", "option"), overflow="fold")
    for entry in entries:
        value = ", ".join(entry.value) if isinstance(entry.value, list) else f"{entry.value}"
        style = "" if entry.origin != "built in" else "dim"
        table.add_row(
            entry.key, entry.option, text_line(value, style), text_line(entry.origin, style)
        )
    stdout().print(table)
    for line in document.ignored:
        stdout().print(text_line(f"not read: {line}", style=DOUBT))
    if not document.files:
        place = user_directory("config") / FILE_NAME
        stdout().print(Text(f"\nNo file yet: {FILE_NAME} here, or {place}", style="dim"))
