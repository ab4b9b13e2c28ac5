"""Making text from outside safe to show: names, labels, host names, reasons.

A board, a label or a suite may hold anything: terminal escapes, right-to-left overrides, ten
kilobytes in one line. What is shown is one bounded line without control characters. HTML and
Markdown escape it after that, each in its own way.
"""

from __future__ import annotations

import unicodedata

_REPLACEMENT = "\ufffd"
# Line and paragraph separators, controls, formats (bidirectional overrides) and lone surrogates.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Joiners are formats too, but words of several scripts cannot be written without them.
_JOINERS = frozenset("\u200c\u200d")

NAME_LIMIT = 160
"""Enough for every name and label that a person would give."""

SENTENCE_LIMIT = 600
"""Enough for a reason or a caveat."""


def clean(text: object, limit: int = NAME_LIMIT) -> str:
    """``text`` as one line of at most ``limit`` characters, with nothing that acts in it."""
    # Bounded before the loop too: the input may be megabytes.
    raw = str(text)
    kept = " ".join(raw[: limit * 4].split())
    shown = "".join(map(_safe, kept))
    if len(shown) > limit or len(raw) > limit * 4:
        return shown[: limit - 1] + "…"
    return shown


def clean_lines(text: str, limit: int) -> str:
    """``text`` with its lines, of at most about ``limit`` characters, and nothing that acts."""
    return "\n".join(clean(line, limit) for line in text[:limit].splitlines())


def _safe(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _UNSAFE:
        return character
    return _REPLACEMENT
