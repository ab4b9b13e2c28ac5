"""Man pages, one a command, of the same records as its help."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchvise import __version__
from benchvise.cli.commands import PROGRAM
from benchvise.cli.groups import CommandGroup
from benchvise.cli.reference.described import DescribedCommand, described

_EXIT_CODES = (
    ("0", "Success."),
    ("1", "Something failed, or a regression was found."),
    ("2", "The command line or a suite is wrong."),
    ("3", "A board or a rig cannot be reached."),
    ("4", "Interrupted; measured values are kept and settings restored."),
    ("5", "Not decided (gate, nightly): noise may hide a regression."),
)


def manual_pages() -> dict[str, str]:
    """The page of every command by its file's name, such as ``benchvise-rig-boot.1``."""
    root = described(CommandGroup(PROGRAM), "benchvise")
    return {f"{_page_name(command)}.1": "\n".join(_page(command)) for command in root.walk()}


def _page_name(command: DescribedCommand) -> str:
    return command.path.replace(" ", "-")


def _page(command: DescribedCommand) -> Iterator[str]:
    name = _page_name(command)
    yield f'.TH "{name.upper()}" "1" "" "Benchvise {__version__}" "Benchvise"'
    yield ".SH NAME"
    yield f"{_roff(name)} \\- {_roff(command.summary.rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield f".B {_roff(command.usage)}"
    yield ".SH DESCRIPTION"
    yield _roff(command.summary)
    for paragraph in command.paragraphs:
        yield ".PP"
        yield _roff(" ".join(paragraph.split()))
    if command.subcommands:
        yield ".SH COMMANDS"
        for below in command.subcommands:
            yield from _item(f"{_page_name(below)}(1)", below.summary)
    if command.arguments:
        yield ".SH ARGUMENTS"
        for argument in command.arguments:
            yield from _item(argument.metavar, argument.help)
    for heading, options in command.option_groups().items():
        yield f".SH {_roff(heading.upper())}"
        for option in options:
            names = " ".join(filter(None, (", ".join(option.names), option.metavar)))
            yield from _item(names, " ".join(filter(None, (option.help, option.details))))
    if command.examples:
        yield ".SH EXAMPLES"
        for example in command.examples:
            yield from (".PP", ".nf", _roff(example), ".fi")
    yield ".SH EXIT STATUS"
    for code, meaning in _EXIT_CODES:
        yield from _item(code, meaning)
    parent = name.rpartition("-")[0]
    if parent:
        yield ".SH SEE ALSO"
        yield f".BR {_roff(parent)} (1)"
    yield ""


def _item(term: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_roff(term)}"
    yield _roff(text)


def _roff(text: str) -> str:
    """The text as roff prints it: a dash is a dash, and no line begins a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)
