"""Values of a script's variables, and what is worked out of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from benchvise.why.provenance.assignment import Line

UNKNOWN = "\ufdd0"
"""Stands in a text for what is only known when the script runs. No text has this character."""

LONGEST = 4096
"""Characters of a value, or of a command within another."""

_MOST = 64
_MOST_ALSO = 8
_LONGEST_PATTERN = 128
_LONGEST_CUT = 256
_BRACES = re.compile(r"\{([^{}\s]{1,200})\}")
_RANGE = re.compile(r"(\d{1,6})\.\.(\d{1,6})")
_SUM = re.compile(r"[\d\s+*/%()<>&|-]{1,200}")


@dataclass(frozen=True, slots=True)
class Text:
    """A text, and the line that it was given by where it came by way of a variable.

    ``also`` are what it may be instead, where a variable was given under a condition.
    """

    text: str
    source: Line | None = None
    also: tuple[str, ...] = ()

    def __add__(self, other: Text) -> Text:
        also = [text + other.text for text in self.also] + [self.text + b for b in other.also]
        kept = tuple(text[:LONGEST] for text in also[:_MOST_ALSO])
        return Text((self.text + other.text)[:LONGEST], self.source or other.source, kept)

    def split(self) -> list[Text]:
        """The words that it is split into at white space."""
        words = self.text.split()
        if len(words) == 1:
            return [Text(words[0], self.source, self.also)]
        return [Text(word, self.source) for word in words]

    def instead_of(self, other: Text | None) -> Text:
        """The text where it is given under a condition: it may be the other one all the same."""
        before = ("",) if other is None else (other.text, *other.also)
        also = [text for text in dict.fromkeys(before) if text != self.text]
        return Text(self.text, self.source, tuple(also[:_MOST_ALSO]))


def spaced(words: Sequence[Text]) -> Text:
    """The words with spaces between them, from where the first came that came from somewhere."""
    if len(words) == 1:
        return words[0]
    source = next((word.source for word in words if word.source is not None), None)
    return Text(" ".join(word.text for word in words)[:LONGEST], source)


def matches(text: str, pattern: str) -> bool:
    """Whether a pattern of a case or a test matches a whole text."""
    return len(pattern) <= _LONGEST_PATTERN and fnmatchcase(text, pattern)


def without(value: str, operator: str, pattern: str) -> str:
    """``${name%.*}`` and the like; what is not known stays unknown."""
    if UNKNOWN in value or UNKNOWN in pattern or len(value) > _LONGEST_CUT:
        return UNKNOWN
    ends = operator[0] == "%"
    lengths = range(len(value) + 1)
    for length in lengths if len(operator) == 1 else reversed(lengths):
        part = value[len(value) - length :] if ends else value[:length]
        if matches(part, pattern):
            return value[: len(value) - length] if ends else value[length:]
    return value


def expand_braces(text: str, deepest: int = 4) -> list[str]:
    """``{a,b}`` and ``{0..3}`` as bash has them; at most 64 words."""
    found = _BRACES.search(text)
    if found is None or deepest == 0 or text[found.start() - 1 : found.start()] == "$":
        return [text]
    span = _RANGE.fullmatch(found[1])
    if span is not None:
        parts = [str(number) for number in range(int(span[1]), int(span[2]) + 1)[:_MOST]]
    elif "," in found[1]:
        parts = found[1].split(",")[:_MOST]
    else:
        return [text]
    return [
        word
        for part in parts
        for word in expand_braces(text[: found.start()] + part + text[found.end() :], deepest - 1)
    ][:_MOST]


def sum_of(text: str, variables: Mapping[str, str]) -> str:
    """``$((…))`` of numbers and variables that are numbers; else unknown."""
    filled = re.sub(
        r"\$?\{?([A-Za-z_]\w{0,60})\}?",
        lambda match: variables.get(match[1], "?")[:20],
        text[:200],
    )
    if _SUM.fullmatch(filled) is None or "**" in filled:
        return UNKNOWN
    try:
        return str(_evaluated(ast.parse(filled.strip().replace("/", "//"), mode="eval").body))
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return UNKNOWN


def _evaluated(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as value) if abs(value) < 1 << 63:
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluated(operand)
        case ast.BinOp(left=left, op=operator, right=right):
            a, b = _evaluated(left), _evaluated(right)
            match operator:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult() if abs(a * b) < 1 << 63:
                    return a * b
                case ast.FloorDiv():
                    return a // b
                case ast.Mod():
                    return a % b
                case ast.LShift() if 0 <= b < 63:
                    return (a << b) & ((1 << 64) - 1)
                case ast.RShift() if 0 <= b < 63:
                    return a >> b
                case ast.BitAnd():
                    return a & b
                case ast.BitOr():
                    return a | b
    raise ValueError("not understood")
