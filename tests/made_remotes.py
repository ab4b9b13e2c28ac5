"""Remote controls for tests: what each sends, pulse by pulse, as its specification draws it.

Written from the protocols' descriptions (SB-Projects; IrpProtocols), in microseconds, and without
anything of the decoder. A transmission is a list of marks and spaces in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchvise.signal.capture import Capture, SignalLine, clock_of_rate

Pulses = list[float]


@dataclass(frozen=True)
class Sent:
    """One frame as sent, when it begins in microseconds, and what it should be read as; ``pulses``
    begin and end with a mark."""

    begin: float
    pulses: Pulses
    protocol: str
    address: int | None
    command: int | None
    repeat: bool
    whole: bool = True


@dataclass(frozen=True)
class Remote:
    """A remote control with one key: its name, carrier, and the frames of the key held."""

    name: str
    carrier: float
    hold: Callable[[int], list[Sent]]


def _spaced(bits: str, mark: float, zero: float, one: float) -> Pulses:
    out: Pulses = []
    for bit in bits:
        out += [mark, one if bit == "1" else zero]
    return [*out, mark]


def _lsb(value: int, width: int) -> str:
    return format(value, f"0{width}b")[::-1]


def _from_halves(halves: str) -> Pulses:
    """Half bits, ``M`` light and ``s`` dark, as lengths; a dark begin or end is not sent."""
    halves = halves.strip("s")
    out: Pulses = []
    last = ""
    for half in halves:
        if half == last:
            out[-1] += 1
        else:
            out.append(1)
        last = half
    return out


def _each(
    protocol: str, pulses: Pulses, period: float, address: int, command: int
) -> Callable[[int], list[Sent]]:
    """The same frame again and again."""

    def hold(frames: int) -> list[Sent]:
        return [Sent(n * period, pulses, protocol, address, command, n > 0) for n in range(frames)]

    return hold


def _nec(address: int, command: int, *, extended: bool = False, full: bool = False) -> Remote:
    first = _lsb(address, 16) if extended else _lsb(address, 8) + _lsb(address ^ 0xFF, 8)
    bits = first + _lsb(command, 8) + _lsb(command ^ 0xFF, 8)
    pulses = [9000.0, 4500.0, *_spaced(bits, 562.5, 562.5, 1687.5)]
    name = "NEC extended" if extended else "NEC"
    short = [9000.0, 2250.0, 562.5]

    def hold(frames: int) -> list[Sent]:
        return [
            Sent(n * 108_000.0, pulses if full or n == 0 else short, name, address, command, n > 0)
            for n in range(frames)
        ]

    return Remote(f"{name} {address:x}/{command:x}", 38e3, hold)


def _jvc(address: int, command: int, *, headers: bool = False) -> Remote:
    body = _spaced(_lsb(address, 8) + _lsb(command, 8), 526, 526, 1574)

    def hold(frames: int) -> list[Sent]:
        begin, out = 0.0, []
        for n in range(frames):
            pulses = [8400.0, 4200.0, *body] if headers or n == 0 else body
            out.append(Sent(begin, pulses, "JVC", address, command, n > 0))
            begin += 58_000 if headers or n == 0 else 46_000
        return out

    return Remote(f"JVC {address:x}/{command:x}", 38e3, hold)


def _sony(bits: int, address: int, command: int, extended: int = 0) -> Remote:
    text = _lsb(command, 7) + (
        _lsb(address, bits - 7) if bits < 20 else _lsb(address, 5) + _lsb(extended, 8)
    )
    pulses = [2400.0, 600.0]
    for bit in text:
        pulses += [1200.0 if bit == "1" else 600.0, 600.0]
    hold = _each("Sony SIRC", pulses[:-1], 45_000, address, command)
    return Remote(f"Sony {bits} {address:x}/{command:x}", 40e3, hold)


def _samsung(address: int, command: int) -> Remote:
    bits = _lsb(address, 8) * 2 + _lsb(command, 8) + _lsb(command ^ 0xFF, 8)
    pulses = [4500.0, 4500.0, *_spaced(bits, 560, 560, 1690)]
    hold = _each("Samsung", pulses, 108_000, address, command)
    return Remote(f"Samsung {address:x}/{command:x}", 38e3, hold)


def _kaseikyo(vendor: int, address: int, command: int) -> Remote:
    parity = 0
    for place in range(0, 16, 4):
        parity ^= vendor >> place & 0xF
    octets = [vendor & 0xFF, vendor >> 8, parity | (address & 0xF) << 4, address >> 4, command]
    octets.append(octets[2] ^ octets[3] ^ octets[4])
    bits = "".join(_lsb(octet, 8) for octet in octets)
    pulses = [3456.0, 1728.0, *_spaced(bits, 432, 432, 1296)]
    hold = _each("Kaseikyo", pulses, 130_000, address, command)
    return Remote(f"Kaseikyo {vendor:x}/{address:x}/{command:x}", 37e3, hold)


def _rc5(address: int, command: int, toggle: int = 0) -> Remote:
    second = "0" if command >= 64 else "1"
    bits = f"1{second}{toggle}{address:05b}{command & 63:06b}"
    pulses = _from_halves("".join("sM" if bit == "1" else "Ms" for bit in bits))
    name = "RC-5X" if command >= 64 else "RC-5"
    hold = _each(name, [889.0 * n for n in pulses], 113_778, address, command)
    return Remote(f"{name} {address:x}/{command:x}", 36e3, hold)


def _rc6(address: int, command: int, *, customer: int | None = None, toggle: int = 0) -> Remote:
    mode = 0 if customer is None else 6
    halves = "MMMMMMss" + "".join("Ms" if bit == "1" else "sM" for bit in f"1{mode:03b}")
    trailer = toggle if customer is None else 0
    halves += "MMss" if trailer else "ssMM"
    if customer is None:
        data, shown = f"{address:08b}{command:08b}", command
    elif customer < 128:
        data, shown = f"{customer:08b}{address:08b}{command:08b}", address << 8 | command
    else:
        data = f"{customer:016b}{toggle}{address:07b}{command:08b}"
        shown = address << 8 | command
    halves += "".join("Ms" if bit == "1" else "sM" for bit in data)
    name = "RC-6" if customer is None else "RC-6A"
    pulses = [444.4 * n for n in _from_halves(halves)]
    hold = _each(name, pulses, 106_700, address if customer is None else customer, shown)
    return Remote(f"{name} {customer or address:x}/{command:x}", 36e3, hold)


def _denon(address: int, command: int, *, sharp: bool = False) -> Remote:
    mark, zero, one = (320, 680, 1680) if sharp else (264, 792, 1848)
    last, again = ("10", "01") if sharp else ("00", "11")
    straight = _spaced(_lsb(address, 5) + _lsb(command, 8) + last, mark, zero, one)
    inverted = _spaced(_lsb(address, 5) + _lsb(command ^ 0xFF, 8) + again, mark, zero, one)
    name = "Sharp" if sharp else "Denon"

    def hold(frames: int) -> list[Sent]:
        return [
            Sent(n * 67_000.0, inverted if n % 2 else straight, name, address, command, n > 0)
            for n in range(frames)
        ]

    return Remote(f"{name} {address:x}/{command:x}", 38e3, hold)


REMOTES = (
    _nec(0x04, 0x08),
    _nec(0x40, 0x12),
    _nec(0x00, 0xFF),
    _nec(0x7F02, 0x5A, extended=True),
    _nec(0xBD86, 0x01, extended=True),
    _nec(0x1A, 0x3C, full=True),
    _jvc(0x03, 0x17),
    _jvc(0xF0, 0x0F),
    _jvc(0x5C, 0xA1, headers=True),
    _sony(12, 0x01, 0x15),
    _sony(12, 0x11, 0x7F),
    _sony(15, 0x97, 0x2E),
    _sony(15, 0x10, 0x00),
    _sony(20, 0x1A, 0x15, 0x2A),
    _sony(20, 0x1F, 0x7F, 0xFF),
    _samsung(0x07, 0x02),
    _samsung(0x0E, 0xB8),
    _samsung(0xE0, 0x40),
    _kaseikyo(0x2002, 0x008, 0x3D),
    _kaseikyo(0x3254, 0xA51, 0x00),
    _kaseikyo(0xCB23, 0x01F, 0xFE),
    _rc5(0x00, 0x01),
    _rc5(0x14, 0x35, toggle=1),
    _rc5(0x1F, 0x6A),
    _rc6(0x00, 0x0C),
    _rc6(0xA5, 0x5A, toggle=1),
    _rc6(0x04, 0x0F, customer=0x800F, toggle=1),
    _rc6(0x21, 0x84, customer=0x1B),
    _denon(0x08, 0xA3),
    _denon(0x1E, 0x00),
    _denon(0x01, 0x16, sharp=True),
    _denon(0x15, 0xE9, sharp=True),
)


# -- what happens to them on the way ---------------------------------------------------------------


def capture(
    frames: list[Sent],
    random: np.random.Generator,
    *,
    scale: float = 1.0,
    jitter: float = 0.0,
    longer: float = 0.0,
    glitches: int = 0,
    carrier: float | None = None,
    inverted: bool = False,
    lead: float = 50_000.0,
) -> Capture:
    """Frames as a capture at 4 MHz.

    ``scale`` is of all times, ``jitter`` the largest error of an edge, ``longer`` what a receiver
    adds to each mark; all in microseconds.
    """
    edges: list[float] = []
    for frame in frames:
        at = lead + frame.begin * scale
        for number, length in enumerate(frame.pulses):
            end = at + length * scale
            if number % 2 == 0:
                edges += [at, end + longer]
            at = end
    moved = np.array(edges) + random.uniform(-jitter, jitter, len(edges))
    spans = np.sort(moved).reshape(-1, 2)
    last = spans[-1, 1] + 60_000
    if carrier is not None:
        period = 1e6 / carrier
        starts = [np.arange(begin, end - period / 4, period) for begin, end in spans]
        on = np.concatenate(starts)
        spans = np.column_stack((on, on + period / 3))
    levels = np.sort(spans.reshape(-1))
    if glitches:
        places = random.uniform(lead, last - 60_000, glitches)
        short = np.column_stack((places, places + random.uniform(5, 60, glitches)))
        clear = [
            pair
            for pair in short
            if np.abs(levels - pair[0]).min() > 130 and np.abs(levels - pair[1]).min() > 130
        ]
        levels = np.sort(np.concatenate((levels, np.array(clear).reshape(-1))))
    ticks = np.unique(np.rint(levels * 4).astype(np.int64))
    line = SignalLine("IR", inverted, ticks)
    return Capture(Path("made.sr"), "made", clock_of_rate(4_000_000), int(last * 4), (line,))


def shortened(sent: Sent, marks: int) -> Sent:
    """A frame of which only the first marks came."""
    return Sent(
        sent.begin, sent.pulses[: 2 * marks - 1], sent.protocol, None, None, False, whole=False
    )


def together(one: list[Sent], other: list[Sent]) -> list[Sent]:
    """Two remotes at once, each on its own clock: the other begins when no frames overlap."""

    def overlap(late: float) -> bool:
        return any(
            own.begin < sent.begin + late + sum(sent.pulses) + 9_000
            and sent.begin + late < own.begin + sum(own.pulses) + 9_000
            for own in one
            for sent in other
        )

    late = next(float(late) for late in range(9_000, 1_000_000, 1_000) if overlap(late) is False)
    moved = [replace(sent, begin=sent.begin + late) for sent in other]
    return sorted([*one, *moved], key=lambda frame: frame.begin)
