"""What all of these methods take, and the intervals and estimates that they answer with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Values = Sequence[float] | npt.NDArray[np.float64] | npt.NDArray[np.int64]

MOST_PAIRED_POINTS = 2_000
"""What looks at all pairs takes at most so many points a side, to bound memory and time."""

# Arrays of more values stay arrays.
_LONG_ARRAY = 5_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval in the unit of the values, and the coverage it really has (0..1)."""

    low: float
    high: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A point estimate and its confidence interval, in the unit of the values."""

    value: float
    interval: Interval


def checked_values(values: Values, name: str = "values") -> Sequence[float]:
    """The values as a list of floats, or as an array where that is what they are and it is long."""
    if hasattr(values, "dtype"):
        array = cast("npt.NDArray[np.generic]", values)
        if array.ndim == 1 and array.size > _LONG_ARRAY:
            from benchvise import long_arrays

            return long_arrays.checked(array, name)
        values = array.tolist()
    try:
        checked = list(map(float, values))
    except TypeError:  # of what has several dimensions
        checked = []
    if not checked or not all(map(math.isfinite, checked)):
        raise ValueError(f"{name} must be a non-empty one-dimensional sequence of finite numbers")
    return checked


def in_order(values: Sequence[float]) -> Sequence[float]:
    """Of what ``checked_values`` gives, an array again where it is one."""
    if isinstance(values, list):
        return sorted(values)
    from benchvise import long_arrays

    return long_arrays.in_order(values)


def as_list(values: Sequence[float]) -> list[float]:
    """Of what ``checked_values`` gives."""
    if isinstance(values, list):
        return values
    from benchvise import long_arrays

    return long_arrays.plain(values)


def check_confidence(confidence: float) -> None:
    """``ValueError`` where it is no share between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")


def normal_deviate(confidence: float) -> float:
    """How many standard deviations on either side hold that share of a normal distribution."""
    return NormalDist().inv_cdf(0.5 + confidence / 2.0)


def two_sided_p(z: float) -> float:
    """Of a standard normal statistic whose absolute value is ``z``."""
    return min(1.0, math.erfc(max(0.0, z) / math.sqrt(2.0)))
