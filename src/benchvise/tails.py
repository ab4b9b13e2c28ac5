"""Two sets of times by their rare late ones: "6 of 1000 beyond 9.2 us, none when masked".

For response times of signals, and for stored series that keep every time. Medians and even p99 may
be equal where a few answers come late. Two thresholds are used, both fixed before anything is
counted beyond them: the lower of both maxima, and the 99 % quantile of both sets together. Both
tests are exact, by the hypergeometric distribution:

- that the k largest of all n + m values belong to one set has the probability
  C(n, k) / C(n + m, k) where both come from one distribution (L. Nelson, Technometrics 5 (1963)
  491: precedence test);
- the number of one set's values among those beyond the common quantile (R. A. Fisher, *Statistical
  Methods for Research Workers*, section 21.02).

Both take the times for independent of each other.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, chain

from benchvise.documents import computed
from benchvise.quantities import format_number
from benchvise.table import ColumnSpec, TableSpec, ValueUnit

SIGNIFICANCE = 0.01
MOST_TIMES = 10**10
"""Of more times in one set, tails are not compared: counting tables would take minutes."""

_SHARE = 0.99
_TABLES = 1000
_DEVIATIONS = 12.0
"""Tables so many standard deviations from the likeliest have no share in p: exp(-72)."""


@dataclass(frozen=True, slots=True)
class CountedTimes:
    """Different times in seconds, rising, and how often each was measured."""

    seconds: Sequence[float]
    counts: Sequence[int]

    @classmethod
    def of(cls, seconds: Iterable[float]) -> CountedTimes:
        """Times in any order."""
        counts = Counter(seconds)
        different = tuple(sorted(counts))
        return cls(different, tuple(counts[value] for value in different))

    @property
    def count(self) -> int:
        """All times, equal ones too."""
        return sum(self.counts)

    def beyond(self, threshold: float) -> int:
        """How many are longer than this."""
        return sum(self.counts[bisect_right(self.seconds, threshold) :])


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
    times: CountedTimes, reference: CountedTimes, comparisons: int = 1
) -> tuple[TailDifference, ...]:
    """The tail of ``times`` beside that of ``reference``, one of ``comparisons`` with it: beyond
    the lower of both maxima, and beyond the common quantile. Empty where one has no times."""
    count, other_count = times.count, reference.count
    if not (0 < count <= MOST_TIMES and 0 < other_count <= MOST_TIMES):
        return ()
    tests = 2 * comparisons
    lower = min(times.seconds[-1], reference.seconds[-1])
    differences = []
    for threshold, chosen in (
        (lower, TailThreshold.MAXIMUM),
        (_common_quantile(times, reference), TailThreshold.QUANTILE),
    ):
        beyond, other = times.beyond(threshold), reference.beyond(threshold)
        if chosen is TailThreshold.MAXIMUM:
            first, second = (count, other_count) if beyond else (other_count, count)
            p = min(1.0, 2.0 * all_of_one(max(beyond, other), first, second))
        else:
            p = fisher_exact(beyond, count, other, other_count)
        differences.append(
            TailDifference(
                threshold, chosen, beyond, count, other, other_count, min(1.0, p * tests), tests
            )
        )
    return tuple(differences)


def _common_quantile(times: CountedTimes, reference: CountedTimes) -> float:
    """A time that was measured, so that exactly what is longer lies beyond it."""
    both = sorted(
        chain(
            zip(times.seconds, times.counts, strict=True),
            zip(reference.seconds, reference.counts, strict=True),
        )
    )
    up_to = list(accumulate(count for _, count in both))
    return both[bisect_left(up_to, math.ceil(_SHARE * up_to[-1]))][0]


def all_of_one(k: float, n: int, m: int) -> float:
    """The probability that the k largest of n + m values are all among the n; k need not be whole,
    as where some count as less than one because they came together."""
    return math.exp(_log_choose(n, k) - _log_choose(n + m, k))


def fisher_exact(a: int, n: int, b: int, m: int) -> float:
    """The two-sided p that ``a`` of ``n`` and ``b`` of ``m`` have one probability: the sum over all
    tables with the same margins that are no likelier than this one."""
    k = a + b
    whole = _log_choose(n + m, k)

    def log_share(i: int) -> float:
        return _log_choose(n, i) + _log_choose(m, k - i) - whole

    mean = k * n / (n + m)
    reach = _TABLES + _DEVIATIONS * math.sqrt(mean * m / (n + m))
    low = max(0, k - m, math.floor(mean - reach))
    high = min(n, k, math.ceil(mean + reach))
    mine = log_share(a)
    logs = map(log_share, range(low, high + 1))
    no_likelier = math.fsum(math.exp(log) for log in logs if log <= mine + 1e-7)
    return min(1.0, max(no_likelier, math.exp(mine)))


def _log_choose(n: int, k: float) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


# -- the table -------------------------------------------------------------------------------------

_Row = tuple[str, TailDifference]


def tail_table(heading: str, rows: Sequence[_Row], reference: str, tests: int) -> TableSpec[_Row]:
    """A row for each difference, by the name of what has it; ``heading`` says what names are.

    ``reference`` is the name of what they are beside, ``tests`` how many tests were made in all.
    """
    columns: tuple[ColumnSpec[_Row], ...] = (
        ColumnSpec(heading, ValueUnit.TEXT, lambda row: row[0], "strong"),
        ColumnSpec("Beyond", ValueUnit.SECONDS, lambda row: row[1].threshold),
        ColumnSpec("Threshold", ValueUnit.TEXT, lambda row: str(row[1].chosen), "muted"),
        ColumnSpec("It has", ValueUnit.TEXT, lambda row: _of(row[1].beyond, row[1].count)),
        ColumnSpec(
            "The first has",
            ValueUnit.TEXT,
            lambda row: _of(row[1].reference_beyond, row[1].reference_count),
        ),
        ColumnSpec("p", ValueUnit.NUMBER, lambda row: format_number(row[1].p), "muted"),
        ColumnSpec(
            "",
            ValueUnit.TEXT,
            lambda row: "shown" if row[1].significant else "not shown",
            lambda row: "strong" if row[1].significant else "muted",
            key="shown",
        ),
    )
    remark = (
        f"p: exact (hypergeometric), two-sided, times the {tests} tests made; shown where "
        "p < 0.01. Missed stimuli are not counted here; bursts of late responses make p too small"
    )
    return TableSpec(f"Tails, beside {reference}", columns, rows, (remark,))


def _of(beyond: int, count: int) -> str:
    return f"{beyond or 'none'} of {count}"
