"""What decides a value before any file of the system is read: see ``defaults.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the command line, and the files that it decides."""

    name: str
    paths: tuple[str, ...]
    values: Mapping[str, str] = field(default_factory=dict)

    def files(self, value: str) -> Iterator[tuple[str, str]]:
        """Each file with what it holds for this value of the word."""
        if self.values and value not in self.values:
            return
        for path in self.paths:
            yield path, self.values.get(value, value)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the kernel's configuration, and what a file begins with for it."""

    name: str
    path: str
    state: str = "y"
    value: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    def file_value(self, setting: str) -> str | None:
        """What the file holds when the option has this setting; None when it does not decide."""
        if self.values:
            return self.values.get(setting)
        if self.value:
            return self.value if setting == self.state else None
        return setting.strip('"')


@cache
def boot_words() -> Mapping[str, Word]:
    """The words of the command line, by name."""
    return {
        record["name"]: Word(record["name"], tuple(record["paths"]), record.get("values", {}))
        for record in _data()["word"]
    }


@cache
def options() -> tuple[Option, ...]:
    """The options, in the order of the file."""
    return tuple(
        Option(
            record["name"], record["path"], record.get("is", "y"), record.get("value", ""),
            record.get("values", {}),
        )
        for record in _data()["option"]
    )  # fmt: skip


@cache
def _data() -> Mapping[str, list[Mapping[str, Any]]]:
    text = (files(__package__) / "defaults.toml").read_text(encoding="utf-8")
    data: Mapping[str, list[Mapping[str, Any]]] = tomllib.loads(text)
    return data
