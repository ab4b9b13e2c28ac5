"""The configuration of lm-sensors: ``chip``, ``label``, ``compute``, ``ignore``, ``set``.

After sensors.conf(5). Names of buses (``bus``) are of no use to us and are passed over. A statement
that is wrong is left out and reported; the rest holds.

In expressions (``@*1.679``, ``((6.2/6.7)+1)*@``, ``in1 - in2``) ``@`` is the raw value, a word the
value of another sensor of the chip; ``^x`` is e to the power of x, `` `x`` its natural logarithm.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

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
            keyword, _, rest = line.partition(" ")
            try:
                if keyword == "chip":
                    current = ChipSection(tuple(_names(rest)))
                    if not current.patterns:
                        raise ValueError("names no chip")
                    sections.append(current)
                elif keyword == "bus":
                    continue
                elif current is None:
                    raise ValueError("stands before any chip")
                else:
                    _apply(current, keyword, rest.strip())
            except ValueError as error:
                errors.append(f"{name}, line {number}: {printable(line, 60)}: {error}")
            if len(sections) > STATEMENTS:
                break
    return SensorsConfig(tuple(sections), tuple(errors[:20]))


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Statements with the number of their line; those that go on on the next line put together."""
    continued, begun = "", 0
    for number, raw in enumerate(text.split("\n")[:STATEMENTS], start=1):
        line = _uncommented(raw).rstrip()
        begun = begun or number
        if line.endswith("\\"):
            continued += line[:-1] + " "
            continue
        statement = (
            " ".join((continued + line).split())
            if '"' not in continued + line
            else (continued + line).strip()
        )
        if statement:
            yield begun, re.sub(r"^(\w+)\s+", r"\1 ", statement)
        continued, begun = "", 0


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


def _apply(section: ChipSection, keyword: str, rest: str) -> None:
    """Adds a statement to its section; raises ValueError when it is wrong."""
    match = _QUOTED.match(rest)
    if match is None:
        raise ValueError("names no sensor")
    name = match[1] if match[1] is not None else match[2]
    value = rest[match.end() :].strip()
    if keyword == "label":
        label = _names(value)
        if not label:
            raise ValueError("names no label")
        section.labels[name] = printable(label[0], _LABEL)
    elif keyword == "ignore":
        section.ignored.add(name)
    elif keyword == "set":
        _check(value, has_raw=False)
        section.settings[name] = value
    elif keyword == "compute":
        forward, comma, back = value.partition(",")
        if not comma:
            raise ValueError("compute takes two expressions with a comma between them")
        _check(forward, has_raw=True)
        _check(back, has_raw=True)
        section.computes[name] = Compute(forward.strip(), back.strip())
    else:
        raise ValueError("is no statement (chip, label, compute, ignore, set, bus)")


def _check(expression: str, *, has_raw: bool) -> None:
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


# -- expressions -----------------------------------------------------------------------------------

EXPRESSION_LENGTH = 400
"""Characters of an expression."""

_DEPTH = 40
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)|([A-Za-z_]\w*)|([-+*/()@^`]))")

Lookup = Callable[[str], float]


def evaluate(text: str, raw: float | None, lookup: Lookup) -> float:
    """The value of an expression. ``raw`` stands for ``@`` (None where there is none).

    Raises ValueError, which says why, when it is no expression or has no finite value.
    """
    if len(text) > EXPRESSION_LENGTH:
        raise ValueError(f"an expression of over {EXPRESSION_LENGTH} characters")
    parser = _ExpressionParser(list(_tokens(text)), raw, lookup)
    try:
        value = parser.sum(0)
    except (ZeroDivisionError, OverflowError) as error:
        raise ValueError("it has no value (division by zero, or too large)") from error
    if parser.rest:
        raise ValueError(f"'{parser.rest[0]}' is one too many")
    if not math.isfinite(value):
        raise ValueError("it has no finite value")
    return value


def _tokens(text: str) -> Iterator[str]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"'{text[at:].strip()[:20]}' is no part of an expression")
        yield match[0].strip()
        at = match.end()


class _ExpressionParser:
    """One function for each precedence, from loose to tight."""

    def __init__(self, symbols: list[str], raw: float | None, lookup: Lookup) -> None:
        self.rest = symbols
        self._raw = raw
        self._lookup = lookup

    def sum(self, depth: int) -> float:
        value = self._product(depth)
        while self.rest and self.rest[0] in "+-":
            if self.rest.pop(0) == "+":
                value += self._product(depth)
            else:
                value -= self._product(depth)
        return value

    def _product(self, depth: int) -> float:
        value = self._unary(depth)
        while self.rest and self.rest[0] in "*/":
            if self.rest.pop(0) == "*":
                value *= self._unary(depth)
            else:
                value /= self._unary(depth)
        return value

    def _unary(self, depth: int) -> float:
        if depth > _DEPTH:
            raise ValueError("it is nested too deeply")
        if not self.rest:
            raise ValueError("it ends too early")
        symbol = self.rest.pop(0)
        if symbol == "-":
            return -self._unary(depth + 1)
        if symbol == "^":
            return math.exp(self._unary(depth + 1))
        if symbol == "`":
            return math.log(self._unary(depth + 1))
        if symbol == "(":
            value = self.sum(depth + 1)
            if not self.rest or self.rest.pop(0) != ")":
                raise ValueError("a bracket is not closed")
            return value
        if symbol == "@":
            if self._raw is None:
                raise ValueError("@ has no value here")
            return self._raw
        if symbol[0].isdigit() or symbol[0] == ".":
            return float(symbol)
        if symbol[0].isalpha() or symbol[0] == "_":
            return self._lookup(symbol)
        raise ValueError(f"'{symbol}' is out of place")
