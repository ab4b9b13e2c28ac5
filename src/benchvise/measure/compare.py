"""Two series or two runs side by side: the ratio, its interval, and a verdict.

A difference is claimed only when all of these hold: the batches differ (p < 0.01), the 95 %
interval of the ratio excludes 1, and the ratio lies beyond the noise floor. The interval is the
hull of a batch-level and a process-level one, as batches of one process share its pages and
layout and are no replication of each other.

Everything is computed on logarithms, so that swapping the two sides swaps the verdict and
nothing else.

The rare late times of series that keep every time have a test of their own (``benchvise.tails``),
which says nothing of the verdict.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from operator import sub

from benchvise.measure.kept_times import kept_times
from benchvise.measure.metrics import figure_series
from benchvise.measure.model import Better, RunRecord, SeriesRecord, SeriesSpec, SeriesStatus
from benchvise.measure.validity import LEAST_COVERAGE, TOLERANCE, Summary, summarise
from benchvise.statistics.means import paired_process_interval, process_interval
from benchvise.statistics.permutation import sign_flip_test
from benchvise.statistics.quantiles import median_of_sorted
from benchvise.statistics.ranks import (
    cliffs_delta,
    hodges_lehmann_paired,
    hodges_lehmann_shift,
    mann_whitney,
)
from benchvise.tails import TailDifference, tail_differences

SIGNIFICANCE = 0.01
LEAST_NOISE_FLOOR = 0.01
# Nineteen of twenty pairs of batches, one of each side, agree on who is larger.
CLEAR_SEPARATION = 0.9
# The exact sign-flip test of fewer pairs cannot reach p < 0.01.
_LEAST_PAIRS = 8


class SeriesVerdict(StrEnum):
    """What a comparison shows; ``faster`` means that B is better than A."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    UNSTABLE = "unstable"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A series in A and B. ``ratio`` is B/A of the values (Hodges-Lehmann), ``low`` and ``high``
    its 95 % interval, ``p`` the batch-level test, ``effect`` Cliff's delta of B over A (None when
    paired), ``noise_floor`` relative. What could not be computed is None. ``tails`` are those of B
    beside A where both keep single times: response times, latencies.
    """

    spec: SeriesSpec
    unit: str
    better: Better
    verdict: SeriesVerdict
    reason: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    effect: float | None = None
    noise_floor: float | None = None
    a: Summary | None = None
    b: Summary | None = None
    tails: tuple[TailDifference, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether B is shown to be faster or slower than A."""
        return self.verdict in (SeriesVerdict.FASTER, SeriesVerdict.SLOWER)

    @property
    def hidden_by_noise(self) -> bool:
        """Whether the batches differ by more than 5 %, but no more than processes or runs do."""
        return (
            self.verdict is SeriesVerdict.NO_DIFFERENCE
            and self.ratio is not None
            and self.p is not None
            and self.p < SIGNIFICANCE
            and abs(math.log(self.ratio)) > math.log1p(TOLERANCE)
        )

    @property
    def change_percent(self) -> float | None:
        """By how many percent the value of B is above (or, negative, below) that of A."""
        return None if self.ratio is None else (self.ratio - 1.0) * 100.0


@dataclass(frozen=True, slots=True)
class RunComparison:
    """All series of two runs: changed ones first, the largest change on top."""

    a: str
    b: str
    comparisons: tuple[Comparison, ...]

    @property
    def changed(self) -> tuple[Comparison, ...]:
        """The series that are faster or slower in B."""
        return tuple(c for c in self.comparisons if c.changed)

    @property
    def unchanged(self) -> tuple[Comparison, ...]:
        """The series in which no difference was shown."""
        return tuple(c for c in self.comparisons if c.verdict is SeriesVerdict.NO_DIFFERENCE)

    @property
    def tails(self) -> list[tuple[str, TailDifference]]:
        """How the rare late times differ, by the keys of the series."""
        return [(c.spec.key, tail) for c in self.comparisons for tail in c.tails]

    @property
    def counts(self) -> Mapping[SeriesVerdict, int]:
        """How many series got each verdict; every verdict is there."""
        verdicts = Counter(c.verdict for c in self.comparisons)
        return {verdict: verdicts[verdict] for verdict in SeriesVerdict}

    @property
    def worst_regression(self) -> float:
        """The largest change of a slower series' value in percent, without sign; 0 for none."""
        changes = (c.change_percent for c in self.comparisons if c.verdict is SeriesVerdict.SLOWER)
        return max((abs(change) for change in changes if change is not None), default=0.0)


def compare_runs(a: RunRecord, b: RunRecord, *, figures: bool = False) -> RunComparison:
    """Compare each series of ``a`` with the one of the same benchmark and parameters in ``b``.

    With ``figures``, what a benchmark says beside its value is compared too, as a series each.
    """
    names = (a.label or a.id, b.label or b.id)
    if names[0] == names[1]:
        names = (a.id, b.id)
    paired = a.interleaved_with(b)
    of_a, of_b = _by_spec(a, figures=figures), _by_spec(b, figures=figures)
    comparisons = {}
    for key in dict.fromkeys([*of_a, *of_b]):
        if key not in of_a or key not in of_b:
            series, name = (of_a[key], names[0]) if key in of_a else (of_b[key], names[1])
            comparisons[key] = _not_comparable(series, f"only in {name}")
        else:
            comparisons[key] = compare_series(of_a[key], of_b[key], paired=paired, names=names)
    times = {
        key: (in_a, in_b)
        for key, comparison in comparisons.items()
        if comparison.verdict is not SeriesVerdict.NOT_COMPARABLE
        and (in_a := kept_times(of_a[key])) is not None
        and (in_b := kept_times(of_b[key])) is not None
    }
    for key, (in_a, in_b) in times.items():
        tails = tail_differences(in_b, in_a, len(times))
        comparisons[key] = replace(comparisons[key], tails=tails)
    return RunComparison(*names, tuple(sorted(comparisons.values(), key=_rank)))


def _by_spec(run: RunRecord, *, figures: bool) -> dict[tuple[str, int], SeriesRecord]:
    """The series by what they measure, and by turn if a run measures the same more than once."""
    turns: defaultdict[str, int] = defaultdict(int)
    series = {}
    for measured in run.series:
        turn = turns[measured.spec.canonical]
        turns[measured.spec.canonical] += 1
        for each in (measured, *(figure_series(measured) if figures else ())):
            series[each.spec.canonical, turn] = each
    return series


def _rank(comparison: Comparison) -> tuple[int, float]:
    if comparison.changed and comparison.ratio is not None:
        return 0, -abs(math.log(comparison.ratio))
    order = (SeriesVerdict.UNSTABLE, SeriesVerdict.NO_DIFFERENCE, SeriesVerdict.NOT_COMPARABLE)
    return 1 + order.index(comparison.verdict), 0.0


def compare_series(
    a: SeriesRecord,
    b: SeriesRecord,
    *,
    paired: bool = False,
    names: tuple[str, str] = ("A", "B"),
) -> Comparison:
    """Compare ``b`` with ``a``; ``names`` is what the reason calls them.

    ``paired`` says that process i of ``a`` and of ``b`` were measured as one block. With eight
    blocks or more the test takes one pair a process, else one a batch.
    """
    hindrance = _hindrance(a, b, names)
    if hindrance:
        return _not_comparable(a, hindrance)
    blocks_a, blocks_b = _log_blocks(a), _log_blocks(b)
    remarks = []
    if paired and list(map(len, blocks_a)) != list(map(len, blocks_b)):
        paired = False
        remarks.append("compared unpaired, as the processes and batches do not pair up")
    remarks += [
        f"only one process in {name}: its halves stand in for processes"
        for name, blocks in zip(names, (blocks_a, blocks_b), strict=True)
        if len(blocks) == 1
    ]
    evidence = _paired(blocks_a, blocks_b) if paired else _unpaired(blocks_a, blocks_b)
    units = _units(blocks_a), _units(blocks_b)
    within = max(max(medians) - min(medians) for medians in units)
    floor = max(LEAST_NOISE_FLOOR, _ratio(within) - 1.0)
    summaries = summarise(a), summarise(b)
    pinned = ("place", "free") not in a.spec.params
    held = pinned and min(s.coverage for s in summaries) >= LEAST_COVERAGE
    separation = cliffs_delta(_all(blocks_b), _all(blocks_a))
    verdict, reason = _judge(
        evidence, floor, summaries, a.better, names, held=held, separation=separation
    )
    return Comparison(
        spec=a.spec,
        unit=a.unit,
        better=a.better,
        verdict=verdict,
        reason="; ".join([reason, *remarks]),
        ratio=_ratio(evidence.shift),
        low=_ratio(evidence.low),
        high=_ratio(evidence.high),
        p=evidence.p,
        effect=evidence.effect,
        noise_floor=floor,
        a=summaries[0],
        b=summaries[1],
    )


def _not_comparable(series: SeriesRecord, reason: str) -> Comparison:
    return Comparison(series.spec, series.unit, series.better, SeriesVerdict.NOT_COMPARABLE, reason)


def _hindrance(a: SeriesRecord, b: SeriesRecord, names: tuple[str, str]) -> str:
    """Why the two cannot be compared; empty when they can."""
    for name, series in zip(names, (a, b), strict=True):
        # A run that was cut short leaves series as planned; their samples are as good as any.
        if series.status in (SeriesStatus.NOT_AVAILABLE, SeriesStatus.FAILED):
            word = "not available" if series.status is SeriesStatus.NOT_AVAILABLE else "failed"
            return f"{word} in {name}" + (f": {series.reason}" if series.reason else "")
        if sum(len(values) for values in series.values) < 2:
            return f"fewer than two batches in {name}"
        pooled = [value for values in series.values for value in values]
        if not all(math.isfinite(value) for value in pooled):
            return f"a value in {name} is not a finite number"
        if min(pooled) <= 0.0:
            return f"values of zero or less in {name} have no ratio"
    for what, of_a, of_b in (
        ("units", a.unit, b.unit),
        ("directions", a.better, b.better),
        ("ways of counting", a.counted, b.counted),
    ):
        if of_a != of_b:
            return (
                f"different {what}: {of_a or 'none'} in {names[0]}, {of_b or 'none'} in {names[1]}"
            )
    return ""


# -- the evidence ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The shift of B over A in logarithms, its interval, and the batch-level test."""

    shift: float
    low: float
    high: float
    p: float
    effect: float | None


def _log_blocks(series: SeriesRecord) -> list[list[float]]:
    return [list(map(math.log, values)) for values in series.values]


def _all(blocks: Sequence[Sequence[float]]) -> list[float]:
    return list(chain.from_iterable(blocks))


def _ratio(logarithm: float) -> float:
    """The ratio of a logarithm, kept within what a float can hold."""
    return math.exp(max(-700.0, min(700.0, logarithm)))


def _units(blocks: Sequence[Sequence[float]]) -> list[float]:
    """The log medians of the units of replication: processes, or the halves of a single one."""
    half = (len(blocks[0]) + 1) // 2
    parts = blocks if len(blocks) > 1 else (blocks[0][:half], blocks[0][half:])
    return [median_of_sorted(sorted(part)) for part in parts]


def _unpaired(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> _Evidence:
    all_a, all_b = _all(a), _all(b)
    batches = hodges_lehmann_shift(all_b, all_a)
    processes = process_interval(_units(b), _units(a))
    return _Evidence(
        shift=batches.value,
        low=min(batches.interval.low, processes.low),
        high=max(batches.interval.high, processes.high),
        p=mann_whitney(all_b, all_a),
        effect=cliffs_delta(all_b, all_a),
    )


def _paired(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> _Evidence:
    by_process = list(map(sub, _units(b), _units(a)))
    by_batch = list(map(sub, _all(b), _all(a)))
    pairs = by_process if len(a) >= _LEAST_PAIRS else by_batch
    batches = hodges_lehmann_paired(pairs)
    processes = paired_process_interval(by_process)
    return _Evidence(
        shift=batches.value,
        low=min(batches.interval.low, processes.low),
        high=max(batches.interval.high, processes.high),
        p=sign_flip_test(pairs),
        effect=None,
    )


# -- the verdict -----------------------------------------------------------------------------------


def _judge(
    evidence: _Evidence,
    floor: float,
    summaries: tuple[Summary, Summary],
    better: Better,
    names: tuple[str, str],
    *,
    held: bool,
    separation: float,
) -> tuple[SeriesVerdict, str]:
    """The verdict and its reason; ``held`` says that the series could be a number at all, and
    ``separation`` is Cliff's delta of the batches.

    An unstable series is compared all the same: the noise floor and the interval hold its
    instability, and a difference within them is not shown. Beyond them it is one if the values
    hardly overlap, and ``unstable`` otherwise: two modes against one of them, say.
    """
    up = SeriesVerdict.FASTER if better == "higher" else SeriesVerdict.SLOWER
    down = SeriesVerdict.SLOWER if better == "higher" else SeriesVerdict.FASTER
    direction = up if evidence.shift > 0.0 else down
    differ = evidence.p < SIGNIFICANCE
    beyond = abs(evidence.shift) > math.log1p(floor)
    unstable = "; ".join(
        f"unstable in {name}: {', '.join(summary.causes)}"
        for name, summary in zip(names, summaries, strict=True)
        if not summary.stable
    )
    failed = []
    if not differ:
        failed.append(f"the batches do not differ clearly ({_p(evidence.p)})")
    if evidence.low <= 0.0 <= evidence.high:
        failed.append("the 95 % interval of the ratio includes 1")
    if not beyond:
        failed.append(f"the ratio is within the noise floor of {floor * 100:.1f} %")
    if unstable:
        a, b = summaries
        apart = a.maximum < b.minimum or b.maximum < a.minimum
        if apart and differ and beyond:
            return direction, f"the ranges of the values do not overlap, though {unstable}"
        if not failed and held and abs(separation) >= CLEAR_SEPARATION:
            return direction, f"the values hardly overlap, though {unstable}"
        if not failed or not held:
            return SeriesVerdict.UNSTABLE, unstable
        return SeriesVerdict.NO_DIFFERENCE, f"{', '.join(failed)}; {unstable}"
    if failed:
        return SeriesVerdict.NO_DIFFERENCE, ", ".join(failed)
    return direction, (
        f"{_p(evidence.p)}, the 95 % interval of the ratio excludes 1, "
        f"and the ratio is beyond the noise floor of {floor * 100:.1f} %"
    )


def _p(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
