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


def _failures(result: SoakResult) -> Table:
    table = _table("failure", "boots", "where it stands", "which")
    for group in result.groups:
        table.add_row(
            Text(group.fault, "bold red"),
            str(len(group.boots)),
            Text("\n".join(group.where.split(", "))),
            _which(result, group.boots),
        )
    return table


def _which(result: SoakResult, numbers: Sequence[int]) -> Text:
    lines = []
    for number in numbers[:_NUMBERS_SHOWN]:
        boot = result.boot(number)
        lines.append("  ".join(filter(None, (f"{number}", boot.conditions, boot.console))))
    if len(numbers) > _NUMBERS_SHOWN:
        lines.append(f"and {len(numbers) - _NUMBERS_SHOWN} more")
    return Text("\n".join(lines))


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
