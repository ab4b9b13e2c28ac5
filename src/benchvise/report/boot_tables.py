"""Boots for the terminal: the timeline of one, those of several on one scale, and a soak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from benchvise.rig.boot.patterns import PHASES
from benchvise.rig.boot.verdict import BootReport
from benchvise.rig.soak.soak import FailureRate, RigFault, SoakBoot, SoakResult
from benchvise.terminal_colors import BAD, DOUBT, ERROR, GOOD, HUES

_WIDTH = 40
_BLOCKS = " ▏▎▍▌▋▊▉█"
# Distinct for all kinds of colour vision; the phases are named beside them anyway.
_NUMBERS_SHOWN = 8
_CONDITIONS_SHOWN = 4
_OUTLIERS_SHOWN = 10


def timeline_view(report: BootReport, *, name: str = "", width: int = _WIDTH) -> RenderableType:
    """One boot: a row for each phase, its bar where on the timeline it lies, and the verdict."""
    table = Table(
        title=Text(name, style="bold") if name else None,
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
        bar = _bar(before, at, end, width, HUES[i % len(HUES)])
        table.add_row(Text(phase), bar, Text(_seconds(at)), Text(_seconds(at - before)))
        before = at
    if not report.ok and report.seconds > before:
        bar = _bar(before, report.seconds, end, width, ERROR)
        rest = report.seconds - before
        table.add_row(
            Text("given up", style=BAD),
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
            bar.append("█" * (cells - filled), style=HUES[i % len(HUES)])
            filled = max(filled, cells)
        fault = report.fault
        if fault is not None:
            cells = _cells(report.seconds, longest, width)
            bar.append("░" * (cells - filled), style=ERROR)
        table.add_row(
            Text(name),
            bar,
            Text(report.stage),
            Text(_seconds(report.phases.get(report.stage, 0.0))),
            Text("booted", style=GOOD) if fault is None else Text(fault, style=BAD),
        )
    return table


def _verdict(report: BootReport) -> list[Text]:
    fault = report.fault
    lines = []
    if fault is None:
        lines.append(Text(report.sentence, style=GOOD))
    else:
        lines.append(Text.assemble((fault, BAD), f": {report.sentence}"))
        if report.evidence:
            lines.append(Text(f"  '{report.evidence}'"))
        if report.remedy:
            lines.append(Text(f"  {report.remedy}"))
        lines.append(Text(f"  console: {report.console}", style="dim"))
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


def _seconds(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f} s"


# A soak


def soak_table(result: SoakResult) -> RenderableType:
    """What a soak has found: rate, failures and where they stood, phases, what stands out."""
    parts: list[RenderableType] = [_headline(result)]
    if result.groups:
        parts += ["", _failures(result)]
    if result.phases:
        parts += ["", _phases(result)]
    if result.outliers:
        parts += ["", _outliers(result)]
    for fault in result.rig_faults:
        parts.append(Text(f"boot {fault.number} does not count: {fault.fault}: {fault.sentence}"))
    if result.ended:
        done = len(result.boots) + len(result.rig_faults)
        parts.append(Text(f"ended after {done} of {result.wanted} boots: {result.ended}", DOUBT))
    return Group(*parts)


def boot_line(boot: SoakBoot | RigFault) -> str:
    """One boot in one line, for the progress of a soak."""
    if isinstance(boot, RigFault):
        return f"boot {boot.number}: the rig: {boot.fault}: {boot.sentence}"
    conditions = f" ({boot.conditions})" if boot.conditions else ""
    if not boot.ok:
        return f"boot {boot.number}{conditions}: {boot.fault}: {boot.sentence}"
    seconds = max(boot.phases.values(), default=0.0)
    return f"boot {boot.number}{conditions}: up after {seconds:.2f} s"


def rate_text(rate: FailureRate) -> str:
    """``3 of 100 failed: 3.00 %, between 0.62 % and 8.52 % with 95 % confidence``."""
    return (
        f"{rate.count} of {rate.total} failed: {100 * rate.value:.2f} %, between "
        f"{100 * rate.low:.2f} % and {100 * rate.high:.2f} % "
        f"with {100 * rate.confidence:g} % confidence"
    )


def _headline(result: SoakResult) -> Text:
    rate = result.failure_rate
    text = Text()
    text.append(result.board, "bold")
    if result.simulated:
        text.append("  simulated", DOUBT)
    about = "".join(f"  {name} {value}" for name, value in result.about.items())
    text.append(about + "\n")
    text.append(rate_text(rate) if rate else "no boot counts", BAD if result.failed else "")
    return text


def _failures(result: SoakResult) -> RenderableType:
    table = _table("failure", "boots", "where it stands", "which")
    logs = []
    for group in result.groups:
        table.add_row(
            Text(group.fault, BAD),
            str(len(group.boots)),
            Text("\n".join(group.where.split(", "))),
            Text(_which(result, group.boots)),
        )
        first = result.boot(group.boots[0])
        if first.console:
            # Not within the table, where it would be cut in pieces.
            logs.append(Text(f"console of boot {first.number}: {first.console}", overflow="fold"))
    return Group(table, *logs)


def _which(result: SoakResult, numbers: Sequence[int]) -> str:
    """The boots' numbers, beside what was special about them."""
    by_conditions: dict[str, list[int]] = {}
    for number in numbers:
        by_conditions.setdefault(result.boot(number).conditions, []).append(number)
    lines = []
    for conditions, boots in list(by_conditions.items())[:_CONDITIONS_SHOWN]:
        numbers_shown = " ".join(map(str, boots[:_NUMBERS_SHOWN]))
        more = len(boots) - _NUMBERS_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        lines.append(
            f"{conditions}: {numbers_shown}{rest}" if conditions else f"{numbers_shown}{rest}"
        )
    if len(by_conditions) > _CONDITIONS_SHOWN:
        lines.append(f"and {len(by_conditions) - _CONDITIONS_SHOWN} more cases")
    return "\n".join(lines)


def _phases(result: SoakResult) -> Table:
    table = _table("phase", "boots", "median", "p95", "min", "max", "since power on")
    for phase in result.phases:
        took = phase.took
        table.add_row(
            Text(phase.name),
            str(took.n),
            *(_seconds(s, 3) for s in (took.median, took.p95, took.minimum, took.maximum)),
            _seconds(phase.at.median, 3),
        )
    return table


def _outliers(result: SoakResult) -> Table:
    table = _table("stands out", "phase", "took", "median", "console")
    for outlier in result.outliers[:_OUTLIERS_SHOWN]:
        boot = result.boot(outlier.boot)
        table.add_row(
            f"boot {outlier.boot}",
            Text(outlier.phase),
            _seconds(outlier.took, 3),
            _seconds(outlier.median, 3),
            Text(boot.console),
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    numeric = ("boots", "median", "p95", "min", "max", "since power on", "took")
    for column in columns:
        table.add_column(column, justify="right" if column in numeric else "left")
    return table
