"""Moments and spans of a trace's clock, as users write them."""

from __future__ import annotations

from benchvise.errors import UsageError
from benchvise.quantities import format_clock

_NS = 1_000_000_000


def parse_span(first: int, last: int, since: str | None, until: str | None) -> tuple[int, int]:
    """The part of a trace that is asked for, in ns: begin, and the first moment behind it.

    ``first`` and ``last`` are the times of the trace's first and last event.

    Raises:
        UsageError: a text is no moment, or nothing of the trace lies between them.
    """
    begin = first if since is None else parse_moment(since, first)
    end = last + 1 if until is None else parse_moment(until, first)
    if begin >= end or begin > last or end <= first:
        raise UsageError(
            "nothing of the trace lies in the span asked for",
            f"it has events from {format_clock(first)} to {format_clock(last)} s",
        )
    return max(begin, first), min(end, last + 1)


def parse_moment(text: str, first: int) -> int:
    """The moment in nanoseconds that a text means: ``12.5``, or ``+0.5`` from the ``first`` event.

    Raises:
        UsageError: it means none.
    """
    seconds, _, fraction = text.removeprefix("+").removesuffix("s").partition(".")
    if not (seconds or fraction) or not (seconds + fraction).isdecimal() or len(fraction) > 9:
        raise UsageError(
            f"{text} is no moment", "say seconds of the trace's clock, or +S from its first event"
        )
    value = int(seconds or 0) * _NS + int(fraction.ljust(9, "0"))
    return first + value if text.startswith("+") else value
