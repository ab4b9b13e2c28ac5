"""What damages the content of a file: each change follows from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable

_INTEGERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
_TEXTS = (
    b"\x00",
    b"\xff\xfe",
    b"%s%n",
    b"-1",
    b"1e999",
    b"nan",
    b"[" * 5000,
    b"{" * 5000,
    b"'",
    b'"',
    b"\xed\xa0\x80",
    b"\x1b[31m",
)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with one to four changes."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        chance.choice(_CHANGES)(data, chance)
    return bytes(data)


def _place(data: bytearray, chance: random.Random) -> int:
    """Anywhere, but half the time where formats have their heads."""
    most = len(data) if chance.random() < 0.5 else min(len(data), 4096)
    return chance.randrange(most) if most else 0


def _flip(data: bytearray, chance: random.Random) -> None:
    if data:
        data[_place(data, chance)] ^= 1 << chance.randrange(8)


def _overwrite(data: bytearray, chance: random.Random) -> None:
    at, size = _place(data, chance), chance.choice((1, 2, 4, 8))
    value = chance.choice(_INTEGERS) & ((1 << 8 * size) - 1)
    data[at : at + size] = value.to_bytes(size, "little" if chance.random() < 0.5 else "big")


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[_place(data, chance) :]


def _leave_out(data: bytearray, chance: random.Random) -> None:
    at = _place(data, chance)
    del data[at : at + chance.choice((1, 2, 7, 64, 4096))]


def _repeat(data: bytearray, chance: random.Random) -> None:
    at = _place(data, chance)
    piece = data[at : at + chance.choice((1, 8, 64, 4096))]
    data[at:at] = piece * chance.choice((1, 2, 100))


def _insert(data: bytearray, chance: random.Random) -> None:
    at = _place(data, chance)
    data[at:at] = chance.choice(_TEXTS)


def _move(data: bytearray, chance: random.Random) -> None:
    here, there = _place(data, chance), _place(data, chance)
    data[here : here + 16] = data[there : there + 16]


def _number(data: bytearray, chance: random.Random) -> None:
    """A decimal number in a text becomes another."""
    digits = [at for at, byte in enumerate(data[:65536]) if 0x30 <= byte <= 0x39]
    if digits:
        at = chance.choice(digits)
        data[at : at + 1] = chance.choice((b"-1", b"0", b"9" * 30, b"1e308", b""))


_CHANGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip,
    _overwrite,
    _cut,
    _leave_out,
    _repeat,
    _insert,
    _move,
    _number,
)
