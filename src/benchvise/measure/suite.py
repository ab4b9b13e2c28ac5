"""Suites: named lists of benchmarks with parameters, as TOML files.

    summary = "what it is for"

    [[series]]
    benchmark = "memory.copy"
    size = ["32K", "1M", "64M"]        # a list: one series for each
    pages = "huge"

A suite may hold others, and its own series after them: ``include = ["quick", "./mine.toml"]``.
Several lists in one entry give every combination. On the command line the same is written
``memory.copy:size=32K+1M+64M,pages=huge``; sizes also take ranges by doubling, ``size=4K..1M``.
A value in quotes is taken as it stands: ``storage.read:file="/mnt/a+b,c"``. ``cpu=each`` is every
CPU of the board that the probe may use.
"""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchvise.errors import UsageError
from benchvise.measure.model import SeriesSpec
from benchvise.measure.registry import Registry
from benchvise.quantities import parse_size, spell_size


@dataclass(frozen=True, slots=True)
class SuiteEntry:
    """A benchmark with its parameters; each has one or more values."""

    benchmark: str
    params: Mapping[str, tuple[str, ...]]

    def with_params(self, params: Mapping[str, tuple[str, ...]], registry: Registry) -> SuiteEntry:
        """The entry with those of ``params`` that its benchmark has, in place of its own."""
        names = registry.parameter_names(self.benchmark)
        taken = {name: values for name, values in params.items() if name in names}
        return SuiteEntry(self.benchmark, {**self.params, **taken})

    def specs(self, registry: Registry) -> list[SeriesSpec]:
        """Every combination of the values, checked against the registry."""
        choices = [
            [item for value in values for item in registry.expand(name, value)]
            for name, values in self.params.items()
        ]
        return [
            registry.spec(self.benchmark, dict(zip(self.params, values, strict=True)))
            for values in itertools.product(*choices)
        ]


@dataclass(frozen=True, slots=True)
class Suite:
    """A named list of entries."""

    name: str
    summary: str
    entries: tuple[SuiteEntry, ...]

    def specs(self, registry: Registry) -> list[SeriesSpec]:
        """All series, in the suite's order."""
        return [spec for entry in self.entries for spec in entry.specs(registry)]


def suite_names() -> list[str]:
    """Names of the suites that ship with Benchvise."""
    return sorted(path.stem for path in _directory().glob("*.toml"))


def _directory() -> Path:
    """Where the suites are: at the top of a checkout, inside the package of a wheel."""
    package = Path(__file__).parents[1]
    installed = package / "suites"
    return installed if installed.is_dir() else package.parents[1] / "suites"


def load_suite(name: str) -> Suite:
    """A shipped suite by name, or a user's own by path (``./mine.toml``).

    UsageError when there is none, or names the file and what is wrong in it.
    """
    return _load(name, ())


def _load(name: str, within: tuple[Path, ...]) -> Suite:
    path = Path(name) if name.endswith(".toml") else _directory() / f"{name}.toml"
    if path in within:
        raise UsageError(f"suite {path} includes itself", "take it out of its include list")
    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        near = difflib.get_close_matches(name, suite_names(), n=1)
        raise UsageError(
            f"there is no suite {name!r}",
            (f"did you mean {near[0]}? " if near else "")
            + f"choose one of {', '.join(suite_names())}, or give the path of a .toml file",
        ) from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"suite {path} cannot be read", str(error)) from error
    return _suite(path, document, within)


def _suite(path: Path, document: Mapping[str, Any], within: tuple[Path, ...]) -> Suite:
    series, included = document.get("series", []), document.get("include", [])
    if not isinstance(series, list) or not (series or included):
        raise UsageError(f"suite {path} has no [[series]]", "add at least one")
    if not isinstance(included, list) or not all(isinstance(name, str) for name in included):
        raise UsageError(
            f"suite {path}: include is no list of names", 'write include = ["quick", "memory"]'
        )
    if unknown := set(document) - {"summary", "include", "series"}:
        raise UsageError(
            f"suite {path} has unknown keys: {', '.join(sorted(unknown))}",
            "a suite has summary, include and [[series]]",
        )
    entries = [entry for name in included for entry in _load(name, (*within, path)).entries]
    for number, item in enumerate(series, 1):
        if not isinstance(item, dict) or not isinstance(item.get("benchmark"), str):
            raise UsageError(
                f"suite {path}: series {number} names no benchmark", 'add benchmark = "family.name"'
            )
        params = {
            name: _values(path, number, name, value)
            for name, value in item.items()
            if name != "benchmark"
        }
        entries.append(SuiteEntry(item["benchmark"], params))
    return Suite(path.stem, str(document.get("summary", "")), tuple(entries))


def _values(path: Path, number: int, name: str, value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(v, str | int) and not isinstance(v, bool) for v in values):
        raise UsageError(
            f"suite {path}: series {number}: {name} is neither a text, a number nor a list of such",
            'write for example size = ["4K", "1M"]',
        )
    return tuple(text for v in values for text in expand_range(str(v)))


def parse_params(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parameters for all that have them, each ``name=value``; a name given twice has two values.

    A value is taken as it stands: a URL may hold whatever separates values elsewhere.
    """
    params: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UsageError(
                f"--param {text!r} is not name=value", "write for example url=http://192.0.2.7/"
            )
        params[name] = (*params.get(name, ()), value)
    return params


def parse_bench(text: str) -> SuiteEntry:
    """An entry from the command line: ``ID[:name=value[+value]...,...]``."""
    benchmark, _, rest = text.partition(":")
    params: dict[str, tuple[str, ...]] = {}
    for part in filter(None, split_unquoted(rest, ",")):
        name, equals, value = part.partition("=")
        if not equals or not name or not value:
            raise UsageError(
                f"--bench {text}: {part!r} is not name=value",
                "write for example memory.copy:size=1M,source=zero",
            )
        if name in params:
            raise UsageError(
                f"--bench {text}: {name} is given twice",
                f"join the values, as in {benchmark}:{name}=A+B",
            )
        params[name] = tuple(
            item for choice in split_unquoted(value, "+") for item in _unquoted(choice)
        )
    return SuiteEntry(benchmark, params)


def split_unquoted(text: str, separator: str) -> list[str]:
    """Splits at a separator outside single and double quotes, which stay in the parts."""
    parts, quote = [""], ""
    for character in text:
        if character == separator and not quote:
            parts.append("")
            continue
        if character in "'\"" and quote in ("", character):
            quote = "" if quote else character
        parts[-1] += character
    return parts


def _unquoted(text: str) -> Sequence[str]:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return (text[1:-1],)
    return expand_range(text)


def expand_range(text: str) -> Sequence[str]:
    """``4K..16K`` is ``4K 8K 16K`` (doubling); anything else is itself, paths included."""
    low, dots, high = text.partition("..")
    if not dots or "/" in text:
        return (text,)
    try:
        size, last = parse_size(low), parse_size(high)
    except (ValueError, IndexError):
        size = last = 0
    if not 0 < size <= last:
        raise UsageError(f"{text!r} is not a range of sizes", "write for example 4K..64M")
    sizes = []
    while size <= last:
        sizes.append(spell_size(size))
        size *= 2
    return sizes
