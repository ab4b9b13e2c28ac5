"""The configuration of lm-sensors: ``chip``, ``label``, ``compute``, ``ignore``, ``set``.

After sensors.conf(5). Names of buses (``bus``) are of no use to us and are passed over. A statement
that is wrong is left out and told; the rest holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from benchvise.health.expression import evaluate
from benchvise.text import printable

STATEMENTS = 20_000
"""Statements of one configuration; the one that comes with lm-sensors has under 1,000."""

BYTES = 1 << 20
"""Bytes of one file."""

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s"#,]+)')
_LABEL = 60


@dataclass(frozen=True, slots=True)
class Compute:
    """How a raw value becomes a true one, and back."""

    forward: str
    back: str


@dataclass(slots=True)
class ChipSection:
    """What the configuration says of the chips that ``patterns`` match."""

    patterns: tuple[str, ...]
    labels: dict[str, str] = field(default_factory=dict)
    computes: dict[str, Compute] = field(default_factory=dict)
    ignored: set[str] = field(default_factory=set)
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SensorsConfig:
    """All sections in their order (a later one wins), and what was wrong."""

    sections: tuple[ChipSection, ...] = ()
    errors: tuple[str, ...] = ()

    def of(self, chip: str) -> ChipSection:
        """What holds for a chip: all sections that match it, later ones before earlier ones."""
        merged = ChipSection((chip,))
        for section in self.sections:
            if any(fnmatchcase(chip, pattern) for pattern in section.patterns):
                merged.labels |= section.labels
                merged.computes |= section.computes
                merged.ignored |= section.ignored
                merged.settings |= section.settings
        return merged


def parse(texts: Mapping[str, str]) -> SensorsConfig:
    """The configuration of several files, by name, in their order."""
    sections: list[ChipSection] = []
    errors: list[str] = []
    for name, text in texts.items():
        current: ChipSection | None = None
        for number, line in _statements(text[:BYTES]):
            where = f"{printable(name, 80)}, line {number}"
            word, _, rest = line.partition(" ")
            try:
                if word == "chip":
                    current = ChipSection(tuple(_names(rest)))
                    if not current.patterns:
                        raise ValueError("names no chip")
                    sections.append(current)
                elif word == "bus":
                    continue
                elif current is None:
                    raise ValueError("stands before any chip")
                else:
                    _state(current, word, rest.strip())
            except ValueError as error:
                errors.append(f"{where}: {printable(line, 60)}: {error}")
            if len(sections) > STATEMENTS:
                break
    return SensorsConfig(tuple(sections), tuple(errors[:20]))


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Statements with the number of their line; those that go on on the next line put together."""
    held, begun = "", 0
    for number, raw in enumerate(text.split("\n")[:STATEMENTS], start=1):
        line = _uncommented(raw).rstrip()
        begun = begun or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        statement = (
            " ".join((held + line).split()) if '"' not in held + line else (held + line).strip()
        )
        if statement:
            yield begun, re.sub(r"^(\w+)\s+", r"\1 ", statement)
        held, begun = "", 0


def _uncommented(line: str) -> str:
    """A line up to its comment; a ``#`` inside quotes is none."""
    quoted = False
    for at, character in enumerate(line):
        if character == '"':
            quoted = not quoted
        elif character == "#" and not quoted:
            return line[:at]
    return line


def _names(text: str) -> list[str]:
    return [
        match[1].replace('\\"', '"') if match[1] is not None else match[2]
        for match in _QUOTED.finditer(text)
    ]


def _state(section: ChipSection, word: str, rest: str) -> None:
    match = _QUOTED.match(rest)
    if match is None:
        raise ValueError("names no sensor")
    name = match[1] if match[1] is not None else match[2]
    value = rest[match.end() :].strip()
    if word == "label":
        words = _names(value)
        if not words:
            raise ValueError("names no label")
        section.labels[name] = printable(words[0], _LABEL)
    elif word == "ignore":
        section.ignored.add(name)
    elif word == "set":
        _checked(value, has_raw=False)
        section.settings[name] = value
    elif word == "compute":
        forward, comma, back = value.partition(",")
        if not comma:
            raise ValueError("compute takes two expressions with a comma between them")
        _checked(forward, has_raw=True)
        _checked(back, has_raw=True)
        section.computes[name] = Compute(forward.strip(), back.strip())
    else:
        raise ValueError("is no statement (chip, label, compute, ignore, set, bus)")


def _checked(expression: str, *, has_raw: bool) -> None:
    """Raises ValueError when it is no expression; what has no value for 1.23 alone is one."""
    try:
        evaluate(expression, 1.23 if has_raw else None, lambda _name: 1.23)
    except ValueError as error:
        if (
            "no value" not in str(error)
            and "no finite" not in str(error)
            and "math domain" not in str(error)
        ):
            raise
