"""Modes of an actor's activations, and functions by their self times, in the span selected."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from benchvise.documents import in_json
from benchvise.trace.analysis.functions import FunctionCalls, functions
from benchvise.trace.analysis.modes import METRICS, ActivationModes, activation_modes, most_active
from benchvise.trace.analysis.user_functions import user_calls
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part, since

_MOST_FUNCTIONS = 500


@dataclass(frozen=True, slots=True)
class ShownModes:
    """The modes of an actor. Times in ns, moments since the first event."""

    part: AnsweredPart = field(metadata=in_json(inline=True))
    of: ActivationModes


def shown_modes(loaded: LoadedTrace, query: TraceQuery) -> ShownModes:
    """``modes`` of the activations of ``actor`` by their ``metric``; without an actor, of that with
    the most activations.

    Raises:
        UsageError: no activation of these is complete.
    """
    part = query.part(loaded)
    actors = query.actors(part)
    chosen = actors if query.items("actor") else most_active(part.analysis, actors)
    modes = activation_modes(part.analysis, chosen, metric=query.choice("metric", METRICS))
    origin = part.analysis.whole.begin
    moved = tuple(
        replace(mode, typical_at=mode.typical_at - origin, longest_at=mode.longest_at - origin)
        for mode in modes.modes
    )
    return ShownModes(answered_part(part), replace(modes, modes=moved))


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """Functions and slices, most self time first; ``more`` are left out. Times in ns, moments since
    the first event."""

    part: AnsweredPart = field(metadata=in_json(inline=True))
    functions: tuple[FunctionCalls, ...]
    more: int


def function_table(loaded: LoadedTrace, query: TraceQuery) -> FunctionTable:
    """``functions``: calls of kernel functions that begin in the span, and slices of programs."""
    part = query.part(loaded)
    user = user_calls(part.analysis, part.path)
    rows = functions(part.analysis, part.trace.source.symbol, user)
    listed = (replace(row, worst_at=since(part, row.worst_at)) for row in rows[:_MOST_FUNCTIONS])
    return FunctionTable(answered_part(part), tuple(listed), max(0, len(rows) - _MOST_FUNCTIONS))
