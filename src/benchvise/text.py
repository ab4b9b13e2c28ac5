"""Text from outside, and how it becomes harmless: the one sanitiser of the package.

A board, a trace, a file or another user may say anything: terminal escapes, right-to-left
overrides, ten megabytes in one line. The rule is:

* What comes from outside and is only ever shown is kept as ``Untrusted``. It is no ``str``, so it
  cannot be handed on as one by mistake; in a sentence (an f-string) it stands in its harmless form.
* Sinks (``report.sinks``: terminal, Markdown, HTML, CSV, JSON; ``cli.output``) escape by
  themselves, whatever they are handed. Code whose text ends in one calls nothing here.
* ``printable`` itself is called where a text leaves the package without a sink (the environment of
  a user's command), where it must be shorter than a sink would make it, or where a tool's output
  becomes a sentence (``last_line``).

What ``printable`` does, and why: escape sequences vanish as a whole, since they are a program's
layout and no content, and half of one is noise (``[31m``). Every other character that shows
nothing but acts, hides or turns what stands around it (controls, bidirectional overrides, lone
surrogates, private and unassigned code points) becomes U+FFFD and does not vanish: otherwise two
names that differ would be shown alike. Joiners stay between letters beyond ASCII, where several
scripts and emoji need them, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

NAME_LIMIT = 160
"""Characters of a name or label: enough for every one that a person would give."""

LINE_LIMIT = 200
"""Characters of a line, where nothing else is said."""

SENTENCE_LIMIT = 600
"""Characters of a reason, a caveat, a remark."""

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
_JOINER = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")
_REPLACEMENT = "\ufffd"
# What ends a string in C, what begins a file on Windows, what is left of a sequence that was cut
# off: of no meaning at the ends of a text.
_ENDS = " \0\ufeff\x1b"

# Escape sequences vanish, so more is read than is shown; but never megabytes.
_READ = 16


class Untrusted:
    """A text from outside, as it came (``raw``); formatted, one bounded line that does nothing.

    ``f"{reason}"`` has at most 200 characters, ``f"{reason:600}"`` at most 600.
    """

    __slots__ = ("raw",)

    raw: str

    def __init__(self, raw: str) -> None:
        self.raw = raw

    def __str__(self) -> str:
        return printable(self.raw)

    def __format__(self, limit: str) -> str:
        return printable(self.raw, int(limit)) if limit else str(self)

    def __repr__(self) -> str:
        return f"Untrusted({self.raw!r})"

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Untrusted) and self.raw == other.raw

    def __lt__(self, other: Untrusted) -> bool:
        return self.raw < other.raw

    def __hash__(self) -> int:
        return hash(self.raw)


NO_TEXT = Untrusted("")
"""None at all: the default of a field that may stay empty."""

AnyText: TypeAlias = str | Untrusted
"""What every sink takes."""


def raw(text: AnyText) -> str:
    """The text as it came: for sinks, which escape it, and for what reads it."""
    return text.raw if isinstance(text, Untrusted) else text


def printable(text: AnyText | bytes, limit: int = LINE_LIMIT) -> str:
    """``text`` as one line of at most ``limit`` characters that does nothing where it is shown.

    White space of any kind becomes one space, bytes that are not UTF-8 become U+FFFD. What is cut
    ends in "…". The module says what becomes of the rest.
    """
    whole = text.raw if isinstance(text, Untrusted) else text
    head = whole[: limit * _READ]
    if isinstance(head, bytes):
        head = head.decode("utf-8", "replace")
    # Most texts are harmless, and Python tells fast.
    kept = head if head.isprintable() else _ESCAPES.sub("", head)
    line = harmless(" ".join(kept.split()).strip(_ENDS))
    if len(line) > limit or len(whole) > limit * _READ:
        return line[: limit - 1] + "…"
    return line


def aligned(text: AnyText, limit: int = LINE_LIMIT) -> str:
    """As ``printable``, with its spaces as they are: for cells and columns."""
    whole = raw(text)
    head = whole[: limit * _READ]
    if head.isprintable():
        line = head
    else:
        kept = _ESCAPES.sub("", head).replace("\r\n", "\n").expandtabs(8)
        line = harmless("".join(" " if c.isspace() else c for c in kept))
    if len(line) > limit or len(whole) > limit * _READ:
        return line[: limit - 1] + "…"
    return line


def printable_lines(text: AnyText, limit: int) -> str:
    """``text`` with its line breaks and indents, at most ``limit`` characters of it."""
    lines = raw(text)[:limit].splitlines()
    return "\n".join(aligned(line.rstrip(), limit) for line in lines)


def without_escapes(text: str) -> str:
    """``text`` as a program printed it, without what it told a terminal: colours, cursor, title."""
    return _ESCAPES.sub("", text)


def last_line(text: bytes, limit: int = LINE_LIMIT) -> str:
    """The last line of ``text`` that shows anything, printable; empty when there is none."""
    for line in reversed(text[-limit * _READ :].splitlines()):
        if kept := printable(line, limit):
            return kept
    return ""


def harmless(text: str, kept: str = "") -> str:
    """``text`` with U+FFFD for each character that shows nothing but may act; as long as before.

    ``kept`` are such that may stay, line breaks and tabs for one.
    """
    if text.isprintable():
        return text
    joiners = {match.start() for match in _JOINER.finditer(text)}
    return "".join(
        character
        if character.isprintable() or character in kept or place in joiners
        else _REPLACEMENT
        for place, character in enumerate(text)
    )


# -- lists in sentences ----------------------------------------------------------------------------


def enumerated(names: Sequence[object], most: int = 4, between: str = ", ") -> str:
    """``eth0, eth1 and 3 more``: the first ``most`` names, and how many there are besides."""
    listed = between.join(f"{name}" for name in names[:most])
    return f"{listed} and {len(names) - most} more" if len(names) > most else listed


def counted(number: int, singular: str, plural: str = "") -> str:
    """``1 experiment``, ``7 experiments``."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
