"""Why an activation took so long: the critical path of its response."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from benchvise.documents import in_json
from benchvise.errors import UsageError
from benchvise.trace.analysis.critical_path import (
    MOST_HOPS,
    PathHop,
    PathOrigin,
    PathPart,
    PathSegment,
    critical_path,
)
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.workspace.query import AnsweredPart, TraceQuery, answered_part

_PARTS = 12
_LONGEST = 8
_MOST_HOPS = 100


@dataclass(frozen=True, slots=True)
class ShownPath:
    """The path to the end of an activation; times in ns since the first event.

    ``parts`` are those with the most time, ``other_parts`` how many there are besides; ``longest``
    are the longest segments in which it did not run, the longest first.
    """

    part: AnsweredPart = field(metadata=in_json(name="of"))
    begin: int
    end: int
    origin: PathOrigin
    hops: tuple[PathHop, ...]
    parts: tuple[PathPart, ...]
    other_parts: int
    longest: tuple[PathSegment, ...]
    incomplete: tuple[str, ...]


def response_path(loaded: LoadedTrace, query: TraceQuery) -> ShownPath:
    """``critical-path``: of the activation ``instance``, over at most ``hops`` activations.

    Raises:
        UsageError: the trace has no such activation.
    """
    last = len(loaded.analysis.instances) - 1
    instance = query.whole("instance", None, 0, max(0, last))
    if last < 0:
        raise UsageError("the trace has no activation", "")
    path = critical_path(loaded.analysis, instance, query.whole("hops", MOST_HOPS, 1, _MOST_HOPS))
    origin = loaded.analysis.whole.begin
    waiting = sorted(
        (segment for segment in path.segments if segment.actor_id != segment.through_id),
        key=lambda segment: -segment.length,
    )
    return ShownPath(
        answered_part(loaded),
        path.begin - origin,
        path.end - origin,
        path.origin,
        tuple(replace(hop, begin=hop.begin - origin, end=hop.end - origin) for hop in path.hops),
        path.parts[:_PARTS],
        max(0, len(path.parts) - _PARTS),
        tuple(
            replace(segment, begin=segment.begin - origin, end=segment.end - origin)
            for segment in waiting[:_LONGEST]
        ),
        path.incomplete,
    )
