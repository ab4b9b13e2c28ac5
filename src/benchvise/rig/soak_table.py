"""A soak for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group as Lines
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from benchvise.rig.soak import Boot, RigFault, SoakResult
from benchvise.rig.soak_figures import Rate

_NUMBERS_SHOWN = 8
_CONDITIONS_SHOWN = 4
_OUTLIERS_SHOWN = 10


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
        parts.append(Text(f"ended after {done} of {result.wanted} boots: {result.ended}", "yellow"))
    return Lines(*parts)


def boot_line(boot: Boot | RigFault) -> str:
    """One boot in one line, for the progress of a soak."""
    if isinstance(boot, RigFault):
        return f"boot {boot.number}: the rig: {boot.fault}: {boot.sentence}"
    conditions = f" ({boot.conditions})" if boot.conditions else ""
    if not boot.ok:
        return f"boot {boot.number}{conditions}: {boot.fault}: {boot.sentence}"
    seconds = max(boot.phases.values(), default=0.0)
    return f"boot {boot.number}{conditions}: up after {seconds:.2f} s"


def rate_text(rate: Rate) -> str:
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
        text.append("  simulated", "yellow")
    about = "".join(f"  {name} {value}" for name, value in result.about.items())
    text.append(about + "\n")
    text.append(rate_text(rate) if rate else "no boot counts", "bold red" if result.failed else "")
    return text


def _failures(result: SoakResult) -> RenderableType:
    table = _table("failure", "boots", "where it stands", "which")
    logs = []
    for group in result.groups:
        table.add_row(
            Text(group.fault, "bold red"),
            str(len(group.boots)),
            Text("\n".join(group.where.split(", "))),
            Text(_which(result, group.boots)),
        )
        first = result.boot(group.boots[0])
        if first.console:
            # Not within the table, where it would be cut in pieces.
            logs.append(Text(f"console of boot {first.number}: {first.console}", overflow="fold"))
    return Lines(table, *logs)


def _which(result: SoakResult, numbers: Sequence[int]) -> str:
    """The boots' numbers, beside what was special about them."""
    by_conditions: dict[str, list[int]] = {}
    for number in numbers:
        by_conditions.setdefault(result.boot(number).conditions, []).append(number)
    lines = []
    for conditions, boots in list(by_conditions.items())[:_CONDITIONS_SHOWN]:
        shown = " ".join(map(str, boots[:_NUMBERS_SHOWN]))
        more = len(boots) - _NUMBERS_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        lines.append(f"{conditions}: {shown}{rest}" if conditions else f"{shown}{rest}")
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
            *(_seconds(s) for s in (took.median, took.p95, took.minimum, took.maximum)),
            _seconds(phase.at.median),
        )
    return table


def _outliers(result: SoakResult) -> Table:
    table = _table("stands out", "phase", "took", "median", "console")
    for outlier in result.outliers[:_OUTLIERS_SHOWN]:
        boot = result.boot(outlier.boot)
        table.add_row(
            f"boot {outlier.boot}",
            Text(outlier.phase),
            _seconds(outlier.took),
            _seconds(outlier.median),
            Text(boot.console),
        )
    return table


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f} s"


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    numeric = ("boots", "median", "p95", "min", "max", "since power on", "took")
    for column in columns:
        table.add_column(column, justify="right" if column in numeric else "left")
    return table
