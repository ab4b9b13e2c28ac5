"""Tables as text: for the terminal, as Markdown and as CSV.

``table_of`` makes the cells of what a record describes by a ``TableSpec``. ``rendered`` is for the
terminal, ``table_markdown`` for wikis and merge requests, ``csv_text`` for spreadsheets and
programs; ``sinks`` escape for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from benchvise.quantities import ABSENT, format_cpus
from benchvise.report import sinks
from benchvise.report.sinks import markdown, sentence
from benchvise.table import ColumnSpec, TableSpec, Tone, ValueUnit
from benchvise.terminal_colors import BAD, DOUBT, GOOD
from benchvise.text import AnyText, raw
from benchvise.trace.query_document import QueryDocument, sql_text

SIMULATED = "SIMULATED"
"""What marks values of an emulated board."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, and how much it wants to be seen."""

    text: AnyText
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column; numbers stand right. A terminal has no room for ``detail``; where it
    would break names of rows, it is without what is ``spare``, and says so."""

    name: AnyText
    right: bool = False
    detail: bool = False
    spare: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A title, rows of cells, and below them what has to be said in sentences."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    remarks: tuple[AnyText, ...]
    simulated: bool = False

    @property
    def heading(self) -> str:
        """The title, which says so when the numbers come from an emulated board."""
        return f"{self.title} [{SIMULATED}]" if self.simulated else self.title


# -- of what a record describes --------------------------------------------------------------------

_MUTED_AT_ZERO = (ValueUnit.COUNT, ValueUnit.SHARE)


def table_of(spec: TableSpec[Any], *, stacked: bool = True) -> Table:
    """The table with its values as text; without ``stacked`` each heading is one line."""
    columns = spec.columns
    headings = [c.heading for c in columns] if stacked else [name for name, _ in _headed(columns)]
    return Table(
        spec.title,
        tuple(
            Column(heading, not column.unit.left, column.detail)
            for heading, column in zip(headings, columns, strict=True)
        ),
        tuple(tuple(_cell(column, row) for column in columns) for row in spec.rows[: spec.limit]),
        spec.remarks,
    )


def _cell(column: ColumnSpec[Any], row: object) -> Cell:
    value = column.value(row)
    if value is None and column.otherwise is not None:
        return _cell(column.otherwise, row)
    if value is None:
        return Cell(ABSENT, "muted")
    tone = column.tone if isinstance(column.tone, str) else column.tone(row)
    if tone == "plain" and column.unit in _MUTED_AT_ZERO and not value:
        tone = "muted"
    return Cell(column.text(row) if column.text else column.unit.write(value), tone)


# -- terminal --------------------------------------------------------------------------------------

_STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "muted": "dim",
    "doubt": DOUBT,
    "good": GOOD,
    "bad": BAD,
}


_FIRST_COLUMN = 12
"""Characters that the first column, with the long names, keeps when it gives way."""
_LONGEST_WORD = 16
"""Characters of a word that other columns with text keep whole."""
_SEPARATOR = 2
"""Characters between two columns."""


def rendered(table: Table) -> RenderableType:
    """A table for the terminal: without its spare columns where it would be too wide, and with a
    block for each row where it still is."""
    kept = [index for index, column in enumerate(table.columns) if not column.detail]
    headings = [_heading(table.columns[index].name) for index in kept]
    rows = [
        [Text(sinks.cell(row[index].text), style=_STYLES[row[index].tone]) for index in kept]
        for row in table.rows
    ]
    fitting = _FittingTable(
        Text(sinks.cell(table.heading), style="bold"),
        headings,
        [table.columns[index].right for index in kept],
        rows,
        frozenset(place for place, index in enumerate(kept) if table.columns[index].spare),
    )
    if not rows:  # headings of nothing only ask what went wrong
        heading = Text.assemble((sinks.cell(table.heading), "bold"), (": none", "dim"))
        return Group(heading, "", _remarks(table.remarks)) if table.remarks else heading
    return Group(fitting, "", _remarks(table.remarks)) if table.remarks else fitting


@dataclass(frozen=True, slots=True)
class _FittingTable:
    """Columns where the terminal has room for them, else a block of lines for each row.

    Columns that do not fit would be cut, and with them the last ones: verdicts, states.
    """

    title: Text
    headings: list[str]
    right: list[bool]
    rows: list[list[Text]]
    spare: frozenset[int]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, least = options.max_width, self._without_spare()
        if self.spare and self._whole_width() > width >= least._least_width():
            names = " and ".join(self._names()[place] for place in sorted(self.spare))
            yield least._grid()
            room = f"{names}: where there is room for {self._whole_width()} columns, or --json"
            yield Text(room, style="dim")
        else:
            yield self._grid() if self._least_width() <= width else self._blocks()

    def _without_spare(self) -> _FittingTable:
        kept = [place for place in range(len(self.headings)) if place not in self.spare]
        return _FittingTable(
            self.title,
            [self.headings[place] for place in kept],
            [self.right[place] for place in kept],
            [[row[place] for place in kept] for row in self.rows],
            frozenset(),
        )

    def _names(self) -> list[str]:
        return [heading.replace("-\n", "").replace("\n", " ").strip() for heading in self.headings]

    def _whole_width(self) -> int:
        """Characters that it takes with nothing broken."""
        widths = [
            max(map(cell_len, (*heading.split("\n"), *(row[place].plain for row in self.rows))))
            for place, heading in enumerate(self.headings)
        ]
        return sum(widths) + _SEPARATOR * (len(widths) - 1)

    def _least_width(self) -> int:
        """Characters below which columns would be cut."""
        widths = []
        for index, (heading, right) in enumerate(zip(self.headings, self.right, strict=True)):
            texts = [row[index].plain for row in self.rows]
            if right:
                widths.append(max(map(cell_len, (*heading.split("\n"), *texts))))
            elif index == 0:
                widths.append(_FIRST_COLUMN)
            else:
                lengths = (cell_len(word) for text in (heading, *texts) for word in text.split())
                widths.append(min(_LONGEST_WORD, max(lengths, default=0)))
        return sum(widths) + _SEPARATOR * (len(widths) - 1)

    def _grid(self) -> RichTable:
        # Text objects throughout: a string would be searched for console markup.
        grid = RichTable(
            title=self.title,
            title_justify="left",
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        for index, (heading, right) in enumerate(zip(self.headings, self.right, strict=True)):
            grid.add_column(
                Text(heading, overflow="fold"),
                justify="right" if right else "left",
                # The first column, with the long names, is the one to give way.
                no_wrap=right,
                overflow="ellipsis" if right else "fold",
                min_width=_FIRST_COLUMN if index == 0 and not right else None,
            )
        for row in self.rows:
            grid.add_row(*row)
        return grid

    def _blocks(self) -> Group:
        """Each row: its first cell, and below it a line for each of the others."""
        names = self._names()
        blocks: list[RenderableType] = [self.title]
        for row in self.rows:
            lines = RichTable.grid(padding=(0, 2, 0, 0))
            lines.add_column(no_wrap=True, style="dim")
            lines.add_column(overflow="fold")
            for name, cell in zip(names[1:], row[1:], strict=True):
                if cell.plain:
                    lines.add_row(Text(f"  {name}"), cell)
            blocks += ["", Text.assemble((f"{names[0]} ", "dim"), row[0]), lines]
        return Group(*blocks)


def line(cell: Cell) -> Text:
    """One line outside of a table."""
    return Text(sentence(cell.text), style=_STYLES[cell.tone])


def _heading(name: AnyText) -> str:
    """Two lines at most: long headings of ours are broken by hand."""
    return "\n".join(sinks.cell(part) for part in raw(name).split("\n", 1))


def _remarks(remarks: Sequence[AnyText]) -> RichTable:
    """One below the other; what each is about stands on the left, so that it can be found."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=False, max_width=44, overflow="fold")
    grid.add_column()
    for remark in remarks:
        text = sentence(remark)
        about, colon, rest = text.partition(": ")
        if about.count("(") > about.count(")"):  # the colon is that of a quotation
            about, colon = text, ""
        grid.add_row(Text(about, style="dim"), Text(rest if colon else ""))
    return grid


# -- Markdown --------------------------------------------------------------------------------------

_MARKS: dict[Tone, str] = {
    "plain": "",
    "strong": "**",
    "muted": "",
    "doubt": "*",
    "good": "**",
    "bad": "**",
}


def table_markdown(table: Table) -> str:
    """A table as Markdown, below its heading."""
    lines = [f"### {markdown(table.heading)}", ""]
    lines.append(table_row(markdown(column.name) for column in table.columns))
    lines.append(table_row("---:" if column.right else "---" for column in table.columns))
    for row in table.rows:
        lines.append(table_row(f"{_MARKS[c.tone]}{markdown(c.text)}{_MARKS[c.tone]}" for c in row))
    if table.remarks:
        lines += ["", *(f"- {markdown(remark)}" for remark in table.remarks)]
    return "\n".join(lines) + "\n"


def table_row(cells: Iterable[str]) -> str:
    """A row of a table, of texts that are Markdown already."""
    return f"| {' | '.join(cells)} |"


# -- CSV -------------------------------------------------------------------------------------------


def csv_text(columns: Sequence[ColumnSpec[Any]], rows: Sequence[Any], delimiter: str = ",") -> str:
    """All rows as CSV (RFC 4180), values in the units that the header names; None is empty.

    Values are as they are: times in ns or s, moments in ns of the trace's clock, shares of one.
    """
    first = rows[0] if rows else None
    names = [
        name for heading, column in _headed(columns) for name in _names(heading, column, first)
    ]
    fields = ([field for column in columns for field in _fields(column, row)] for row in rows)
    return sinks.csv_text(names, fields, delimiter)


def described_columns(
    columns: Sequence[ColumnSpec[Any]],
) -> Iterator[tuple[str, ValueUnit, list[str]]]:
    """For each column: its whole heading, the unit of its values, its names in CSV."""
    for heading, column in _headed(columns):
        yield heading, column.unit, _names(heading, column)


def _names(heading: str, column: ColumnSpec[Any], row: object = None) -> list[str]:
    """What a column is called in CSV, with its unit; bars are as many columns as a row has."""
    suffix = column.unit.suffix
    if column.unit is ValueUnit.DRAWING:
        return []
    if column.unit is ValueUnit.BARS:
        return ["from_…_ns"] if row is None else _bin_names(column.value(row))
    name = column.key or _identifier(heading)
    if column.unit.is_range:
        return [f"{name}_{end}{'' if column.key else suffix}" for end in ("low", "high")]
    whole = column.key or name.endswith(suffix.lstrip("_"))
    otherwise = _names(heading, column.otherwise) if column.otherwise else []
    return [name if whole else f"{name}{suffix}", *otherwise]


def _bin_names(bars: Any) -> list[str]:
    return [f"from_{bars.begin + at * bars.width}_ns" for at in range(len(bars.values))]


def _fields(column: ColumnSpec[Any], row: object) -> list[object]:
    value: Any = column.value(row)
    match column.unit:
        case ValueUnit.DRAWING:
            return []
        case ValueUnit.BARS:
            return list(value.values)
        case ValueUnit.NS_EACH:
            return [" + ".join(map(str, value))]
        case ValueUnit.CPUS:
            return [format_cpus(value)]
        case unit if unit.is_range:
            return [None, None] if value is None else list(value)
    return [value, *(_fields(column.otherwise, row) if column.otherwise else [])]


def _headed(columns: Sequence[ColumnSpec[Any]]) -> Iterator[tuple[str, ColumnSpec[Any]]]:
    """Columns with their whole headings, each in one line."""
    above = ""
    for column in columns:
        first, broken, below = column.heading.partition("\n")
        above = first if broken and first else above
        whole = f"{above}\n{below}" if broken and not first else column.heading
        yield whole.replace("-\n", "").replace("\n", " "), column


def _identifier(heading: str) -> str:
    """``Wake-ups/s`` → ``wake_ups_per_s``."""
    spelt = heading.replace("/s", " per s").lower()
    return re.sub(r"[^a-z0-9]+", "_", spelt).strip("_")


# -- what a query gave -----------------------------------------------------------------------------


def query_table(answer: QueryDocument) -> Table:
    """What a query gave."""
    columns = tuple(
        Column(column.name, right=_is_numeric(column.type)) for column in answer.columns
    )
    rows = tuple(
        tuple(Cell(ABSENT, "muted") if value is None else Cell(sql_text(value)) for value in row)
        for row in answer.rows
    )
    more = ("there are more rows: --limit N shows them",) if answer.more else ()
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    return Table(count, columns, rows, (*more, *answer.remarks))


def query_csv(answer: QueryDocument, delimiter: str = ",") -> str:
    """What a query gave, with a line of names; null is empty."""
    rows = ([None if v is None else sql_text(v) for v in row] for row in answer.rows)
    return sinks.csv_text([column.name for column in answer.columns], rows, delimiter)


def _is_numeric(kind: str) -> bool:
    return kind.startswith(("NUMBER", "DECIMAL", "DOUBLE", "FLOAT")) or kind.endswith("INT")
