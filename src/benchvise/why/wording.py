"""Values of a diagnosis as people read them, for its headline and all its pages."""

from __future__ import annotations

import math

LEAST_COMMAND_GAP = 0.025
"""The least gap between two boards that counts for a command, in goodness: its environment,
libraries and user land lie elsewhere in memory on each, which moves a program by a per cent or two
whatever is in them. What closes such a gap may have closed it by its mere length.

Source: Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!", ASPLOS
2009.
"""

_UNSTEADY = 3.0
_NEAR = 1.15  # a ratio below is easier to grasp in per cent


def apart(goodness: float) -> str:
    """How far two values are apart, whichever is the larger: ``2.10x`` or ``3.2 %``."""
    ratio = math.exp(min(abs(goodness), 50.0))
    return f"{(ratio - 1) * 100:.1f} %" if ratio < _NEAR else f"{ratio:.2f}x"


def reach(low: float, high: float) -> str:
    """An interval of a gap: ``1.9x to 2.3x``, ``from 3.0 % one way to 2.1 % the other``."""
    if low <= 0.0 <= high:
        return f"from {apart(low)} one way to {apart(high)} the other"
    near, far = sorted(abs(end) for end in (low, high))
    return f"{apart(near)} to {apart(far)}"


def scatters(value: float, low: float, high: float, floor: float) -> bool:
    """Whether a gap that is not shown may be there all the same, as a side is too unsteady to tell.

    The noise floor is from neighbours in time: two modes and wild values, which the interval has,
    it does not see. Without these an interval reaches two to three floors.
    """
    return abs(value) > floor or max(abs(low), abs(high)) > _UNSTEADY * floor


def share(value: float, low: float, high: float) -> str:
    """``97 % (93 to 101)``: a share of one with its interval."""
    return f"{percent(value)} % ({percent(low)} to {percent(high)})"


def percent(of_one: float) -> str:
    """``97``: a share of one as a whole number."""
    text = f"{of_one * 100:.0f}"
    return "0" if text == "-0" else text
