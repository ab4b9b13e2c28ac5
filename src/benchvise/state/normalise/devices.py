"""CPUs, interrupts, clocks, serial ports, properties of the device tree, flags of the firmware."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

from benchvise.quantities import format_cpus
from benchvise.state.normalise.values import Cell, cell
from benchvise.state.roles import DeviceNames, parse_interrupts


def clk_summary(text: str) -> dict[str, str]:
    """Clock to its rate and whether it is enabled; a name that comes twice gets a number."""
    head, there, body = text.partition("-----")
    if not there:
        raise ValueError("no table of clocks")
    protected = "protect" in head  # a column since Linux 4.18
    clocks: dict[str, str] = {}
    for line in body.splitlines()[1:]:
        name, *columns = line.split()[:5] or [""]
        if len(columns) == 4 and columns[0].isdecimal():
            rate = int(columns[3 if protected else 2])
            clocks[_unused(name, clocks)] = f"{rate} Hz, {'on' if int(columns[0]) else 'off'}"
    return clocks


def _unused(name: str, taken: dict[str, str]) -> str:
    number = 2
    candidate = name
    while candidate in taken:
        candidate = f"{name} #{number}"
        number += 1
    return candidate


_PORT = re.compile(r"^(\d+):\s*(.*)$", re.MULTILINE)


def tty_driver(text: str) -> dict[str, dict[str, Cell]]:
    """Port to what its driver counts: tx, rx, fe (framing), pe, brk, oe (overruns)."""
    ports = {}
    for number, rest in _PORT.findall(text):
        fields = dict(word.split(":", 1) for word in rest.split() if ":" in word)
        if fields.get("uart", "unknown") != "unknown" or "module" in fields:
            ports[number] = {key: cell(value) for key, value in fields.items()}
    return ports


# https://www.raspberrypi.com/documentation/computers/os.html#get_throttled
_THROTTLED = {
    0: "under-voltage",
    1: "frequency capped",
    2: "throttled",
    3: "soft temperature limit",
}
_SINCE_BOOT = 16


def throttled(text: str) -> dict[str, bool]:
    """The flags of ``vcgencmd get_throttled``, each for now and for since boot."""
    word = int(text.strip().rpartition("=")[2], 16)
    return {
        f"{name}{when}": bool(word >> bit + shift & 1)
        for when, shift in ((" now", 0), (" since boot", _SINCE_BOOT))
        for bit, name in _THROTTLED.items()
    }


def cells(data: bytes) -> int | list[int] | str:
    """Numbers of a device-tree property: one, or several; other lengths stand as digits."""
    if not data or len(data) % 4:
        return data.hex()
    numbers = list(struct.unpack(f">{len(data) // 4}I", data))
    return numbers[0] if len(numbers) == 1 else numbers


def strings(data: bytes) -> str | list[str]:
    """Text of a device-tree property, or of several in a list."""
    texts = data.decode("utf-8", "replace").rstrip("\0\n").split("\0")
    return texts[0] if len(texts) == 1 else texts


# -- CPUs and interrupts ---------------------------------------------------------------------------

# What differs from core to core of a kind, or from moment to moment.
_PERSONAL = frozenset(
    {
        *("processor", "hart", "cpu MHz", "bogomips", "BogoMIPS", "core id", "physical id"),
        *("apicid", "initial apicid", "siblings", "cpu cores", "Serial", "mvendorid_serial"),
    }
)


def cpuinfo(text: str) -> dict[str, dict[str, str]]:
    """The kinds of cores of /proc/cpuinfo: CPUs (``0-3``) to their description."""
    kinds: dict[tuple[tuple[str, str], ...], list[int]] = {}
    rest: dict[str, str] = {}
    for block in text.split("\n\n"):
        fields = dict(_cpuinfo_field(line) for line in block.splitlines() if ":" in line)
        number = fields.get("processor", "")
        kept = {key: value for key, value in fields.items() if key not in _PERSONAL}
        if number.isdecimal():
            kinds.setdefault(tuple(kept.items()), []).append(int(number))
        else:
            rest |= kept
    if not kinds:
        raise ValueError("no line 'processor'")
    descriptions = {format_cpus(cpus): dict(kind) for kind, cpus in kinds.items()}
    return {**descriptions, "board": rest} if rest else descriptions


def _cpuinfo_field(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


def interrupts(text: str, names: DeviceNames) -> dict[str, list[int]]:
    """Interrupt to its count on each CPU, of /proc/interrupts or /proc/softirqs.

    Numbered ones stand by the name of their handler; those that nobody handles are left out.
    """
    head, *rest = text.splitlines() or [""]
    cpus = len(head.split())
    handled = dict(parse_interrupts(text))
    counts_by_name: dict[str, list[int]] = {}
    for line in rest:
        label, there, columns = line.strip().partition(":")
        counts = [int(word) for word in columns.split()[:cpus] if word.isdecimal()]
        name = _interrupt_name(label, handled, names)
        if there and counts and name:
            counts_by_name[name] = counts
    if not counts_by_name:
        raise ValueError("no table of interrupts")
    return counts_by_name


def _interrupt_name(label: str, handled: Mapping[str, str], names: DeviceNames) -> str | None:
    if not label.isdecimal():
        return label
    return names.called("irq", label) or handled.get(label) or None
