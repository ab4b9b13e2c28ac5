"""Commands side by side: what ``versus`` prints and exports.

The exports have the layout of hyperfine's (seconds; mean and standard deviation), so that scripts
and plots that read these go on; ``--json`` and the tables have medians, intervals and verdicts.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchvise.documents import encode
from benchvise.measure.compare import Comparison, RunComparison, SeriesVerdict
from benchvise.measure.validity import Summary, quantity, summarise
from benchvise.measure.versus import MeasuredCommand, VersusResult
from benchvise.quantities import format_range, format_value
from benchvise.report.data import ChangeData, comparison_data
from benchvise.report.rendering import SIMULATED, Cell, Column, Table, table_markdown
from benchvise.report.sinks import csv_text, json_text
from benchvise.report.tables import change_cells, value_cell

_SHORT_NS = 5e6
"""Below this, starting the shell is much of what is measured; hyperfine warns at the same."""


@dataclass(frozen=True, slots=True)
class CommandTimes:
    """A command with its times, in ns."""

    name: str
    command: str
    parameters: Mapping[str, str]
    summary: Summary
    user_ns: float | None
    """The median CPU time in user space."""
    sys_ns: float | None
    """The median CPU time in the kernel."""
    max_rss_bytes: float | None
    """The median of the most memory that one of its processes had."""
    times_ns: tuple[float, ...]
    """The wall time of each run, in order."""


@dataclass(frozen=True, slots=True)
class VersusDocument:
    """What ``versus --json`` prints; the first command is the base of the comparisons."""

    board: str
    simulated: bool
    seed: int
    commands: tuple[CommandTimes, ...]
    comparisons: tuple[ChangeData, ...]
    remarks: tuple[str, ...]


def versus_document(result: VersusResult) -> VersusDocument:
    """The document of commands that were timed."""
    names = (result.measured[0].variant.name, "the others")
    comparison = comparison_data(RunComparison(*names, result.comparisons))
    return VersusDocument(
        result.board,
        result.simulated,
        result.seed,
        tuple(map(_times, result.measured)),
        comparison.changes,
        (*_shell_remarks(result), *result.remarks),
    )


def _times(measured: MeasuredCommand) -> CommandTimes:
    variant = measured.variant
    return CommandTimes(
        variant.name,
        variant.command,
        dict(variant.parameters),
        summarise(measured.series),
        _median(measured.detail("user_ns")),
        _median(measured.detail("sys_ns")),
        _median(measured.detail("max_rss_bytes")),
        tuple(value for block in measured.series.values for value in block),
    )


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _shell_remarks(result: VersusResult) -> Iterator[str]:
    short = [m for m in result.measured if summarise(m.series).median < _SHORT_NS]
    if short:
        yield (
            f"{short[0].variant.name}: takes less than {quantity(_SHORT_NS, 'ns')}, of which "
            "starting sh is a part: add the command `true` to see how much"
        )


# -- tables ----------------------------------------------------------------------------------------


def times_table(document: VersusDocument) -> Table:
    """The commands in their order."""
    columns = (
        Column("Command"),
        *(Column(name, right=True) for name in ("Median", "95 % interval")),
        *(Column(name, right=True, spare=True) for name in ("Min", "Max")),
        *(Column(name, right=True) for name in ("CPU time", "Memory", "Runs")),
    )
    rows = tuple(tuple(_time_cells(times)) for times in document.commands)
    remarks = [
        f"{times.name}: {cause}"
        for times in document.commands
        for cause in (times.summary.causes or times.summary.notes)
    ]
    title = f"{len(rows)} commands on {document.board}, in turn"
    return Table(title, columns, rows, (*remarks, *document.remarks), document.simulated)


def _time_cells(times: CommandTimes) -> Iterator[Cell]:
    summary = times.summary
    yield Cell(times.name)
    yield value_cell(summary, "ns")
    yield Cell(format_range(summary.low, summary.high, "ns"))
    yield Cell(format_value(summary.minimum, "ns"))
    yield Cell(format_value(summary.maximum, "ns"))
    cpu = None if times.user_ns is None or times.sys_ns is None else times.user_ns + times.sys_ns
    yield Cell(format_value(cpu, "ns"))
    yield Cell(format_value(times.max_rss_bytes, "B"))
    yield Cell(str(summary.n))


def verdict_table(result: VersusResult) -> Table:
    """Each command beside the first, the fastest on top; below it the outcome in one line."""
    base = result.measured[0].variant.name
    ranked = sorted(result.comparisons, key=lambda c: c.ratio if c.ratio is not None else 1.0)
    columns = (
        Column("Command"),
        *(Column(name, right=True) for name in ("Time", "Ratio, 95 %")),
        Column("Verdict"),
    )
    rows = tuple((Cell(c.spec.key), *change_cells(c)) for c in ranked)
    remarks = [f"{c.spec.key}: {c.reason}" for c in ranked if not c.changed]
    return Table(f"Beside {base}", columns, rows, (*remarks, outcome(result)), result.simulated)


def outcome(result: VersusResult) -> str:
    """One sentence: which command is shown to be faster than the first, and by how much."""
    base = result.measured[0].variant.name
    mark = f" [{SIMULATED}]" if result.simulated else ""
    faster = [c for c in result.comparisons if c.verdict is SeriesVerdict.FASTER]
    slower = [c for c in result.comparisons if c.verdict is SeriesVerdict.SLOWER]
    if faster:
        best = min(faster, key=lambda c: c.ratio or 1.0)
        return f"Outcome: {best.spec.key} is faster than {base}{_times_as(best, faster=True)}{mark}"
    if len(slower) == len(result.comparisons):
        best = min(slower, key=lambda c: c.ratio or 1.0)
        return f"Outcome: {base} is faster than {best.spec.key}{_times_as(best)}{mark}"
    return f"Outcome: no command is shown to be faster than {base}{mark}"


def _times_as(comparison: Comparison, *, faster: bool = False) -> str:
    ratio, low, high = comparison.ratio, comparison.low, comparison.high
    if ratio is None or low is None or high is None:
        return ""
    if faster:
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    return f", {ratio:.2f} times (95 %: {low:.2f} to {high:.2f})"


# -- exports ---------------------------------------------------------------------------------------


def _seconds(times: CommandTimes) -> dict[str, object]:
    """As hyperfine names them. ``stddev`` is that of a sample."""
    seconds = [value * 1e-9 for value in times.times_ns]
    return {
        "command": times.name,
        "mean": statistics.fmean(seconds),
        "stddev": statistics.stdev(seconds) if len(seconds) > 1 else None,
        "median": statistics.median(seconds),
        "user": None if times.user_ns is None else times.user_ns * 1e-9,
        "system": None if times.sys_ns is None else times.sys_ns * 1e-9,
        "min": min(seconds),
        "max": max(seconds),
    }


def _export_json(document: VersusDocument, _result: VersusResult) -> str:
    results = [
        {
            **_seconds(times),
            "times": [value * 1e-9 for value in times.times_ns],
            **({"parameters": dict(times.parameters)} if times.parameters else {}),
            "benchvise": encode(times.summary),
        }
        for times in document.commands
    ]
    return json_text({"results": results}, indent=1) + "\n"


def _export_csv(document: VersusDocument, _result: VersusResult) -> str:
    names = list(document.commands[0].parameters)
    rows = [_seconds(times) for times in document.commands]
    return csv_text(
        [*rows[0], *(f"parameter_{name}" for name in names)],
        (
            [*row.values(), *times.parameters.values()]
            for row, times in zip(rows, document.commands, strict=True)
        ),
    )


def _export_markdown(document: VersusDocument, result: VersusResult) -> str:
    return f"{table_markdown(times_table(document))}\n{table_markdown(verdict_table(result))}"


EXPORTS: Mapping[str, Callable[[VersusDocument, VersusResult], str]] = {
    "json": _export_json,
    "csv": _export_csv,
    "markdown": _export_markdown,
}
"""The writer of each ``--export-…``."""
