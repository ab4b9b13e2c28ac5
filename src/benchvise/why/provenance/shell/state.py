"""What a script that is gone through knows: its variables, arguments, files and calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchvise.why.provenance.assignment import Line
from benchvise.why.provenance.files import Tree
from benchvise.why.provenance.shell.syntax import Node
from benchvise.why.provenance.shell.text import UNKNOWN, Text

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
