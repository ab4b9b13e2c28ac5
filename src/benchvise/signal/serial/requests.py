"""Requests to a module and its replies: which came whole, and what became of the others.

A module with a radio of its own loses bytes of a reply when a packet comes in meanwhile: ``OK``
with its line end arrives without that, or as ``O``. So one request is sent after the other, each
when the reply before is there, and each reply is compared by itself.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchvise.errors import UsageError
from benchvise.signal.aligning import ByteChange, Discrepancy, discrepancies
from benchvise.signal.serial.byte_faults import SerialCause
from benchvise.signal.serial.exchange import Exchange, Pattern, Way
from benchvise.signal.serial.port import Port
from benchvise.text import counted

PATTERN = "request and reply"
_QUIET_S = 0.02


class ReplyKind(StrEnum):
    """What became of a reply."""

    WHOLE = "whole"
    WITH_MORE = "whole, with other bytes around it"
    CUT = "cut short"
    ALTERED = "altered"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came to one request, and how long it took to the last byte, in seconds."""

    kind: ReplyKind
    received: bytes
    seconds: float


def parse_bytes(text: str) -> bytes:
    """Text with the escapes of C strings, ``AT\\r``, as bytes; UsageError for others."""
    try:
        return text.encode("latin-1").decode("unicode_escape").encode("latin-1")
    except (UnicodeError, ValueError) as error:
        raise UsageError(
            f"'{text}' cannot be sent", "write bytes as text with escapes: AT\\r\\n, \\x7e"
        ) from error


def ask(port: Port, request: bytes, reply: bytes, timeout_s: float) -> Reply:
    """Sends one request, and waits until its reply is whole or nothing has come for
    ``timeout_s``."""
    port.discard(0.005)
    begun = last = time.monotonic()
    left = request
    while left and time.monotonic() - begun < timeout_s:
        left = left[port.write(left) :]
        if left:
            port.wait(0.01, to_write=True)
    got = bytearray()
    while time.monotonic() - last < (_QUIET_S if reply in got else timeout_s):
        port.wait(0.005, to_write=False)
        if come := port.read():
            got += come
            last = time.monotonic()
    return Reply(_kind(bytes(got), reply), bytes(got), last - begun)


def _kind(received: bytes, reply: bytes) -> ReplyKind:
    if received == reply:
        return ReplyKind.WHOLE
    if not received:
        return ReplyKind.MISSING
    if reply in received:
        return ReplyKind.WITH_MORE
    if all(discrepancy.change is ByteChange.LOST for discrepancy in discrepancies(reply, received)):
        return ReplyKind.CUT
    return ReplyKind.ALTERED


def reply_exchange(request: bytes, reply: bytes, replies: Sequence[Reply]) -> Exchange:
    """All replies as a pattern: bytes lost and altered, each reply compared by itself."""
    differences: list[Discrepancy] = []
    sent_at = received_at = 0
    for answer in replies:
        differences += [
            Discrepancy(
                item.change,
                item.sent_at + sent_at,
                item.received_at + received_at,
                item.sent,
                item.received,
            )
            for item in discrepancies(reply, answer.received)
        ]
        sent_at += len(reply)
        received_at += len(answer.received)
    way = Way(
        "replies",
        sent_at,
        received_at,
        tuple(differences),
        stalled=False,
        stalled_at=0,
        resumed=False,
        dead=not received_at,
        seconds=max(1e-9, sum(answer.seconds for answer in replies)),
    )
    pattern = Pattern(PATTERN, "does each request have its reply?", reply * len(replies))
    return Exchange(pattern, len(request), (way,), None)


def reply_causes(reply: bytes, replies: Sequence[Reply]) -> tuple[SerialCause, ...]:
    """What is wrong with the replies; none where all came whole."""
    kinds = Counter(answer.kind for answer in replies)
    broken = [answer for answer in replies if answer.kind is not ReplyKind.WHOLE]
    if not broken:
        return ()
    if not any(answer.received for answer in replies):
        return (
            SerialCause(
                "nothing came back",
                "the module replied to no request",
                (f"{len(replies)} requests, no byte in reply",),
                "check the module's rate and supply, whether TX and RX are crossed, and the end of "
                "the request (\\r, \\n)",
            ),
        )
    forms = Counter(answer.received for answer in broken if answer.kind is not ReplyKind.WITH_MORE)
    evidence = [
        f"{kinds[ReplyKind.WHOLE]} of {len(replies)} replies came whole; "
        + ", ".join(f"{count} {kind}" for kind, count in kinds.items() if kind != ReplyKind.WHOLE)
    ]
    if forms:
        most_common = ", ".join(
            f"{form!r} {counted(count, 'time')}" for form, count in forms.most_common(4)
        )
        evidence.append(f"in place of {reply!r}: {most_common}".replace("b'", "'"))
    if not forms:
        return (
            SerialCause(
                "unasked bytes",
                "every reply came whole, but other bytes came with some",
                tuple(evidence),
                "the module speaks without being asked: look for each reply in what comes, or "
                "switch its messages off",
            ),
        )
    return (
        SerialCause(
            "replies lose bytes",
            "the module loses or alters bytes of its replies",
            tuple(evidence),
            "send each request again until its reply is whole; see whether it happens without "
            "traffic on the module's other side (radio, network); newer firmware",
        ),
    )
