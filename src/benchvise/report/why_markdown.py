"""A diagnosis as Markdown, to be pasted into a ticket."""

from __future__ import annotations

from collections.abc import Iterator

from benchvise.report.markdown import table_row
from benchvise.report.sinks import markdown as escape
from benchvise.report.why_document import Document, arms_text, outcome, readable, share_text
from benchvise.report.why_words import Block, BlockBar, BlockLine, diagnosis_text
from benchvise.why.model import Diagnosis

_STRONG = frozenset({"strong", "good", "bad", "doubt"})


def markdown(document: Document) -> str:
    """The diagnosis of a document; BenchviseError when it is none."""
    diagnosis = readable(document)
    text = diagnosis_text(diagnosis)
    lines = [f"### {escape(text.headline)}", "", f"**{escape(text.verdict)}**", ""]
    for block in text.blocks:
        lines += _bars(block) if block.bars else _block(block)
    lines += _experiments(diagnosis)
    return "\n".join(lines).rstrip() + "\n"


def _bars(block: Block) -> Iterator[str]:
    def row(bar: BlockBar) -> str:
        return table_row((escape(bar.name), f"**{escape(bar.text)}**"))

    yield table_row((escape(block.name), ""))
    yield table_row(("---", "---:"))
    yield from map(row, block.bars)
    yield ""
    yield from _sentences(block.lines)


def _block(block: Block) -> Iterator[str]:
    yield f"**{escape(block.name)}**"
    yield ""
    yield from _sentences(block.lines)


def _sentences(lines: tuple[BlockLine, ...]) -> Iterator[str]:
    """Each a paragraph; lines of code that follow each other are one block."""
    code: list[str] = []
    for line in lines:
        if line.code:
            code.append(line.text)
            continue
        yield from _fenced(code)
        code = []
        mark = "**" if line.tone in _STRONG else ""
        yield f"{mark}{escape(line.text)}{mark}"
        yield ""
    yield from _fenced(code)


def _fenced(code: list[str]) -> Iterator[str]:
    if code:
        # Longer than any fence inside, so that none of these lines ends the block.
        fence = "`" * max(3, *(1 + _longest_ticks(line) for line in code))
        yield fence
        yield from code
        yield fence
        yield ""


def _longest_ticks(line: str) -> int:
    longest = run = 0
    for character in line:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def _experiments(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.experiments:
        yield "**Experiments**"
        yield ""
        yield table_row(("", "question", "side", "values", "share, 95 %", "outcome"))
        yield table_row(("---:", "---", "---", "---:", "---:", "---"))
    for item in diagnosis.experiments:
        share = item.share
        cells = (
            str(item.number),
            f"{item.purpose}: {item.question}",
            item.side,
            arms_text(diagnosis, item) or "-",
            "-" if share is None else share_text(share),
            item.reason or outcome(item),
        )
        yield table_row(map(escape, cells))
