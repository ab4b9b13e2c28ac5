"""A boot's timeline for the terminal: a small bar for each phase, with seconds.

Every text of a board passes ``printable``, and is a Text object, so that no markup is read in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from benchvise.rig.boot.patterns import PHASES
from benchvise.rig.boot.report import BootReport
from benchvise.text import printable

_WIDTH = 40
_BLOCKS = " ▏▎▍▌▋▊▉█"
# Told apart by all kinds of colour vision; the names of the phases say it anyway.
_STYLES = ("blue", "cyan", "yellow", "magenta")


def timeline_view(report: BootReport, *, name: str = "", width: int = _WIDTH) -> RenderableType:
    """One boot: a row for each phase, its bar where on the time line it lies, and the verdict."""
    table = Table(
        title=Text(printable(name), style="bold") if name else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("phase")
    table.add_column("", no_wrap=True, min_width=width)
    table.add_column("from power on", justify="right")
    table.add_column("took", justify="right")
    end = _end(report)
    before = 0.0
    for i, (phase, at) in enumerate(report.phases.items()):
        if phase == PHASES[0]:
            continue
        bar = _bar(before, at, end, width, _STYLES[i % len(_STYLES)])
        table.add_row(Text(phase), bar, Text(_seconds(at)), Text(_seconds(at - before)))
        before = at
    if not report.ok and report.seconds > before:
        bar = _bar(before, report.seconds, end, width, "red")
        rest = report.seconds - before
        table.add_row(
            Text("given up", style="bold red"),
            bar,
            Text(_seconds(report.seconds)),
            Text(_seconds(rest)),
        )
    return Group(table, *_verdict(report))


def timelines_view(reports: Mapping[str, BootReport], *, width: int = _WIDTH) -> RenderableType:
    """Several boots by name: a row for each, with one common scale."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("board")
    table.add_column("", no_wrap=True, min_width=width)
    table.add_column("reached")
    table.add_column("after", justify="right")
    table.add_column("result")
    longest = max(map(_end, reports.values()), default=0.0)
    for name, report in reports.items():
        bar = Text(no_wrap=True)
        filled = 0
        names = list(report.phases)
        for i, phase in enumerate(names[1:], 1):
            cells = _cells(report.phases[phase], longest, width)
            bar.append("█" * (cells - filled), style=_STYLES[i % len(_STYLES)])
            filled = max(filled, cells)
        fault = report.verdict.fault
        if fault is not None:
            cells = _cells(report.seconds, longest, width)
            bar.append("░" * (cells - filled), style="red")
        table.add_row(
            Text(printable(name)),
            bar,
            Text(report.stage),
            Text(_seconds(report.phases.get(report.stage, 0.0))),
            Text("booted", style="bold blue") if fault is None else Text(fault, style="bold red"),
        )
    return table


def _verdict(report: BootReport) -> list[Text]:
    fault = report.verdict.fault
    lines = []
    if fault is None:
        lines.append(Text(printable(report.verdict.sentence), style="bold blue"))
    else:
        sentence = printable(report.verdict.sentence, 400)
        lines.append(Text.assemble((fault, "bold red"), f": {sentence}"))
        if report.verdict.evidence:
            lines.append(Text(f"  '{printable(report.verdict.evidence)}'"))
        if report.verdict.remedy:
            lines.append(Text(f"  {report.verdict.remedy}", style="dim"))
        lines.append(Text(f"  console: {printable(report.console, 400)}", style="dim"))
    return lines


def _bar(begin: float, end: float, longest: float, width: int, style: str) -> Text:
    """From ``begin`` to ``end``, to an eighth of a character at its right end."""
    if longest <= 0:
        return Text()
    start = _cells(begin, longest, width)
    eighths = max(round(end / longest * width * 8) - start * 8, 1)
    whole, rest = divmod(eighths, 8)
    return Text(" " * start, no_wrap=True).append(
        "█" * whole + (_BLOCKS[rest] if rest else ""), style=style
    )


def _cells(at: float, longest: float, width: int) -> int:
    return min(int(at / longest * width), width - 1) if longest > 0 else 0


def _end(report: BootReport) -> float:
    return max(report.seconds if not report.ok else 0.0, *report.phases.values(), 0.0)


def _seconds(value: float) -> str:
    return f"{value:.2f} s"
