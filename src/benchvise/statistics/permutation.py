"""Tests that count the ways in which chance could have arranged what was seen."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Sequence
from operator import add
from typing import TYPE_CHECKING

from benchvise.statistics.sample import as_list, checked_values

if TYPE_CHECKING:
    from benchvise.statistics.sample import Values

# Up to so many pairs all patterns of signs are counted; of more, so many random ones.
_EXACT_SIGN_FLIPS = 16
_SIGN_FLIPS = 9_999
_SIGNS_AT_ONCE = 8


def fisher_exact(first: int, others: int, second: int, rest: int) -> float:
    """The two-sided p of Fisher's exact test: whether ``first`` of ``first + others`` and
    ``second`` of ``second + rest`` may be of one rate. 1 where a side has none.
    """
    hits, size, whole = first + second, first + others, first + others + second + rest
    ways = {
        count: math.comb(hits, count) * math.comb(whole - hits, size - count)
        for count in range(max(0, hits - (whole - size)), min(hits, size) + 1)
    }
    return sum(way for way in ways.values() if way <= ways[first]) / sum(ways.values())


def sign_flip_test(log_ratios: Values, seed: int = 0) -> float:
    """The two-sided p that paired differences are symmetric about zero.

    The statistic is the absolute sum under flipping of signs: all 2^n patterns for n <= 16,
    else 9999 random ones (with ``seed``) and the observed one. With n pairs the smallest p is
    2^(1-n): a claim at 1 % needs eight pairs.

    Source: R. A. Fisher, *The Design of Experiments* (1935), section 21; the "+1" of the Monte
    Carlo p: Phipson & Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010) 39.
    """
    ratios = as_list(checked_values(log_ratios, "log_ratios"))
    # Sums of the same terms in another order differ by rounding; a tie must stay a tie.
    observed = abs(math.fsum(ratios)) - 1e-12 * math.fsum(map(abs, ratios))
    if observed <= 0.0:
        return 1.0
    n = len(ratios)
    if n <= _EXACT_SIGN_FLIPS:
        # Every sum has its opposite, so those that reach `observed` are half of the extreme ones.
        first, second = _signed_sums(ratios[: n // 2]), sorted(_signed_sums(ratios[n // 2 :]))
        reach = sum(len(second) - bisect_left(second, observed - value) for value in first)
        return min(1.0, float(reach) / 2.0 ** (n - 1))
    chance = random.Random(seed)  # noqa: S311 - of a test, not of a secret
    sums = [0.0] * _SIGN_FLIPS
    for start in range(0, n, _SIGNS_AT_ONCE):
        few = _signed_sums(ratios[start : start + _SIGNS_AT_ONCE])
        by_byte = few * (256 // len(few))
        sums = list(map(add, sums, map(by_byte.__getitem__, chance.randbytes(_SIGN_FLIPS))))
    hits = sum(abs(value) >= observed for value in sums)
    return (hits + 1) / (_SIGN_FLIPS + 1)


def _signed_sums(values: Sequence[float]) -> list[float]:
    """The sums of the values with every pattern of signs."""
    sums = [0.0]
    for value in values:
        sums = [total + value for total in sums] + [total - value for total in sums]
    return sums
