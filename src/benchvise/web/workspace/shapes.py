"""The shape of many durations, as charts draw it: shares in steps of a logarithmic axis."""

from __future__ import annotations

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
    if values.size == 0:
        return []
    decades = np.log10(np.maximum(values, 1))
    reach = float(decades.max() - decades.min())
    fine = min(_FINEST, max(_COARSEST, round(_STEPS / max(reach, 1e-9))))
    scaled = np.floor(decades * fine).astype(np.int64)
    found, counts = np.unique(scaled, return_counts=True)
    return [
        {
            "low": float(10 ** (step / fine)),
            "high": float(10 ** ((step + 1) / fine)),
            "share": float(count / values.size),
        }
        for step, count in zip(found.tolist(), counts.tolist(), strict=True)
    ]


def shape(values: Ints) -> dict[str, Any] | None:
    """The whole shape; None for no values."""
    if values.size == 0:
        return None
    return {
        "count": int(values.size),
        "minimum": int(values.min()),
        "maximum": int(values.max()),
        "steps": steps(values),
    }
