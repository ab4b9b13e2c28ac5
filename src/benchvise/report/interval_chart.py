"""Values with their intervals as a drawing without a script: for notebooks, which run none of ours.

One line a value: its name, the interval as a bar, the value as a mark, the value in words. All
share one axis, with a line at what is no difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchvise.report.sinks import cell
from benchvise.table import Tone
from benchvise.text import AnyText

_LINE = 22
_LABEL, _PLOT, _WORDS = 290, 300, 170
_TOP = 24
_LABEL_LIMIT = 36  # characters of 12 px that fit, in the widest of the usual fonts
_COLORS = {"good": "#1a7f4b", "bad": "#c2382e", "doubt": "#a06a00"}
"""Of tones that can be read on white and on black; all others have the colour of the text."""

_CHART = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
    'height="{height}" role="img" aria-label="{title}" '
    'style="max-width:100%;height:auto;font:12px system-ui,sans-serif" fill="currentColor">'
    '<text x="0" y="14" font-weight="bold">{title}</text>'
    '<line x1="{middle}" y1="{top}" x2="{middle}" y2="{bottom}" stroke="currentColor" '
    'stroke-opacity="0.35"/>{lines}</svg>'
)
_TEXT = Markup('<text x="{}" y="{}" text-anchor="{}" fill="{}">{}</text>')
_BAR = Markup('<rect x="{}" y="{}" width="{}" height="6" rx="3" fill="{}" fill-opacity="0.35"/>')
_MARK = Markup('<circle cx="{}" cy="{}" r="4" fill="{}"/>')


@dataclass(frozen=True, slots=True)
class IntervalMark:
    """A value with its interval, on the axis of its chart; ``words`` say it in its unit."""

    name: AnyText
    value: float
    low: float
    high: float
    words: str
    tone: Tone = "plain"


def interval_chart(
    title: AnyText, marks: Sequence[IntervalMark], *, middle: float, reach: float | None = None
) -> Markup:
    """The chart; empty without marks. ``middle`` is where nothing differs.

    The axis goes as far to both sides of it as the furthest end of an interval, or ``reach``: what
    is beyond lies at its edge.
    """
    finite = [m for m in marks if all(map(math.isfinite, (m.value, m.low, m.high)))]
    if not finite:
        return Markup("")
    furthest = max(
        abs(end - middle) for mark in finite for end in (mark.low, mark.high, mark.value)
    )
    span = (reach if reach is not None else furthest) or 1.0

    def at(value: float) -> float:
        share = max(-1.0, min(1.0, (value - middle) / span))
        return round(_LABEL + _PLOT / 2 * (1 + share), 1)

    lines = Markup("").join(_line(number, mark, at) for number, mark in enumerate(finite))
    bottom = _TOP + _LINE * len(finite)
    return _CHART.format(
        width=_LABEL + _PLOT + _WORDS,
        height=bottom + 4,
        title=cell(title),
        middle=at(middle),
        top=_TOP,
        bottom=bottom,
        lines=lines,
    )


def _line(number: int, mark: IntervalMark, at: Callable[[float], float]) -> Markup:
    y = _TOP + _LINE * number + _LINE // 2
    color = _COLORS.get(mark.tone, "currentColor")
    name = cell(mark.name)
    short = name if len(name) <= _LABEL_LIMIT else f"{name[: _LABEL_LIMIT - 1]}…"
    low, high = at(mark.low), at(mark.high)
    return Markup("").join(
        (
            Markup("<g><title>{}: {}</title>").format(name, mark.words),
            _TEXT.format(_LABEL - 10, y + 4, "end", "currentColor", short),
            _BAR.format(low, y - 3, round(max(high - low, 2.0), 1), color),
            _MARK.format(at(mark.value), y, color),
            _TEXT.format(_LABEL + _PLOT + 10, y + 4, "start", color, cell(mark.words)),
            Markup("</g>"),
        )
    )
