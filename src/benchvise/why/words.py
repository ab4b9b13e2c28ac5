"""Figures of a diagnosis as people read them, for its headline and all its pages."""

from __future__ import annotations

import math

_NEAR = 1.15  # a ratio below is easier to grasp in per cent


def apart(goodness: float) -> str:
    """How far two values are apart, whichever is the larger: ``2.10x`` or ``3.2 %``."""
    ratio = math.exp(min(abs(goodness), 50.0))
    return f"{(ratio - 1) * 100:.1f} %" if ratio < _NEAR else f"{ratio:.2f}x"


def share(value: float, low: float, high: float) -> str:
    """``97 % (93 to 101)``: a share of one with its interval."""
    return f"{percent(value)} % ({percent(low)} to {percent(high)})"


def percent(of_one: float) -> str:
    """``97``: a share of one as a whole number."""
    text = f"{of_one * 100:.0f}"
    return "0" if text == "-0" else text
