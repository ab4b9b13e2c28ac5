"""What pages do to memory: base pages to the latency of a load, and the zero page to a bandwidth.

Base pages are told from huge ones by memory.latency with both, the zero page by bandwidths with a
source that was written and one that never was.
"""

from __future__ import annotations

from benchvise.measure.insights.insight import (
    Insight,
    SeriesPoint,
    change,
    differing,
    named,
    points,
    times,
)
from benchvise.measure.model import RunRecord
from benchvise.measure.validity import quantity

# From here on page walks are worth a word.
_CLEAR_PAGE_WALK = 1.05


def huge_pages(run: RunRecord) -> list[Insight]:
    """One insight when latencies with both kinds of pages were measured."""
    measured = points(run, "memory.latency")
    pairs = [
        (base, huge)
        for huge in measured
        # A caveat of the probe: they were asked for and not granted.
        if huge.params.get("pages") == "huge" and not huge.series.caveats
        for base in measured
        if base.params.get("pages") == "4k" and base.others("pages") == huge.others("pages")
    ]
    pairs.sort(key=lambda pair: pair[0].size("size"))
    stable = [(base, huge) for base, huge in pairs if base.stable and huge.stable]
    if not stable:
        return []
    names = differing((base for base, _ in pairs), "pages") or ["size"]
    return [
        Insight(
            title="What base pages cost a load",
            sentence=_huge_page_sentence(stable, names),
            columns=("measured with", "base pages", "huge pages", "difference"),
            rows=tuple(
                (
                    named(base, names),
                    base.text,
                    huge.text,
                    _difference(base, huge) if base.stable and huge.stable else "",
                )
                for base, huge in pairs
            ),
        )
    ]


def _difference(base: SeriesPoint, huge: SeriesPoint) -> str:
    return (
        f"{quantity(base.median - huge.median, base.series.unit)} "
        f"({change(base.median / huge.median)})"
    )


def _huge_page_sentence(stable: list[tuple[SeriesPoint, SeriesPoint]], names: list[str]) -> str:
    base, huge = max(stable, key=lambda pair: pair[0].median - pair[1].median)
    if base.median / huge.median < _CLEAR_PAGE_WALK:
        return "Base pages cost a load nothing that shows, at any size that was measured."
    first = next(b for b, h in stable if b.median / h.median >= _CLEAR_PAGE_WALK)
    return (
        f"With base pages a load takes up to {_difference(base, huge)} longer than with huge ones "
        f"({named(base, names)}: {base.text} against {huge.text}): that is the walk of page "
        f"tables. It first shows at {named(first, names)}."
    )


# -- the zero page ---------------------------------------------------------------------------------

_READERS_OF_SOURCES = ("memory.copy", "memory.read", "memory.libc_copy")
# Less than this is what two runs of the same thing may differ by.
_CLEAR_OVERSTATEMENT = 1.1


def zero_pages(run: RunRecord) -> list[Insight]:
    """One insight a benchmark that was measured with and without a written source."""
    return [
        insight
        for benchmark in _READERS_OF_SOURCES
        if (insight := _zero_page_insight(run, benchmark))
    ]


def _zero_page_insight(run: RunRecord, benchmark: str) -> Insight | None:
    measured = points(run, benchmark)
    pairs = [
        (written, point)
        for point in measured
        if point.params.get("source") == "untouched"
        and (written := _with_written_source(point, measured))
    ]
    stable = [(a, b) for a, b in pairs if a.stable and b.stable]
    if not stable:
        return None
    names = differing((a for a, _ in pairs), "source") or ["size"]
    return Insight(
        title=f"An unwritten source overstates {benchmark}",
        sentence=_zero_page_sentence(benchmark, stable, names),
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


def _with_written_source(untouched: SeriesPoint, measured: list[SeriesPoint]) -> SeriesPoint | None:
    """The same with a written source: random bytes, or else zeros."""
    alike = [p for p in measured if p.others("source") == untouched.others("source")]
    for source in ("random", "zero"):
        for point in alike:
            if point.params["source"] == source:
                return point
    return None


def _zero_page_sentence(
    benchmark: str, stable: list[tuple[SeriesPoint, SeriesPoint]], names: list[str]
) -> str:
    a, b = max(stable, key=lambda pair: pair[1].median / pair[0].median)
    ratio = b.median / a.median
    effect = (
        f"{benchmark} seems {times(ratio)} times as fast when nobody wrote its source before "
        f"({named(b, names)}: {b.text} against {a.text})"
        if ratio >= _CLEAR_OVERSTATEMENT
        else f"{benchmark} is hardly faster here when nobody wrote its source before"
    )
    return (
        f"{effect}. Such a source is the one shared zero page, read from a cache: with base pages "
        "or with huge ones, neither value is a bandwidth."
    )
