"""What a source that was never written does to a bandwidth."""

from __future__ import annotations

from benchvise.measure.insights.insight import Insight, SeriesPoint, differing, named, points, times
from benchvise.measure.model import RunRecord

_BENCHMARKS = ("memory.copy", "memory.read", "memory.libc_copy")
# Less than this is what two runs of the same thing may differ by.
_CLEARLY = 1.1


def zero_pages(run: RunRecord) -> list[Insight]:
    """One insight a benchmark that was measured with and without a written source."""
    found = [_of_benchmark(run, benchmark) for benchmark in _BENCHMARKS]
    return [insight for insight in found if insight]


def _of_benchmark(run: RunRecord, benchmark: str) -> Insight | None:
    measured = points(run, benchmark)
    pairs = [
        (written, point)
        for point in measured
        if point.params.get("source") == "untouched" and (written := _written(point, measured))
    ]
    stable = [(a, b) for a, b in pairs if a.stable and b.stable]
    if not stable:
        return None
    names = differing((a for a, _ in pairs), "source") or ["size"]
    return Insight(
        title=f"An unwritten source overstates {benchmark}",
        sentence=_sentence(benchmark, stable, names),
        columns=("measured with", "written", "unwritten", "overstated"),
        rows=tuple(
            (
                named(b, names),
                a.text,
                b.text,
                f"{times(b.median / a.median)} x" if a.stable and b.stable else "",
            )
            for a, b in pairs
        ),
    )


def _written(untouched: SeriesPoint, measured: list[SeriesPoint]) -> SeriesPoint | None:
    """The same with a written source: random bytes, or else zeros."""
    alike = [p for p in measured if p.others("source") == untouched.others("source")]
    for source in ("random", "zero"):
        for point in alike:
            if point.params["source"] == source:
                return point
    return None


def _sentence(
    benchmark: str, stable: list[tuple[SeriesPoint, SeriesPoint]], names: list[str]
) -> str:
    a, b = max(stable, key=lambda pair: pair[1].median / pair[0].median)
    ratio = b.median / a.median
    seen = (
        f"{benchmark} seems {times(ratio)} times as fast when nobody wrote its source before "
        f"({named(b, names)}: {b.text} against {a.text})"
        if ratio >= _CLEARLY
        else f"{benchmark} is hardly faster here when nobody wrote its source before"
    )
    return (
        f"{seen}. Such a source is the one shared zero page, read from a cache: with base pages "
        "or with huge ones, neither figure is a bandwidth."
    )
