"""What was on a serial line beside what the host says it got: lost, added, altered bytes.

Both are taken as texts of bytes, aligned so that as few as possible differ. First the bytes on
which both agree for long are found (anchors), then the rest between them is aligned exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

_ANCHOR = 16
_EXACT = 4_000


class ByteChange(StrEnum):
    """How what was received differs from what was sent."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    ADDED = "added"
    ALTERED = "altered"


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """Bytes that differ: where in what was sent and in what was received, and which."""

    change: ByteChange
    sent_at: int
    received_at: int
    sent: bytes
    received: bytes


@dataclass(frozen=True, slots=True)
class DiscrepancyDocument:
    """Bytes that differ, in hexadecimal."""

    change: ByteChange
    sent_at: int
    received_at: int
    sent: str
    received: str


def discrepancy_document(difference: Discrepancy, most: int | None = None) -> DiscrepancyDocument:
    """A difference as JSON, with at most so many of its bytes."""
    return DiscrepancyDocument(
        difference.change,
        difference.sent_at,
        difference.received_at,
        difference.sent[:most].hex(),
        difference.received[:most].hex(),
    )


def discrepancies(sent: bytes, received: bytes) -> list[Discrepancy]:
    """Where ``received`` differs from ``sent``, in order.

    Bytes added that repeat those just beside them count as duplicated: which of two is the copy
    nobody can tell.
    """
    differences: list[Discrepancy] = []
    for begin, end, from_, to in _between_anchors(sent, received):
        matcher = SequenceMatcher(None, sent[begin:end], received[from_:to], autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag == "equal":
                continue
            gone, come = sent[begin + i1 : begin + i2], received[from_ + j1 : from_ + j2]
            for change in _changes(begin + i1, from_ + j1, gone, come, received):
                if differences and _continues(differences[-1], change):
                    change = _joined(differences.pop(), change)
                differences.append(change)
    return differences


def _continues(loss: Discrepancy, following: Discrepancy) -> bool:
    """Whether a loss goes on where another ends: long ones are aligned in parts."""
    return (
        loss.change is following.change is ByteChange.LOST
        and loss.sent_at + len(loss.sent) == following.sent_at
    )


def _joined(loss: Discrepancy, following: Discrepancy) -> Discrepancy:
    sent = loss.sent + following.sent
    return Discrepancy(loss.change, loss.sent_at, loss.received_at, sent, b"")


def _changes(
    sent_at: int, received_at: int, gone: bytes, come: bytes, received: bytes
) -> Iterator[Discrepancy]:
    common = min(len(gone), len(come))
    if common:
        yield Discrepancy(ByteChange.ALTERED, sent_at, received_at, gone[:common], come[:common])
    if gone[common:]:
        yield Discrepancy(
            ByteChange.LOST, sent_at + common, received_at + common, gone[common:], b""
        )
    if more := come[common:]:
        at = received_at + common
        kind = ByteChange.DUPLICATED if _repeats(received, at, len(more)) else ByteChange.ADDED
        yield Discrepancy(kind, sent_at + common, at, b"", more)


def _repeats(received: bytes, at: int, size: int) -> bool:
    """Whether bytes added at a place repeat what is beside them: the first of them what comes
    before, the last of them what follows; or one byte over and over."""
    end = at + size
    more = received[at:end]
    if len(set(more)) == 1 and more[0] in (*received[max(0, at - 1) : at], *received[end:][:1]):
        return True
    return any(
        received[max(0, at - split) : at] == more[:split]
        and received[end : end + size - split] == more[split:]
        for split in range(size + 1)
    )


def _between_anchors(sent: bytes, received: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Spans of both to be aligned, small enough for an exact alignment, equal parts left out.

    Walks along both while they are equal; where they differ, looks ahead for the nearest place
    from which sixteen bytes agree again.
    """
    i = j = 0
    while i < len(sent) and j < len(received):
        step = _common(sent, received, i, j)
        i, j = i + step, j + step
        if i >= len(sent) or j >= len(received):
            break
        next_i, next_j = _next_anchor(sent, received, i, j)
        yield i, next_i, j, next_j
        i, j = next_i, next_j
    if i < len(sent) or j < len(received):
        yield i, len(sent), j, len(received)


def _common(sent: bytes, received: bytes, i: int, j: int) -> int:
    """How many bytes are equal from there on."""
    total, size = 0, 1 << 16
    while size:
        if sent[i : i + size] == received[j : j + size]:
            step = min(size, len(sent) - i, len(received) - j)
            if step == 0:
                break
            total, i, j = total + step, i + step, j + step
        else:
            size //= 2
    return total


def _next_anchor(sent: bytes, received: bytes, i: int, j: int) -> tuple[int, int]:
    """The nearest places at which both agree for sixteen bytes; the ends when there are none."""
    for reach in (64, 512, _EXACT):
        best: tuple[int, int, int] | None = None
        window = received[j : j + reach + _ANCHOR]
        for a in range(min(reach, len(sent) - i - _ANCHOR + 1)):
            place = window.find(sent[i + a : i + a + _ANCHOR])
            if place >= 0 and (best is None or a + place < best[0]):
                best = (a + place, i + a, j + place)
        if best is not None:
            return best[1], best[2]
    return min(len(sent), i + _EXACT), min(len(received), j + _EXACT)
