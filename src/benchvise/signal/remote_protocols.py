"""What one frame of an infrared remote control says, from its marks and spaces.

Durations, bit orders and checks: S. Bergmans, "IR remote control theory", SB-Projects (NEC, JVC,
Sony SIRC, RC-5, RC-6, Sharp); B. Martensson, "IrpProtocols" (Samsung, Denon, Kaseikyo and the
vendors' checks), both public specifications.

A remote control's resonator may be off by 15 %, and a receiver makes marks longer and spaces
shorter by up to 0.15 ms. So each frame has a scale of its own, from its header where it has one,
and bits are read from a mark and its space together, which the receiver leaves as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchvise.signal.remote_codes import RemoteCode

Durations = Sequence[float]
"""Mark, space, mark, …, mark, in seconds."""

_SCALES = (0.78, 1.28)
_NEC_HEADER = (9.0e-3, 4.5e-3)
_JVC_BITS = 16
_SONY = (2.4e-3, 0.6e-3)
_SONY_BITS = (12, 15, 20)
_RC5_HALF = 889e-6
_RC5_BITS = 14
_RC6_UNIT = 444.4e-6
_RC6A = 6
_RC6A_BITS = (20, 24, 32)
_VENDORS = {
    0x2002: "Panasonic",
    0x3254: "Denon",
    0xCB23: "Mitsubishi",
    0x5AAA: "Sharp",
    0x0103: "JVC",
}


@dataclass(frozen=True, slots=True)
class _PulseDistance:
    """A protocol whose bits are the distance from mark to mark, least significant first."""

    name: str
    header: tuple[float, float]
    zero: float
    one_bit: float
    bits: tuple[int, ...]
    mark: float


_NEC = _PulseDistance("NEC", _NEC_HEADER, 1.125e-3, 2.25e-3, (_JVC_BITS, 32), 0.5625e-3)
_SAMSUNG = _PulseDistance("Samsung", (4.5e-3, 4.5e-3), 1.12e-3, 2.24e-3, (32,), 0.56e-3)
_KASEIKYO = _PulseDistance("Kaseikyo", (3.456e-3, 1.728e-3), 0.864e-3, 1.728e-3, (48,), 0.432e-3)


def read_frame(durations: Durations, only: str | None = None) -> RemoteCode | None:
    """The code of a frame; None for what begins like no protocol known here.

    ``only`` is a protocol's name: the others are not tried. A whole frame is taken before one that
    was cut short.
    """
    readers = [read for names, read in _READERS if only is None or only in names]
    codes = [code for read in readers if (code := read(durations)) is not None]
    codes.sort(key=lambda code: (not code.complete, bool(code.faults)))
    return codes[0] if codes else None


# -- bits by the distance of marks -----------------------------------------------------------------


def _scale(durations: Durations, header: tuple[float, float]) -> float | None:
    """How much slower than its protocol a frame with that header is; None for another header."""
    if len(durations) < 3:
        return None
    scale = (durations[0] + durations[1]) / sum(header)
    # A receiver adds to the mark what it takes from the space.
    moved = abs(durations[0] - header[0] * scale)
    if not _SCALES[0] <= scale <= _SCALES[1] or moved > 0.17e-3 + 0.04 * header[0]:
        return None
    return scale


def _distances(durations: Durations, protocol: _PulseDistance) -> tuple[list[int], bool] | None:
    """The bits after a header, and whether all of them can be read; None for another header."""
    scale = _scale(durations, protocol.header)
    if scale is None:
        return None
    bits: list[int] = []
    for mark, space in zip(durations[2::2], durations[3::2], strict=False):
        distance = (mark + space) / scale
        fits = 0.7 * protocol.zero < distance < 1.3 * protocol.one_bit
        if not fits or not 0.4 * protocol.mark < mark / scale < 1.8 * protocol.mark:
            return bits, False
        if len(bits) == max(protocol.bits):
            return None  # more than it has: another protocol
        bits.append(int(distance > (protocol.zero + protocol.one_bit) / 2))
    return bits, True


def _number(bits: Sequence[int]) -> int:
    """Bits of which the first is the least."""
    return sum(bit << place for place, bit in enumerate(bits))


def _cut(name: str, bits: Sequence[int], whole: str, also_fits: tuple[str, ...] = ()) -> RemoteCode:
    fault = f"cut short or disturbed: {len(bits)} of {whole} bits"
    return RemoteCode(
        name, len(bits), _number(bits), complete=False, faults=(fault,), also_fits=also_fits
    )


def _inverted(byte: int, other: int) -> bool:
    return byte ^ other == 0xFF


def _read_nec(durations: Durations) -> RemoteCode | None:
    distances = _distances(durations, _NEC)
    if distances is None:
        return None
    bits, whole = distances
    value = _number(bits)
    octets = value.to_bytes(8, "little")
    if not whole or len(bits) not in _NEC.bits:
        others = ("JVC",) if len(bits) < _JVC_BITS else ()
        return _cut("NEC", bits, "32", others)
    if len(bits) == _JVC_BITS:
        # The same header to a thirteenth: a NEC frame may have ended after its address.
        others = ("NEC, cut short",) if _inverted(octets[0], octets[1]) else ()
        return RemoteCode("JVC", _JVC_BITS, value, octets[0], octets[1], also_fits=others)
    plain = _inverted(octets[0], octets[1])
    address = octets[0] if plain else value & 0xFFFF
    name = "NEC" if plain else "NEC extended"
    if _inverted(octets[2], octets[3]):
        return RemoteCode(name, 32, value, address, octets[2])
    fault = "the command is not followed by its inverse"
    return RemoteCode(name, 32, value, address, value >> 16, faults=(fault,))


def _read_nec_repeat(durations: Durations) -> RemoteCode | None:
    if len(durations) != 3 or _scale(durations, (9.0e-3, 2.25e-3)) is None:
        return None
    return RemoteCode("NEC", 0, 0, repeat=True)


def _read_samsung(durations: Durations) -> RemoteCode | None:
    distances = _distances(durations, _SAMSUNG)
    if distances is None:
        return None
    bits, whole = distances
    if not whole or len(bits) not in _SAMSUNG.bits:
        return _cut("Samsung", bits, "32", ("Samsung36",) if len(bits) == 16 else ())
    value = _number(bits)
    octets = value.to_bytes(4, "little")
    same = octets[0] == octets[1]
    others = () if same else ("NECx",)
    right = _inverted(octets[2], octets[3])
    return RemoteCode(
        "Samsung",
        32,
        value,
        octets[0] if same else value & 0xFFFF,
        octets[2] if right else value >> 16,
        faults=() if right else ("the command is not followed by its inverse",),
        also_fits=others,
    )


def _read_kaseikyo(durations: Durations) -> RemoteCode | None:
    distances = _distances(durations, _KASEIKYO)
    if distances is None:
        return None
    bits, whole = distances
    if not whole or len(bits) not in _KASEIKYO.bits:
        return _cut("Kaseikyo", bits, "48")
    value = _number(bits)
    octets = value.to_bytes(6, "little")
    vendor = value & 0xFFFF
    parity = octets[0] ^ octets[1]
    faults = []
    if (parity ^ parity >> 4) & 0xF != octets[2] & 0xF:
        faults.append("the vendor's parity is wrong")
    if octets[2] ^ octets[3] ^ octets[4] != octets[5]:
        faults.append("the check byte is not the exclusive or of the three before it")
    return RemoteCode(
        "Kaseikyo",
        48,
        value,
        value >> 20 & 0xFFF,
        value >> 32 & 0xFF,
        faults=tuple(faults),
        detail=f"vendor 0x{vendor:04x}" + (f" ({_VENDORS[vendor]})" if vendor in _VENDORS else ""),
    )


def _headless(durations: Durations, zero: float) -> list[int] | None:
    """Bits of one and of two ``zero`` from mark to mark, at the scale that fits them best."""
    distances = np.add(durations[:-1:2], durations[1::2])
    if distances.size < 4:
        return None
    scales = np.linspace(0.75, 1.3, 56)[:, None]
    lengths = distances / (zero * scales)
    bits = lengths > 1.5
    misfits = np.sqrt(np.mean((lengths / (1 + bits) - 1) ** 2, axis=1))
    best = int(np.argmin(misfits))
    if np.abs(lengths[best] / (1 + bits[best]) - 1).max() > 0.35 or misfits[best] > 0.15:
        return None
    return [int(bit) for bit in bits[best]]


def _mark_share(durations: Durations, bits: Sequence[int]) -> float:
    """How long a mark is, in distances of a zero."""
    distances = np.add(durations[:-1:2], durations[1::2]) / (1 + np.array(bits))
    return float(np.median(durations[::2]) / np.median(distances))


def _read_denon(durations: Durations) -> RemoteCode | None:
    """Denon and Sharp: five bits of address, eight of command, an expansion and a check bit. The
    second frame of each pair has all but the address inverted."""
    bits = _headless(durations, 1.03e-3)
    if bits is None or _mark_share(durations, bits) > 0.45:
        return None
    if len(bits) != 15:
        return _cut("Denon", bits, "15", ("Sharp",)) if 8 <= len(bits) < 15 else None
    value = _number(bits)
    again = bits[14]
    command = value >> 5 & 0xFF ^ (0xFF if again else 0)
    expansion = bits[13] ^ again
    name, others = ("Sharp", ()) if expansion else ("Denon", ("Sharp, expansion bit 0",))
    return RemoteCode(
        name,
        15,
        value,
        value & 0x1F,
        command,
        also_fits=others,
        detail="inverted copy" if again else "",
    )


def _read_jvc_repeat(durations: Durations) -> RemoteCode | None:
    bits = _headless(durations, 1.052e-3)
    if bits is None or len(bits) != _JVC_BITS or _mark_share(durations, bits) < 0.36:
        return None
    value = _number(bits)
    return RemoteCode("JVC", _JVC_BITS, value, value & 0xFF, value >> 8, repeat=True)


# -- bits by the length of marks, and by where the level changes -----------------------------------


def _read_sony(durations: Durations) -> RemoteCode | None:
    scale = _scale(durations, _SONY)
    if scale is None:
        return None
    marks = np.array(durations[2::2]) / scale
    spaces = np.array(durations[1::2]) / scale
    if spaces.max() > 0.9e-3 or spaces.min() < 0.3e-3 or marks.size == 0:
        return None
    longer = float(np.median(0.6e-3 - spaces))  # by this the receiver makes a mark longer
    spans = np.append(marks[:-1] + spaces[1:], marks[-1] - longer + 0.6e-3)
    if spans.max() > 2.2e-3 or spans.min() < 0.85e-3:
        return None
    bits = [int(span > 1.5e-3) for span in spans]
    value = _number(bits)
    if len(bits) not in _SONY_BITS:
        return _cut("Sony SIRC", bits, "12, 15 or 20")
    detail = f"{len(bits)} bits"
    address = value >> 7
    if len(bits) == _SONY_BITS[-1]:
        address = value >> 7 & 0x1F
        detail += f", extended 0x{value >> 12:02x}"
    return RemoteCode("Sony SIRC", len(bits), value, address, value & 0x7F, detail=detail)


def _halves(durations: Durations, unit: float, scales: Sequence[float]) -> list[int] | None:
    """Levels of half bits: marks and spaces as one to three units, at the scale and with the
    receiver's lengthening that fit best; None where nothing fits."""
    lengths = np.array(durations)
    sign = np.where(np.arange(lengths.size) % 2 == 0, 1.0, -1.0)
    longer = np.arange(-0.15e-3, 0.176e-3, 0.025e-3)
    units = unit * np.array(scales)[:, None, None]
    counts = (lengths - sign * longer[None, :, None]) / units
    whole = np.clip(np.rint(counts), 1, 3)
    misfits = np.sqrt(np.mean((counts - whole) ** 2, axis=2))
    place = np.unravel_index(int(np.argmin(misfits)), misfits.shape)
    if misfits[place] > 0.22 or np.abs(counts[place] - whole[place]).max() > 0.6:
        return None
    levels: list[int] = []
    for number, count in enumerate(whole[place]):
        levels += [1 - number % 2] * int(count)
    return levels


def _manchester(levels: Sequence[int], one_bit: tuple[int, int]) -> tuple[list[int], bool]:
    """The bits of pairs of half bits until one is none, and whether all are; the space that ends a
    frame may belong to it."""
    padded = [*levels, 0] if len(levels) % 2 else [*levels]
    bits: list[int] = []
    for pair in zip(padded[::2], padded[1::2], strict=True):
        if pair[0] == pair[1]:
            return bits, False
        bits.append(int(pair == one_bit))
    return bits, True


def _most_first(bits: Sequence[int]) -> int:
    return int("".join(map(str, bits)) or "0", 2)


def _read_rc5(durations: Durations) -> RemoteCode | None:
    """Two start bits, of which the second is the inverse of the command's seventh bit."""
    if max(durations) > 3.2e-3:
        return None
    levels = _halves(durations, _RC5_HALF, np.linspace(0.84, 1.18, 35).tolist())
    if levels is None:
        return None
    bits, whole = _manchester([0, *levels], (0, 1))
    if len(bits) < 4 or bits[0] != 1:
        return None
    if not whole or len(bits) != _RC5_BITS:
        if whole and len(bits) > _RC5_BITS:
            return None
        cut = _cut("RC-5", bits, "14")
        return replace(cut, value=_most_first(bits)) if whole or len(bits) > 8 else None
    command = _most_first(bits[8:]) + (0 if bits[1] else 64)
    return RemoteCode(
        "RC-5" if bits[1] else "RC-5X",
        _RC5_BITS,
        _most_first(bits),
        _most_first(bits[3:8]),
        command,
        bool(bits[2]),
    )


def _read_rc6(durations: Durations) -> RemoteCode | None:
    scale = _scale(durations, (6 * _RC6_UNIT, 2 * _RC6_UNIT))
    if scale is None:
        return None
    levels = _halves(durations[2:], _RC6_UNIT, np.linspace(0.92, 1.08, 9).dot(scale).tolist())
    if levels is None:
        return None
    head, whole = _manchester(levels[:8], (1, 0))
    # The toggle bit is twice as long; the last bits may end in the space after the frame.
    toggles: dict[tuple[int, ...], bool] = {(1, 1, 0, 0): True, (0, 0, 1, 1): False}
    toggle = toggles.get(tuple(levels[8:12]))
    if len(head) < 2 or head[0] != 1:
        return None
    if not whole or len(head) < 4 or toggle is None:
        return replace(_cut("RC-6", head, "21"), value=_most_first(head))
    mode = _most_first(head[1:])
    bits, whole = _manchester(levels[12:], (1, 0))
    wanted = _RC6A_BITS if mode == _RC6A else (16,)
    value = _most_first(bits)
    name = "RC-6A" if mode == _RC6A else "RC-6"
    if not whole or len(bits) not in wanted:
        text = " or ".join(map(str, wanted))
        return replace(_cut(name, bits, text), value=value)
    detail = f"mode {mode}, {len(bits)} bits"
    if mode != _RC6A:
        return RemoteCode(name, 16, value, value >> 8, value & 0xFF, toggle, detail=detail)
    # A customer code that begins with a one has 16 bits, and 8 otherwise.
    command_bits = len(bits) - (16 if bits[0] else 8)
    command = value & (1 << command_bits) - 1
    if len(bits) == 32 and bits[0]:  # the toggle bit is the first of the command
        toggle, command = bool(command >> 15), command & 0x7FFF
    return RemoteCode(name, len(bits), value, value >> command_bits, command, toggle, detail=detail)


# NEC's header is JVC's too, and Denon's bits are Sharp's.
_READERS: tuple[tuple[tuple[str, ...], Callable[[Durations], RemoteCode | None]], ...] = (
    (("NEC", "JVC"), _read_nec),
    (("NEC",), _read_nec_repeat),
    (("Samsung",), _read_samsung),
    (("Kaseikyo",), _read_kaseikyo),
    (("RC-6",), _read_rc6),
    (("Sony SIRC",), _read_sony),
    (("RC-5",), _read_rc5),
    (("Denon", "Sharp"), _read_denon),
    (("JVC",), _read_jvc_repeat),
)
