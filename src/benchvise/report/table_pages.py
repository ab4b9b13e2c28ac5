"""Tables as one page without a script, for a browser, a mail, a wiki: every list and comparison.

A page makes no request. Every text of it is escaped here, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from benchvise.report.rendering import Cell, Table
from benchvise.report.sinks import CELL_LIMIT, LINE_LIMIT, sentence
from benchvise.table import Tone
from benchvise.text import AnyText, aligned

_PAGE = Markup(
    "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
    "<meta name='viewport' content='width=device-width'>"
    "<style>body{{font:15px system-ui,sans-serif;margin:2rem}}table{{border-collapse:collapse}}"
    "section{{overflow-x:auto}}caption{{text-align:left;font-weight:bold;padding:.5rem 0}}"
    "th,td{{padding:.3rem .7rem;border-bottom:1px solid #8884;text-align:left;"
    "vertical-align:top}}.right{{text-align:right;white-space:nowrap}}.muted{{opacity:.7}}"
    ":root{{color-scheme:light dark}}</style></head>\n"
    "<body><h1>{title}</h1>\n{lead}{sections}\n</body></html>\n"
)
_BOLD: tuple[Tone, ...] = ("strong", "good", "bad")

TEXT_STYLE = Markup(" style='text-align:left'")
NUMBER_STYLE = Markup(" style='text-align:right;white-space:nowrap'")
"""Attributes of cells in notebooks, where Jupyter's style sheet puts everything to the right."""


def page(title: AnyText, tables: Sequence[Table], lead: AnyText = "") -> str:
    """A page of tables; ``lead`` is a sentence above them."""
    above = Markup("<p>{}</p>\n").format(sentence(lead)) if lead else ""
    return _PAGE.format(
        title=sentence(title),
        lead=above,
        sections=Markup("\n").join(map(_section, tables)),
    )


def _section(table: Table) -> Markup:
    remarks = [Markup("<li>{}</li>").format(sentence(remark)) for remark in table.remarks]
    return Markup("<section>{}{}</section>").format(
        html_table(table),
        Markup("<ul>{}</ul>").format(Markup("").join(remarks)) if remarks else "",
    )


def html_table(table: Table, *, in_notebook: bool = False) -> Markup:
    """The table element alone; in a notebook its cells have styles, elsewhere classes."""
    make = _notebook_cell if in_notebook else _cell
    caption = Markup("<caption{}>{}</caption>").format(
        TEXT_STYLE if in_notebook else "", sentence(table.heading)
    )
    head = [make("th", Cell(column.name), right=column.right) for column in table.columns]
    rows = [
        [
            make("td", cell, right=column.right)
            for cell, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]
    return Markup("<table>{}\n<thead>{}</thead>\n<tbody>{}</tbody></table>").format(
        caption if table.title else "",
        _row(head),
        Markup("\n").join(map(_row, rows)),
    )


def _row(cells: Iterable[Markup]) -> Markup:
    return Markup("<tr>{}</tr>").format(Markup("").join(cells))


def _cell(element: str, cell: Cell, *, right: bool) -> Markup:
    classes = ["right"] * right + ["muted"] * (cell.tone == "muted")
    attribute = Markup(" class='{}'").format(" ".join(classes)) if classes else Markup("")
    return _element(element, cell, attribute)


def _notebook_cell(element: str, cell: Cell, *, right: bool) -> Markup:
    return _element(element, cell, NUMBER_STYLE if right else TEXT_STYLE)


def _element(element: str, cell: Cell, attribute: Markup) -> Markup:
    text: str = aligned(cell.text, LINE_LIMIT if element == "td" else CELL_LIMIT)
    if cell.tone in _BOLD:
        text = Markup("<b>{}</b>").format(text)
    return Markup("<{0}{1}>{2}</{0}>").format(element, attribute, text)
