"""What a diagnosis would do, on a terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rich.console import Group
from rich.text import Text

from benchvise.board.sanitise import printable
from benchvise.report.why_document import counted, duration
from benchvise.why.model import Suspect
from benchvise.why.plan import Flip, Plan

_LINE = 600  # characters of what a board may have said
_VALUE = 60  # characters of a value that are shown


def plan_page(plan: Plan) -> Group:
    """The suspects in their order: the terms of their scores, and what would be written where."""
    return Group(*_lines(plan))


def _lines(plan: Plan) -> Iterator[Text]:
    tested = [suspect for suspect in plan.suspects if suspect.means is not None]
    untested = [suspect for suspect in plan.suspects if suspect.means is None]
    yield Text(
        printable(f"{plan.metric.name}: why is {plan.bad} worse than {plan.good}?", 500),
        style="bold",
    )
    yield Text(
        f"About {counted(plan.experiments, 'experiment')} and {duration(plan.seconds)}, if one of "
        f"{counted(len(tested), 'suspect')} is the cause. Nothing was set."
        if tested
        else "Nothing that differs can be set: only the gap would be measured."
    )
    for finding in plan.findings:
        yield Text(printable(f"{finding.grade}: {finding.sentence}", 500), style="yellow")
    flips: defaultdict[str, list[Flip]] = defaultdict(list)
    for flip in plan.flips:
        flips[flip.suspect].append(flip)
    for place, suspect in enumerate(tested, 1):
        yield Text()
        yield from _suspect(place, suspect, flips[suspect.id])
    if untested:
        yield Text("\nCannot be tried here", style="bold")
    for suspect in untested:
        yield _indented(f"{suspect.id}: {suspect.untestable}", 3, "dim")
    if plan.excluded:
        yield Text(f"\n{counted(len(plan.excluded), 'other difference')} cannot matter here.")


def _suspect(place: int, suspect: Suspect, flips: list[Flip]) -> Iterator[Text]:
    values = f"good {_short(suspect.good)}, bad {_short(suspect.bad)}"
    yield _indented(f"{place}. {suspect.id}: {values}", 0, "bold")
    terms = "; ".join(f"{term.points:+.1f} {term.reason}" for term in suspect.terms)
    yield _indented(f"score {suspect.score:.1f}: {terms}", 3, "dim")
    for flip in flips:
        where = f"write to {flip.path}" if flip.path else flip.what
        yield _indented(f"on the {flip.side} side {where}: {_short(flip.value)}", 3)


def _indented(text: str, columns: int, style: str = "") -> Text:
    return Text(" " * columns + printable(text, _LINE), style=style)


def _short(value: str) -> str:
    return value if len(value) <= _VALUE else f"{value[: _VALUE - 1]}…"
