"""What kept threads from running, in the span that is selected."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from benchvise.documents import in_json
from benchvise.trace.analysis.delays import Delay, Preemption, delays
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part

_MOST = 200


@dataclass(frozen=True, slots=True)
class ShownDelays:
    """Who had the CPU while threads waited for it, and who preempted them, most time first.

    ``more_delays`` and ``more_preemptions`` are how many are left out. Times in ns, moments since
    the first event.
    """

    part: AnsweredPart = field(metadata=in_json(inline=True))
    delays: tuple[Delay, ...]
    preemptions: tuple[Preemption, ...]
    more_delays: int
    more_preemptions: int
    waited: int
    waits: int
    incomplete: int = field(metadata=in_json(name="unsure"))


def shown_delays(loaded: LoadedTrace, query: TraceQuery) -> ShownDelays:
    """``delays``: of the threads ``actor``, one line a pair, or a pair of names (``by_name``)."""
    part = query.part(loaded)
    summed = delays(part.analysis, query.actors(part), by_name=query.flag("by_name"))
    origin = part.analysis.whole.begin
    return ShownDelays(
        answered_part(part),
        tuple(
            replace(delay, longest_at=delay.longest_at - origin) for delay in summed.delays[:_MOST]
        ),
        tuple(
            replace(case, longest_at=case.longest_at - origin)
            for case in summed.preemptions[:_MOST]
        ),
        max(0, len(summed.delays) - _MOST),
        max(0, len(summed.preemptions) - _MOST),
        summed.waited,
        summed.waits,
        summed.incomplete,
    )
