"""What base pages cost a load: memory.latency with base pages against huge ones."""

from __future__ import annotations

from benchvise.measure.insights.insight import (
    Insight,
    SeriesPoint,
    change,
    differing,
    named,
    points,
)
from benchvise.measure.model import RunRecord
from benchvise.measure.validity import quantity

# From here on page walks are worth a word.
_CLEARLY = 1.05


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
            sentence=_sentence(stable, names),
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


def _sentence(stable: list[tuple[SeriesPoint, SeriesPoint]], names: list[str]) -> str:
    base, huge = max(stable, key=lambda pair: pair[0].median - pair[1].median)
    if base.median / huge.median < _CLEARLY:
        return "Base pages cost a load nothing that shows, at any size that was measured."
    first = next(b for b, h in stable if b.median / h.median >= _CLEARLY)
    return (
        f"With base pages a load takes up to {_difference(base, huge)} longer than with huge ones "
        f"({named(base, names)}: {base.text} against {huge.text}): that is the walk of page "
        f"tables. It first shows at {named(first, names)}."
    )
