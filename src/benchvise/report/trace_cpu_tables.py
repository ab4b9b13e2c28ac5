"""What took the CPUs, in all and over time, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from benchvise.quantities import format_cpus, format_value
from benchvise.report import trace_cells as cells
from benchvise.report.tables import Cell, Column, Table
from benchvise.report.text import clean
from benchvise.trace.analysis.series import OverTime, Series
from benchvise.trace.analysis.stats import Stats


def stats_rows(found: Stats, top: int, remarks: Sequence[str]) -> list[Table]:
    """Each CPU, then each actor."""
    seconds = found.span.duration / 1e9
    span = found.span.duration
    columns = (
        Column("CPU"),
        *(
            Column(name, right=True)
            for name in ("Tasks", "Interrupts", "Softirqs", "Idle", "Not known")
        ),
        *(
            Column(name, right=True)
            for name in ("Switches/s", "Wake-ups/s", "Interrupts/s", "Lost events")
        ),
    )
    cpus = tuple(
        (
            Cell(str(cpu.cpu)),
            *(cells.share(part / span) for part in (cpu.task, cpu.irq, cpu.softirq, cpu.idle)),
            Cell(cells.share(cpu.unknown / span).text, "doubt" if cpu.unknown else "muted"),
            *(
                Cell(format_value(amount / seconds, ""))
                for amount in (cpu.switches, cpu.wakeups, cpu.interrupts)
            ),
            _lost(cpu.losses, cpu.lost_events),
        )
        for cpu in found.cpus
    )
    begin, end = cells.stamp(found.span.begin), cells.stamp(found.span.end)
    title = f"{begin} to {end} ({format_value(span, 'ns')})"
    return [Table(title, columns, cpus, tuple(remarks)), _actors(found, top, seconds)]


def _lost(places: int, events: int | None) -> Cell:
    if not places:
        return Cell("0", "muted")
    return Cell("some, not counted" if events is None else str(events), "bad")


def _actors(found: Stats, top: int, seconds: float) -> Table:
    columns = (
        Column("Actor"),
        *(
            Column(name, right=True)
            for name in ("Busy", "Of a CPU", "Switches/s", "Wake-ups/s", "CPUs")
        ),
    )
    rows = tuple(
        (
            cells.name(one.actor + (f" ({one.actors})" if one.actors > 1 else "")),
            cells.duration(one.busy),
            cells.share(one.share),
            Cell(format_value(one.switches / seconds, "")),
            Cell(format_value(one.wakeups / seconds, "")),
            Cell(format_cpus(one.cpus), "muted"),
        )
        for one in found.actors[:top]
    )
    left = len(found.actors) - top
    told = [f"not listed: {left} more actors (--top {len(found.actors)})"] if left > 0 else []
    told.append(
        "busy: on a CPU, without the interrupts nested in it; a handler's switches are its returns"
    )
    return Table("Actors, the busiest first", columns, rows, tuple(told))


def over_time_rows(found: OverTime, title: str, top: int, remarks: Sequence[str]) -> Table:
    """One line each for everything, every CPU, and the foremost actors, with bars over time.

    Lines of one kind share their scale, so that their heights compare.
    """
    columns = (
        Column("Who"),
        Column("Whole", right=True),
        Column("Peak", right=True),
        Column("Peak at", right=True),
        Column(f"Over time, {format_value(found.width, 'ns')} each"),
    )
    together = [found.everything, *found.cpus]
    shown = list(found.actors[:top])
    rows = tuple(
        _line(one, max((other.peak for other in of), default=0.0), found.unit)
        for of in (together, shown)
        for one in of
    )
    left = len(found.actors) - top
    more = [f"not listed: {left} more actors (--top {len(found.actors)})"] if left > 0 else []
    return Table(title, columns, rows, (*remarks, *more))


def _line(one: Series, top: float, unit: str) -> tuple[Cell, ...]:
    def amount(value: float) -> Cell:
        return Cell(format_value(value, "1/s")) if unit == "switches/s" else cells.share(value)

    return (
        Cell(clean(one.name, 40)),
        Cell(amount(one.whole).text, "strong"),
        amount(one.peak),
        cells.moment(one.peak_at),
        Cell(cells.bars(one.values, top)),
    )
