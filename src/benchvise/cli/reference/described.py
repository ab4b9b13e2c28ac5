"""What a command takes, as records: help pages, completions and man pages are made of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchvise.cli.commands import PROGRAM_OPTIONS

_EXAMPLE = "Example: "

_PATHS = ("path", "file", "directory", "filename")

_METAVARS: Mapping[str, str] = {
    **dict.fromkeys(("int", "int range", "float", "float range"), "N"),
    **dict.fromkeys(_PATHS, "PATH"),
}
"""What an option takes, by the names of typer's types; all others take a TEXT."""

_GROUPS: Mapping[str, str] = {
    "--store": "Where results and boards are",
    "--rig": "Where results and boards are",
    "--wait": "Where results and boards are",
    "--json": "Output",
    "--format": "Output",
    "--csv": "Output",
    "--markdown": "Output",
    "--table": "Output",
    "--output": "Output",
    "--help": "Output",
}
"""Headings of the options that many commands have."""

OPTIONS = "Options"
"""The heading of options without another."""


@dataclass(frozen=True, slots=True)
class DescribedArgument:
    """An argument; ``metavar`` has brackets where it may be left out, and dots where it repeats."""

    metavar: str
    help: str


@dataclass(frozen=True, slots=True)
class DescribedOption:
    """An option: its names, what it takes, and what holds without it.

    ``metavar`` is empty for one that takes no value. ``limits`` is a phrase such as ``1 to 65535``.
    """

    names: tuple[str, ...]
    metavar: str
    help: str
    group: str
    choices: tuple[str, ...] = ()
    default: str = ""
    limits: str = ""
    environment: str = ""
    takes_path: bool = False

    @property
    def details(self) -> str:
        """Default, limits and environment variable, in brackets; empty where it has none."""
        parts = (
            self.limits,
            f"default: {self.default}" if self.default else "",
            f"${self.environment}" if self.environment else "",
        )
        phrase = "; ".join(filter(None, parts))
        return f"[{phrase}]" if phrase else ""


_PROGRAM_OPTIONS = tuple(
    DescribedOption((option.name,), option.metavar, option.help, OPTIONS, option.choices)
    for option in PROGRAM_OPTIONS
)


@dataclass(frozen=True, slots=True)
class DescribedCommand:
    """A command, or a group of them when it has ``subcommands``.

    ``path`` is its whole name, ``benchvise rig boot``. ``paragraphs`` follow its summary.
    """

    path: str
    summary: str
    paragraphs: tuple[str, ...]
    examples: tuple[str, ...]
    arguments: tuple[DescribedArgument, ...]
    options: tuple[DescribedOption, ...]
    subcommands: tuple[DescribedCommand, ...] = ()

    @property
    def usage(self) -> str:
        """How it is called, in one line."""
        if self.subcommands:
            return f"{self.path} COMMAND ..."
        words = [argument.metavar for argument in self.arguments]
        # What follows two dashes is a command of its own, with its own options.
        own = [word for word in words if "--" not in word]
        return " ".join([self.path, *own, "[OPTIONS]", *words[len(own) :]])

    def walk(self) -> Iterator[DescribedCommand]:
        """The command itself and all below it."""
        yield self
        for command in self.subcommands:
            yield from command.walk()

    def option_groups(self) -> dict[str, list[DescribedOption]]:
        """Its options by heading: its own in their order, those of many commands last."""
        groups: dict[str, list[DescribedOption]] = {}
        for option in self.options:
            groups.setdefault(option.group, []).append(option)
        shared = tuple(dict.fromkeys(_GROUPS.values()))
        return dict(sorted(groups.items(), key=lambda pair: pair[0] in shared))


def described(command: Any, path: str) -> DescribedCommand:
    """The records of one of typer's commands, and of all below it."""
    summary, _, text = str(command.help or "").partition("\n\n")
    paragraphs = [part.strip("\n") for part in text.split("\n\n") if part.strip()]
    parameters = [p for p in command.params if not p.hidden]
    subcommands = getattr(command, "commands", {})
    return DescribedCommand(
        path,
        " ".join(summary.split()),
        tuple(p for p in paragraphs if not p.strip().startswith(_EXAMPLE)),
        tuple(
            " ".join(p.strip().removeprefix(_EXAMPLE).split())
            for p in paragraphs
            if p.strip().startswith(_EXAMPLE)
        ),
        tuple(_argument(p) for p in parameters if p.param_type_name == "argument"),
        (
            *(_option(p) for p in parameters if p.param_type_name == "option"),
            *(_PROGRAM_OPTIONS if " " not in path else ()),
            DescribedOption(("-h", "--help"), "", "Show this help.", _GROUPS["--help"]),
        ),
        tuple(described(subcommands[name], f"{path} {name}") for name in subcommands),
    )


def _argument(parameter: Any) -> DescribedArgument:
    metavar = parameter.metavar or str(parameter.name).upper()
    if parameter.nargs == -1 and "..." not in metavar:
        metavar += "..."
    if not parameter.required and "[" not in metavar:
        metavar = f"[{metavar}]"
    return DescribedArgument(metavar, _unmarked(parameter.help))


def _option(parameter: Any) -> DescribedOption:
    kind = parameter.type
    choices = tuple(str(getattr(c, "value", c)) for c in getattr(kind, "choices", ()))
    names = (*parameter.opts, *parameter.secondary_opts)
    long_name = next((name for name in names if name.startswith("--")), names[0])
    takes_value = not parameter.is_flag
    metavar = parameter.metavar or "|".join(choices) or _METAVARS.get(kind.name, "TEXT")
    variable = parameter.envvar
    return DescribedOption(
        tuple(sorted(names, key=lambda name: name.startswith("--"))),
        metavar if takes_value else "",
        _unmarked(parameter.help),
        parameter.rich_help_panel or _GROUPS.get(long_name, OPTIONS),
        choices,
        _default(parameter),
        _limits(parameter) if takes_value else "",
        variable if isinstance(variable, str) else "",
        kind.name in _PATHS or metavar in ("FILE", "DIR", "PATH"),
    )


def _default(parameter: Any) -> str:
    """What holds without the option, where that says something."""
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    default = parameter.default
    if not parameter.show_default or default in (None, "", False, (), []) or callable(default):
        return ""
    if parameter.is_flag:
        return str(parameter.opts[0]) if parameter.secondary_opts else ""
    return str(getattr(default, "value", default))


def _limits(parameter: Any) -> str:
    kind = parameter.type
    lowest, highest = getattr(kind, "min", None), getattr(kind, "max", None)
    if lowest is not None and highest is not None:
        return f"{lowest} to {highest}"
    if lowest is not None:
        return f"at least {lowest}" if lowest > 0 else ""
    return f"at most {highest}" if highest is not None else ""


def _unmarked(text: str | None) -> str:
    """Help without what keeps Rich from taking a bracket for markup."""
    return " ".join((text or "").replace(r"\[", "[").split())
