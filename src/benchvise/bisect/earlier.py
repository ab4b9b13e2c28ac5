"""Whether what runs measured of the ends still holds: no answer rests on the runs alone.

An end is not measured again as long as other versions show its level: half of the samples of a
search on a clear change would be checks.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchvise.bisect.likelihood import first_scale

Samples = Mapping[int, Sequence[float]]
"""Logarithms of values, by version."""

MET_AFTER = 8
"""Samples after which both levels should have been met by one of them."""

_NEAR = 3.0  # scatters of a sample from a level, within which it was met


def unmet_level(earlier: Samples, fresh: Samples) -> int | None:
    """An end whose level no version shows now, after as many samples as should have; else None."""
    values = [value for samples in fresh.values() for value in samples]
    if len(values) < MET_AFTER:
        return None
    near = _NEAR * first_scale(earlier)
    for end, samples in earlier.items():
        level = statistics.median(samples)
        if end not in fresh and all(abs(value - level) > near for value in values):
            return end
    return None


def unmet_side(earlier: Samples, fresh: Samples, first: int, last: int) -> int | None:
    """An end that was not measured now, nor any version on its side; else None.

    The sides are what is before the ``first`` change, and the versions from the ``last`` one on.
    """
    for end in earlier:
        is_met = any(v < first if end < first else v >= last for v in fresh)
        if not is_met:
            return end
    return None
