"""Tables and lines for the terminal, with their style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from benchvise.report import sinks
from benchvise.report.tables import (
    Cell,
    Table,
    Tone,
    compare_rows,
    counter_rows,
    list_rows,
    run_rows,
)
from benchvise.text import AnyText, raw

if TYPE_CHECKING:
    from benchvise.measure.compare import RunComparison
    from benchvise.measure.insights import Insight
    from benchvise.measure.metrics import CounterTable
    from benchvise.measure.model import RunRecord
    from benchvise.measure.validity import Summary
    from benchvise.store.reading import RunInfo

_STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "muted": "dim",
    "doubt": "yellow",
    # Blue and orange hues are told apart by all kinds of colour vision; the word says it anyway.
    "good": "bold blue",
    "bad": "bold red",
}


def run_table(
    run: RunRecord, summaries: Sequence[Summary], *, notes: bool = True
) -> RenderableType:
    """A run; ``summaries`` are those of its series that have samples, in their order.

    What its series say together follows below.
    """
    from benchvise.measure.insights import insights

    table = _render(run_rows(run, summaries, notes=notes))
    remarks = [part for insight in insights(run) for part in ("", _insight(insight))]
    return Group(table, *remarks) if remarks else table


def compare_table(
    result: RunComparison,
    *,
    simulated: bool = False,
    everything: bool = True,
    around: Sequence[str] = (),
) -> RenderableType:
    """A comparison of two runs; without ``everything``, of what changed or may have.

    ``around`` is what else has to be said of the two.
    """
    table = compare_rows(result, simulated=simulated, everything=everything)
    return _render(replace(table, remarks=(*table.remarks, *around)))


def counter_table(key: str, names: tuple[str, str], table: CounterTable) -> RenderableType:
    """The counters of one series in two runs."""
    return _render(counter_rows(key, names, table))


def runs_table(infos: Sequence[RunInfo]) -> RenderableType:
    """The list of runs."""
    return _render(list_rows(infos))


def rendered(table: Table) -> RenderableType:
    """Any table."""
    return _render(table)


def line(cell: Cell) -> Text:
    """One line outside of a table."""
    return Text(sinks.sentence(cell.text), style=_STYLES[cell.tone])


def _render(table: Table) -> RenderableType:
    # Text objects throughout: a string would be searched for console markup.
    grid = RichTable(
        title=Text(sinks.cell(table.heading), style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    kept = [index for index, column in enumerate(table.columns) if not column.detail]
    for index in kept:
        column = table.columns[index]
        grid.add_column(
            Text(_heading(column.name), overflow="fold"),
            justify="right" if column.right else "left",
            # The first column, with the long names, is the one to give way.
            no_wrap=column.right,
            overflow="ellipsis" if column.right else "fold",
            min_width=12 if index == 0 else None,
        )
    for row in table.rows:
        cells = [row[index] for index in kept]
        grid.add_row(*(Text(sinks.cell(cell.text), style=_STYLES[cell.tone]) for cell in cells))
    return Group(grid, "", _remarks(table.remarks)) if table.remarks else grid


def _heading(name: AnyText) -> str:
    """Two lines at most: long headings of ours are broken by hand."""
    return "\n".join(sinks.cell(part) for part in raw(name).split("\n", 1))


def _insight(insight: Insight) -> Group:
    grid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, column in enumerate(insight.columns):
        grid.add_column(Text(sinks.cell(column)), no_wrap=index > 0, overflow="fold")
    for row in insight.rows:
        grid.add_row(*(Text(sinks.cell(text)) for text in row))
    parts: list[RenderableType] = [
        Text(sinks.cell(insight.title), style="bold"),
        Text(sinks.sentence(insight.sentence)),
    ]
    return Group(*parts, grid) if insight.rows else Group(*parts)


def _remarks(remarks: Sequence[AnyText]) -> RichTable:
    """One below the other; what each is about stands on the left, so that it can be found."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=False, max_width=44, overflow="fold")
    grid.add_column()
    for remark in remarks:
        text = sinks.sentence(remark)
        about, colon, rest = text.partition(": ")
        if about.count("(") > about.count(")"):  # the colon is that of a quotation
            about, colon = text, ""
        grid.add_row(Text(about), Text(rest if colon else "", style="dim"))
    return grid
