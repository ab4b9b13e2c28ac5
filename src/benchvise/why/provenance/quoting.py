"""Words of configuration files as systemd takes them apart: quotes and backslashes, no shell."""

from __future__ import annotations


def split(text: str, most: int = 0) -> list[str]:
    """The words; with ``most`` the last one is all that is left, as it stands.

    Quotes that are not closed reach to the end.
    """
    words: list[str] = []
    at, end = 0, len(text)
    while True:
        while at < end and text[at].isspace():
            at += 1
        if at >= end:
            return words
        if most and len(words) == most - 1:
            words.append(text[at:].strip())
            return words
        word: list[str] = []
        while at < end and not text[at].isspace():
            c = text[at]
            if c in "\"'":
                at = _quoted(text, at + 1, c, word)
            elif c == "\\" and at + 1 < end:
                word.append(text[at + 1])
                at += 2
            else:
                word.append(c)
                at += 1
        words.append("".join(word))


def _quoted(text: str, at: int, quote: str, word: list[str]) -> int:
    while at < len(text) and text[at] != quote:
        if text[at] == "\\" and text[at + 1 : at + 2] in (quote, "\\"):
            at += 1
        word.append(text[at])
        at += 1
    return at + 1
