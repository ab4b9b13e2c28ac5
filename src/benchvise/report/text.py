"""Calls that go as soon as every text ends in a sink."""

from __future__ import annotations

from benchvise.text import NAME_LIMIT, SENTENCE_LIMIT, printable, printable_lines

__all__ = ["NAME_LIMIT", "SENTENCE_LIMIT", "clean", "clean_lines"]


def clean(text: object, limit: int = NAME_LIMIT) -> str:
    """``text`` as one line of at most ``limit`` characters, with nothing that acts in it."""
    return printable(str(text), limit)


def clean_lines(text: str, limit: int) -> str:
    """``text`` with its lines, of at most about ``limit`` characters, and nothing that acts."""
    return printable_lines(text, limit)
