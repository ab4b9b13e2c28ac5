"""How a page wants a capture to be read and decoded.

The same parameters are the query of ``/captures/KEY`` and, as one segment, a part of the addresses
below ``/api/captures/KEY/``: so an address says all, and answers may be cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from urllib.parse import parse_qsl, quote, urlencode

from benchvise.signal.readers.options import ReadOptions
from benchvise.signal.response import Edge, parse_edges
from benchvise.web.http import Query

SERIAL = "serial"
INFRARED = "infrared"
PLAIN = "-"
"""The segment of a capture that is neither decoded nor read in a way of its own."""

_NAMES = ("decode", "threshold", "hysteresis", "rate", "from", "to", "window")
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class CaptureView:
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
    def of_query(cls, parameters: Mapping[str, str]) -> CaptureView:
        """What a query asks for; UsageError for what is no number or too long."""
        query = Query(parameters)
        texts = {name: query.text(name, limit=_LONGEST) for name in _NAMES}
        return cls(
            texts["decode"],
            query.number("threshold"),
            query.number("hysteresis", positive=True),
            query.number("rate", positive=True),
            texts["from"],
            texts["to"],
            query.number("window", positive=True),
        )

    @classmethod
    def of_segment(cls, text: str) -> CaptureView:
        """What a segment of an address asks for."""
        return cls.of_query({} if text == PLAIN else dict(parse_qsl(text)))

    @property
    def segment(self) -> str:
        """As a part of an address."""
        parameters = {name: value for name, value in self.parameters().items() if value}
        return quote(urlencode(parameters), safe="") or PLAIN

    def parameters(self) -> dict[str, str]:
        """As a query, for forms and links."""
        values = (
            self.decode, self.threshold, self.hysteresis, self.rate,
            self.stimulus, self.answer, self.window,
        )  # fmt: skip
        return {
            name: "" if value is None else value if isinstance(value, str) else f"{value:g}"
            for name, value in zip(_NAMES, values, strict=True)
        }

    @property
    def reading(self) -> ReadOptions:
        """For reading the file."""
        rate = None if self.rate is None else Fraction(self.rate).limit_denominator(1_000_000)
        return ReadOptions((), self.threshold, self.hysteresis, rate)

    @property
    def edges(self) -> tuple[Edge, Edge] | None:
        """Stimulus and answer; None where they are not both named."""
        return parse_edges(self.stimulus, self.answer)
