"""What a script that is gone through knows, and what its words become by that.

``Text`` is the value of a variable, with the line that it came from; ``State`` holds the variables,
arguments, files and calls; ``Expansion`` makes words of a command from the words of a script.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Protocol

from benchvise.why.provenance.assignment import Line
from benchvise.why.provenance.files import Tree
from benchvise.why.provenance.shell.syntax import Node, Simple, parse
from benchvise.why.provenance.shell.tokens import Piece, Word

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
        parts = self.text.split()
        if len(parts) == 1:
            return [Text(parts[0], self.source, self.also)]
        return [Text(word, self.source) for word in parts]

    def instead_of(self, other: Text | None) -> Text:
        """The text where it is given under a condition: it may be the other one all the same."""
        before = ("",) if other is None else (other.text, *other.also)
        also = [text for text in dict.fromkeys(before) if text != self.text]
        return Text(self.text, self.source, tuple(also[:_MOST_ALSO]))


def spaced(texts: Sequence[Text]) -> Text:
    """The words with spaces between them, from where the first came that came from somewhere."""
    if len(texts) == 1:
        return texts[0]
    source = next((word.source for word in texts if word.source is not None), None)
    return Text(" ".join(word.text for word in texts)[:LONGEST], source)


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
    braces = _BRACES.search(text)
    if braces is None or deepest == 0 or text[braces.start() - 1 : braces.start()] == "$":
        return [text]
    span = _RANGE.fullmatch(braces[1])
    if span is not None:
        parts = [str(number) for number in range(int(span[1]), int(span[2]) + 1)[:_MOST]]
    elif "," in braces[1]:
        parts = braces[1].split(",")[:_MOST]
    else:
        return [text]
    return [
        word
        for part in parts
        for word in expand_braces(text[: braces.start()] + part + text[braces.end() :], deepest - 1)
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


# -- where a script has come to --------------------------------------------------------------------

DEEPEST = 12
"""Calls, sourced files and captured commands that may stand in each other."""

FOLLOWED = 2
"""Scripts that run each other, from one that the system starts."""

MOST_ROUNDS = 64
MOST_WORDS = 512


@dataclass(frozen=True, slots=True)
class Written:
    """What a line sets: ``value`` is None where it is not known."""

    line: Line
    target: str
    value: str | None
    certain: bool = True
    note: str = ""


class ScriptStop(Exception):  # noqa: N818
    """``exit``, or no more steps may be taken."""


class Return(Exception):  # noqa: N818
    """``return``."""


class Next(Exception):  # noqa: N818
    """``continue`` or ``break``."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended, None where that is not known, and what it printed."""

    status: bool | None = True
    out: Text | None = None


UNKNOWABLE = Result(True, Text(UNKNOWN))


@dataclass(slots=True)
class State:
    """Where a script has come to. ``calls`` are the lines that called functions, ``doubts`` why
    what is run now may not be run."""

    tree: Tree
    variables: dict[str, Text] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)
    arguments: Sequence[Text] = ()
    file: str = ""
    lines: Sequence[Line] = ()
    calls: list[Line] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    depth: int = 0
    followed: int = 0
    directory: str = "/"

    def line(self, number: int) -> Line:
        """The line of that number; the only one where a line of another file is gone through."""
        if len(self.lines) == 1:
            return self.lines[0]
        if 0 < number <= len(self.lines):
            return self.lines[number - 1]
        return Line(self.file, number, "")

    def value(self, name: str) -> Text | None:
        """What a variable or a parameter holds; None where it was never given."""
        if name == "0":
            return Text(self.file)
        if name.isdigit():
            index = int(name[:4]) - 1
            return self.arguments[index] if index < len(self.arguments) else Text("")
        if name in "@*":
            return Text(" ".join(word.text for word in self.arguments))
        if name == "#":
            return Text(str(len(self.arguments)))
        return self.variables.get(name)

    def numbers(self) -> Mapping[str, str]:
        """The variables as texts."""
        return {name: text.text for name, text in self.variables.items()}

    @contextmanager
    def inside(self, path: str, lines: Sequence[Line], arguments: Sequence[Text]) -> Iterator[None]:
        """While another file, or a text of a line, is gone through."""
        before = self.file, self.lines, self.arguments
        self.file, self.lines, self.arguments = path, lines, arguments
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            self.file, self.lines, self.arguments = before

    @contextmanager
    def doubting(self, reason: str) -> Iterator[None]:
        """While it is not known whether what is gone through is run."""
        self.doubts.append(reason)
        try:
            yield
        finally:
            self.doubts.pop()


# -- from the words of a script to those of a command ----------------------------------------------

_PARAMETER = re.compile(r"([A-Za-z_]\w*|[0-9@*#?!$-])(?:(:?[-=+?]|##?|%%?)(.*))?", re.DOTALL)


class Interpreter(Protocol):
    """What a built-in command may ask of the shell that runs it."""

    @property
    def state(self) -> State:
        """Variables, arguments, directory and files."""

    def note(self, line: Line, target: Text, value: Text) -> None:
        """A file was written."""

    def nested_text(self, line: Line, text: Text, arguments: Sequence[Text]) -> Result:
        """Runs a text, as ``sh -c`` and ``eval`` do."""

    def nested_script(self, line: Line, name: str, arguments: Sequence[Text]) -> bool:
        """Runs a script; whether it is one."""

    def sourced(self, path: str, arguments: Sequence[Text]) -> None:
        """Runs a file in this shell."""


class Expansion:
    """Expands words in a state; ``capture`` says what the commands in ``$(…)`` print."""

    def __init__(self, state: State, capture: Callable[[str], Text]) -> None:
        self._state = state
        self._capture = capture

    def expand(self, words: Iterable[Word]) -> list[Text]:
        """All words that these become, as many as a command may have."""
        expanded: list[Text] = []
        for word in words:
            expanded += self.fields(word)
            if len(expanded) > MOST_WORDS:
                break
        return expanded[:MOST_WORDS]

    def fields(self, word: Word) -> list[Text]:
        """The words that one becomes: expansions without quotes are split at white space."""
        fields: list[Text] = []
        last: Text | None = None
        for piece in word:
            if piece == Piece("variable", "@", True):
                fields += self._state.arguments
                continue
            value = self._piece(piece)
            whole = piece.kind == "text" or piece.quoted
            parts = [value] if whole else value.split()
            if not whole and last is not None and value.text[:1].isspace():
                fields.append(last)
                last = None
            for index, part in enumerate(parts):
                if index and last is not None:
                    fields.append(last)
                    last = None
                last = part if last is None else last + part
        if last is not None:
            fields.append(last)
        if any(piece.kind == "text" and not piece.quoted and "{" in piece.text for piece in word):
            return [Text(text, f.source) for f in fields for text in expand_braces(f.text)]
        return fields

    def joined(self, word: Word) -> Text:
        """A word that is not split: the value of a variable, the subject of a case."""
        value = Text("")
        for index, piece in enumerate(word):
            part = self._piece(piece)
            value = part if index == 0 else value + part
        return value

    def _piece(self, piece: Piece) -> Text:
        match piece.kind:
            case "variable":
                return self._variable(piece.text)
            case "command":
                return self._capture(piece.text)
            case "sum":
                return Text(sum_of(piece.text, self._state.numbers()))
        return Text(piece.text)

    def _variable(self, text: str) -> Text:
        match = _PARAMETER.fullmatch(text)
        if match is None:
            return Text(UNKNOWN)
        name, operator, word = match[1], match[2] or "", match[3] or ""
        value = self._state.value(name)
        kind = operator.lstrip(":")
        if kind in ("-", "="):
            empty = value is None or (operator[0] == ":" and not value.text)
            value = self._text(word) if empty else value
        elif kind == "+":
            return self._text(word) if value is not None and value.text else Text("")
        elif kind and kind[0] in "#%" and value is not None:
            return Text(without(value.text, operator, self._text(word).text), value.source)
        return Text(UNKNOWN) if value is None else value

    def _text(self, text: str) -> Text:
        """What stands behind the sign in ``${name:-…}``."""
        if "$" not in text and "`" not in text:
            return Text(text.strip("\"'"))
        first = next(iter(parse([f"x={text}"[:LONGEST]]).body), None)
        if isinstance(first, Simple) and first.assignments:
            return self.joined(first.assignments[0][1])
        return Text(UNKNOWN)
