"""The same tables as Markdown, for wikis and merge requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from benchvise.report.sinks import markdown
from benchvise.report.tables import Table, Tone, compare_rows, list_rows, run_rows

if TYPE_CHECKING:
    from benchvise.measure.compare import RunComparison
    from benchvise.measure.insights import Insight
    from benchvise.measure.model import RunRecord
    from benchvise.measure.validity import Summary
    from benchvise.store.reading import RunInfo

_MARKS: dict[Tone, str] = {
    "plain": "",
    "strong": "**",
    "muted": "",
    "doubt": "*",
    "good": "**",
    "bad": "**",
}


def run_markdown(run: RunRecord, summaries: Sequence[Summary]) -> str:
    """A run; ``summaries`` are those of its series that have samples, in their order.

    What its series say together follows below.
    """
    from benchvise.report.insights import run_insights

    return table_markdown(run_rows(run, summaries)) + "".join(map(_insight, run_insights(run)))


def compare_markdown(
    result: RunComparison, *, simulated: bool = False, everything: bool = True
) -> str:
    """A comparison of two runs; without ``everything``, of what changed or may have."""
    return table_markdown(compare_rows(result, simulated=simulated, everything=everything))


def runs_markdown(infos: Sequence[RunInfo]) -> str:
    """The list of runs."""
    return table_markdown(list_rows(infos))


def table_markdown(table: Table) -> str:
    """Any table."""
    lines = [f"### {markdown(table.heading)}", ""]
    lines.append(table_row(markdown(column.name) for column in table.columns))
    lines.append(table_row("---:" if column.right else "---" for column in table.columns))
    for row in table.rows:
        lines.append(table_row(f"{_MARKS[c.tone]}{markdown(c.text)}{_MARKS[c.tone]}" for c in row))
    if table.remarks:
        lines += ["", *(f"- {markdown(remark)}" for remark in table.remarks)]
    return "\n".join(lines) + "\n"


def _insight(insight: Insight) -> str:
    lines = ["", f"#### {markdown(insight.title)}", "", markdown(insight.sentence)]
    if insight.rows:
        lines += [
            "",
            table_row(map(markdown, insight.columns)),
            table_row("---" for _ in insight.columns),
        ]
        lines += [table_row(map(markdown, row)) for row in insight.rows]
    return "\n".join(lines) + "\n"


def table_row(cells: Iterable[str]) -> str:
    """A row of a table, of texts that are Markdown already."""
    return f"| {' | '.join(cells)} |"
