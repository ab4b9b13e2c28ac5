"""Pairs of events by their fields: a request and its completion have one sector, a call and its
return one thread, whatever else happens in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchvise.errors import UsageError
from benchvise.trace.analysis.latency.ends import Points
from benchvise.trace.analysis.latency.links import Links, Method, meet_loss
from benchvise.trace.analysis.model import Analysis, Bools, Ints

if TYPE_CHECKING:
    from benchvise.trace.native import Column


@dataclass(frozen=True, slots=True)
class PairedField:
    """A field of the start whose value is that of a field of the end."""

    start: str
    end: str


def parse_pair(text: str) -> PairedField:
    """``FIELD``, or ``FIELD=FIELD`` where start and end call it differently.

    Raises:
        UsageError: the text is neither.
    """
    start, equals, end = (part.strip() for part in text.partition("="))
    if not start or (equals and not end):
        raise UsageError(f"{text!r} names no field", "write FIELD, or FIELD=FIELD of start and end")
    return PairedField(start, end or start)


def by_fields(
    analysis: Analysis,
    start: Points,
    end: Points,
    fields: Sequence[PairedField],
    *,
    slack: int = 0,
) -> Links:
    """From each end back to the last start with the same values, which no end has taken since.

    A start that another with its values follows, before an end does, has none. An end may seem to
    be earlier than its start by ``slack`` ns.

    Raises:
        UsageError: an end of the latency is no event, or has no such field.
    """
    of_start, of_end = _keys(start, end, fields)
    # Starts by key, then by time; of one moment the start comes first.
    order = np.lexsort((start.time, of_start))
    order = order[of_start[order] >= 0]
    ends = np.flatnonzero(of_end >= 0)
    # Ranks in time instead of times, which have as many bits as a key can have.
    itself = start.text == end.text  # nothing is its own end
    latest = end.time[ends] + slack
    ranks = np.searchsorted(start.time, latest, side="left" if itself else "right")
    width = len(start) + 1
    at = np.searchsorted(of_start[order] * width + order, of_end[ends] * width + ranks) - 1
    candidate = order[np.maximum(at, 0)] if order.size else np.zeros(ends.size, dtype=np.int64)
    fits = (at >= 0) & (of_start[candidate] == of_end[ends]) if order.size else at >= 0
    candidate, ends = candidate[fits], ends[fits]
    _, firsts = np.unique(candidate, return_index=True)
    candidate, ends = candidate[firsts], ends[firsts]
    by_end = np.argsort(ends, kind="stable")
    candidate, ends = candidate[by_end], ends[by_end]
    nothing = np.zeros((ends.size, 0), dtype=np.int64)
    incomplete: Bools = meet_loss(analysis, start.time[candidate], end.time[ends])
    return Links(Method.FIELDS, candidate, ends, np.zeros(ends.size, np.int64), nothing, incomplete)


def _keys(start: Points, end: Points, fields: Sequence[PairedField]) -> tuple[Ints, Ints]:
    """A number for the values of each point, the same for the same; -1 where one is missing."""
    key = np.zeros(len(start) + len(end), dtype=np.int64)
    known = np.ones(key.size, dtype=np.bool_)
    for pair in fields:
        sides = ((_column(start, pair.start), start), (_column(end, pair.end), end))
        if any(column.kind == "text" for column, _ in sides):
            codes: dict[str, int] = {}
            numbers = np.concatenate([_codes(column, codes)[of.order] for column, of in sides])
        else:
            numbers = np.concatenate([column.integers()[of.order] for column, of in sides])
        known &= np.concatenate([column.is_valid()[of.order] for column, of in sides])
        code = np.unique(numbers, return_inverse=True)[1]
        key = np.unique(key * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1]
    key = np.where(known, key, -1)
    return key[: len(start)], key[len(start) :]


def _column(points: Points, field: str) -> Column:
    if points.table is None:
        raise UsageError(f"{points.text} is no event, and has no fields", "write event:NAME")
    if field not in points.table.column_names:
        raise UsageError(
            f"{points.text} has no field {field[:80]}",
            f"it has {', '.join(points.table.column_names[:30])}",
        )
    column = points.table.column(field)
    if column.kind not in ("text", "integer"):
        raise UsageError(f"{field} is neither a number nor a text", "choose another field")
    return column


def _codes(column: Column, codes: dict[str, int]) -> Ints:
    """A number for each text, the same for the same in all columns; whole numbers are their texts.
    ``codes`` are those so far, and get the new ones."""
    if column.kind == "text":
        own, texts = column.texts()
    else:
        values, own = np.unique(column.values(), return_inverse=True)
        texts = [str(value) for value in values.tolist()]
    numbers: Ints = np.array([codes.setdefault(text, len(codes)) for text in texts], dtype=np.int64)
    coded: Ints = numbers[own]
    return coded
