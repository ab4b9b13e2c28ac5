"""Expressions of lm-sensors configuration: ``@*1.679``, ``((6.2/6.7)+1)*@``, ``in1 - in2``.

``@`` is the raw value, a word the value of another sensor of the chip; ``^x`` is e to the power of
x, `` `x`` its natural logarithm, as sensors.conf(5) has them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

LENGTH = 400
"""Characters of an expression."""

_DEPTH = 40
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)|([A-Za-z_]\w*)|([-+*/()@^`]))")

Lookup = Callable[[str], float]


def evaluate(text: str, raw: float | None, lookup: Lookup) -> float:
    """The value of an expression. ``raw`` stands for ``@`` (None where there is none).

    Raises ValueError, which says why, when it is no expression or has no finite value.
    """
    if len(text) > LENGTH:
        raise ValueError(f"an expression of over {LENGTH} characters")
    parser = _Parser(list(_tokens(text)), raw, lookup)
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


class _Parser:
    """One function for each precedence, from loose to tight."""

    def __init__(self, words: list[str], raw: float | None, lookup: Lookup) -> None:
        self.rest = words
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
        word = self.rest.pop(0)
        if word == "-":
            return -self._unary(depth + 1)
        if word == "^":
            return math.exp(self._unary(depth + 1))
        if word == "`":
            return math.log(self._unary(depth + 1))
        if word == "(":
            value = self.sum(depth + 1)
            if not self.rest or self.rest.pop(0) != ")":
                raise ValueError("a bracket is not closed")
            return value
        if word == "@":
            if self._raw is None:
                raise ValueError("@ has no value here")
            return self._raw
        if word[0].isdigit() or word[0] == ".":
            return float(word)
        if word[0].isalpha() or word[0] == "_":
            return self._lookup(word)
        raise ValueError(f"'{word}' is out of place")
