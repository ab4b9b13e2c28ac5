"""From the text of a shell script to its commands, as far as scripts that set things need it.

After POSIX, Shell Command Language (XCU 2), with what bash and busybox add most often: ``[[``,
``function``, ``<<<``, ``&>``. What is not understood is left out up to the next line, and what is
too long or too deep too: scripts come from boards. Takes time in proportion to the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchvise.why.provenance.shell.tokens import NAME, REDIRECTS, Piece, Token, Word, tokens

_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Redirect:
    """``>``, ``>>``, ``<``, ``<<<`` or ``<<``, whose word is the text itself then."""

    sign: str
    word: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """A command: variables given, words, redirections, and the number of its line."""

    line: int
    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands whose output is the next one's input; ``negated`` by ``!``."""

    parts: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """``first`` and what follows it with ``&&`` or ``||``."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class CompoundCommand:
    """Commands in braces or parentheses, or a whole script; with redirections of all."""

    body: tuple[Node, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    """Conditions with what is done where they hold; the last ones' condition is None for else."""

    branches: tuple[tuple[Node | None, Node], ...]


@dataclass(frozen=True, slots=True)
class For:
    """A loop over words; None stands for the parameters."""

    line: int
    variable: str
    words: tuple[Word, ...] | None
    body: Node


@dataclass(frozen=True, slots=True)
class While:
    """A loop that ends by a condition."""

    condition: Node
    body: Node


@dataclass(frozen=True, slots=True)
class Case:
    """A word, and what is done for the patterns that it matches."""

    word: Word
    branches: tuple[tuple[tuple[Word, ...], Node], ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function and what it does."""

    name: str
    body: Node


Node = Simple | Pipeline | Chain | CompoundCommand | If | For | While | Case | Function


def parse(lines: Sequence[str], first: int = 1) -> CompoundCommand:
    """The commands of a script; ``first`` is the number of its first line."""
    parser = _Parser(list(tokens(lines, first)))
    return CompoundCommand(tuple(parser.script()))


_ENDS = {"then", "else", "elif", "fi", "do", "done", "esac", "}"}


class _Wrong(Exception):  # noqa: N818
    """What stands here is not understood."""


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def script(self) -> Iterator[Node]:
        while self._at < len(self._tokens):
            before = self._at
            try:
                yield from self._list(())
                if self._at < len(self._tokens):
                    raise _Wrong
            except _Wrong:
                self._depth = 0
                self._at = max(self._at, before)
                while self._at < len(self._tokens) and self._tokens[self._at].sign != "\n":
                    self._at += 1
                self._at += 1

    # A list ends before one of these reserved words, or before ")" or ";;".

    def _list(self, ends: Sequence[str]) -> list[Node]:
        nodes: list[Node] = []
        while True:
            while self._sign() in ("\n", ";", "&"):
                self._at += 1
            token = self._peek()
            if token is None or token.sign in (")", ";;") or token.plain in ends:
                return nodes
            if token.plain in _ENDS:
                if not ends:  # at the top: left over from what was not understood
                    self._at += 1
                    continue
                raise _Wrong
            try:
                nodes.append(self._chain())
            except _Wrong:
                if ends:
                    raise
                while self._sign() not in ("\n", None):
                    self._at += 1

    def _chain(self) -> Node:
        first = self._pipeline()
        rest: list[tuple[str, Node]] = []
        while (sign := self._sign()) in ("&&", "||"):
            self._at += 1
            self._newlines()
            rest.append((str(sign), self._pipeline()))
        return Chain(first, tuple(rest)) if rest else first

    def _pipeline(self) -> Node:
        negated = False
        while self._plain() == "!":
            negated = not negated
            self._at += 1
        parts = [self._command()]
        while self._sign() == "|":
            self._at += 1
            self._newlines()
            parts.append(self._command())
        return Pipeline(tuple(parts), negated) if negated or len(parts) > 1 else parts[0]

    def _command(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Wrong
        try:
            word = self._plain()
            if self._sign() == "(":
                self._at += 1
                body = self._list(())
                self._take(")")
                return CompoundCommand(tuple(body), self._redirects())
            if word in _COMPOUND:
                return self._redirected(_COMPOUND[word](self))
            if word and self._sign(1) == "(" and self._sign(2) == ")":
                self._at += 3
                self._newlines()
                return Function(word, self._command())
            return self._simple()
        finally:
            self._depth -= 1

    def _simple(self) -> Simple:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        first = self._peek()
        if first is None:
            raise _Wrong
        line = first.line
        while (token := self._peek()) is not None:
            if token.sign in REDIRECTS or token.sign == "fd":
                redirects += self._redirects()
            elif token.sign:
                break
            else:
                assigned = None if words else _assigned(token.word)
                if assigned is None:
                    words.append(token.word)
                else:
                    assignments.append(assigned)
                self._at += 1
        if not assignments and not words and not redirects:
            raise _Wrong
        return Simple(line, tuple(assignments), tuple(words), tuple(redirects))

    def _redirects(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        while True:
            sign = self._sign()
            number = ""
            if sign == "fd":
                number = self._tokens[self._at].word[0].text
                self._at += 1
                sign = self._sign()
            if sign not in REDIRECTS:
                return tuple(redirects)
            self._at += 1
            token = self._peek()
            if token is None or token.sign:
                raise _Wrong
            self._at += 1
            if number in ("", "0", "1"):
                redirects.append(Redirect(str(sign), token.word))

    def _redirected(self, node: Node) -> Node:
        redirects = self._redirects()
        return CompoundCommand((node,), redirects) if redirects else node

    # What the reserved words begin

    def _if(self) -> Node:
        branches: list[tuple[Node | None, Node]] = []
        self._at += 1
        while True:
            condition = CompoundCommand(tuple(self._list(("then",))))
            self._word("then")
            branches.append((condition, CompoundCommand(tuple(self._list(("elif", "else", "fi"))))))
            word = self._plain()
            self._at += 1
            if word == "else":
                branches.append((None, CompoundCommand(tuple(self._list(("fi",))))))
                self._word("fi")
            if word != "elif":
                if word not in ("else", "fi"):
                    raise _Wrong
                return If(tuple(branches))

    def _for(self) -> Node:
        self._at += 1
        name = self._plain()
        token = self._peek()
        if not name or token is None:
            raise _Wrong
        line = token.line
        self._at += 1
        self._newlines()
        words: list[Word] | None = None
        if self._plain() == "in":
            self._at += 1
            words = []
            while (token := self._peek()) is not None and not token.sign:
                words.append(token.word)
                self._at += 1
        while self._sign() in (";", "\n"):
            self._at += 1
        return For(line, name, None if words is None else tuple(words), self._done())

    def _while(self) -> Node:
        self._at += 1
        condition = CompoundCommand(tuple(self._list(("do",))))
        return While(condition, self._done())

    def _done(self) -> Node:
        self._word("do")
        body = CompoundCommand(tuple(self._list(("done",))))
        self._word("done")
        return body

    def _case(self) -> Node:
        self._at += 1
        token = self._peek()
        if token is None or token.sign:
            raise _Wrong
        subject = token.word
        self._at += 1
        self._newlines()
        self._word("in")
        branches: list[tuple[tuple[Word, ...], Node]] = []
        while True:
            self._newlines()
            if self._plain() == "esac":
                self._at += 1
                return Case(subject, tuple(branches))
            if self._sign() == "(":
                self._at += 1
            patterns: list[Word] = []
            while (token := self._peek()) is not None and (not token.sign or token.sign == "|"):
                if not token.sign:
                    patterns.append(token.word)
                self._at += 1
            self._take(")")
            branches.append((tuple(patterns), CompoundCommand(tuple(self._list(("esac",))))))
            if self._sign() == ";;":
                self._at += 1

    def _group(self) -> Node:
        self._at += 1
        body = self._list(("}",))
        self._word("}")
        return CompoundCommand(tuple(body))

    def _function(self) -> Node:
        self._at += 1
        name = self._plain()
        if not name:
            raise _Wrong
        self._at += 1
        if self._sign() == "(":
            self._at += 1
            self._take(")")
        self._newlines()
        return Function(name, self._command())

    # Tokens

    def _peek(self, ahead: int = 0) -> Token | None:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else None

    def _sign(self, ahead: int = 0) -> str | None:
        token = self._peek(ahead)
        return None if token is None else token.sign

    def _plain(self) -> str:
        token = self._peek()
        return "" if token is None else token.plain

    def _take(self, sign: str) -> None:
        if self._sign() != sign:
            raise _Wrong
        self._at += 1

    def _word(self, word: str) -> None:
        if self._plain() != word:
            raise _Wrong
        self._at += 1

    def _newlines(self) -> None:
        while self._sign() == "\n":
            self._at += 1


_COMPOUND = {
    "if": _Parser._if,
    "for": _Parser._for,
    "while": _Parser._while,
    "until": _Parser._while,
    "case": _Parser._case,
    "{": _Parser._group,
    "function": _Parser._function,
}


def _assigned(word: Word) -> tuple[str, Word] | None:
    """``NAME=…`` at the begin of a command."""
    if not word or word[0].kind != "text" or word[0].quoted:
        return None
    name, equals, value = word[0].text.partition("=")
    name = name.removesuffix("+")
    if not equals or not name or not set(name) <= NAME or name[0].isdigit():
        return None
    rest = word[1:]
    return name, (Piece("text", value), *rest) if value or not rest else rest
