"""What a diagnosis would do, on a terminal: for ``why --dry-run``."""

from __future__ import annotations

from collections.abc import Iterator

from benchvise.report.why.document import duration
from benchvise.report.why.sentences import Block, BlockLine, DiagnosisText
from benchvise.report.why.terminal import Page
from benchvise.table import Tone
from benchvise.text import SENTENCE_LIMIT, counted, printable
from benchvise.why.benches.userland_swap import USERLAND
from benchvise.why.model import LayerMeans, Side, Suspect
from benchvise.why.plan import DiagnosisPlan, Effort, PlannedFlip

_VALUE = 60  # characters of a value that are shown


def plan_page(plan: DiagnosisPlan) -> Page:
    """The suspects in their order, what makes it, and what would be written where.

    To be printed with ``soft_wrap``.
    """
    return Page(plan_text(plan))


def plan_text(plan: DiagnosisPlan) -> DiagnosisText:
    """The plan in words, cleaned: names and values come from boards."""
    headline = f"{plan.metric}: why is {plan.bad} worse than {plan.good}?"
    return DiagnosisText(
        "plan", "strong", printable(headline, SENTENCE_LIMIT), tuple(_blocks(plan))
    )


def _blocks(plan: DiagnosisPlan) -> Iterator[Block]:
    tested = [suspect for suspect in plan.suspects if suspect.means is not None]
    untested = [suspect for suspect in plan.suspects if suspect.means is None]
    swapped = [layer for layer in plan.layers if layer.means is not None]
    takes = (*_efforts(plan, len(tested), len(swapped)), BlockLine("Nothing was set."))
    yield Block("Takes", takes, apart=True)
    for finding in plan.findings:
        yield Block("Note", (_line(finding.sentence, "doubt"),))
    for place, suspect in enumerate(tested, 1):
        flips = [flip for flip in plan.flips if flip.suspect == suspect.id]
        yield Block(f"{place:>2}", tuple(_suspect(suspect, flips)), apart=True)
    for place, layer in enumerate(swapped, 1):
        yield Block(f"L{place}", tuple(_layer(layer)), apart=True)
    untested += [layer for layer in plan.layers if layer.means is None]
    if untested:
        lines = tuple(_line(f"{suspect.id}: {suspect.untestable}") for suspect in untested)
        yield Block("Untestable", lines, apart=True)
    if plan.excluded:
        others = counted(len(plan.excluded), "other difference")
        yield Block("Left out", (BlockLine(f"{others} cannot matter here."),))


def _efforts(plan: DiagnosisPlan, tested: int, swapped: int) -> Iterator[BlockLine]:
    if tested:
        which = "it is the cause" if tested == 1 else f"one of these {tested} is the cause"
        yield BlockLine(f"About {_effort_text(plan.effort)}, if {which}.")
    else:
        rest = "" if swapped else ": only the gap would be measured"
        yield BlockLine(f"No difference can be set at run time{rest}.")
    if plan.effort_layers is not None:
        which = "it is in L1" if swapped == 1 else f"it is in one of the layers L1 to L{swapped}"
        yield BlockLine(f"About {_effort_text(plan.effort_layers)}, if {which}.")


def _effort_text(effort: Effort) -> str:
    boots = f", {counted(effort.boots, 'boot')}" if effort.boots else ""
    return f"{counted(effort.experiments, 'experiment')}{boots} and {duration(effort.seconds)}"


def _suspect(suspect: Suspect, flips: list[PlannedFlip]) -> Iterator[BlockLine]:
    yield from _judged(suspect)
    for flip in flips:
        where = f"write {flip.path}" if flip.path else flip.what
        yield BlockLine(
            printable(f"on {flip.side}: {where} = {_short(flip.value)}", SENTENCE_LIMIT)
        )


def _layer(layer: Suspect) -> Iterator[BlockLine]:
    yield from _judged(layer)
    is_userland = isinstance(layer.means, LayerMeans) and layer.means.layer == USERLAND
    how = "run the command with" if is_userland else "boot"
    for side in Side:
        yield BlockLine(f"on {side}: {how} it as on {side.other}")


def _judged(suspect: Suspect) -> Iterator[BlockLine]:
    """Its values, and the terms of its score."""
    values = f"{_short(suspect.good)} on good, {_short(suspect.bad)} on bad"
    title = f", {suspect.title}" if suspect.title not in ("", suspect.id) else ""
    yield _line(f"{suspect.id}{title}: {values}", "strong")
    yield BlockLine(f"score {suspect.score:.1f}:", "muted")
    for term in suspect.terms:
        yield _line(f"{term.points:+5.1f}  {term.reason or term.name}", "muted")


def _line(text: str, tone: Tone = "plain") -> BlockLine:
    return BlockLine(printable(text, SENTENCE_LIMIT), tone)


def _short(value: str) -> str:
    return printable(value, _VALUE) or "nothing"
