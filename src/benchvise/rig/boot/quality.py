"""Whether a console loses or alters what goes through it, from texts that are known.

Two kinds of text are known beforehand. The kernel's time stamps are 14 characters of a fixed form
(``[%5lu.%06lu]``), hundreds of them in a boot, so a loss of one byte in a thousand already shows.
And some phrases are said by nearly every board: found with a mistake or two they tell the same.
An occurrence with at most k mistakes holds one of its k + 1 pieces unharmed; so pieces are looked
for, and only around a piece is the distance computed (Levenshtein's, by dynamic programming).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from benchvise.rig.boot.lines import Line, Writer

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
    """A known text that came through damaged, as it was shown."""

    damage: Damage
    shown: str


class Quality:
    """Counts the known texts among lines: how many were sound, and how many were not."""

    def __init__(self, phrases: Iterable[str] = ()) -> None:
        self.sound = 0
        self.lost = 0
        self.altered = 0
        self.example = ""
        self._phrases = tuple(phrases)
        self._stamps = 0

    def feed(self, line: Line) -> None:
        """Looks at one line."""
        if line.writer is Writer.FRAGMENT:
            return
        if line.writer is Writer.KERNEL and _STAMP_SOUND.match(line.shown):
            self._stamps += 1
            self.sound += 1
        elif self._stamps >= _STAMPS_TO_KNOW:
            damage = damaged_stamp(line.shown)
            if damage is not None:
                self._count(Spot(damage, line.shown))
                return
        for phrase in self._phrases:
            if phrase in line.text:
                self.sound += 1
                continue
            damage = damaged(phrase, line.text, 2 if len(phrase) >= _LONG else 1)
            if damage is not None:
                self._count(Spot(damage, line.shown))

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
        self.example = self.example or spot.shown.strip()[:200]


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
    found = _STAMP_LOOSE.match(text)
    size = len(found[0].rstrip()) if found else 0
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
            found = _distance(phrase, window)
            if found is not None and found[0] <= mistakes:
                return found[1]
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
