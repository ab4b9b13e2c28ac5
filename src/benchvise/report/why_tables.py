"""Tables around diagnoses: the list of those in a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchvise.quantities import format_time
from benchvise.report.tables import Cell, Column, Table
from benchvise.report.why_document import counted
from benchvise.report.why_words import TONES
from benchvise.text import printable

if TYPE_CHECKING:
    from benchvise.store.diagnoses import DiagnosisInfo

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
    return Table(title, _LIST_COLUMNS, tuple(map(_row, infos)), ())


def _row(info: DiagnosisInfo) -> tuple[Cell, ...]:
    mark = " [SIMULATED]" if info.simulated else ""
    return (
        Cell(info.id, "strong"),
        Cell(format_time(info.kept)),
        Cell(printable(info.metric, 40) + mark),
        Cell(info.verdict, TONES.get(info.verdict, "plain")),
        Cell(info.headline),
    )
