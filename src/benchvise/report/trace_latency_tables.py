"""Latencies, their stages, worst cases and assertions, and two traces side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchvise.quantities import format_change, format_value
from benchvise.report import trace_cells as cells
from benchvise.report.tables import Cell, Column, Table
from benchvise.report.text import clean
from benchvise.trace.analysis.compare import Change, TraceComparison
from benchvise.trace.analysis.latency import Latency, Method
from benchvise.trace.analysis.latency.answer import Way
from benchvise.trace.analysis.latency.assertions import Checked

_METHODS = {
    Method.CAUSE: "by cause (who woke or raised whom)",
    Method.NEXT: "NOT BY CAUSE: each start with the next end after it",
}
_STAGES_SHOWN = 200


def latency_rows(found: Latency, ways: int, remarks: Sequence[str]) -> list[Table]:
    """The latency in all, the stages of each way, and the worst occurrences."""
    tables = [_whole(found, remarks)]
    rarer = found.ways[ways:]
    for number, way in enumerate(found.ways[:ways]):
        title = f"{way.count} occurrences this way" if len(found.ways) > 1 else "Stages"
        more = f"{len(rarer)} rarer ways: {sum(one.count for one in rarer)} occurrences (--ways N)"
        tables.append(_way(way, title, (more,) if rarer and number == ways - 1 else ()))
    if found.worst:
        tables.append(_worst(found))
    return tables


def _whole(found: Latency, remarks: Sequence[str]) -> Table:
    first, last = found.hops[0].start, found.hops[-1].end
    names = ("Occurrences", *cells.SPREAD, "p99 interval")
    columns = tuple(Column(name, right=True) for name in names)
    rows: tuple[tuple[Cell, ...], ...] = ()
    if found.total is not None:
        rows = (
            (
                cells.count(found.occurrences),
                *cells.spread(found.total),
                cells.interval(found.total.p99_interval),
            ),
        )
    told = [*remarks, *(_told(found, number) for number in range(len(found.hops)))]
    if found.unsure:
        kept = "kept" if found.unsure_kept else "left out (--unsure keeps them)"
        told.append(f"UNSURE: {found.unsure} occurrences with events missing on their way, {kept}")
    if found.total is None:
        told.append("nothing matched: no start led to an end")
    elif found.total.p99_interval is None:
        told.append(f"p99: {found.occurrences} occurrences are too few for an interval of it")
    return Table(clean(f"From {first} to {last}"), columns, rows, tuple(told))


def _told(found: Latency, number: int) -> str:
    """How one hop was matched, and how much of it."""
    hop = found.hops[number]
    left = f"; {hop.left_out} cut by an end of the trace" if hop.left_out else ""
    return (
        f"{clean(hop.start)} → {clean(hop.end)}: {_METHODS[hop.method]}; "
        f"{hop.starts_matched} of {hop.starts} starts led to an end, "
        f"{hop.ends_matched} of {hop.ends} ends have a start{left}"
    )


def _way(way: Way, title: str, remarks: Sequence[str]) -> Table:
    columns = (
        Column("#", right=True),
        Column("Stage"),
        *(Column(name, right=True) for name in ("Share", "Median", "p95", "p99", "Max")),
    )
    rows = tuple(
        (
            Cell(str(at), "muted"),
            Cell(clean(stage.name, _STAGES_SHOWN)),
            cells.share(stage.share),
            cells.figure(stage.time, "median", strong=True),
            cells.figure(stage.time, "p95"),
            cells.figure(stage.time, "p99"),
            cells.figure(stage.time, "maximum"),
        )
        for at, stage in enumerate(way.stages, 1)
    )
    return Table(title, columns, rows, tuple(remarks))


def _worst(found: Latency) -> Table:
    columns = (
        *(Column(name, right=True) for name in ("Latency", "From", "CPU", "To", "CPU")),
        Column("Who"),
        Column("Stages"),
    )
    rows = tuple(
        (
            Cell(format_value(one.latency, "ns"), "strong"),
            Cell(cells.stamp(one.begin)),
            Cell(str(one.begin_cpu)),
            Cell(cells.stamp(one.end)),
            Cell(str(one.end_cpu)),
            cells.name(one.end_actor),
            Cell(" + ".join(format_value(time, "ns") for _, time in one.stages), "muted"),
        )
        for one in found.worst
    )
    return Table("The longest", columns, rows, ())


def assertion_lines(checked: Sequence[Checked]) -> list[Cell]:
    """One line an assertion: whether it holds, and what the value is."""
    lines = []
    for one in checked:
        value = one.reason or _amount(one)
        text = f"{clean(one.text)} ({clean(value, 400)})"
        lines.append(
            Cell(f"holds: {text}", "good") if one.holds else Cell(f"FAILED: {text}", "bad")
        )
    return lines


def _amount(one: Checked) -> str:
    if one.value is None:
        return "no value"
    if one.unit == "share":
        return f"it is {100 * one.value:.2f} %"
    return f"it is {format_value(one.value, 'ns') if one.unit == 'ns' else f'{one.value:.0f}'}"


# -- two traces ------------------------------------------------------------------------------------


def comparison_rows(
    found: TraceComparison,
    names: tuple[Path, Path],
    top: int,
    remarks: Sequence[str],
    *,
    everything: bool,
) -> list[Table]:
    """What changed, the clearest first; then how often and how much each actor ran."""
    changes = [one for one in found.changes if everything or one.changed]
    columns = (
        Column("Actor"),
        Column("Figure"),
        *(Column(name, right=True) for name in ("n A", "n B", "Median A", "Median B", "Change")),
        *(Column(name, right=True) for name in ("95 % of ratio", "Delta", "p99 A", "p99 B")),
    )
    rows = tuple(_change(one) for one in changes[:top])
    counted = sum(1 for one in found.changes if one.changed)
    told = [*remarks]
    if len(changes) > top:
        told.append(f"not listed: {len(changes) - top} more (--top {len(changes)})")
    if not everything:
        told.append(f"no change shown: {len(found.changes) - counted} figures (--all lists them)")
    for name, only in (("A", found.only_in_a), ("B", found.only_in_b)):
        if only:
            more = f" and {len(only) - 8} more" if len(only) > 8 else ""
            told.append(f"only in {name}: {clean(', '.join(only[:8]), 400)}{more}")
    if any(found.unsure):
        told.append(f"unsure instances left out: {found.unsure[0]} in A, {found.unsure[1]} in B")
    told.append(
        "delta: Cliff's, 1 when all of B is above all of A, -1 when below; instances of one actor "
        "are not independent, so the intervals are somewhat too narrow"
    )
    title = f"{clean(names[1].name)} (B) against {clean(names[0].name)} (A): {counted} changed"
    return [Table(title, columns, rows, tuple(told)), _rates(found, top)]


def _change(one: Change) -> tuple[Cell, ...]:
    ratio = f"{one.interval.low:.3f} to {one.interval.high:.3f}" if one.interval else ""
    return (
        cells.name(one.actor),
        Cell(one.figure),
        cells.count(one.a.count),
        cells.count(one.b.count),
        cells.figure(one.a, "median"),
        cells.figure(one.b, "median"),
        Cell(format_change(one.ratio), "strong" if one.changed else "plain"),
        Cell(ratio, "muted") if ratio else cells.NOTHING,
        cells.NOTHING if one.delta is None else Cell(f"{one.delta:+.2f}"),
        cells.figure(one.a, "p99"),
        cells.figure(one.b, "p99"),
    )


def _rates(found: TraceComparison, top: int) -> Table:
    columns = (
        Column("Actor"),
        *(Column(name, right=True) for name in ("Load A", "Load B", "Instances/s A", "B")),
    )
    largest = sorted(found.rates, key=lambda one: -abs(one.load[1] - one.load[0]))
    rows = tuple(
        (
            cells.name(one.actor),
            cells.share(one.load[0]),
            cells.share(one.load[1]),
            Cell(format_value(one.per_second[0], "")),
            Cell(format_value(one.per_second[1], "")),
        )
        for one in largest[:top]
    )
    return Table("Load of a CPU and instances, the largest difference first", columns, rows, ())
