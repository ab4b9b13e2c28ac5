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


def html_table(table: Table) -> Markup:
    """The table element alone."""
    caption = Markup("<caption>{}</caption>").format(sentence(table.heading))
    head = [_cell("th", Cell(column.name), right=column.right) for column in table.columns]
    rows = [
        [
            _cell("td", cell, right=column.right)
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
    text: str = aligned(cell.text, LINE_LIMIT if element == "td" else CELL_LIMIT)
    if cell.tone in _BOLD:
        text = Markup("<b>{}</b>").format(text)
    classes = ["right"] * right + ["muted"] * (cell.tone == "muted")
    attribute = Markup(" class='{}'").format(" ".join(classes)) if classes else ""
    return Markup("<{0}{1}>{2}</{0}>").format(element, attribute, text)
