"""What is sent over a serial line under test: each pattern asks for one way to go wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from benchvise.signal.serial.port import XOFF, XON, Flow

_FLOW_BYTES = frozenset({XON, XOFF})


@dataclass(frozen=True, slots=True)
class Pattern:
    """Bytes to be sent, and why. ``both_ways`` sends them from either end at the same time."""

    name: str
    asks: str
    data: bytes
    both_ways: bool = False
    pause_s: float = 0.0
    """A rest after each chunk."""


def patterns(flow: Flow, size: int, seed: int) -> Iterator[Pattern]:
    """The patterns for a line under a flow control, of about ``size`` bytes each.

    Under software flow control XON and XOFF belong to the line and are in no pattern. A lone
    XOFF comes last, as it may halt what does not get over it.
    """
    rest = [byte for byte in range(256) if flow is not Flow.XONXOFF or byte not in _FLOW_BYTES]
    maker = random.Random(seed)  # noqa: S311 - a pattern that can be repeated
    every = bytes(rest) * max(1, size // len(rest))
    yield Pattern("every byte", "is each value carried?", every)
    yield Pattern("random", "are bytes lost, doubled or altered?", _random(maker, rest, size))
    yield Pattern(
        "slow",
        "does it go wrong without haste too?",
        _random(maker, rest, max(64, size // 16)),
        pause_s=0.002,
    )
    runs = b"".join(bytes([value]) * (size // 8) for value in (0x00, 0xFF, 0x55, 0x7F))
    yield Pattern("long runs", "does a repeated byte stay as often?", runs)
    yield Pattern(
        "both ways",
        "does traffic in one direction hurt the other?",
        _random(maker, rest, size),
        both_ways=True,
    )
    if flow is not Flow.XONXOFF:
        text = bytes(range(0x41, 0x5B))
        yield Pattern(
            "XON alone", "does anything take XON out?", (text + bytes([XON])) * max(1, size // 108)
        )
        yield Pattern(
            "XOFF and XON",
            "does anything take pairs of XOFF and XON out?",
            (text + bytes([XOFF, XON])) * max(1, size // 112),
        )
        yield Pattern(
            "XOFF alone", "does a lone XOFF halt the line?", text + bytes([XOFF]) + text * 4
        )


def _random(maker: random.Random, allowed: list[int], size: int) -> bytes:
    return bytes(maker.choices(allowed, k=size))
