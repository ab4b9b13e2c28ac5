"""A line of a kernel log, whatever wrote it down: time, level and text.

The kernel itself, ``dmesg`` in all its forms, the journal, syslog, and what captured a console put
different things in front of a line. They are taken off here; rules see the kernel's own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

LENGTH = 1000
"""Characters of a line that are looked at; the kernel's own limit is about that."""

LINES = 50_000
"""Lines of a log that are looked at, the newest; a kernel's buffer holds fewer."""

_PREFIX_LENGTH = 200
"""Characters that may stand in front of a line."""

_LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")

# What a terminal was told: colours and the like, as bytes or as cat -v shows them.
_ESCAPES = re.compile(
    r"(?:[\x1b\u241b]|\^\[)(?:\[[0-9;?]{0,20}[ -/]{0,3}[@-~]|\][^\x07]{0,80}\x07|[=>()][0B]?)"
)
# Rules match the text without the controls that a board may have written between its letters, and
# without their pictures, which labgrid writes in their place.
_CONTROLS = {
    number: " " if number == ord("\t") else None
    for number in (*range(32), *range(127, 160), *range(0x2400, 0x2427))
}

# <4>[   12.345678][    T1] text, with or without the level and the caller; dmesg -d adds a step,
# kernels of Amlogic boards the CPU (12.345678@1)
_STAMP = re.compile(
    r"(?:<(?P<level>\d{1,3})>)?"
    r"\[ {0,12}(?P<time>\d{1,9}\.\d{1,9})(?:@\d{1,3})?(?: ?< {0,9}\+?[\d.]{1,16} ?>)?\]"
    r"(?:\[ {0,8}[CT]\d{1,10}\])?"
)
_LEVEL = re.compile(r"<(?P<level>\d{1,3})>")
# dmesg -x: "kern  :warn  : "; syslog of busybox: "kern.warn "
_DECODED = re.compile(
    r"(?:kern|user|daemon|syslog|auth\w*|local\d) {0,6}[:.]"
    r"(?P<level>emerg|alert|crit|err|warn|notice|info|debug) {0,4}(?:: ?| )"
)
# /dev/kmsg: 4,1234,12345678,-;text
_RECORD = re.compile(r"(?P<level>\d{1,4}),\d{1,12},(?P<microseconds>\d{1,15}),[-c+][^;]{0,80};")
_MONTH = r"[^\W\d_]{3,5}\.?"  # in whatever language the board writes its dates
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_DATE = re.compile(
    rf"\[?(?:(?:[A-Z][a-z]{{2}},? )?(?:{_MONTH} {{1,2}}\d{{1,2}} {_CLOCK}(?: \d{{4}})?"
    rf"|\d{{4}}[-/]\d\d[-/]\d\d[T ]{_CLOCK})(?:Z| ?[+-]\d\d:?\d\d| [A-Z]{{3,4}}\b)?"
    rf"|{_MONTH} {{1,2}}\d{{1,2}} \d\d:\d\d\b|\d{{10}}\.\d{{3,9}}|{_CLOCK}"
    r"| {0,6}\+\d{1,6}\.\d{6})\]?[: ]? {0,8}"
)
# host kernel: text, and the same of programs that read the kernel's mind: their lines count too.
_HOST = r"(?:[\w.:-]{1,64} )?"
_TAG = re.compile(
    rf"{_HOST}(?:\w{{1,8}}\.\w{{1,8}} )?(?P<tag>[\w./@()-]{{1,48}})(?:\[\d{{1,10}}\])?: ?"
)
_RFC5424 = re.compile(
    r"<\d{1,3}>1 \S{1,40} \S{1,64} (?P<tag>\S{1,48}) \S{1,32} \S{1,32} (?:-|\[.{0,99}?\]) ?"
)
KERNEL_TAGS = frozenset({"kernel", "smartd", "mdadm", "mcelog", "rasdaemon"})
_QUOTES = re.compile(r"(?:[>|] ?){1,9}")


class LineOrigin(IntEnum):
    """How certain it is that the kernel wrote a line."""

    UNKNOWN = 0
    """Nothing stands before it."""
    DATED = 1
    """A date stands before it: ``dmesg -T``, or a capture of a console with everything on it."""
    KERNEL = 2
    """The kernel's own stamp, or its name."""
    OTHER = 3
    """Another program wrote it."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line: seconds since boot (None where it does not say), level (0 to 7; None where it does
    not say), and its text, cut at ``LENGTH`` characters ("" where another program wrote it)."""

    time: float | None
    level: int | None
    text: str
    origin: LineOrigin = LineOrigin.UNKNOWN


_FOREIGN = LogLine(None, None, "", LineOrigin.OTHER)


def log_lines(log: str) -> Iterator[LogLine]:
    """The lines of a log that say something, oldest first."""
    for raw in log.split("\n")[-LINES:]:
        line = parse_line(raw[: LENGTH + _PREFIX_LENGTH])
        if line.text:
            yield line


def newest_boot(log: str) -> str:
    """The part of a log that is of the last boot in it: times begin anew at each."""
    lines = log.split("\n")
    first, newest = 0, 0.0
    for number, raw in enumerate(lines):
        time = parse_line(raw[: LENGTH + _PREFIX_LENGTH]).time
        if time is not None:
            if begins_anew(newest, time):
                first = number
            newest = time
    return "\n".join(lines[first:])


def begins_anew(before: float, time: float) -> bool:
    """Whether a line at ``time`` after one at ``before`` is of another boot: lines of one boot are
    out of order by fractions of a second only."""
    return time + 1 < before


def parse_line(raw: str) -> LogLine:
    """One line, without what was written in front of it; no text where another program wrote it."""
    raw = raw[: LENGTH + _PREFIX_LENGTH].rstrip("\r\n")
    if "\x1b" in raw or "^[" in raw or "\u241b" in raw:
        raw = _ESCAPES.sub("", raw)
    # The kernel's own stamp is certain: whatever stands before it was written by somebody else.
    stamp = _STAMP.search(raw, 0, _PREFIX_LENGTH)
    if stamp is not None:
        before = raw[: stamp.start()]
        if _foreign(before):
            return _FOREIGN
        text = raw[stamp.end() :]
        journal = _TAG.match(text.lstrip(" "))
        if not before.strip() and journal is not None and _is_host_and_tag(text.lstrip(" ")):
            if journal["tag"] not in KERNEL_TAGS:
                return _FOREIGN
            text = text.lstrip(" ")[journal.end() :]
        return _line(
            text,
            float(stamp["time"]),
            _number(stamp["level"]) or _decoded(before),
            LineOrigin.KERNEL,
        )
    raw = raw.lstrip(" \t")
    quote = _QUOTES.match(raw)
    if quote is not None:
        raw = raw[quote.end() :].lstrip(" \t")
    record = _RECORD.match(raw)
    if record is not None:
        seconds = int(record["microseconds"]) / 1e6
        return _line(raw[record.end() :], seconds, int(record["level"]) & 7, LineOrigin.KERNEL)
    structured = _RFC5424.match(raw)
    if structured is not None:
        if structured["tag"] not in KERNEL_TAGS:
            return _FOREIGN
        return _line(raw[structured.end() :], None, None, LineOrigin.KERNEL)
    level = _LEVEL.match(raw)
    number = None if level is None else _number(level["level"])
    if level is not None:
        raw = raw[level.end() :]
    decoded = _DECODED.match(raw)
    if decoded is not None:
        raw, number = raw[decoded.end() :], _LEVELS.index(decoded["level"])
    is_known = level is not None or decoded is not None
    return _after_date(raw, number, LineOrigin.KERNEL if is_known else LineOrigin.UNKNOWN)


def _after_date(raw: str, level: int | None, origin: LineOrigin) -> LogLine:
    """A line without the kernel's stamp: maybe with a date, a host and a name before its text."""
    date = _DATE.match(raw)
    if date is None:
        if raw.startswith("kernel: "):
            return _line(raw[8:], None, level, LineOrigin.KERNEL)
        return _line(raw, None, level, origin)
    rest = raw[date.end() :]
    decoded = _DECODED.match(rest)
    if decoded is not None:
        rest, level = rest[decoded.end() :], _LEVELS.index(decoded["level"])
    bracketed = raw.startswith("[")
    tag = _TAG.match(rest)
    if tag is not None and (tag["tag"] in KERNEL_TAGS):
        return _line(rest[tag.end() :], None, level, LineOrigin.KERNEL)
    if not bracketed and _is_host_and_tag(rest):
        return _FOREIGN
    return _line(rest, None, level, max(origin, LineOrigin.DATED))


def _is_host_and_tag(text: str) -> bool:
    """Whether a line goes on as those of syslog: ``host name[pid]: `` or ``host kernel: ``."""
    return (
        re.match(r"[\w.-]{1,64} (?:[\w./@()-]{1,48}\[\d{1,10}\]|kernel|smartd|systemd): ?", text)
        is not None
    )


def _foreign(before: str) -> bool:
    """Whether what stands before a stamp is the name of another program than the kernel."""
    tag = re.search(r" ([\w./@()-]{1,48})\[\d{1,10}\]: ?$", before)
    return tag is not None and tag[1] not in KERNEL_TAGS


def _number(level: str | None) -> int | None:
    return None if level is None else int(level) & 7


def _decoded(before: str) -> int | None:
    decoded = _DECODED.search(before)
    return None if decoded is None else _LEVELS.index(decoded["level"])


def _line(text: str, time: float | None, level: int | None, origin: LineOrigin) -> LogLine:
    return LogLine(time, level, text.translate(_CONTROLS).strip()[:LENGTH], origin)


def kernel_line(text: str, time: float | None, level: int | None) -> LogLine:
    """A line of which it is known that the kernel wrote it."""
    return _line(text, time, level, LineOrigin.KERNEL)
