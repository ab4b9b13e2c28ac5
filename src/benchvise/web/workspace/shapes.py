"""The shape of many durations, as charts draw it: shares in steps of a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchvise.trace.analysis.model import Ints

_STEPS = 40
"""About so many over all values, so that a narrow distribution has a shape, too."""

_COARSEST, _FINEST = 20, 1000
"""Steps a decade."""


def steps(values: Ints) -> list[dict[str, float]]:
    """The share of all that lies from ``low`` to ``high`` ns; steps that hold nothing are left out.

    What is below 1 ns counts as 1 ns: a logarithmic axis has no place for 0.
    """
    return _steps(values, _fineness(values))


def _fineness(values: Ints) -> int:
    """Steps a decade."""
    if values.size == 0:
        return _COARSEST
    reach = float(np.log10(max(1, values.max())) - np.log10(max(1, values.min())))
    return min(_FINEST, max(_COARSEST, round(_STEPS / max(reach, 1e-9))))


def _steps(values: Ints, fine: int) -> list[dict[str, float]]:
    if values.size == 0:
        return []
    scaled = np.floor(np.log10(np.maximum(values, 1)) * fine).astype(np.int64)
    distinct, counts = np.unique(scaled, return_counts=True)
    return [
        {
            "low": float(10 ** (step / fine)),
            "high": float(10 ** ((step + 1) / fine)),
            "share": float(count / values.size),
        }
        for step, count in zip(distinct.tolist(), counts.tolist(), strict=True)
    ]


def shapes(sides: Sequence[Ints]) -> list[dict[str, Any] | None]:
    """The whole shape of each side, in steps of one width; None for no values."""
    fine = _fineness(np.concatenate(list(sides)))
    return [
        {
            "count": int(values.size),
            "minimum": int(values.min()),
            "maximum": int(values.max()),
            "steps": _steps(values, fine),
        }
        if values.size
        else None
        for values in sides
    ]
