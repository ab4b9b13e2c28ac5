"""Whether a console loses or alters what goes through it, from texts that are known.

While a board boots, ``Quality`` counts the known texts among what it says; once it has a shell,
``check_console`` sends a text both ways.

Two kinds of text are known beforehand. The kernel's time stamps are 14 characters of a fixed form
(``[%5lu.%06lu]``), hundreds of them in a boot, so a loss of one byte in a thousand already shows.
And some phrases are said by nearly every board: found with a mistake or two they tell the same.
An occurrence with at most k mistakes holds one of its k + 1 pieces unharmed; so pieces are looked
for, and only around a piece is the distance computed (Levenshtein's, by dynamic programming).
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from benchvise.board.probes import posix_cksum
from benchvise.rig.console.lines import ConsoleLine, LineSplitter, LineWriter
from benchvise.rig.console.link import Link, NoAnswer, Shell, new_word
from benchvise.rig.faults import Fault
from benchvise.text import NO_TEXT, Untrusted

_STAMP_LENGTH = 14
_STAMP_SOUND = re.compile(r"\[(?: {4}\d| {3}\d{2}| {2}\d{3}| \d{4}|\d{5,7})\.\d{6}\]")
_STAMP_LOOSE = re.compile(r"\[? {0,5}\d{0,6}\.?\d{2,7}\]? ?(?=[^\d\s.\]])")
_STAMPS_TO_KNOW = 5  # so many sound ones show that this kernel prints them
_CERTAIN = 3  # damaged texts that make it certain, where there are many sound ones
_SHARE = 0.01
_LONG = 16  # phrases of so many characters may have two mistakes


class Damage(StrEnum):
    """What happened to a known text."""

    LOST = "lost"
    ALTERED = "altered"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Spot:
    """A known text that came through damaged, as the console had it."""

    damage: Damage
    text: str


class Quality:
    """Counts the known texts among lines: how many were sound, and how many were not."""

    def __init__(self, phrases: Iterable[str] = ()) -> None:
        self.sound = 0
        self.lost = 0
        self.altered = 0
        self.example = NO_TEXT
        self._phrases = tuple(phrases)
        self._stamps = 0

    def feed(self, line: ConsoleLine) -> None:
        """Counts the known texts of one line."""
        if line.writer is LineWriter.FRAGMENT:
            return
        if line.writer is LineWriter.KERNEL and _STAMP_SOUND.match(line.stamped):
            self._stamps += 1
            self.sound += 1
        elif self._stamps >= _STAMPS_TO_KNOW:
            damage = damaged_stamp(line.stamped)
            if damage is not None:
                self._count(Spot(damage, line.stamped))
                return
        for phrase in self._phrases:
            if phrase in line.text:
                self.sound += 1
                continue
            damage = damaged(phrase, line.text, 2 if len(phrase) >= _LONG else 1)
            if damage is not None:
                self._count(Spot(damage, line.stamped))

    @property
    def is_lossy(self) -> bool:
        """Whether it is certain that bytes get lost."""
        return self._certain(self.lost)

    @property
    def is_altering(self) -> bool:
        """Whether it is certain that bytes arrive as others."""
        return self._certain(self.altered)

    def _certain(self, count: int) -> bool:
        few = self.sound + self.lost + self.altered < 2 * _CERTAIN and count >= 2
        return few or (
            count >= _CERTAIN and count >= _SHARE * (self.sound + self.lost + self.altered)
        )

    def _count(self, spot: Spot) -> None:
        if spot.damage is Damage.ALTERED:
            self.altered += 1
        elif spot.damage is Damage.LOST:
            self.lost += 1
        else:
            return
        self.example = self.example or Untrusted(spot.text.strip()[:200])


def damaged_stamp(text: str) -> Damage | None:
    """What happened to the time stamp that a kernel's line begins with, if it looks like one."""
    if _STAMP_SOUND.match(text):
        return None
    form = "[ddddd.dddddd]"
    head = text[:_STAMP_LENGTH]
    if len(head) == _STAMP_LENGTH and text[_STAMP_LENGTH : _STAMP_LENGTH + 1] in (" ", ""):
        wrong = sum(
            not (c == f or (f == "d" and (c.isdecimal() or (c == " " and i < 6))))
            for i, (c, f) in enumerate(zip(head, form, strict=True))
        )
        if 1 <= wrong <= 2:
            return Damage.ALTERED
    match = _STAMP_LOOSE.match(text)
    size = len(match[0].rstrip()) if match else 0
    return Damage.LOST if 10 <= size < _STAMP_LENGTH else None


def damaged(phrase: str, text: str, mistakes: int) -> Damage | None:
    """How ``phrase`` is damaged in ``text``: None when it is not there, or there unharmed."""
    if phrase in text:
        return None
    step = -(-len(phrase) // (mistakes + 1))
    for begin in range(0, len(phrase), step):
        piece = phrase[begin : begin + step]
        at = text.find(piece)
        while at >= 0:
            window = text[max(at - begin - mistakes, 0) : at - begin + len(phrase) + mistakes]
            distance = _distance(phrase, window)
            if distance is not None and distance[0] <= mistakes:
                return distance[1]
            at = text.find(piece, at + 1)
    return None


def _distance(phrase: str, window: str) -> tuple[int, Damage] | None:
    """The fewest mistakes with which ``phrase`` lies in ``window``, and of what kind they are.

    Mistakes of several kinds are called altered.
    """
    # Each cell: mistakes, and how many of them are lost, altered and added characters.
    row = [(0, 0, 0, 0)] * (len(window) + 1)
    for wanted in phrase:
        above = row
        row = [_plus(above[0], 1)]
        for i, got in enumerate(window, 1):
            straight = above[i - 1] if got == wanted else _plus(above[i - 1], 2)
            row.append(min(straight, _plus(above[i], 1), _plus(row[i - 1], 3)))
    mistakes, lost, altered, added = min(row)
    if not mistakes:
        return None
    if altered or (lost and added):
        return mistakes, Damage.ALTERED
    return mistakes, Damage.LOST if lost else Damage.ADDED


def _plus(cell: tuple[int, int, int, int], kind: int) -> tuple[int, int, int, int]:
    counts = list(cell)
    counts[0] += 1
    counts[kind] += 1
    return (counts[0], counts[1], counts[2], counts[3])


LINES = 48
SECONDS = 20.0

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_BAND = 160
_QUIET = 1.0
_TYPED_LINES = 6  # lines that are typed, as numbers change the sum of each


@dataclass(frozen=True, slots=True)
class ConsoleCheck:
    """Of ``expected`` characters that the board printed, how many were lost, altered, doubled, or
    came from nowhere; ``typed_whole`` of ``typed`` lines that were typed arrived as they were."""

    expected: int
    lost: int = 0
    altered: int = 0
    doubled: int = 0
    foreign: int = 0
    typed: int = 0
    typed_whole: int = 0

    @property
    def fault(self) -> Fault | None:
        """What to call it."""
        if self.altered > self.lost + self.doubled:
            return Fault.CONSOLE_GARBLED
        if self.lost or self.altered or self.doubled or self.typed_whole < self.typed:
            return Fault.CONSOLE_LOSSY
        return None

    @property
    def sentence(self) -> str:
        """In words."""
        if self.fault is None:
            return f"the console is sound: {self.expected} characters came as they were printed"
        parts = [
            f"{count} {what}"
            for count, what in (
                (self.lost, "lost"),
                (self.altered, "altered"),
                (self.doubled, "doubled"),
            )
            if count
        ]
        counts = ", ".join(parts) or "none damaged"
        sentence = f"of {self.expected} characters that the board printed, {counts}"
        if self.typed_whole < self.typed:
            sentence += (
                f"; {self.typed - self.typed_whole} of {self.typed} typed lines did not arrive"
            )
        return sentence


def check_console(shell: Shell, name: str = "the board", *, lines: int = LINES) -> ConsoleCheck:
    """Tries the console of a shell that is at its prompt. Kernel messages in between do no harm.

    The board prints lines of which each is known from its number; what came is laid beside what
    was printed with the fewest mistakes (Levenshtein's alignment, within a band), which tells
    lost, altered and doubled characters apart. For the other way a text is typed, and the board
    counts and sums it.

    Raises BoardUnreachable when the console is lost.
    """
    link = Link(shell, name)
    link.clear()
    word = new_word()
    # The first and the last line are printed in two parts, so that the echo does not hold them.
    command = (
        f" n=0; echo B''{word}; while [ $n -lt {lines} ]; do "
        f"echo \"$n.{_LETTERS}.$n\"; n=$((n+1)); done; echo E''{word}\n"
    )
    expected = "\n".join(f"{n}.{_LETTERS}.{n}" for n in range(lines)) + "\n"
    received = _printed(shell, link, command, word)
    counts = compare(expected, received)
    typed_whole = sum(_typed_arrives(link, number) for number in range(_TYPED_LINES))
    return ConsoleCheck(len(expected), *counts, typed=_TYPED_LINES, typed_whole=typed_whole)


def _printed(shell: Shell, link: Link, command: str, word: str) -> str:
    """What programs printed between the two marks, as far as those came through."""
    link.write(command.encode())
    splitter = LineSplitter()
    texts: list[str] = []
    deadline = time.monotonic() + SECONDS
    quiet_since = time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - quiet_since < _QUIET:
        data = shell.read(0.1)
        if data:
            quiet_since = time.monotonic()
        texts += [line.text for line in splitter.feed(data) if line.writer is LineWriter.PROGRAM]
        if texts and f"E{word}" in texts[-1]:
            break
    begin = next((i + 1 for i, text in enumerate(texts) if f"B{word}" in text), None)
    if begin is None:  # lost on the way: the first line that looks like one of ours
        begin = next((i for i, t in enumerate(texts) if _LETTERS[:20] in t and "$n" not in t), 0)
    end = next((i for i, text in enumerate(texts) if f"E{word}" in text), len(texts))
    return "".join(f"{text}\n" for text in texts[begin:end])


def _typed_arrives(link: Link, number: int) -> bool:
    text = f"{number}.{_LETTERS}{_LETTERS}.{number}"
    try:
        answer = link.ask(f"printf %s {text} | {{ cksum 2>/dev/null || md5sum; }}")
    except NoAnswer:
        link.clear()
        return False
    data = text.encode()
    sums = (str(posix_cksum(data)), hashlib.md5(data, usedforsecurity=False).hexdigest())
    return any(line.split()[:1] == [checksum] for line in answer.lines for checksum in sums)


def compare(expected: str, received: str) -> tuple[int, int, int, int]:
    """How many characters were lost, altered, doubled, and came from nowhere.

    Lines that came unharmed are laid beside each other first; only what is between two of them is
    aligned by characters.
    """
    lost = altered = doubled = foreign = 0
    for wanted, got in _between(expected.splitlines(), received.splitlines()):
        counts = _align(wanted, got)
        lost, altered = lost + counts[0], altered + counts[1]
        doubled, foreign = doubled + counts[2], foreign + counts[3]
    return lost, altered, doubled, foreign


def _between(wanted: list[str], got: list[str]) -> list[tuple[str, str]]:
    """The stretches that differ; lines are unique, and come in their order."""
    places: dict[str, int] = {}
    for i, line in enumerate(got):
        places.setdefault(line, i)
    parts = []
    begin_wanted = begin_got = 0
    ends: list[str | None] = [*wanted, None]
    for i, wanted_line in enumerate(ends):
        at = len(got) if wanted_line is None else places.get(wanted_line, -1)
        if at < begin_got:
            continue
        if (begin_wanted, begin_got) != (i, at):
            parts.append(("\n".join(wanted[begin_wanted:i]), "\n".join(got[begin_got:at])))
        begin_wanted, begin_got = i + 1, at + 1
    return parts


def _align(wanted: str, got: str) -> tuple[int, int, int, int]:
    """The fewest mistakes that make ``got`` of ``wanted``, within a band around the diagonal."""
    Cell = tuple[int, int, int, int, int]  # noqa: N806 - mistakes, and each kind of them
    slope = len(got) / len(wanted) if wanted else 0.0
    row: dict[int, Cell] = {j: (j, 0, 0, 0, j) for j in range(min(len(got), _BAND) + 1)}
    for i, want in enumerate(wanted, 1):
        middle = int(i * slope)
        new: dict[int, Cell] = {}
        for j in range(max(middle - _BAND, 0), min(middle + _BAND, len(got)) + 1):
            best: Cell | None = None
            if j in row:
                c = row[j]
                best = (c[0] + 1, c[1] + 1, c[2], c[3], c[4])
            if j and j - 1 in row:
                c = row[j - 1]
                if want == got[j - 1]:
                    best = c if best is None or c[0] < best[0] else best
                elif best is None or c[0] + 1 < best[0]:
                    best = (c[0] + 1, c[1], c[2] + 1, c[3], c[4])
            if j and j - 1 in new:
                c = new[j - 1]
                if best is None or c[0] + 1 < best[0]:
                    twice = got[j - 1] in got[max(j - 2, 0) : j - 1] + got[j : j + 1]
                    best = (c[0] + 1, c[1], c[2], c[3] + twice, c[4] + (not twice))
            if best is not None:
                new[j] = best
        row = new
    _, lost, altered, doubled, foreign = row[len(got)]
    return lost, altered, doubled, foreign
