"""The shape of many durations, as charts draw it: shares in steps of a logarithmic axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchvise.trace.analysis.model import Ints

_STEPS_A_DECADE = 20


def steps(values: Ints) -> list[dict[str, float]]:
    """The share of all that lies from ``low`` to ``high`` ns; steps that hold nothing are left out.

    What is below 1 ns counts as 1 ns: a logarithmic axis has no place for 0.
    """
    if values.size == 0:
        return []
    scaled = np.floor(np.log10(np.maximum(values, 1)) * _STEPS_A_DECADE).astype(np.int64)
    found, counts = np.unique(scaled, return_counts=True)
    return [
        {
            "low": float(10 ** (step / _STEPS_A_DECADE)),
            "high": float(10 ** ((step + 1) / _STEPS_A_DECADE)),
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
