"""Diagnoses on a terminal: the list of a store, and one whole: the answer in ten seconds, the proof
below it.

Names stand in a column on the left, so that the page can be scanned. What a colour says, a word
says too; without colour, in 80 columns and in a pipe nothing is lost.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from benchvise.quantities import format_time
from benchvise.report.rendering import Cell, Column, Table
from benchvise.report.rendering import line as styled
from benchvise.report.why.document import Document, readable
from benchvise.report.why.sentences import (
    TONES,
    Block,
    BlockBar,
    BlockLine,
    DiagnosisText,
    diagnosis_text,
)
from benchvise.terminal_colors import COMMAND
from benchvise.text import counted, printable

if TYPE_CHECKING:
    from benchvise.store.diagnoses import DiagnosisInfo

WIDEST = 96
"""Columns beyond which a line is hard to read."""

_NAME = 11
_LONGEST = 38  # characters of the name beside a bar
_FULL = 1.1  # the share at which a bar ends: an interval may reach beyond one


class Page:
    """What words say, to be printed."""

    def __init__(self, text: DiagnosisText) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, WIDEST)
        for text in _page(self._text, width, plain=options.ascii_only):
            # Every break is made here: what is to be copied has none, and the terminal folds it.
            text.no_wrap, text.overflow = True, "ignore"
            yield text


def tables(document: Document) -> Page:
    """The diagnosis of a document; BenchviseError when it is none.

    To be printed with ``soft_wrap``, so that what is to be copied is not cut off.
    """
    return Page(diagnosis_text(readable(document)))


def _page(text: DiagnosisText, width: int, *, plain: bool) -> Iterator[Text]:
    yield styled(Cell(text.verdict.upper(), text.tone))
    yield from (Text(line, style="bold") for line in _wrapped(text.headline, width))
    for block in text.blocks:
        if block.apart or block.bars:
            yield Text()
        if block.bars:
            yield Text(block.name, style="dim")
            yield from _bars(block.bars, width, plain=plain)
            yield from (text for line in block.lines for text in _line(line, width - 2, "  "))
        else:
            yield from _block(block, width)


def _block(block: Block, width: int) -> Iterator[Text]:
    lines = (text for line in block.lines for text in _line(line, width - _NAME - 1, ""))
    for index, text in enumerate(lines):
        name = "" if index else block.name
        yield Text.assemble((f"{name:<{_NAME}} ", "dim"), text)


def _line(line: BlockLine, width: int, indent: str) -> Iterator[Text]:
    if line.code:
        yield Text(f"{indent}  ").append(line.text, COMMAND)
        return
    for part in _wrapped(line.text, width):
        yield Text(indent).append_text(styled(Cell(part, line.tone)))


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most ``width``; a number and its per cent stay together, and p with its value."""
    kept = text.replace(" %", "\u00a0%").replace("p = ", "p\u00a0=\u00a0")
    lines = textwrap.wrap(kept, width, break_on_hyphens=False)
    return [part.replace("\u00a0", " ") for part in lines]


def _bars(bars: tuple[BlockBar, ...], width: int, *, plain: bool) -> Iterator[Text]:
    """Below each other: full up to the lower end of the interval, shaded up to the upper."""
    full, shaded = ("#", "+") if plain else ("█", "░")
    names = min(max(len(bar.name) for bar in bars), _LONGEST)
    texts = max(len(bar.text) for bar in bars)
    room = max(10, width - names - texts - 6)
    reach = _FULL if any(bar.high > 1 for bar in bars) else 1.0

    def cells(share: float) -> int:
        return round(min(max(share, 0.0), reach) / reach * room)

    for bar in bars:
        name = bar.name if len(bar.name) <= names else f"{bar.name[: names - 1]}…"
        low, high = cells(bar.low), cells(bar.high)
        row = Text(f"  {name:<{names}}  ").append(f"{bar.text:>{texts}}  ", "bold")
        yield row.append_text(styled(Cell(full * low + shaded * (high - low), bar.tone)))


_LIST_COLUMNS = (
    Column("Id"),
    Column("Kept"),
    Column("Metric"),
    Column("Verdict"),
    Column("Answer"),
)


def diagnosis_rows(infos: Sequence[DiagnosisInfo]) -> Table:
    """Diagnoses as the store lists them."""
    title = counted(len(infos), "diagnosis", "diagnoses")
    return Table(title, _LIST_COLUMNS, tuple(map(_diagnosis_row, infos)), ())


def _diagnosis_row(info: DiagnosisInfo) -> tuple[Cell, ...]:
    mark = " [SIMULATED]" if info.simulated else ""
    return (
        Cell(info.id, "strong"),
        Cell(format_time(info.kept)),
        Cell(printable(info.metric, 40) + mark),
        Cell(info.verdict, TONES.get(info.verdict, "plain")),
        Cell(info.headline),
    )
