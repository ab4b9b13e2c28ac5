"""``benchvise completion``: scripts that complete command lines by themselves, without Benchvise.

A script has every command, option and choice in it, so that a shell never waits for a program.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from benchvise.cli.color import CHOICES
from benchvise.cli.commands import PROGRAM
from benchvise.cli.groups import CommandGroup
from benchvise.cli.output import JsonOption, print_json
from benchvise.cli.reference.described import DescribedCommand, DescribedOption, described


class ShellName(StrEnum):
    """A shell that there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@dataclass(frozen=True, slots=True)
class CompletionScript:
    """What ``--json`` prints."""

    shell: ShellName
    script: str


def completion(
    shell: Annotated[ShellName, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    as_json: JsonOption = False,
) -> None:
    """Print the completion script of a shell.

    bash: ~/.local/share/bash-completion/completions/benchvise. zsh: _benchvise in a directory of
    $fpath. fish: ~/.config/fish/completions/benchvise.fish.

    Example: benchvise completion fish > ~/.config/fish/completions/benchvise.fish
    """
    script = completion_script(shell)
    if as_json:
        print_json("completion", CompletionScript(shell, script))
    else:
        print(script, end="")


def completion_script(shell: ShellName) -> str:
    """The script for a shell, of all commands."""
    commands = list(described(CommandGroup(PROGRAM), "benchvise").walk())
    return _WRITERS[shell](commands, _argument_values(commands))


def _argument_values(commands: Iterable[DescribedCommand]) -> Mapping[str, tuple[str, ...]]:
    """What options and arguments of a fixed set of names take, by option or command."""
    from benchvise.measure.suite import suite_names
    from benchvise.state.catalogue import knobs

    names = tuple(sorted(knobs()))
    suites = tuple(suite_names())
    words = (word for command in commands for word in command.path.split()[1:])
    return {
        "--suite": suites,
        "--set": tuple(f"{name}=" for name in names),
        "--color": CHOICES,
        "benchvise knobs show": names,
        "benchvise suites show": suites,
        "benchvise completion": tuple(ShellName),
        "benchvise help": tuple(dict.fromkeys(words)),
    }


# -- bash ------------------------------------------------------------------------------------------


def _bash(commands: Iterable[DescribedCommand], values: Mapping[str, tuple[str, ...]]) -> str:
    paths, offers, options = _tables(commands, values)
    return "\n".join(
        [
            "# Completion of benchvise for bash.",
            "_benchvise() {",
            "    local path=benchvise current=${COMP_WORDS[COMP_CWORD]} previous i",
            "    previous=${COMP_WORDS[COMP_CWORD-1]}",
            "    for ((i = 1; i < COMP_CWORD; i++)); do",
            '        case "$path ${COMP_WORDS[i]}" in',
            f'        {"|".join(map(shlex.quote, paths))}) path="$path ${{COMP_WORDS[i]}}" ;;',
            "        esac",
            "    done",
            "    COMPREPLY=()",
            '    case "$path $previous" in',
            *(
                f"    {shlex.quote(place)}) {_bash_reply(choices)}; return ;;"
                for place, choices in options.items()
            ),
            "    esac",
            '    case "$path" in',
            *(
                f"    {shlex.quote(path)}) {_bash_reply(choices)} ;;"
                for path, choices in offers.items()
            ),
            "    esac",
            "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace",
            "}",
            "complete -o default -o bashdefault -F _benchvise benchvise",
            "",
        ]
    )


def _bash_reply(choices: tuple[str, ...]) -> str:
    if not choices:  # a file or free text: left to the shell
        return "COMPREPLY=()"
    return f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(choices))} -- "$current"))'


# -- zsh -------------------------------------------------------------------------------------------


def _zsh(commands: Iterable[DescribedCommand], values: Mapping[str, tuple[str, ...]]) -> str:
    paths, offers, options = _tables(commands, values)
    return "\n".join(
        [
            "#compdef benchvise",
            "_benchvise() {",
            "    local path_=benchvise word_",
            "    for word_ in ${words[2,CURRENT-1]}; do",
            '        case "$path_ $word_" in',
            f'        {"|".join(f"({shlex.quote(p)})" for p in paths)}) path_="$path_ $word_" ;;',
            "        esac",
            "    done",
            '    case "$path_ ${words[CURRENT-1]}" in',
            *(
                f"    ({shlex.quote(place)}) {_zsh_reply(choices)}; return ;;"
                for place, choices in options.items()
            ),
            "    esac",
            '    case "$path_" in',
            *(
                f"    ({shlex.quote(path)}) {_zsh_reply(choices)}; [[ $PREFIX != -* ]] && _files ;;"
                for path, choices in offers.items()
            ),
            "    esac",
            "}",
            'if [ "$funcstack[1]" = "_benchvise" ]; then',
            '    _benchvise "$@"',
            "else",
            "    compdef _benchvise benchvise",
            "fi",
            "",
        ]
    )


def _zsh_reply(choices: tuple[str, ...]) -> str:
    if not choices:
        return "_files"
    joined = " ".join(map(shlex.quote, choices))
    suffix = "-S '' " if choices[0].endswith("=") else ""
    return f"compadd {suffix}-- {joined}"


# -- fish ------------------------------------------------------------------------------------------


def _fish(commands: Iterable[DescribedCommand], values: Mapping[str, tuple[str, ...]]) -> str:
    lines = [
        "# Completion of benchvise for fish.",
        "function __benchvise_at",
        "    set -l path benchvise",
        "    for token in (commandline -opc)[2..-1]",
        '        if contains -- "$path $token" $__benchvise_paths',
        '            set path "$path $token"',
        "        end",
        "    end",
        '    test "$path" = "$argv[1]"',
        "end",
    ]
    listed = list(commands)
    paths = " ".join(_fish_quoted(command.path) for command in listed[1:])
    lines.append(f"set -g __benchvise_paths {paths}")
    for command in listed:
        condition = f"__benchvise_at {_fish_quoted(command.path)}"
        at = f"complete -c benchvise -n {_fish_quoted(condition)}"
        for below in command.subcommands:
            name = below.path.rpartition(" ")[2]
            lines.append(f"{at} -f -a {name} -d {_fish_quoted(below.summary)}")
        for argument in values.get(command.path, ()):
            lines.append(f"{at} -f -a {_fish_quoted(argument)}")
        for option in command.options:
            lines.append(f"{at} {_fish_option(option, values)}")
    choices = " ".join(CHOICES)
    lines.append(f"complete -c benchvise -l color -x -a '{choices}' -d 'Use colours'")
    return "\n".join([*lines, ""])


def _fish_option(option: DescribedOption, values: Mapping[str, tuple[str, ...]]) -> str:
    parts = [
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    ]
    choices = option.choices or next((values[n] for n in option.names if n in values), ())
    if option.metavar:
        parts.append("-r" if option.takes_path else "-x")
        parts += [f"-a {_fish_quoted(' '.join(choices))}"] if choices else []
    return " ".join([*parts, "-d", _fish_quoted(option.help)])


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# --------------------------------------------------------------------------------------------------


def _tables(
    commands: Iterable[DescribedCommand], values: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """All paths of commands, what is offered at each, and what follows each option by place."""
    paths, offers, options = [], {}, {}
    for command in commands:
        if command.path != "benchvise":
            paths.append(command.path)
        names = tuple(c.path.rpartition(" ")[2] for c in command.subcommands)
        flags = tuple(name for option in command.options for name in option.names)
        offers[command.path] = (*names, *values.get(command.path, ()), *flags, "--color")
        options[f"{command.path} --color"] = values["--color"]
        for option in command.options:
            for name in option.names if option.metavar else ():
                options[f"{command.path} {name}"] = option.choices or values.get(name, ())
    return paths, offers, options


_WRITERS: Mapping[
    ShellName, Callable[[Iterable[DescribedCommand], Mapping[str, tuple[str, ...]]], str]
] = {ShellName.BASH: _bash, ShellName.ZSH: _zsh, ShellName.FISH: _fish}
