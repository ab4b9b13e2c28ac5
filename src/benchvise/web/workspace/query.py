"""What a request of the workspace asks of its trace: a span of time, actors, an analysis.

Times of the workspace are nanoseconds since the trace's first event; here they become those of the
trace's clock, and go back when an answer is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchvise.errors import UsageError
from benchvise.trace.analysis.model import NONE, Actor, TraceSpan
from benchvise.trace.loaded import LoadedTrace
from benchvise.web.http import Query

_MOST_ACTORS = 10_000


@dataclass(frozen=True, slots=True)
class TraceQuery(Query):
    """The query of one request about a trace."""

    def moment(self, name: str, loaded: LoadedTrace) -> int | None:
        """A moment in nanoseconds of the trace's clock; None when nothing is said.

        Raises:
            UsageError: it is no number.
        """
        time = self.time(name)
        return None if time is None else loaded.analysis.whole.begin + round(time)

    def part(self, loaded: LoadedTrace) -> LoadedTrace:
        """The trace asked about ``begin`` to ``end``, as far as it reaches; else about all of it.

        Raises:
            UsageError: nothing of the trace lies between them.
        """
        whole = loaded.analysis.whole
        begin, end = self.moment("begin", loaded), self.moment("end", loaded)
        first = whole.begin if begin is None else max(begin, whole.begin)
        last = whole.end + 1 if end is None else min(end, whole.end + 1)
        if first >= last:
            raise UsageError(
                "nothing of the trace lies in the span asked for",
                f"it has events from 0 to {whole.end - whole.begin} ns",
            )
        return replace(loaded, analysis=loaded.analysis.asked_about(TraceSpan(first, last)))

    def actors(self, loaded: LoadedTrace) -> list[Actor]:
        """The actors of ``actor``: ids, or names as on the command line; all but idle for none.

        Raises:
            UsageError: the trace has no such actor.
        """
        actors = loaded.analysis.actors
        chosen: dict[int, Actor] = {}
        for name in self.items("actor")[:_MOST_ACTORS]:
            if name.isdecimal():
                if int(name) >= len(actors):
                    raise UsageError(f"the trace has no actor {name[:40]}", "")
                chosen[int(name)] = actors[int(name)]
            else:
                chosen |= {actor.id: actor for actor in loaded.choose([name])}
        return list(chosen.values()) if chosen else loaded.choose([])

    def ids(self, loaded: LoadedTrace) -> tuple[int, ...]:
        """The ids of the same actors.

        Raises:
            UsageError: the trace has no such actor.
        """
        return tuple(actor.id for actor in self.actors(loaded))


@dataclass(frozen=True, slots=True)
class AnsweredPart:
    """What every answer begins with: the part that it is of, ns since the first event, and what
    makes it doubtful."""

    begin: int
    end: int
    cautions: tuple[str, ...]


def answered_part(loaded: LoadedTrace) -> AnsweredPart:
    """The part that an answer about this trace is of."""
    whole, span = loaded.analysis.whole, loaded.analysis.span
    return AnsweredPart(
        span.begin - whole.begin, min(span.end, whole.end) - whole.begin, tuple(loaded.cautions)
    )


def since(loaded: LoadedTrace, time: int | None) -> int | None:
    """A moment of the trace's clock as answers have it; None where it is not known."""
    if time is None or time == NONE:
        return None
    return int(time) - loaded.analysis.whole.begin
