"""Whether a change may pass: every series is fine, regressed, or undecided.

A series has *regressed* when it is slower, by the verdict of ``compare``, by more than the
threshold. It is *fine* when even the worse end of the 95 % interval of its ratio stays within the
threshold, or when it is faster. Everything else is *undecided*: noise may hide a regression. What
was not shown is never called fine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from benchvise.measure.compare import Comparison, SeriesVerdict, compare_runs
from benchvise.measure.model import RunRecord, SeriesRecord


class GateVerdict(StrEnum):
    """What a gate says of a series, and of all together."""

    FINE = "fine"
    REGRESSED = "regressed"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class GatedSeries:
    """A series at the gate; ``worst_percent`` is by how much it may be worse, at the worse end of
    the interval. None where nothing was compared."""

    comparison: Comparison
    verdict: GateVerdict
    reason: str
    worst_percent: float | None


@dataclass(frozen=True, slots=True)
class Gate:
    """All series at the gate: regressed ones first, then undecided ones."""

    base: str
    other: str
    threshold: float
    series: tuple[GatedSeries, ...]

    @property
    def verdict(self) -> GateVerdict:
        """Regressed where one is, else undecided where one is, or where there is none."""
        verdicts = {series.verdict for series in self.series}
        if GateVerdict.REGRESSED in verdicts:
            return GateVerdict.REGRESSED
        return GateVerdict.FINE if verdicts == {GateVerdict.FINE} else GateVerdict.UNDECIDED

    def undecided(self) -> list[str]:
        """What of the series more samples may decide, by what they measure."""
        return [
            series.comparison.spec.canonical
            for series in self.series
            if series.verdict is GateVerdict.UNDECIDED
            and series.comparison.verdict is not SeriesVerdict.NOT_COMPARABLE
        ]


def judge_gate(base: RunRecord, other: RunRecord, threshold: float) -> Gate:
    """The gate of ``other`` behind ``base``; ``threshold`` is in percent, 0 or more."""
    result = compare_runs(base, other)
    judged = [judge_series(comparison, threshold) for comparison in result.comparisons]
    order = (GateVerdict.REGRESSED, GateVerdict.UNDECIDED, GateVerdict.FINE)
    judged.sort(key=lambda series: order.index(series.verdict))
    return Gate(result.a, result.b, threshold, tuple(judged))


def judge_series(comparison: Comparison, threshold: float) -> GatedSeries:
    """One series at the gate."""
    worst = _worst_percent(comparison)
    if comparison.verdict is SeriesVerdict.SLOWER and _change(comparison) > threshold:
        return GatedSeries(comparison, GateVerdict.REGRESSED, comparison.reason, worst)
    if comparison.verdict is SeriesVerdict.NOT_COMPARABLE or worst is None:
        return GatedSeries(comparison, GateVerdict.UNDECIDED, comparison.reason, worst)
    if comparison.verdict is SeriesVerdict.FASTER or (
        worst <= threshold and comparison.verdict is not SeriesVerdict.UNSTABLE
    ):
        return GatedSeries(comparison, GateVerdict.FINE, comparison.reason, worst)
    if comparison.verdict is SeriesVerdict.UNSTABLE:
        return GatedSeries(comparison, GateVerdict.UNDECIDED, comparison.reason, worst)
    reason = f"it may be worse by up to {worst:.1f} %, and {threshold:g} % are allowed"
    return GatedSeries(comparison, GateVerdict.UNDECIDED, reason, worst)


def _change(comparison: Comparison) -> float:
    """The change of the value in percent, without sign, as ``compare --threshold`` has it."""
    return abs(comparison.change_percent or 0.0)


def _worst_percent(comparison: Comparison) -> float | None:
    """By how many percent the value is worse at the worse end of the interval; negative: better."""
    if comparison.low is None or comparison.high is None:
        return None
    if comparison.better == "lower":
        return (comparison.high - 1.0) * 100.0
    return (1.0 - comparison.low) * 100.0


# -- measuring again -------------------------------------------------------------------------------


def with_more(run: RunRecord, more: RunRecord) -> RunRecord:
    """The run with the samples of a later one, series by series.

    Process i of both becomes one block: its median then rests on more samples, so that interval and
    noise floor become narrower. As processes of their own, the range of their medians, which is the
    noise floor, could only grow.
    """
    later = {series.spec.canonical: series for series in more.series}
    return replace(
        run,
        series=tuple(
            _extended(series, later[series.spec.canonical])
            if series.spec.canonical in later
            else series
            for series in run.series
        ),
    )


def _extended(series: SeriesRecord, more: SeriesRecord) -> SeriesRecord:
    added = {process.index: process.samples for process in more.processes}
    processes = []
    for process in series.processes:
        samples = (*process.samples, *added.get(process.index, ()))
        renumbered = (replace(sample, index=index) for index, sample in enumerate(samples))
        processes.append(replace(process, samples=tuple(renumbered)))
    return replace(series, processes=tuple(processes))
