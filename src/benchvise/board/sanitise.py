"""Making text that came from a board safe to show on a terminal."""

from __future__ import annotations

import re
import unicodedata

# Whole sequences first: without its ESC, "[31m" would be shown as text. A string that is never
# terminated (OSC, DCS) loses only its introducer, so that it cannot swallow what follows.
_ESCAPES = re.compile(
    r"""
      (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]                                  # CSI: colours, cursor
    | (?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]) [^\x07\x1b\x9c]* (?:\x07|\x1b\\|\x9c)  # OSC, DCS, ...
    | \x1b [ -/]* [0-~]                                                    # the short ones
    """,
    re.VERBOSE,
)

# Controls, formats (bidirectional overrides are among them), lone surrogates, private use.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})

# Escape sequences vanish, so more is looked at than is shown; but never megabytes.
_LOOKED_AT = 16


def printable(text: str | bytes, limit: int = 200) -> str:
    """``text`` as one line of at most ``limit`` characters that does nothing to a terminal.

    Escape sequences, control, format and bidirectional characters are removed, white space of
    any kind becomes one space, bytes that are not UTF-8 become U+FFFD. What is cut ends in "…".
    """
    raw = text[: limit * _LOOKED_AT]
    if isinstance(raw, bytes):
        raw = raw.decode("utf-8", "replace")
    # Nothing that Python calls printable is unsafe, and most texts are all that.
    kept = raw if raw.isprintable() else "".join(map(_kept, _ESCAPES.sub("", raw)))
    shown = " ".join(kept.split())
    if len(shown) > limit or len(text) > limit * _LOOKED_AT:
        return shown[: limit - 1] + "…"
    return shown


def aligned(text: str, limit: int = 200) -> str:
    """As ``printable``, with its spaces as they are: for text in columns."""
    kept = "".join(map(_kept, _ESCAPES.sub("", text[: limit * _LOOKED_AT]).expandtabs(8)))
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def without_escapes(text: str) -> str:
    """``text`` as a program printed it, without what it told a terminal: colours, cursor, title."""
    return _ESCAPES.sub("", text)


def _kept(character: str) -> str:
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) in _UNSAFE else character


def last_line(text: bytes, limit: int = 200) -> str:
    """The last line of ``text`` that shows anything, printable; empty when there is none."""
    tail = text[-limit * _LOOKED_AT :]
    for line in reversed(tail.splitlines()):
        shown = printable(line, limit)
        if shown:
            return shown
    return ""
