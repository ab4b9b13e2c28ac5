"""What a board counts, by the table ``counters.toml``: where it is read, how bad which value is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from benchvise.board.messages import FileError, FileValue, content_text
from benchvise.health.model import BoardCounter
from benchvise.kernel_log.rules import Severity
from benchvise.state.globs import ByPath
from benchvise.text import printable

COUNTERS = 2000
"""Counters of one board that are kept."""

_ALTERNATIVES = re.compile(r"\{([^{}]*)\}")
_NAMED = 60


@dataclass(frozen=True, slots=True)
class CounterKind:
    """A row of the table. ``globs`` has a glob for each alternative of ``path``, with its name.

    A count of at least ``first`` is ``bad``, so is one below ``below``; one of at least ``doubt``
    is worth a warning.
    """

    id: str
    section: str
    title: str
    globs: Mapping[str, str]
    parse: str
    explanation: str
    remedy: str
    name_part: int = 0
    first: float | None = None
    below: float | None = None
    doubt: float | None = None
    bad: Severity | None = None
    kept: bool = False

    def severity(self, value: float) -> Severity | None:
        """How bad a value is by itself; None when it is not."""
        if self.first is not None and value >= self.first:
            return self.bad
        if self.below is not None and value < self.below:
            return self.bad
        if self.doubt is not None and value >= self.doubt:
            return Severity.WARNING
        return None


@cache
def counter_kinds() -> tuple[CounterKind, ...]:
    """The table."""
    text = resources.files(__package__).joinpath("counters.toml").read_text(encoding="utf-8")
    return tuple(
        CounterKind(
            id=row["id"],
            section=row["section"],
            title=row["title"],
            globs=_globs(row["path"]),
            parse=row["parse"],
            explanation=row["explanation"],
            remedy=row["remedy"],
            name_part=row.get("name", 0),
            first=row.get("from"),
            below=row.get("below"),
            doubt=row.get("doubt"),
            bad=Severity(row["bad"]) if "bad" in row else None,
            kept=row.get("kept", False),
        )
        for row in tomllib.loads(text)["counter"]
    )


@cache
def kind_of(counter: str) -> CounterKind:
    """The kind of that id; raises KeyError."""
    return {kind.id: kind for kind in counter_kinds()}[counter]


def globs() -> list[str]:
    """All files that counters are read from."""
    return [glob for kind in counter_kinds() for glob in kind.globs]


def read_counters(files: ByPath[FileValue | FileError]) -> tuple[BoardCounter, ...]:
    """The counters of a board from its files."""
    counters = [
        BoardCounter(kind.id, kind.section, device, name, value, kind.kept)
        for kind in counter_kinds()
        for glob, alternative in kind.globs.items()
        for path, _, file in files.matching(glob)
        for device, name, value in _values(kind, glob, alternative, path, content_text(file))
    ]
    return tuple(counters[:COUNTERS])


def unreadable(files: ByPath[FileValue | FileError]) -> Mapping[str, str]:
    """Kinds of counters that are there and may not be read, with the name of the error."""
    return {
        kind.id: file.name
        for kind in counter_kinds()
        for glob in kind.globs
        for _, _, file in files.matching(glob)
        if isinstance(file, FileError) and file.name in ("EACCES", "EPERM")
    }


def _globs(path: str) -> Mapping[str, str]:
    """Glob to what tells it from the other alternatives, "" where there is none."""
    alternatives = _ALTERNATIVES.search(path)
    if alternatives is None:
        return {path: ""}
    return {
        path[: alternatives.start()] + word + path[alternatives.end() :]: word
        for word in alternatives[1].split(",")
    }


def _values(
    kind: CounterKind, glob: str, alternative: str, path: str, text: str
) -> Iterator[tuple[str, str, float]]:
    parts = [
        part
        for part, pattern in zip(path.split("/"), glob.split("/"), strict=False)
        if "*" in pattern
    ]
    device = printable(parts[0], _NAMED) if parts else ""
    name = printable(parts[kind.name_part - 1], _NAMED) if kind.name_part else alternative
    for word, value in _PARSERS[kind.parse](text):
        yield device, " ".join(filter(None, (name, printable(word, _NAMED)))), value


# -- what files hold -------------------------------------------------------------------------------

_Parsed = Iterator[tuple[str, float]]


def _number(text: str) -> _Parsed:
    word = text.strip()
    if re.fullmatch(r"-?\d{1,20}", word):
        yield "", float(word)


def _hexadecimal(text: str) -> _Parsed:
    word = text.split()[0] if text.split() else ""
    if re.fullmatch(r"(?:0x)?[0-9a-fA-F]{1,16}", word):
        yield "", float(int(word, 16))


def _life_time(text: str) -> _Parsed:
    """Two values, of memory of type A and B; 0 stands for "does not say"."""
    for name, word in zip(("type A", "type B"), text.split(), strict=False):
        if re.fullmatch(r"0x[0-9a-fA-F]{1,4}", word) and int(word, 16):
            yield name, float(int(word, 16))


def _labelled_numbers(text: str) -> _Parsed:
    """A word and a number a line."""
    for line in text.splitlines()[:50]:
        match = re.fullmatch(r"\s*([\w ]{1,40}?)[\s:]+(\d{1,20})\s*", line)
        if match is not None:
            yield match[1], float(match[2])


def _err_stats(text: str) -> _Parsed:
    for line in text.splitlines()[:50]:
        match = re.fullmatch(
            r"#?\s*([\w/ -]{1,60}?)(?: occurred)?:\s*(\d{1,20})\s*", line, re.IGNORECASE
        )
        if match is not None:
            yield match[1], float(match[2])


def _aer_total(text: str) -> _Parsed:
    match = re.search(r"TOTAL_ERR_\w+ (\d{1,20})", text)
    if match is not None:
        yield "", float(match[1])


def _serial(text: str) -> _Parsed:
    """Lines such as ``0: uart:16550A port:000003F8 irq:4 tx:11 rx:0 fe:2 oe:1``."""
    for line in text.splitlines()[:100]:
        number, _, rest = line.partition(":")
        if number.strip().isdigit() and "uart:unknown" not in rest:
            for name, value in re.findall(r"\b(fe|pe|oe|bo):(\d{1,18})", rest):
                yield f"{number.strip()} {name}", float(value)


_PARSERS: Mapping[str, Callable[[str], _Parsed]] = {
    "number": _number,
    "hexadecimal": _hexadecimal,
    "life_time": _life_time,
    "words": _labelled_numbers,
    "err_stats": _err_stats,
    "aer_total": _aer_total,
    "serial": _serial,
}
