"""Defaults from files: ``benchvise.toml`` of a project, then the user's own.

The project's file is the nearest one at or above the working directory, inside the same git
checkout or home. The user's is ``benchvise/benchvise.toml`` in the XDG configuration directory. The
command line and environment variables come before both. A file is read only where it belongs to
this user or to root and nobody else can write it: a store or a rig that it names is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from benchvise.errors import UsageError
from benchvise.host_system import is_anothers, others_may
from benchvise.user_directories import user_directory

FILE_NAME = "benchvise.toml"

ValueKind = Literal["text", "count", "number", "port", "path", "paths", "store"]


@dataclass(frozen=True, slots=True)
class ConfigurableOption:
    """A key of the file, and the option whose default it is.

    ``commands`` are whole names such as ``benchvise run``; empty: every command that has the
    option. ``parameter`` is the option's name in code, ``option`` that on the command line.
    """

    key: str
    option: str
    parameter: str
    kind: ValueKind
    summary: str
    built_in: str
    """What holds without any file, in words."""
    commands: tuple[str, ...] = ()
    environment: str = ""


OPTIONS = (
    ConfigurableOption(
        "store", "--store", "store", "store", "where results are kept",
        "SQLite under the XDG data directory", environment="BENCHVISE_STORE",
    ),
    ConfigurableOption(
        "rig", "--rig", "rig", "path", "the labgrid environment that describes the rig",
        "the virtual bench's, when it runs", environment="BENCHVISE_RIG",
    ),
    ConfigurableOption(
        "run.suite", "--suite", "suite", "text",
        "what is measured without --suite, --bench and --command", "quick",
    ),
    ConfigurableOption(
        "run.processes", "--processes", "processes", "count", "fresh processes a series", "3",
        ("benchvise run",),
    ),
    ConfigurableOption(
        "run.batches", "--batches", "batches", "count", "batches a process",
        "21, or as the benchmark says", ("benchvise run",),
    ),
    ConfigurableOption(
        "compare.threshold", "--threshold", "threshold", "number",
        "percent by which a series may get worse before the exit code is 1", "none",
        ("benchvise compare",),
    ),
    ConfigurableOption(
        "serve.port", "--port", "port", "port", "the workbench's port", "8765",
        ("benchvise serve",),
    ),
    ConfigurableOption(
        "serve.traces", "--traces", "traces", "paths", "directories of traces to show", "none",
        ("benchvise serve",),
    ),
    ConfigurableOption(
        "serve.captures", "--captures", "captures", "paths", "directories of captures to show",
        "none", ("benchvise serve",),
    ),
)  # fmt: skip

SUITE_KEY = "run.suite"


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """A file with its checked values by key; ``ignored`` says why none of it holds."""

    path: Path
    values: Mapping[str, Any]
    ignored: str = ""


@dataclass(frozen=True, slots=True)
class ConfiguredValue:
    """The default of an option that holds, and its origin: a file, a variable or Benchvise."""

    option: ConfigurableOption
    value: Any
    origin: str


def configuration_files() -> list[ConfigurationFile]:
    """The files that are there, the nearest first. UsageError for one with a mistake in it."""
    return [_read(path) for path in _paths() if os.path.isfile(path)]  # noqa: PTH113


def configured_values(environment: Mapping[str, str] = os.environ) -> list[ConfiguredValue]:
    """What holds for every key."""
    files = [file for file in configuration_files() if not file.ignored]
    return [_effective(option, files, environment) for option in OPTIONS]


def command_defaults(command: str, parameters: Sequence[str]) -> dict[str, Any]:
    """Defaults by parameter for a command, from the files alone."""
    files = [file for file in configuration_files() if not file.ignored]
    defaults: dict[str, Any] = {}
    for option in OPTIONS if files else ():
        fits = command in option.commands if option.commands else option.key != SUITE_KEY
        if fits and option.parameter in parameters:
            for file in reversed(files):
                if option.key in file.values:
                    defaults[option.parameter] = file.values[option.key]
    return defaults


def default_store(environment: Mapping[str, str] = os.environ) -> str | None:
    """The store that commands take without ``--store``; None: the user's own."""
    variable = environment.get("BENCHVISE_STORE")
    return variable or command_defaults("benchvise runs", ["store"]).get("store")


def configured_suite() -> str | None:
    """The suite that is measured where nothing else is asked for; None without a file's."""
    for file in configuration_files():
        if not file.ignored and SUITE_KEY in file.values:
            return str(file.values[SUITE_KEY])
    return None


def _effective(
    option: ConfigurableOption, files: Sequence[ConfigurationFile], environment: Mapping[str, str]
) -> ConfiguredValue:
    if option.environment and environment.get(option.environment):
        return ConfiguredValue(option, environment[option.environment], f"${option.environment}")
    for file in files:
        if option.key in file.values:
            return ConfiguredValue(option, file.values[option.key], str(file.path))
    return ConfiguredValue(option, option.built_in, "built in")


def _paths() -> Iterator[Path]:
    try:
        directory = Path.cwd()
    except OSError:  # it was removed
        directory = Path("/")
    for place in (directory, *directory.parents):
        if os.path.isfile(place / FILE_NAME):  # noqa: PTH113 - False where it may not be seen
            yield place / FILE_NAME
            break
        if os.path.exists(place / ".git") or place == Path.home():  # noqa: PTH110
            break
    yield user_directory("config") / FILE_NAME


def _read(path: Path) -> ConfigurationFile:
    import tomllib  # late: most commands have no file to read

    try:
        status = path.stat()
        if is_anothers(status):
            return ConfigurationFile(path, {}, "it belongs to another user")
        if others_may(status):
            return ConfigurationFile(path, {}, "other users can write it")
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read", str(error)) from error
    options = {option.key: option for option in OPTIONS}
    values = {}
    for key, value in _flat(document):
        if key not in options:
            near = get_close_matches(key, options, n=1)
            raise UsageError(
                f"{path}: there is no key '{key}'",
                f"did you mean {near[0]}?" if near else f"keys are {', '.join(options)}",
            )
        values[key] = _checked(path, options[key], value)
    return ConfigurationFile(path, values)


def _flat(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _checked(path: Path, option: ConfigurableOption, value: Any) -> Any:
    """The value as the option takes it; paths are relative to the file."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match option.kind:
        case "count" if number and isinstance(value, int) and value >= 1:
            return value
        case "port" if number and isinstance(value, int) and 0 <= value <= 65535:
            return value
        case "number" if number and value >= 0:
            return float(value)
        case "text" if isinstance(value, str):
            return value
        case "store" if isinstance(value, str):
            return value if "://" in value else _absolute(path, value)
        case "path" if isinstance(value, str):
            return _absolute(path, value)
        case "paths" if isinstance(value, list) and all(isinstance(v, str) for v in value):
            return [_absolute(path, v) for v in value]
    raise UsageError(f"{path}: {option.key} = {value!r} is no value for it", _TAKES[option.kind])


_TAKES: Mapping[ValueKind, str] = {
    "count": "write a whole number of 1 or more",
    "port": "write a whole number from 0 to 65535",
    "number": "write a number of 0 or more",
    "text": 'write a text, for example "quick"',
    "store": "write the path of a file or a postgresql:// URL, in quotes",
    "path": "write the path of a file, in quotes",
    "paths": 'write a list of directories, for example ["traces"]',
}


def _absolute(file: Path, text: str) -> str:
    return str(file.parent / Path(text).expanduser())
