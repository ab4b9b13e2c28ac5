"""A gate as a table, as JSON, and as a comment that is ready to post."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchvise.measure.compare import RunComparison
from benchvise.measure.gate import Gate, GatedSeries, GateVerdict
from benchvise.report.comparison_formats import change_sentence
from benchvise.report.data import ChangeData, comparison_data
from benchvise.report.rendering import Cell, Column, Table, table_row
from benchvise.report.sinks import CELL_LIMIT, markdown
from benchvise.report.tables import change_cells
from benchvise.table import Tone
from benchvise.text import counted

_TONES: dict[GateVerdict, Tone] = {
    GateVerdict.FINE: "plain",
    GateVerdict.REGRESSED: "bad",
    GateVerdict.UNDECIDED: "doubt",
}


@dataclass(frozen=True, slots=True)
class GatedSeriesData:
    """A series at the gate."""

    key: str
    verdict: GateVerdict
    reason: str
    worst_percent: float | None
    """By how much it may be worse, in percent, at the worse end of the interval."""
    change: ChangeData


@dataclass(frozen=True, slots=True)
class GateDocument:
    """What ``gate --json`` prints."""

    verdict: GateVerdict
    exit: int
    board: str
    base: str
    other: str
    threshold: float
    """In percent."""
    passes: int
    """How often something was measured: once, and again for each retry."""
    runs: tuple[str, ...]
    """The runs that were measured for it, in the store."""
    series: tuple[GatedSeriesData, ...]


def gate_document(
    gate: Gate, *, board: str, passes: int, runs: tuple[str, ...], exit_code: int
) -> GateDocument:
    """The document of a gate."""
    comparisons = tuple(series.comparison for series in gate.series)
    changes = comparison_data(RunComparison(gate.base, gate.other, comparisons)).changes
    return GateDocument(
        gate.verdict,
        exit_code,
        board,
        gate.base,
        gate.other,
        gate.threshold,
        passes,
        runs,
        tuple(
            GatedSeriesData(change.key, series.verdict, series.reason, series.worst_percent, change)
            for series, change in zip(gate.series, changes, strict=True)
        ),
    )


def gate_table(gate: Gate) -> Table:
    """All series, those first that somebody has to look at."""
    columns = (
        Column("Series"),
        *(Column(name, right=True) for name in ("Change", "Ratio, 95 %", "At worst")),
        Column("Gate"),
    )
    rows = tuple(tuple(_cells(series)) for series in gate.series)
    remarks = [
        f"{series.comparison.spec.key}: {series.reason}"
        for series in gate.series
        if series.verdict is not GateVerdict.FINE
    ]
    title = f"{gate.other} against {gate.base}, {gate.threshold:g} % allowed: {_counts(gate)}"
    return Table(title, columns, rows, tuple(remarks))


def _cells(series: GatedSeries) -> Iterator[Cell]:
    yield Cell(series.comparison.spec.key)
    yield from change_cells(series.comparison)[:2]
    yield Cell(_worst(series.worst_percent))
    yield Cell(str(series.verdict), _TONES[series.verdict])


def _worst(percent: float | None) -> str:
    return "n/a" if percent is None else f"{percent:+.1f} %"


def _counts(gate: Gate) -> str:
    verdicts = [series.verdict for series in gate.series]
    counts = [f"{verdicts.count(v)} {v}" for v in reversed(GateVerdict) if v in verdicts]
    return ", ".join(counts) or "no series"


_HEADINGS = {
    GateVerdict.FINE: "✅ No regression",
    GateVerdict.REGRESSED: "❌ Regressed",
    GateVerdict.UNDECIDED: "⚠️ Undecided",
}


def gate_comment(document: GateDocument) -> str:
    """The comment in Markdown: outcome, what regressed or is undecided, and how it was measured."""
    names = f"{markdown(document.other, CELL_LIMIT)} against {markdown(document.base, CELL_LIMIT)}"
    lines = [f"### {_HEADINGS[document.verdict]}: {names}", ""]
    lines.append(
        f"{counted(len(document.series), 'series', 'series')} on {markdown(document.board)}; "
        f"{document.threshold:g} % allowed."
    )
    listed = [series for series in document.series if series.verdict is not GateVerdict.FINE]
    if listed:
        lines += ["", table_row(("Series", "Gate", "At worst", "Reason"))]
        lines.append(table_row(("---", "---", "---:", "---")))
        for series in listed:
            sentence = (
                change_sentence(series.change)
                if series.verdict is GateVerdict.REGRESSED
                else series.reason
            )
            lines.append(
                table_row(
                    (
                        markdown(series.key),
                        f"**{series.verdict}**",
                        _worst(series.worst_percent),
                        markdown(sentence),
                    )
                )
            )
    passed = [series for series in document.series if series.verdict is GateVerdict.FINE]
    if passed:
        lines += ["", f"<details><summary>{len(passed)} fine</summary>", ""]
        lines += [f"- {markdown(s.key)}: {markdown(change_sentence(s.change))}" for s in passed]
        lines += ["", "</details>"]
    lines += [
        "",
        f"Measured in {counted(document.passes, 'pass', 'passes')}, kept as "
        f"{', '.join(document.runs)}; medians with 95 % intervals. Undecided means that no "
        "regression is shown, and that noise may hide one.",
    ]
    return "\n".join(lines) + "\n"
