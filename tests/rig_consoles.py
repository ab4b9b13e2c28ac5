"""Consoles for the tests of the rig: texts of boots, and a clock that only they move."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

from benchvise.rig.boot.patterns import BootPatterns
from benchvise.rig.boot.timeline import BootOutcome, Timeline, watch

CONSOLES = Path(__file__).parent / "unit" / "data" / "consoles"
MS = 1_000_000


def console_text(name: str) -> bytes:
    """A text of ``data/consoles`` as a serial console carries it."""
    text = (CONSOLES / f"{name}.txt").read_text(encoding="utf-8")
    text = text.removesuffix("~\n").replace("^[", "\x1b")
    return text.replace("\n", "\r\n").encode()


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """``data`` cut at these places."""
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(places)]


class FakeTime:
    """A monotonic clock that moves only when something waits."""

    def __init__(self) -> None:
        self.now = 5_000 * MS

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += int(seconds * 1e9)


def fake_read(clock: FakeTime, said: Iterable[tuple[float, bytes]]) -> Callable[[float], bytes]:
    """A console that says these bytes, each so many seconds after the one before."""
    waiting = [(int(after * 1e9), data) for after, data in said]
    due: list[int] = []

    def read(timeout: float) -> bytes:
        limit = clock.now + int(timeout * 1e9)
        if waiting and not due:
            due.append(clock.now + waiting[0][0])
        if not waiting or due[0] > limit:
            clock.now = limit
            return b""
        clock.now = max(clock.now, due.pop())
        return waiting.pop(0)[1]

    return read


def watched(
    said: bytes | Iterable[tuple[float, bytes]],
    *,
    silence_s: float = 20.0,
    limit_s: float = 120.0,
    patterns: BootPatterns | None = None,
) -> tuple[Timeline, BootOutcome]:
    """A boot that says this: bytes come a line every 10 ms."""
    clock = FakeTime()
    if isinstance(said, bytes):
        said = [(0.01, line) for line in said.splitlines(keepends=True)]
    timeline = Timeline(clock.now, patterns)
    read = fake_read(clock, said)
    outcome = watch(
        read, timeline, silence_s=silence_s, limit_s=limit_s, clock=clock, sleep=clock.sleep
    )
    return timeline, outcome
