"""The evidence of a diagnosis as one self-contained page, and beside it as Markdown and JSON.

Nothing in the page makes a request. All text from outside is cleaned, and passes through jinja2's
autoescape; the charts' data is JSON in an inert script element.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import benchvise
from benchvise.output_files import output_directory, write_output
from benchvise.report.html import PAGE, Assets, environment, load_assets
from benchvise.report.rendering import table_row
from benchvise.report.sinks import markdown as escape
from benchvise.report.why.document import (
    Document,
    arms_text,
    duration,
    gap_text,
    named,
    outcome,
    p_text,
    readable,
    remedies,
    repeat_command,
    share_text,
    times,
)
from benchvise.report.why.figures import diagnosis_figures
from benchvise.report.why.sentences import (
    Block,
    BlockBar,
    BlockLine,
    absent_text,
    confirmations,
    diagnosis_text,
    left_set,
)
from benchvise.why.model import Bounds, Diagnosis, DiagnosisVerdict
from benchvise.why.witness.model import Witness
from benchvise.why.wording import apart, percent

_STRONG = frozenset({"strong", "good", "bad", "doubt"})


def markdown(document: Document) -> str:
    """A diagnosis to be pasted into a ticket; BenchviseError when the document is none."""
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


DATA = "diagnosis.json"
SUMMARY = "diagnosis.md"

JOURNAL_LIMIT = 1000
"""Writes that the page lists; the document has all."""

_NAMED = 8  # of the differences that an experiment flipped


def write_page(document: Document, directory: Path) -> Path:
    """Writes ``index.html``, ``diagnosis.md`` and ``diagnosis.json``; returns the page's path.

    Each file is replaced as a whole. BenchviseError where the document is no diagnosis,
    OutputError where the directory cannot be written.
    """
    files = {
        DATA: json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1) + "\n",
        SUMMARY: markdown(document),
        PAGE: page(document),
    }
    with output_directory(directory, "the evidence page"):
        for name, text in files.items():
            write_output(directory / name, text)
    return directory / PAGE


def page(document: Document) -> str:
    """The evidence page of a document; BenchviseError when it is none."""
    return render(readable(document), load_assets())


def render(diagnosis: Diagnosis, assets: Assets) -> str:
    """The page of a diagnosis that is ``readable``."""
    templates = environment()
    templates.filters |= FILTERS
    values = content(diagnosis)
    return templates.get_template("diagnosis.html.j2").render(
        **values,
        title=diagnosis.headline,
        version=benchvise.__version__,
        **assets.around(values["figures"].document),
    )


def content(diagnosis: Diagnosis) -> dict[str, Any]:
    """What the templates of a diagnosis are given."""
    return {
        "d": diagnosis,
        "figures": diagnosis_figures(diagnosis),
        "shown_gap": diagnosis.verdict
        not in (DiagnosisVerdict.NO_DIFFERENCE, DiagnosisVerdict.REVERSED),
        "left_set": left_set(diagnosis),
        "confirmations": confirmations,
        "arms_text": arms_text,
        "repeat": repeat_command(diagnosis),
        "trace_links": _beside(diagnosis.witness),
        "journal_limit": JOURNAL_LIMIT,
    }


def _beside(witness: Witness | None) -> dict[str, str]:
    """The recordings of the command by their sides: files beside the page."""
    if witness is None:
        return {}
    traces = (("good", witness.good_trace), ("bad", witness.bad_trace))
    return {side: quote(name, safe="") for side, name in traces if name}


def _of_one(part: float) -> str:
    return f"{percent(part)}\u00a0%"


def _tight(text: str) -> str:
    """A number and its per cent stay on one line."""
    return text.replace(" %", "\u00a0%")


def _flips(names: Sequence[str]) -> str:
    return named(names, _NAMED) if names else "nothing flipped"


@dataclass(frozen=True, slots=True)
class ShareBar:
    """A share on an axis of fixed width, in pixels from its left end."""

    width: float
    zero: float
    one: float
    start: float
    length: float
    low: float
    high: float


_WIDTH = 120.0
_LEAST, _MOST = -0.25, 1.25  # the shares at both ends of the axis


def share_bar(bounds: Bounds) -> ShareBar:
    """Where a share and its interval lie; what is beyond the axis lies at its end."""

    def at(share: float) -> float:
        inside = min(max(share, _LEAST), _MOST)
        return round((inside - _LEAST) / (_MOST - _LEAST) * _WIDTH, 1)

    start, stop = sorted((at(0.0), at(bounds.value)))
    return ShareBar(_WIDTH, at(0.0), at(1.0), start, stop - start, at(bounds.low), at(bounds.high))


FILTERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "absent": absent_text,
        "apart": apart,
        "duration": duration,
        "flips": _flips,
        "of_one": _of_one,
        "outcome": outcome,
        "gap_text": gap_text,
        "p_text": p_text,
        "remedies": remedies,
        "share": share_text,
        "share_bar": share_bar,
        "tight": _tight,
        "times": times,
    }
)
"""What the templates of a diagnosis call besides the filters that all pages have."""
