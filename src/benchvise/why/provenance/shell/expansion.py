"""From the words of a script to the words of a command: variables, sums, captured output."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from benchvise.why.provenance.shell.state import MOST_WORDS, State
from benchvise.why.provenance.shell.syntax import Simple, parse
from benchvise.why.provenance.shell.text import (
    LONGEST,
    UNKNOWN,
    Text,
    expand_braces,
    sum_of,
    without,
)
from benchvise.why.provenance.shell.tokens import Piece, Word

_PARAMETER = re.compile(r"([A-Za-z_]\w*|[0-9@*#?!$-])(?:(:?[-=+?]|##?|%%?)(.*))?", re.DOTALL)


class Expansion:
    """Expands words in a state; ``capture`` says what the commands in ``$(…)`` print."""

    def __init__(self, state: State, capture: Callable[[str], Text]) -> None:
        self._state = state
        self._capture = capture

    def expand(self, words: Iterable[Word]) -> list[Text]:
        """All words that these become, as many as a command may have."""
        found: list[Text] = []
        for word in words:
            found += self.fields(word)
            if len(found) > MOST_WORDS:
                break
        return found[:MOST_WORDS]

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
        if isinstance(first, Simple) and first.given:
            return self.joined(first.given[0][1])
        return Text(UNKNOWN)
