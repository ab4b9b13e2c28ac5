"""A night of a job: as a document, a table, a message and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import benchvise
from benchvise.documents import encode
from benchvise.measure.gate import Gate, GateVerdict
from benchvise.output_files import output_directory, write_output
from benchvise.report.gate import GateDocument, gate_document, gate_table
from benchvise.report.html import DATA, PAGE, environment, load_assets
from benchvise.report.rendering import Cell, Column, Table, table_markdown
from benchvise.report.sinks import json_text
from benchvise.table import Tone
from benchvise.text import counted


@dataclass(frozen=True, slots=True)
class NightBoard:
    """A board with a suite: its run, what it was compared with, and the gate.

    ``error`` is why it was not measured, else empty. Without a ``gate`` and an error there is
    nothing to compare with yet: it is the first night.
    """

    board: str
    suite: str
    run: str
    base: str
    gate: Gate | None
    error: str

    @property
    def word(self) -> str:
        """The verdict as the table has it."""
        if self.error:
            return "not measured"
        return "first night" if self.gate is None else str(self.gate.verdict)


@dataclass(frozen=True, slots=True)
class NightDocument:
    """A night. ``threshold`` is in percent, ``directory`` has its page."""

    job: str
    night: str
    verdict: GateVerdict
    image: str
    threshold: float
    boards: tuple[NightBoard, ...]
    directory: str


@dataclass(frozen=True, slots=True)
class NightBoardData:
    """A board with a suite, as ``nightly --json`` shows it."""

    board: str
    suite: str
    run: str
    base: str
    verdict: str
    error: str
    gate: GateDocument | None


@dataclass(frozen=True, slots=True)
class NightData:
    """What ``nightly --json`` prints."""

    job: str
    night: str
    verdict: GateVerdict
    image: str
    threshold: float
    """In percent."""
    page: str
    boards: tuple[NightBoardData, ...]


def night_verdict(boards: Sequence[NightBoard]) -> GateVerdict:
    """Regressed where one board is, else undecided where one is or none was measured."""
    verdicts = {board.gate.verdict for board in boards if board.gate is not None}
    if GateVerdict.REGRESSED in verdicts:
        return GateVerdict.REGRESSED
    if GateVerdict.UNDECIDED in verdicts or all(board.error for board in boards):
        return GateVerdict.UNDECIDED
    return GateVerdict.FINE


def night_data(night: NightDocument) -> NightData:
    """The night as a program reads it."""
    return NightData(
        night.job,
        night.night,
        night.verdict,
        night.image,
        night.threshold,
        str(Path(night.directory) / PAGE),
        tuple(
            NightBoardData(
                board.board,
                board.suite,
                board.run,
                board.base,
                board.word,
                board.error,
                None
                if board.gate is None
                else gate_document(
                    board.gate, board=board.board, passes=1, runs=(board.run,), exit_code=0
                ),
            )
            for board in night.boards
        ),
    )


_TONES: dict[str, Tone] = {"regressed": "bad", "undecided": "doubt", "not measured": "bad"}
_ORDER = ("regressed", "not measured", "undecided", "first night", "fine")


def night_table(night: NightDocument) -> Table:
    """Boards by suites, those first that somebody has to look at."""
    boards = sorted(night.boards, key=lambda board: _ORDER.index(board.word))
    columns = (
        *(Column(name) for name in ("Board", "Suite", "Verdict")),
        *(Column(name, right=True) for name in ("Regressed", "Undecided", "Fine")),
        Column("Run"),
        Column("Against"),
    )
    remarks = [f"{board.board}, {board.suite}: {board.error}" for board in boards if board.error]
    return Table(_title(night), columns, tuple(tuple(_cells(b)) for b in boards), tuple(remarks))


def _cells(board: NightBoard) -> Iterator[Cell]:
    yield Cell(board.board)
    yield Cell(board.suite)
    yield Cell(board.word, _TONES.get(board.word, "plain"))
    verdicts = [] if board.gate is None else [series.verdict for series in board.gate.series]
    for verdict in (GateVerdict.REGRESSED, GateVerdict.UNDECIDED, GateVerdict.FINE):
        yield Cell("" if board.gate is None else str(verdicts.count(verdict)))
    yield Cell(board.run)
    yield Cell(board.base)


def _title(night: NightDocument) -> str:
    words = [board.word for board in night.boards]
    counts = [f"{words.count(word)} {word}" for word in _ORDER if word in words]
    return f"{night.night}, {night.threshold:g} % allowed: {', '.join(counts)}"


def gate_tables(night: NightDocument) -> list[Table]:
    """The gate of each board that is not fine."""
    tables = [
        (board, gate_table(board.gate))
        for board in night.boards
        if board.gate is not None and board.gate.verdict is not GateVerdict.FINE
    ]
    return [
        replace(table, title=f"{board.board}, {board.suite}: {table.title}")
        for board, table in tables
    ]


def night_message(night: NightDocument, page: Path) -> str:
    """The message in Markdown: outcome, boards, series that regressed, and where the rest is."""
    regressed = [
        series.comparison.spec.key
        for board in night.boards
        if board.gate is not None
        for series in board.gate.series
        if series.verdict is GateVerdict.REGRESSED
    ]
    lines = [f"{night.job}: {night.verdict}", "", table_markdown(night_table(night))]
    if regressed:
        lines += ["", f"{counted(len(regressed), 'series', 'series')} regressed."]
        lines += [table_markdown(table) for table in gate_tables(night)]
        first = next(b for b in night.boards if b.gate and b.gate.verdict == "regressed")
        lines += ["", f"Next: benchvise compare {first.base} {first.run}"]
    return "\n".join([*lines, "", f"Page: {page}"]) + "\n"


def write_night(night: NightDocument, directory: Path) -> Path:
    """Writes the page and its data; returns the page's path. OutputError where it cannot."""
    page = (
        environment()
        .get_template("nightly.html.j2")
        .render(
            title=night.job,
            lede=_title(night),
            image=night.image,
            tables=[night_table(night), *gate_tables(night)],
            version=benchvise.__version__,
            **load_assets().around({}),
        )
    )
    with output_directory(directory, "the night's page"):
        write_output(directory / DATA, json_text(encode(night_data(night)), indent=1) + "\n")
        write_output(directory / PAGE, page)
    return directory / PAGE
