"""From a console's bytes to lines, whatever the pieces in which the bytes come.

A console mixes two writers: programs, and the kernel, which writes its messages wherever the
cursor stands. So a prompt may be followed, or torn apart, by kernel lines::

    arm64-1 log[    3.141592] random: crng init done
    in:

The kernel's time stamp tells them apart. What a program has written so far of its line is kept
and goes on after the kernel's line; it is reported as a FRAGMENT, then as a whole PROGRAM line.

Everything here depends on the order of the bytes only, not on how they are cut: what could still
become an escape sequence or a time stamp is held back until it is known what it is.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from enum import StrEnum

LINE_LIMIT = 2048
"""Characters after which a line is ended, so that a board cannot fill the memory."""

STAMP = re.compile(r"\[ {0,5}\d{1,7}\.\d{6}\] ?(?:\[ *[TC]\d{1,7}\] )?")
"""A kernel's time stamp, ``[%5lu.%06lu]``, and the caller's number where that is switched on."""

_STAMP_BEGUN = re.compile(r"\[ {0,5}(?:\d{1,7}(?:\.\d{0,6})?)?\Z")

_ESCAPE = re.compile(
    r"""\x1b(?:
        \[ [0-?]* [ -/]* [@-~]                          # CSI: colours, cursor
      | [\]PX^_] [^\x07\x1b]* (?:\x07|\x1b\\)           # OSC, DCS: titles
      | [ -/]* [0-~]                                    # the short ones
    )""",
    re.VERBOSE,
)
_ESCAPE_BEGUN = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z",
)
_LINE_ENDS = re.compile(r"[\r\n]")

_DROPPED = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if code != 0x09}

# Controls that a sane console sends: bell, backspace, tab, the line ends, form feed, escape.
_SANE_CONTROLS = frozenset("\a\b\t\n\r\f\x1b")


class LineWriter(StrEnum):
    """Who wrote a line."""

    PROGRAM = "program"
    KERNEL = "kernel"
    FRAGMENT = "fragment"


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """A line without escape sequences and control characters.

    ``text`` of the kernel's lines is without the stamp, ``stamped`` with it. A FRAGMENT is what a
    program has written so far of a line that the kernel interrupts.
    """

    writer: LineWriter
    text: str
    stamped: str


class LineSplitter:
    """Takes bytes and gives lines. ``characters`` and ``junk`` count what came in: junk is what
    no console sends that is set up right, undecodable bytes and stray control characters."""

    def __init__(self) -> None:
        self.characters = 0
        self.junk = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._raw = ""  # of the line that is not at its end
        self._kept = ""  # what a program wrote before the kernel interrupted it
        self._return_ended_text = False

    def feed(self, data: bytes) -> list[ConsoleLine]:
        """The lines that come to their end with ``data``."""
        text = self._decoder.decode(data)
        self.characters += len(text)
        self.junk += sum(map(_is_junk, text))
        lines: list[ConsoleLine] = []
        position = 0
        while position < len(text):
            end = _LINE_ENDS.search(text, position)
            stop = end.start() if end else len(text)
            room = LINE_LIMIT - len(self._raw)
            if stop - position >= room:
                self._raw += text[position : position + room]
                position += room
                self._return_ended_text = False
                self._complete(lines)
                continue
            if stop > position:
                self._raw += text[position:stop]
                self._return_ended_text = False
            position = stop
            if end:
                self._end(end[0], lines)
                position += 1
        return lines

    @property
    def open(self) -> str:
        """What a program has written so far of a line that is not at its end, a prompt perhaps."""
        begun = _plain(self._raw, whole=False)
        stamp = STAMP.search(begun)
        return (self._kept + (begun[: stamp.start()] if stamp else begun))[:LINE_LIMIT]

    @property
    def pending(self) -> list[ConsoleLine]:
        """The lines that are not at their end, as if they were."""
        lines: list[ConsoleLine] = []
        rest = LineSplitter()
        rest._raw, rest._kept = self._raw, self._kept
        if rest._raw or rest._kept:
            rest._complete(lines)
        if rest._kept:
            lines.append(ConsoleLine(LineWriter.PROGRAM, rest._kept, rest._kept))
        return [line for line in lines if line.writer is not LineWriter.FRAGMENT]

    def _end(self, character: str, lines: list[ConsoleLine]) -> None:
        """CR and LF end a line each, CR LF together one; only an LF can make an empty one."""
        if character == "\r":
            self._return_ended_text = bool(self._raw)
            if self._raw:
                self._complete(lines)
        else:
            if not self._return_ended_text:
                self._complete(lines)
            self._return_ended_text = False

    def _complete(self, lines: list[ConsoleLine]) -> None:
        text = _plain(self._raw, whole=True)
        self._raw = ""
        stamp = STAMP.search(text)
        if stamp is None:
            whole = (self._kept + text)[:LINE_LIMIT]
            self._kept = ""
            if whole:
                lines.append(ConsoleLine(LineWriter.PROGRAM, whole, whole))
            return
        if stamp.start() > 0:
            self._kept = (self._kept + text[: stamp.start()])[:LINE_LIMIT]
            lines.append(ConsoleLine(LineWriter.FRAGMENT, self._kept, self._kept))
        lines.append(ConsoleLine(LineWriter.KERNEL, text[stamp.end() :], text[stamp.start() :]))


def _is_junk(character: str) -> bool:
    if character < " ":
        return character not in _SANE_CONTROLS
    return "\x7f" <= character <= "\x9f" or character == "\ufffd"


def _plain(raw: str, *, whole: bool) -> str:
    """``raw`` without escape sequences and control characters.

    Unless it is ``whole``, an end that may become an escape sequence or a time stamp is left out.
    """
    parts = []
    position = 0
    while True:
        escape = raw.find("\x1b", position)
        if escape < 0:
            parts.append(raw[position:])
            break
        parts.append(raw[position:escape])
        if not whole and _ESCAPE_BEGUN.match(raw, escape):
            break
        sequence = _ESCAPE.match(raw, escape)
        position = sequence.end() if sequence else escape + 1
    text = "".join(parts).translate(_DROPPED)
    if not whole:
        begun = _STAMP_BEGUN.search(text)
        if begun:
            text = text[: begun.start()]
    return text
