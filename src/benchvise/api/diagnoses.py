"""Diagnoses, as ``why --json`` and ``show --json`` have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from benchvise.api.records import Records
from benchvise.api.results import StoredRun
from benchvise.board import full_name
from benchvise.configuration import default_store
from benchvise.documents import encode
from benchvise.errors import UsageError
from benchvise.flows import why as flow
from benchvise.flows.request import UserCommand
from benchvise.flows.why_sides import Sides
from benchvise.measure.model import Better
from benchvise.report.interval_chart import IntervalMark, interval_chart
from benchvise.report.rendering import Cell, Column, Table
from benchvise.report.sinks import cell
from benchvise.report.table_pages import html_table
from benchvise.report.why.page import markdown, page
from benchvise.why.events import Event
from benchvise.why.model import Cause, Diagnosis, SuspectRecord, UntestedDifference

_SHOWN = 10


class DiagnosedBoards:
    """What accounts for the difference of two boards, with the evidence."""

    def __init__(self, answer: flow.DiagnosisAnswer) -> None:
        self.diagnosis: Diagnosis = answer.diagnosis
        """The typed answer."""
        self.directory: Path = answer.directory
        """Where evidence, document and page are; ``resume`` of ``bv.why`` takes it."""
        self.id: str = answer.identity
        """Its id in the store; empty where it was not stored, and ``unkept`` says why."""
        self.unkept: str = answer.unkept
        """Why the store or the directory does not have it; empty where both do."""
        self.exit_code: int = answer.exit_code
        """Of the command: 0 explained or no difference, 1 not explained, 3 a board was lost."""

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self.headline!r}>"

    @property
    def verdict(self) -> str:
        """``explained``, ``partly explained``, ``no difference shown``, …"""
        return str(self.diagnosis.verdict)

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        return self.diagnosis.headline

    @property
    def restored(self) -> bool:
        """Whether everything that was set is as before."""
        return self.diagnosis.restored

    @property
    def causes(self) -> Records[Cause]:
        """What is confirmed to account for the difference, the largest share first."""
        return Records(self.diagnosis.causes)

    @property
    def untested(self) -> Records[UntestedDifference]:
        """The likeliest differences that no experiment has decided, the likeliest first."""
        return Records(self.diagnosis.untested)

    @property
    def suspects(self) -> Records[SuspectRecord]:
        """All differences that may be a cause, in the order of their score."""
        return Records(self.diagnosis.suspects)

    @property
    def document(self) -> dict[str, Any]:
        """The data of ``why --json``."""
        document: dict[str, Any] = encode(self.diagnosis)
        return {**document, "id": self.id, "evidence": str(self.directory)}

    def to_markdown(self) -> str:
        """The answer as ``diagnosis.md`` in the directory has it."""
        return markdown(encode(self.diagnosis))

    def to_html(self) -> str:
        """The whole page with its charts: ``index.html`` of the directory, for a browser."""
        return page(encode(self.diagnosis))

    def _repr_html_(self) -> str:
        """The headline, and the causes as a chart and as a table, for Jupyter."""
        causes = self.diagnosis.causes[:_SHOWN]
        marks = [
            IntervalMark(
                cause.name,
                cause.share.value,
                cause.share.low,
                cause.share.high,
                f"{100 * cause.share.value:.0f} %",
                "bad",
            )
            for cause in causes
        ]
        rows = tuple(
            (
                Cell(cause.name),
                Cell(f"{100 * cause.share.value:.0f} %"),
                Cell("; ".join(f"{o.file}{f':{o.line}' if o.line else ''}" for o in cause.origins)),
            )
            for cause in causes
        )
        columns = (Column("cause"), Column("share of the gap", right=True), Column("set by"))
        text = Markup("<p><b>{}</b>: {}</p>").format(cell(self.verdict), cell(self.headline))
        chart = interval_chart("Share of the gap, 95 %", marks, middle=0.0, reach=1.2)
        return (
            text
            + chart
            + (html_table(Table("", columns, rows, ()), in_notebook=True) if rows else Markup(""))
        )


def why(
    good: str | StoredRun | None = None,
    bad: str | None = None,
    *,
    bench: str | None = None,
    command: str | None = None,
    match: str | None = None,
    better: Better | None = None,
    unit: str | None = None,
    budget: float | None = None,
    allow: Sequence[str] | str = (),
    layers: bool = True,
    seed: int | None = None,
    directory: str | Path | None = None,
    resume: str | Path | None = None,
    store: str | None = None,
    observe: Callable[[Event], None] | None = None,
) -> DiagnosedBoards:
    """Finds out why the board ``bad`` is worse than ``good``, as ``benchvise why`` does.

    ``good`` is a board, a stored run, or what ``--good`` names: an id, a label, the file of a
    snapshot. Give one of ``bench`` and ``command``. ``budget`` is in minutes; ``allow`` names
    settings that can disturb a board and are tried all the same. ``resume`` is the directory of a
    diagnosis that was stopped: it goes on, with nothing else given. ``observe`` is called with
    every event.

    Settings are journalled and restored before it returns. Raises UsageError, BoardUnreachable,
    ProbeError; Interrupted where Ctrl-C came before anything was measured. Later, Ctrl-C ends it
    with the answer so far, and ``diagnosis.stopped`` says so.
    """
    url = store or default_store()
    place = None if directory is None else Path(directory)
    if resume is not None:
        if good or bad or bench or command or directory:
            raise UsageError(
                "resume goes on with what was asked before", "give no boards and nothing to measure"
            )
        request, place = flow.resumed(Path(resume)), Path(resume)
    else:
        if not good or not bad:
            raise UsageError("two sides are compared", 'say bv.why("GOOD", "BAD", bench=…)')
        if command is None and (match or better or unit):
            raise UsageError("match, better and unit belong to a command", "add command=…")
        wanted = None if command is None else UserCommand(command, match, better, unit)
        sides = Sides(_good(good), full_name(bad), bench, wanted)
        sides.entry()
        names = (allow,) if isinstance(allow, str) else tuple(allow)
        asked = flow.WhyRequest(sides, budget, layers, seed, flow.allowed_settings(names))
        request = flow.settled(asked, url)
    answer = flow.why(request, url, observe or _ignore, directory=place, resume=resume is not None)
    return DiagnosedBoards(answer)


def _good(side: str | StoredRun) -> str:
    if isinstance(side, StoredRun):
        return side.id
    file = Path(side)
    return str(file.resolve()) if file.is_file() else side


def _ignore(_event: Event) -> None:
    """Nobody watches."""
