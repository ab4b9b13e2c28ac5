"""How a page wants a capture to be read and decoded: words in its address, and of the time line's.

The same words are the query of ``/captures/KEY`` and, as one segment, a part of the addresses
below ``/api/captures/KEY/``: so an address says all, and answers may be cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from urllib.parse import parse_qsl, quote, urlencode

from benchvise.errors import UsageError
from benchvise.signal.readers.options import ReadOptions
from benchvise.signal.response import Edge, parse_edges
from benchvise.text import printable

SERIAL = "serial"
INFRARED = "infrared"
NOTHING = "-"
"""The segment of one that asks for nothing in particular."""

_WORDS = ("decode", "threshold", "hysteresis", "rate", "from", "to", "window")
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Asked:
    """``decode`` is ``serial``, ``infrared``, or a stack as ``sigrok-cli -P`` takes it, empty for
    none. ``threshold`` and ``hysteresis`` are in the unit of analogue values, ``rate`` in samples a
    second. ``stimulus`` and ``answer`` name edges, ``window`` is in seconds.
    """

    decode: str = ""
    threshold: float | None = None
    hysteresis: float | None = None
    rate: float | None = None
    stimulus: str = ""
    answer: str = ""
    window: float | None = None

    @classmethod
    def of_query(cls, query: Mapping[str, str]) -> Asked:
        """What a query says; UsageError for what is no number or too long."""
        words = {name: query.get(name, "").strip() for name in _WORDS}
        for name, text in words.items():
            if len(text) > _LONGEST:
                raise UsageError(f"{name} is too long", "say less")
        return cls(
            words["decode"],
            _number(words, "threshold"),
            _number(words, "hysteresis"),
            _number(words, "rate"),
            words["from"],
            words["to"],
            _number(words, "window"),
        )

    @classmethod
    def of_segment(cls, text: str) -> Asked:
        """What a segment of an address says."""
        return cls.of_query({} if text == NOTHING else dict(parse_qsl(text)))

    @property
    def segment(self) -> str:
        """As a part of an address."""
        words = {name: value for name, value in self.words().items() if value}
        return quote(urlencode(words), safe="") or NOTHING

    def words(self) -> dict[str, str]:
        """As a query, for forms and links."""
        values = (
            self.decode, self.threshold, self.hysteresis, self.rate,
            self.stimulus, self.answer, self.window,
        )  # fmt: skip
        return {
            name: "" if value is None else value if isinstance(value, str) else f"{value:g}"
            for name, value in zip(_WORDS, values, strict=True)
        }

    @property
    def options(self) -> ReadOptions:
        """For reading the file."""
        rate = None if self.rate is None else Fraction(self.rate).limit_denominator(1_000_000)
        return ReadOptions((), self.threshold, self.hysteresis, rate)

    @property
    def edges(self) -> tuple[Edge, Edge] | None:
        """Stimulus and answer; None where they are not both named."""
        return parse_edges(self.stimulus, self.answer)


def _number(words: Mapping[str, str], name: str) -> float | None:
    text = words[name]
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e15 or (name != "threshold" and value <= 0):
        raise UsageError(
            f"{name}={printable(text, 40)} is no number that fits", "write 1.65 or 1e6"
        )
    return value
