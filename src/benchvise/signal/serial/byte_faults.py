"""What happened to single bytes on a serial line: zeros lost, a bit flipped, swaps, doubles.

Asked where no cause is found by when and how bytes go wrong: these names say what a fault does, and
where to look for what does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchvise.signal.aligning import ByteChange, Discrepancy
from benchvise.signal.serial.flow import XOFF, XON
from benchvise.text import counted

_FEW = 3
_MOSTLY = 0.9
_OFTEN = 0.75
_NEIGHBOURS = 2


@dataclass(frozen=True, slots=True)
class SerialCause:
    """A cause: its word, a sentence, what was seen that speaks for it, and what to do."""

    word: str
    sentence: str
    evidence: tuple[str, ...]
    remedy: str


def byte_causes(differences: Sequence[Discrepancy], sent: Counter[int]) -> list[SerialCause]:
    """The causes that show in which bytes go wrong; ``sent`` is how often each value was sent."""
    if (cut := seven_bits(differences, sent)) is not None:
        return [cut]
    looks = (_zeros_lost, _swapped, _bits_flipped, _doubled)
    return [cause for look in looks if (cause := look(differences, sent)) is not None]


def log_causes(differences: Sequence[Discrepancy], sent: Counter[int]) -> list[SerialCause]:
    """Why a host's log lacks what was on its line: XON and XOFF taken for commands before all."""
    flow = _flow_bytes_lost(differences, sent)
    return byte_causes(differences, sent) if flow is None else [flow]


def _flow_bytes_lost(differences: Sequence[Discrepancy], sent: Counter[int]) -> SerialCause | None:
    lost: Counter[int] = Counter()
    for difference in _of(differences, ByteChange.LOST):
        lost.update(difference.sent)
    gone, there = lost[XON] + lost[XOFF], sent[XON] + sent[XOFF]
    others, other_sent = lost.total() - gone, sent.total() - there
    if gone < _FEW or 2 * gone < there or gone / there < 10 * others / max(1, other_sent):
        return None
    return SerialCause(
        "software flow control in the host's port",
        "the host takes XON (0x11) and XOFF (0x13) for commands: they were on the line and are not "
        "in the log",
        (
            f"{gone} of {there} bytes 0x11 and 0x13 are missing from the log",
            f"{others} of {other_sent} other bytes are",
        ),
        "switch it off: stty -F PORT -ixon -ixoff, or open the port raw",
    )


def _of(differences: Sequence[Discrepancy], change: ByteChange) -> list[Discrepancy]:
    return [difference for difference in differences if difference.change is change]


def seven_bits(differences: Sequence[Discrepancy], sent: Counter[int]) -> SerialCause | None:
    """Bit 7 is gone from most bytes that had it: a frame or a terminal of seven bits, no noise."""
    pairs = [
        pair
        for difference in _of(differences, ByteChange.ALTERED)
        for pair in zip(difference.sent, difference.received, strict=True)
    ]
    stripped = sum(a & 0x7F == b and a != b for a, b in pairs)
    if stripped < _FEW or stripped < _MOSTLY * len(pairs):
        return None
    lost: Counter[int] = Counter()
    for difference in _of(differences, ByteChange.LOST):
        lost.update(difference.sent)
    # What the alignment took for lost may have been stripped as well.
    high = sum(count - lost[value] for value, count in sent.items() if value & 0x80)
    if stripped < _OFTEN * high:
        return None
    return SerialCause(
        "seven bits",
        "the highest bit of each byte is cut off on the way",
        (f"{stripped} of {len(pairs)} altered bytes lost their highest bit and nothing else",),
        "set both ends to 8 data bits without parity, and the terminal to raw (stty raw -istrip)",
    )


def _zeros_lost(differences: Sequence[Discrepancy], sent: Counter[int]) -> SerialCause | None:
    lost: Counter[int] = Counter()
    for difference in _of(differences, ByteChange.LOST):
        lost.update(difference.sent)
    others, other_sent = lost.total() - lost[0], sent.total() - sent[0]
    if lost[0] < _FEW or lost[0] < _MOSTLY * lost.total():
        return None
    if lost[0] / max(1, sent[0]) < 10 * others / max(1, other_sent):
        return None
    return SerialCause(
        "zeros lost",
        "bytes 0x00 are taken out on the way",
        (
            f"{lost[0]} of {sent[0]} bytes 0x00 did not arrive",
            f"{others} of {other_sent} other bytes were lost",
        ),
        "look for software that treats the data as text: a zero ends a string in C, and terminals "
        "and telnet drop it; or escape zeros (COBS)",
    )


def _swapped(differences: Sequence[Discrepancy], _sent: Counter[int]) -> SerialCause | None:
    """A byte that is missing where it was sent and comes one or two places beside it."""
    swaps, wrong, place = 0, 0, 0
    while place < len(differences):
        difference = differences[place]
        wrong += max(len(difference.sent), len(difference.received))
        if (
            difference.change is ByteChange.ALTERED
            and difference.sent == difference.received[::-1] != difference.received
        ):
            swaps += 1
        elif place + 1 < len(differences) and _one_moved(difference, differences[place + 1]):
            swaps += 1
            wrong += 1
            place += 1
        place += 1
    if swaps < _FEW or 2 * swaps < _MOSTLY * wrong:
        return None
    return SerialCause(
        "neighbours swapped",
        "a byte overtakes the one before it",
        (f"{swaps} bytes changed places with their neighbour, {wrong} bytes are wrong in all",),
        "look for 16-bit words in the other byte order, or for a driver that reads its FIFO from "
        "two places",
    )


def _one_moved(moved: Discrepancy, other: Discrepancy) -> bool:
    kinds = {moved.change, other.change}
    if ByteChange.LOST not in kinds or not kinds & {ByteChange.ADDED, ByteChange.DUPLICATED}:
        return False
    near = abs(moved.sent_at - other.sent_at) <= _NEIGHBOURS
    return (
        near
        and moved.sent + other.sent == moved.received + other.received
        and (len(moved.sent + other.sent) == 1)
    )


def _bits_flipped(differences: Sequence[Discrepancy], _sent: Counter[int]) -> SerialCause | None:
    altered = _of(differences, ByteChange.ALTERED)
    pairs = [
        pair
        for difference in altered
        for pair in zip(difference.sent, difference.received, strict=True)
    ]
    flips = Counter(a ^ b for a, b in pairs if (a ^ b).bit_count() == 1)
    if flips.total() < _FEW or flips.total() < _MOSTLY * len(pairs):
        return None
    # By places: two flips close together in a text that repeats itself may be aligned a period off.
    if len(altered) < _OFTEN * len(differences):
        return None
    mask, count = flips.most_common(1)[0]
    evidence = [f"{flips.total()} of {len(pairs)} altered bytes differ in a single bit"]
    if count >= _MOSTLY * flips.total():
        bit = mask.bit_length() - 1
        rises = sum(bool(b & mask) for a, b in pairs if a ^ b == mask)
        evidence.append(f"{counted(count, 'time')} it is bit {bit}, {rises} of them from 0 to 1")
        sentence = f"bit {bit} of a byte is flipped now and then"
        remedy = "one bit and no other: look at memory and buses behind the line, not at the line"
    else:
        evidence.append(
            "bits " + ", ".join(f"{m.bit_length() - 1}: {n}" for m, n in sorted(flips.items()))
        )
        sentence = "single bits of bytes are flipped now and then"
        remedy = "look for noise: ground, cable length, levels, termination; switch parity on"
    return SerialCause("bit flipped", sentence, tuple(evidence), remedy)


def _doubled(differences: Sequence[Discrepancy], sent: Counter[int]) -> SerialCause | None:
    doubled = sum(
        len(difference.received) for difference in _of(differences, ByteChange.DUPLICATED)
    )
    wrong = sum(max(len(difference.sent), len(difference.received)) for difference in differences)
    if doubled < _FEW or doubled < _MOSTLY * wrong:
        return None
    return SerialCause(
        "bytes doubled",
        "single bytes come twice, at no regular place",
        (f"{doubled} of {sent.total()} bytes came twice, {wrong - doubled} went wrong otherwise",),
        "look for a sender that repeats what was not acknowledged, or an interrupt handler that "
        "reads its FIFO again",
    )
