"""Lines of a kernel log, whatever wrote them down: the kernel, ``dmesg``, a journal or syslog."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LENGTH = 1000
"""Characters of a line that are looked at; the kernel's own limit is about that."""

LINES = 50_000
"""Lines of a log that are looked at, the newest; a kernel's buffer holds fewer."""

# <4>[   12.345678][    T1] text, with or without each of the parts in front
_KERNEL = re.compile(
    r"(?:<(?P<level>\d{1,3})>)?"
    r"(?:\[ {0,12}(?P<time>\d{1,9}\.\d{1,9})\])?(?:\[ {0,8}[CT]\d{1,10}\])?"
    r" ?(?P<text>.*)"
)
# Feb  7 01:13:17 host kernel: …, 2024-02-07T01:13:17+0000 host kernel: …, [Wed Feb  7 01:13:17
# 2024] … (dmesg -T), [   12.345678] host kernel: … (journalctl -o short-monotonic)
_WRITTEN = re.compile(
    r"(?:[A-Z][a-z]{2} {1,2}\d{1,2} [\d:]{8}|\d{4}-\d\d-\d\d[T ][\d:.,]{8,15}(?:Z|[+-][\d:]{4,6})?)"
    r" (?:\S{1,64} )?kernel: ?(?P<syslog>.*)"
    r"|\[[A-Z][a-z]{2} [A-Z][a-z]{2} {1,2}\d{1,2} [\d:]{8} \d{4}\] ?(?P<dated>.*)"
    r"|\[ {0,12}(?P<time>\d{1,9}\.\d{1,9})\] \S{1,64} kernel: ?(?P<journal>.*)"
)


# What a board writes into its log is shown later: nothing in it may speak to a terminal.
_CONTROLS = {
    number: " " if number == ord("\t") else None for number in (*range(32), *range(127, 160))
}


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line: seconds since boot (None where it does not say), level (0 to 7; None where it does
    not say), and its text, cut at ``LENGTH`` characters."""

    time: float | None
    level: int | None
    text: str


def lines(log: str) -> Iterator[LogLine]:
    """The lines of a log that say something, oldest first."""
    for raw in log.split("\n")[-LINES:]:
        line = parse(raw[: LENGTH + 200])
        if line.text:
            yield line


def parse(raw: str) -> LogLine:
    """One line, without what was written in front of it."""
    raw = raw.rstrip("\r\n")
    time: str | None = None
    written = _WRITTEN.match(raw)
    if written is not None:
        time = written["time"]
        raw = next(text for text in written.group("syslog", "dated", "journal") if text is not None)
    kernel = _KERNEL.match(raw)
    if kernel is None:  # `.` leaves out line ends of other kinds only
        return LogLine(None, None, "")
    level = kernel["level"]
    stamp = kernel["time"] or time
    return LogLine(
        time=None if stamp is None else float(stamp),
        level=None if level is None else int(level) & 7,
        text=kernel["text"].translate(_CONTROLS).strip()[:LENGTH],
    )
