"""What ``benchvise.statistics`` does once for each value, on arrays that are too long for that.

Traces and captures have millions of values, and NumPy is there where they are read. The types of
arrays are here too, for the packages that work on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_KEPT_PAIRS = 50
"""Of so many values at most the positions of their pairs are kept."""


def checked(values: npt.NDArray[np.generic], name: str) -> Sequence[float]:
    """The values as an array of floats; ``ValueError`` where one is not finite."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be a non-empty one-dimensional sequence of finite numbers")
    return cast(Sequence[float], array)


def in_order(values: Sequence[float]) -> Sequence[float]:
    """In ascending order."""
    return cast(Sequence[float], np.sort(_array(values)))


def plain(values: Sequence[float]) -> list[float]:
    """As a list."""
    return cast(list[float], _array(values).tolist())


def mad(values: Sequence[float]) -> float:
    """``statistics.quantiles.mad``."""
    array = _array(values)
    return float(np.median(np.abs(array - np.median(array))))


def u_statistic(x: Sequence[float], y: Sequence[float]) -> float:
    """The number of pairs with x > y, ties counting one half; both in ascending order."""
    left, right = _array(x), _array(y)
    below = np.searchsorted(right, left, side="left").sum()
    not_above = np.searchsorted(right, left, side="right").sum()
    return float(below + not_above) / 2.0


def ties(x: Sequence[float], y: Sequence[float]) -> list[int]:
    """How many values are equal, for each that is there more than once in both together."""
    _, counts = np.unique(np.concatenate([_array(x), _array(y)]), return_counts=True)
    return cast(list[int], counts[counts > 1].tolist())


def walsh_pairs(n: int) -> tuple[Indices, Indices]:
    """Positions of the two values of each Walsh average of ``n`` values, not to be written to.

    Those of few values are asked for again and again, and cost more than what is done with them;
    those of many would fill the memory if they were kept.
    """
    return _few_pairs(n) if n <= _KEPT_PAIRS else _made_pairs(n)


@lru_cache(maxsize=_KEPT_PAIRS + 1)
def _few_pairs(n: int) -> tuple[Indices, Indices]:
    return _made_pairs(n)


def _made_pairs(n: int) -> tuple[Indices, Indices]:
    first, second = np.triu_indices(n)
    first.setflags(write=False)
    second.setflags(write=False)
    return first, second


def _array(values: Sequence[float]) -> Floats:
    return np.asarray(values, dtype=np.float64)
