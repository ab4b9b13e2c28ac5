"""Latency from a point of one board's trace to a point of another's.

Both traces count by one clock, which is known to some uncertainty: between two boards, the sum of
what each alignment is uncertain by. Nothing that the kernel records leads from one board to the
other, so pairs are made by fields, or by order; and a pair that is no longer than the uncertainty
is undecided: which of its points came first is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchvise.errors import UsageError
from benchvise.trace.analysis.latency.ends import End, Points, points
from benchvise.trace.analysis.latency.links import Hops, Links, Method, by_order, hop, meet_loss
from benchvise.trace.analysis.latency.pairs import PairedField, by_fields
from benchvise.trace.analysis.model import Analysis


@dataclass(frozen=True, slots=True)
class BoardEnd:
    """An end of a latency at a board. ``text`` is how it is written, with the board."""

    board: str
    end: End
    text: str


@dataclass(frozen=True, slots=True)
class AlignedTrace:
    """The analysis of a board's trace, and by how much its times may be wrong (ns)."""

    analysis: Analysis
    uncertainty: int


def board_points(boards: Mapping[str, AlignedTrace], of: BoardEnd) -> Points:
    """The moments of an end, called by its board too. Raises what ``points`` raises."""
    try:
        found = points(boards[of.board].analysis, of.end)
    except UsageError as error:
        raise UsageError(f"{of.board}: {error.message}", error.remedy) from error
    return replace(found, text=of.text)


def uncertainty_between(boards: Mapping[str, AlignedTrace], a: str, b: str) -> int:
    """By how much the time between events of two boards may be wrong, in ns; 0 of one board."""
    return 0 if a == b else boards[a].uncertainty + boards[b].uncertainty


def board_hop(
    boards: Mapping[str, AlignedTrace],
    ends: tuple[BoardEnd, BoardEnd],
    points_of: tuple[Points, Points],
    *,
    method: Method | None,
    fields: Sequence[PairedField],
) -> tuple[Links, Hops]:
    """The pairs from an end to one of another board.

    Raises:
        UsageError: it was to go by cause, or an end has no such field.
    """
    if method is Method.CAUSE:
        raise UsageError(
            f"no cause leads from {ends[0].text} to {ends[1].text}",
            "pair them by a field (--by FIELD), or by order (--match next)",
        )
    start, end = points_of
    doubt = uncertainty_between(boards, ends[0].board, ends[1].board)
    first, second = (boards[each.board].analysis for each in ends)
    links = (
        by_fields(first, start, end, fields, slack=doubt)
        if fields
        else by_order(first, start, end, slack=doubt)
    )
    begin, until = start.time[links.start], end.time[links.end]
    links = replace(links, incomplete=links.incomplete | meet_loss(second, begin, until))
    return links, hop(first, start, end, links, uncertainty=doubt)
