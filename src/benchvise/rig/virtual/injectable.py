"""The faults that can be ordered for a simulated board, and what they do to its console line."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

FaultValue = float | int
"""What a fault is set to: a probability, an offset, a factor, 1 for on."""

OFF = "off"
"""The word that takes any fault back."""


@dataclass(frozen=True, slots=True)
class Injectable:
    """A fault that can be ordered. ``takes`` says what its value is; ``parse`` raises ValueError.

    A parsed value that is false means that the fault is taken back.
    """

    name: str
    takes: str
    summary: str
    parse: Callable[[str], FaultValue | None]


def _probability(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:  # false for NaN too
        raise ValueError
    return value


def _switch(text: str) -> int:
    return {"on": 1, "1": 1, "0": 0}[text]


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise ValueError
    return int(text)


def _power_of_two(text: str) -> int:
    value = _count(text)
    if value < 512 or value & (value - 1):  # QEMU refuses other SD cards
        raise ValueError
    return value


def _factor(text: str) -> float:
    value = float(text)
    if not 1 <= value <= 1000:
        raise ValueError
    return 0.0 if value == 1 else value


_ON = "on or off"

INJECTABLE: Mapping[str, Injectable] = {
    fault.name: fault
    for fault in (
        Injectable(
            "serial-drop",
            "a probability from 0 to 1",
            "each byte that the board sends on its console is lost with this probability",
            _probability,
        ),
        Injectable(
            "serial-garble",
            "a probability from 0 to 1",
            "each byte that the board sends on its console is changed with this probability",
            _probability,
        ),
        Injectable("console-dead", _ON, "nothing can be connected to the console", _switch),
        Injectable("relay-stuck", _ON, "the relay takes commands and does not move", _switch),
        Injectable("mux-stuck", _ON, "the SD mux takes commands and does not turn", _switch),
        Injectable(
            "bad-block",
            "an offset in bytes",
            "512 bytes of the card never read back as what the host wrote",
            _count,
        ),
        Injectable(
            "write-error",
            "an offset in bytes",
            "writing to that place of the card from the host fails with an I/O error",
            _count,
        ),
        Injectable(
            "small-card",
            "a size in bytes, a power of two",
            "another, blank card of that size lies in the slot; power has to be off",
            _power_of_two,
        ),
        Injectable("hang-uboot", _ON, "a key is pressed while U-Boot counts down", _switch),
        Injectable(
            "slow-boot",
            "a factor from 1 to 1000",
            "the machine is halted most of the time, so that it runs slower by this factor",
            _factor,
        ),
    )
}


def parse(name: str, text: str) -> FaultValue | None:
    """The value of a fault, None to take it back. ValueError, with a sentence, for all else."""
    fault = INJECTABLE.get(name)
    if fault is None:
        raise ValueError(f"there is no fault '{name}', only {', '.join(INJECTABLE)}")
    if text == OFF:
        return None
    try:
        value = fault.parse(text)
    except (ValueError, KeyError):
        raise ValueError(f"'{name}' takes {fault.takes}, or '{OFF}'") from None
    # Offset 0 is a place like any other; everything else that is zero means that nothing is wrong.
    return value if value or fault.parse is _count else None


class LineNoise:
    """What a bad line does to bytes: each is dropped or changed independently of the others."""

    def __init__(self, seed: int | None = None) -> None:
        self.drop = 0.0
        self.garble = 0.0
        self._chance = random.Random(seed)  # noqa: S311 - noise, not secrets

    def __call__(self, data: bytes) -> bytes:
        """``data`` as it arrives at the other end."""
        if not self.drop and not self.garble:
            return data
        arriving = bytearray()
        for byte in data:
            if self._chance.random() < self.drop:
                continue
            if self._chance.random() < self.garble:
                byte ^= self._chance.randrange(1, 256)
            arriving.append(byte)
        return bytes(arriving)


class KeyPress:
    """A key press that stops U-Boot's countdown, once after each power-on."""

    _PROMPT = b"stop autoboot"

    def __init__(self) -> None:
        self.armed = False
        self._tail = b""

    def power_on(self) -> None:
        """The board starts anew."""
        self._tail = b""

    def __call__(self, data: bytes) -> bytes:
        """What is typed in answer to ``data``; mostly nothing."""
        if not self.armed:
            return b""
        seen = self._tail + data
        if self._PROMPT in seen:
            self._tail = b""
            return b" "
        self._tail = seen[-len(self._PROMPT) :]
        return b""
