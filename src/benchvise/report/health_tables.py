"""A board's health for a terminal of 80 columns: what is failing first, then the sensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from benchvise.health.judging import HealthRemark, HealthSection, HealthVerdict, Judgement, clock
from benchvise.health.model import Disk, Sensor
from benchvise.kernel_log.rules import Severity

REMARKS = 8
"""Remarks of a section that are shown; --json has all."""

_STYLES = {
    HealthVerdict.GOOD: "bold blue",
    HealthVerdict.WARNING: "yellow",
    HealthVerdict.FAILING: "bold red",
    HealthVerdict.UNKNOWN: "dim",
}
_SEVERITIES = {Severity.FAILING: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
_WIDTH = 22


def health_report(judgement: Judgement) -> RenderableType:
    """The whole page: verdict, sections, what to do, disks, sensors."""
    parts: list[RenderableType] = [_head(judgement), "", _sections(judgement.sections)]
    for section in judgement.sections:
        if section.remarks:
            parts += ["", _remarks(section)]
    if any(not disk.missing for disk in judgement.reading.disks):
        parts += ["", _disks(judgement.reading.disks)]
    if judgement.reading.sensors:
        parts += ["", _sensors(judgement.reading.sensors)]
    parts += [Text(line, style="dim") for line in _footer(judgement)]
    return Group(*parts)


def _head(judgement: Judgement) -> Text:
    reading = judgement.reading
    up = "" if reading.uptime is None else f", up {clock(reading.uptime)}"
    head = Text()
    head.append(reading.board, style="bold")
    head.append(f" as {reading.privilege}{up}: ")
    head.append(judgement.verdict.value, style=_STYLES[judgement.verdict])
    return head


def _grid(*columns: str) -> RichTable:
    grid = RichTable(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=False
    )
    for column in columns:
        grid.add_column(Text(column), overflow="fold")
    return grid


def _sections(sections: Sequence[HealthSection]) -> RichTable:
    grid = _grid("Section", "Verdict", "Seen")
    for section in sections:
        seen = Text(section.summary)
        if section.missing:
            seen.append(("; " if section.summary else "") + section.missing, "dim")
        grid.add_row(
            Text(section.name),
            Text(section.verdict.value, style=_STYLES[section.verdict]),
            seen,
        )
    return grid


def _remarks(section: HealthSection) -> Group:
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(max_width=_WIDTH, overflow="fold")
    grid.add_column(overflow="fold")
    for remark in section.remarks[:REMARKS]:
        grid.add_row(
            Text(remark.device or "-"),
            Text(remark.sentence, style=_SEVERITIES[remark.severity]),
        )
        if remark.severity is not Severity.NOTE and not _said_again(section, remark):
            grid.add_row("", Text(remark.remedy, style="dim"))
    more = len(section.remarks) - REMARKS
    title = Text(section.name, style="bold")
    if more > 0:
        title.append(f"  (and {more} more: --json)", "dim")
    return Group(title, grid)


def _said_again(section: HealthSection, remark: HealthRemark) -> bool:
    """Whether the same remedy stood above already."""
    first = next(other for other in section.remarks if other.remedy == remark.remedy)
    return first is not remark


def _disks(disks: Sequence[Disk]) -> Group:
    grid = _grid("Disk", "Model", "Values that matter")
    for disk in disks:
        values = ", ".join(f"{name} {value:.0f}" for name, value in disk.values.items())
        grid.add_row(
            Text(disk.device),
            Text(disk.model),
            Text(values or disk.missing),
        )
    return Group(Text("SMART", style="bold"), grid)


def _sensors(sensors: Sequence[Sensor]) -> Group:
    grid = RichTable(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=False
    )
    grid.add_column(Text("Chip"), overflow="fold")
    grid.add_column(Text("Sensor"), overflow="fold")
    grid.add_column(Text("Value"), justify="right", no_wrap=True)
    grid.add_column(Text("Limits"), overflow="fold")
    chip = ""
    for sensor in sensors:
        limits = ", ".join(f"{name} {value:.4g}" for name, value in sensor.limits.items())
        value = f"{sensor.value:.2f}" if sensor.unit in ("V", "A", "W") else f"{sensor.value:.1f}"
        if sensor.unit in ("RPM", "Hz"):
            value = f"{sensor.value:.0f}"
        grid.add_row(
            Text(sensor.chip if sensor.chip != chip else ""),
            Text(sensor.label),
            Text(f"{value} {sensor.unit}", style="yellow" if sensor.alarm else ""),
            Text(limits, style="dim"),
        )
        chip = sensor.chip
    return Group(Text("sensors", style="bold"), grid)


def _footer(judgement: Judgement) -> Iterator[str]:
    for name, reason in judgement.reading.missing.items():
        if name == "counters":
            yield f"\n{name}: {reason}"
