"""From the text of a shell script to its tokens: words in pieces, signs, here-documents.

Takes time in proportion to the text, and a bounded part more where quotes are not closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MOST_TOKENS = 60_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word. ``kind`` is ``text``, ``variable`` (with what stands in ``${…}``),
    ``command`` (the text in ``$(…)`` or backquotes) or ``sum`` (in ``$((…))``)."""

    kind: str
    text: str
    quoted: bool = False


Word = tuple[Piece, ...]


_SIGNS = (
    "<<<", "<<-", "&>>", "<<", ">>", ">&", "<&", "<>", ">|", "&>", "&&", "||", ";;",
    ";", "&", "|", "(", ")", "<", ">",
)  # fmt: skip
REDIRECTS = {"<<<", "<<-", "<<", "&>>", "&>", ">>", ">&", "<&", "<>", ">|", "<", ">"}
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


@dataclass(slots=True)
class Token:
    """A sign, or a word where the sign is empty; ``fd`` is the number before a redirection.

    A word stands from ``begin`` to ``end`` in the text of its line and of those that go on in it.
    """

    sign: str  # empty for a word
    line: int
    word: Word = ()
    begin: int = 0
    end: int = 0

    @property
    def plain(self) -> str:
        """The word if it is one text without quotes; that is how reserved words are written."""
        if not self.sign and len(self.word) == 1:
            piece = self.word[0]
            if piece.kind == "text" and not piece.quoted:
                return piece.text
        return ""


class _Unfinished(Exception):  # noqa: N818
    """A quote or a bracket that is not closed."""


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    pieces: list[Piece] = field(default_factory=list)

    def word(self) -> Word:
        """The word that begins here."""
        self.pieces = []
        text, end = self.text, len(self.text)
        plain: list[str] = []
        while self.at < end:
            c = text[self.at]
            if c in " \t\n;&|()<>":
                break
            if c == "\\":
                if text[self.at + 1 : self.at + 2] != "\n":
                    self._flush(plain)
                    self.pieces.append(Piece("text", text[self.at + 1 : self.at + 2], True))
                self.at += 2
            elif c == "'":
                self._flush(plain)
                close = text.find("'", self.at + 1)
                if close < 0:
                    raise _Unfinished
                self.pieces.append(Piece("text", text[self.at + 1 : close], True))
                self.at = close + 1
            elif c == '"':
                self._flush(plain)
                self.at += 1
                self._quoted()
            elif c in "$`":
                self._flush(plain)
                self._expansion(quoted=False)
            else:
                plain.append(c)
                self.at += 1
        self._flush(plain)
        return tuple(self.pieces)

    def _flush(self, plain: list[str], quoted: bool = False) -> None:
        if plain:
            self.pieces.append(Piece("text", "".join(plain), quoted))
            plain.clear()

    def _quoted(self) -> None:
        plain: list[str] = []
        text = self.text
        before = len(self.pieces)
        while self.at < len(text):
            c = text[self.at]
            if c == '"':
                self.at += 1
                self._flush(plain, True)
                if len(self.pieces) == before:
                    self.pieces.append(Piece("text", "", True))
                return
            if c == "\\" and text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                if text[self.at + 1] != "\n":
                    plain.append(text[self.at + 1])
                self.at += 2
            elif c in "$`":
                self._flush(plain, True)
                self._expansion(quoted=True)
            else:
                plain.append(c)
                self.at += 1
        raise _Unfinished

    def _expansion(self, quoted: bool) -> None:
        text, at = self.text, self.at
        if text[at] == "`":
            close = text.find("`", at + 1)
            if close < 0:
                raise _Unfinished
            self.pieces.append(Piece("command", text[at + 1 : close], quoted))
            self.at = close + 1
        elif text.startswith("$((", at):
            close = self._closing(at + 3, "(", ")")
            self.pieces.append(Piece("sum", text[at + 3 : close], quoted))
            self.at = close + 2 if text[close + 1 : close + 2] == ")" else close + 1
        elif text.startswith("$(", at):
            close = self._closing(at + 2, "(", ")")
            self.pieces.append(Piece("command", text[at + 2 : close], quoted))
            self.at = close + 1
        elif text.startswith("${", at):
            close = self._closing(at + 2, "{", "}")
            self.pieces.append(Piece("variable", text[at + 2 : close], quoted))
            self.at = close + 1
        else:
            end = at + 1
            if text[end : end + 1] in tuple("0123456789@*#?!$-"):
                end += 1
            else:
                while end < len(text) and text[end] in NAME:
                    end += 1
            kind = "variable" if end > at + 1 else "text"
            self.pieces.append(Piece(kind, text[at + 1 : end] or "$", quoted))
            self.at = end

    def _closing(self, at: int, opening: str, closing: str) -> int:
        """Where the bracket closes, past quotes and brackets inside."""
        depth = 1
        text = self.text
        while at < len(text):
            c = text[at]
            if c == "\\":
                at += 1
            elif c == "'" and closing == ")":
                closing_quote = text.find("'", at + 1)
                if closing_quote < 0:
                    raise _Unfinished
                at = closing_quote
            elif c == opening:
                depth += 1
            elif c == closing:
                depth -= 1
                if depth == 0:
                    return at
            at += 1
        raise _Unfinished


def tokens(lines: Sequence[str], first: int) -> Iterator[Token]:
    """The tokens of all lines; a line with what is never closed is left out."""
    index = count = 0
    budget = _Budget()
    here: list[tuple[Token, str, bool]] = []  # here-documents that wait for their text
    while index < len(lines) and count < MOST_TOKENS:
        number = first + index
        tokens, used = _logical_line(lines, index, number, budget)
        index += used
        waiting = False
        for position, token in enumerate(tokens):
            count += 1
            if waiting:
                waiting = False
                continue
            if token.sign in ("<<", "<<-") and position + 1 < len(tokens):
                ending = "".join(piece.text for piece in tokens[position + 1].word)
                here.append((token, ending, token.sign == "<<-"))
                waiting = True
        for token, ending, tabs in here:
            body: list[str] = []
            while index < len(lines):
                text = lines[index].lstrip("\t") if tabs else lines[index]
                index += 1
                if text == ending:
                    break
                body.append(text)
            token.sign = "<<<"
            token.word = (Piece("text", "\n".join(body), True),)
        yield from _without_endings(tokens, here)
        here = []
        yield Token("\n", number)


def _without_endings(tokens: list[Token], here: list[tuple[Token, str, bool]]) -> Iterator[Token]:
    """A here-document's text stands in its sign's token; the word that ends it goes."""
    documents = {id(token) for token, _, _ in here}
    skip = False
    for token in tokens:
        if skip:
            skip = False
        elif id(token) in documents:
            yield Token("<<<", token.line)
            yield Token("", token.line, token.word)
            skip = True
        else:
            yield token


_MOST_JOINED = 200  # lines that one quote, bracket or backslash may join


@dataclass(slots=True)
class _Budget:
    """Characters that may still be read anew because a line went on in the next ones."""

    left: int = 1 << 20


def _logical_line(
    lines: Sequence[str], index: int, number: int, budget: _Budget
) -> tuple[list[Token], int]:
    """The tokens of a line and of those that it goes on in, and how many these are."""
    text = lines[index]
    used = 1
    while True:
        try:
            if _goes_on(text) and index + used < len(lines) and used < _MOST_JOINED:
                raise _Unfinished
            return list(_line_tokens(text, number)), used
        except _Unfinished:
            budget.left -= len(text)
            at_end = index + used >= len(lines) or used >= _MOST_JOINED
            if at_end or len(text) > 1 << 16 or budget.left < 0:
                return [], 1
            # twice as much at a time, so that the whole is read a few times only
            more = max(1, used) if used > 4 else 1
            text = "\n".join([text, *lines[index + used : index + used + more]])
            used = min(used + more, len(lines) - index)


def _goes_on(text: str) -> bool:
    stripped = text.rstrip("\\")
    return (len(text) - len(stripped)) % 2 == 1 and not text.lstrip().startswith("#")


def _line_tokens(text: str, number: int) -> Iterator[Token]:
    reader = _Reader(text)
    end = len(text)
    line = number
    begin = 0
    while reader.at < end:
        at = reader.at
        c = text[at]
        if c == "\n":
            line = number + text.count("\n", 0, at + 1)
            yield Token("\n", line)
            reader.at += 1
        elif c in " \t" or text.startswith("\\\n", at):
            reader.at += 2 if c == "\\" else 1
        elif c == "#":
            stop = text.find("\n", at)
            reader.at = end if stop < 0 else stop
        else:
            line = number + text.count("\n", 0, at) if "\n" in text else number
            sign = next((s for s in _SIGNS if text.startswith(s, at)), "")
            if sign:
                reader.at += len(sign)
                yield Token(sign, line)
                continue
            begin = at
            word = reader.word()
            digits = text[begin : reader.at]
            if digits.isdigit() and text[reader.at : reader.at + 1] in ("<", ">"):
                yield Token("fd", line, (Piece("text", digits),))
            else:
                yield Token("", line, word, begin, reader.at)
