"""What happened in each row over the span that is selected."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from benchvise.documents import in_json
from benchvise.trace.analysis.area import ActorSums, CpuSums, area
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part, since

_MOST = 5000


@dataclass(frozen=True, slots=True)
class ShownArea:
    """The rows of a span, the busiest first; ``more`` is how many are left out. Times in ns."""

    part: AnsweredPart = field(metadata=in_json(inline=True))
    cpus: tuple[CpuSums, ...]
    actors: tuple[ActorSums, ...]
    more: int


def area_sums(loaded: LoadedTrace, query: TraceQuery) -> ShownArea:
    """``area``: the sums of each row between ``begin`` and ``end``."""
    part = query.part(loaded)
    sums = area(part.analysis)
    return ShownArea(
        answered_part(part),
        sums.cpus,
        tuple(
            replace(actor, longest_at=since(part, actor.longest_at))
            for actor in sums.actors[:_MOST]
        ),
        max(0, len(sums.actors) - _MOST),
    )
