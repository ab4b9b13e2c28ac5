"""CPUs, interrupts, clocks, serial ports, properties of the device tree, flags of the firmware."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

from benchvise.quantities import format_cpus
from benchvise.state.normalise.values import Cell, cell
from benchvise.state.roles import DeviceNames, parse_interrupts


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


# -- CPUs and interrupts ---------------------------------------------------------------------------

# What differs from core to core of a kind, or from moment to moment.
_PERSONAL = frozenset(
    {
        *("processor", "hart", "cpu MHz", "bogomips", "BogoMIPS", "core id", "physical id"),
        *("apicid", "initial apicid", "siblings", "cpu cores", "Serial", "mvendorid_serial"),
    }
)


def cpuinfo(given: str) -> dict[str, dict[str, str]]:
    """The kinds of cores of /proc/cpuinfo: CPUs (``0-3``) to their description."""
    kinds: dict[tuple[tuple[str, str], ...], list[int]] = {}
    rest: dict[str, str] = {}
    for block in given.split("\n\n"):
        fields = dict(_cpuinfo_field(line) for line in block.splitlines() if ":" in line)
        number = fields.get("processor", "")
        kept = {key: value for key, value in fields.items() if key not in _PERSONAL}
        if number.isdecimal():
            kinds.setdefault(tuple(kept.items()), []).append(int(number))
        else:
            rest |= kept
    if not kinds:
        raise ValueError("no line 'processor'")
    found = {format_cpus(cpus): dict(kind) for kind, cpus in kinds.items()}
    return {**found, "board": rest} if rest else found


def _cpuinfo_field(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


def interrupts(given: str, names: DeviceNames) -> dict[str, list[int]]:
    """Interrupt to its count on each CPU, of /proc/interrupts or /proc/softirqs.

    Numbered ones stand by the name of their handler; those that nobody handles are left out.
    """
    head, *rest = given.splitlines() or [""]
    cpus = len(head.split())
    handled = dict(parse_interrupts(given))
    found: dict[str, list[int]] = {}
    for line in rest:
        label, there, columns = line.strip().partition(":")
        counts = [int(word) for word in columns.split()[:cpus] if word.isdecimal()]
        name = _interrupt_name(label, handled, names)
        if there and counts and name:
            found[name] = counts
    if not found:
        raise ValueError("no table of interrupts")
    return found


def _interrupt_name(label: str, handled: Mapping[str, str], names: DeviceNames) -> str | None:
    if not label.isdecimal():
        return label
    return names.called("irq", label) or handled.get(label) or None
