"""Two sets of response times by their rare late ones: "6 of 1000 beyond 9.2 us, none when masked".

Medians and even p99 may be equal where a few answers come late. Two thresholds are used, both
fixed before anything is counted beyond them: the lower of both maxima, and the 99 % quantile of
both sets together. Both tests are exact, by the hypergeometric distribution:

- that the k largest of all n + m values belong to one set has the probability
  C(n, k) / C(n + m, k) where both come from one distribution (L. Nelson, Technometrics 5 (1963)
  491: precedence test);
- the number of one set's values among those beyond the common quantile (R. A. Fisher, *Statistical
  Methods for Research Workers*, section 21.02).

Both take the shots for independent of each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from benchvise.documents import computed

Seconds = npt.NDArray[np.float64]

SIGNIFICANCE = 0.01
_SHARE = 0.99


class TailThreshold(StrEnum):
    """How a threshold was chosen."""

    MAXIMUM = "lower of both maxima"
    QUANTILE = "99 % quantile of both"


@dataclass(frozen=True, slots=True)
class TailDifference:
    """How many of one set and of its reference lie beyond a threshold, in seconds.

    ``p`` is two-sided, and multiplied by the ``tests`` made in the same comparison (Bonferroni).
    """

    threshold: float
    chosen: TailThreshold
    beyond: int
    count: int
    reference_beyond: int
    reference_count: int
    p: float
    tests: int

    @computed.named("shown")
    def significant(self) -> bool:
        """Whether the tails differ beyond doubt: p < 0.01 after the correction."""
        return self.p < SIGNIFICANCE


def tail_differences(
    values: Seconds, reference: Seconds, comparisons: int = 1
) -> tuple[TailDifference, ...]:
    """The tail of ``values`` beside that of ``reference``, one of ``comparisons`` with it: beyond
    the lower of both maxima, and beyond the common quantile."""
    if values.size == 0 or reference.size == 0:
        return ()
    tests = 2 * comparisons
    lower = min(float(values.max()), float(reference.max()))
    both = np.sort(np.concatenate((values, reference)))
    # A value that was measured, so that exactly what is larger lies beyond it.
    common = float(both[min(both.size - 1, math.ceil(_SHARE * both.size) - 1)])
    out = []
    for threshold, chosen in ((lower, TailThreshold.MAXIMUM), (common, TailThreshold.QUANTILE)):
        beyond = int(np.count_nonzero(values > threshold))
        other = int(np.count_nonzero(reference > threshold))
        if chosen is TailThreshold.MAXIMUM:
            first, second = (
                (values.size, reference.size) if beyond else (reference.size, values.size)
            )
            p = min(1.0, 2.0 * _all_of_one(max(beyond, other), first, second))
        else:
            p = fisher_exact(beyond, values.size, other, reference.size)
        out.append(
            TailDifference(
                threshold,
                chosen,
                beyond,
                int(values.size),
                other,
                int(reference.size),
                min(1.0, p * tests),
                tests,
            )
        )
    return tuple(out)


def _all_of_one(k: int, n: int, m: int) -> float:
    """The probability that the k largest of n + m values are all among the n."""
    return math.exp(_log_choose(n, k) - _log_choose(n + m, k))


def fisher_exact(a: int, n: int, b: int, m: int) -> float:
    """The two-sided p that ``a`` of ``n`` and ``b`` of ``m`` have one probability: the sum over all
    tables with the same margins that are no likelier than this one."""
    k = a + b
    whole = _log_choose(n + m, k)
    low, high = max(0, k - m), min(n, k)
    logs = np.array(
        [_log_choose(n, i) + _log_choose(m, k - i) - whole for i in range(low, high + 1)]
    )
    mine = logs[a - low]
    return min(1.0, float(np.exp(logs[logs <= mine + 1e-7]).sum()))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
