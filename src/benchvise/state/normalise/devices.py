"""Clocks, serial ports, device-tree properties, flags of the firmware."""

from __future__ import annotations

import re
import struct

from benchvise.state.normalise.tables import Cell, cell


def clk_summary(given: str) -> dict[str, str]:
    """Clock to its rate and whether it is enabled; a name that comes twice gets a number."""
    head, there, body = given.partition("-----")
    if not there:
        raise ValueError("no table of clocks")
    protected = "protect" in head  # a column since Linux 4.18
    found: dict[str, str] = {}
    for line in body.splitlines()[1:]:
        name, *columns = line.split()[:5] or [""]
        if len(columns) == 4 and columns[0].isdecimal():
            rate = int(columns[3 if protected else 2])
            found[_unused(name, found)] = f"{rate} Hz, {'on' if int(columns[0]) else 'off'}"
    return found


def _unused(name: str, taken: dict[str, str]) -> str:
    number = 2
    candidate = name
    while candidate in taken:
        candidate = f"{name} #{number}"
        number += 1
    return candidate


_PORT = re.compile(r"^(\d+):\s*(.*)$", re.MULTILINE)


def tty_driver(given: str) -> dict[str, dict[str, Cell]]:
    """Port to what its driver counts: tx, rx, fe (framing), pe, brk, oe (overruns)."""
    found = {}
    for number, rest in _PORT.findall(given):
        fields = dict(word.split(":", 1) for word in rest.split() if ":" in word)
        if fields.get("uart", "unknown") != "unknown" or "module" in fields:
            found[number] = {key: cell(value) for key, value in fields.items()}
    return found


# https://www.raspberrypi.com/documentation/computers/os.html#get_throttled
_THROTTLED = {
    0: "under-voltage",
    1: "frequency capped",
    2: "throttled",
    3: "soft temperature limit",
}
_SINCE_BOOT = 16


def throttled(given: str) -> dict[str, bool]:
    """The flags of ``vcgencmd get_throttled``, each for now and for since boot."""
    word = int(given.strip().rpartition("=")[2], 16)
    return {
        f"{name}{when}": bool(word >> bit + shift & 1)
        for when, shift in ((" now", 0), (" since boot", _SINCE_BOOT))
        for bit, name in _THROTTLED.items()
    }


def cells(given: bytes) -> int | list[int] | str:
    """Numbers of a device-tree property: one, or several; other lengths stand as digits."""
    if not given or len(given) % 4:
        return given.hex()
    numbers = list(struct.unpack(f">{len(given) // 4}I", given))
    return numbers[0] if len(numbers) == 1 else numbers


def strings(given: bytes) -> str | list[str]:
    """Text of a device-tree property, or of several in a list."""
    words = given.decode("utf-8", "replace").rstrip("\0\n").split("\0")
    return words[0] if len(words) == 1 else words
