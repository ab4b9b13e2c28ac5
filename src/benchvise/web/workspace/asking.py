"""What a request of the workspace asks: words of its query, read with bounds.

Times of the workspace are nanoseconds since the trace's first event; here they become those of the
trace's clock, and go back when an answer is written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchvise.errors import UsageError
from benchvise.flows.trace_analyses import Loaded
from benchvise.text import printable
from benchvise.trace.analysis.model import NONE, Actor, Span

TEXT_LIMIT = 2000
"""Characters of one word of a query; names in traces may be long, but not that long."""

_MOST_ACTORS = 10_000


@dataclass(frozen=True, slots=True)
class Asking:
    """The query of one request."""

    query: Mapping[str, str]

    def text(self, name: str, default: str = "") -> str:
        """A text; ``default`` when it is not there.

        Raises:
            UsageError: it is longer than any name.
        """
        value = self.query.get(name, default)
        if len(value) > TEXT_LIMIT:
            raise UsageError(f"{name} has {len(value)} characters", f"say at most {TEXT_LIMIT}")
        return value.strip()

    def words(self, name: str) -> list[str]:
        """A list of texts with commas between, without empty ones."""
        return [word.strip() for word in self.text(name).split(",") if word.strip()]

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``.

        Raises:
            UsageError: it is none, or beyond them.
        """
        text = self.text(name)
        if not text:
            return default
        try:
            value = int(text)
        except ValueError:
            raise UsageError(f"{name}={text[:40]} is no whole number", "") from None
        if not low <= value <= high:
            raise UsageError(f"{name}={value} is out of range", f"say {low} to {high}")
        return value

    def flag(self, name: str) -> bool:
        """Whether something is wished: ``1`` or ``true``."""
        return self.text(name) in ("1", "true", "yes", "on")

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of the choices; the first of them when nothing is said.

        Raises:
            UsageError: it is none of them.
        """
        text = self.text(name) or choices[0]
        if text not in choices:
            raise UsageError(f"{name}={text[:40]} is unknown", f"say {', '.join(choices)}")
        return text

    def time(self, name: str, loaded: Loaded) -> int | None:
        """A moment in nanoseconds of the trace's clock; None when nothing is said.

        Raises:
            UsageError: it is no number.
        """
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise UsageError(
                f"{name}={text[:40]} is no moment", "say nanoseconds since the first event"
            )
        return loaded.analysis.whole.begin + round(value)

    def part(self, loaded: Loaded) -> Loaded:
        """The trace asked about ``begin`` to ``end``, as far as it reaches; else about all of it.

        Raises:
            UsageError: nothing of the trace lies between them.
        """
        whole = loaded.analysis.whole
        begin, end = self.time("begin", loaded), self.time("end", loaded)
        first = whole.begin if begin is None else max(begin, whole.begin)
        last = whole.end + 1 if end is None else min(end, whole.end + 1)
        if first >= last:
            raise UsageError(
                "nothing of the trace lies in the span asked for",
                f"it has events from 0 to {whole.end - whole.begin} ns",
            )
        return replace(loaded, analysis=loaded.analysis.asked_about(Span(first, last)))

    def actors(self, loaded: Loaded) -> list[Actor]:
        """The actors of ``actor``: ids, or names as on the command line; all but idle for none.

        Raises:
            UsageError: the trace has no such actor.
        """
        known = loaded.analysis.actors
        found: dict[int, Actor] = {}
        for word in self.words("actor")[:_MOST_ACTORS]:
            if word.isdecimal():
                if int(word) >= len(known):
                    raise UsageError(f"the trace has no actor {word[:40]}", "")
                found[int(word)] = known[int(word)]
            else:
                found |= {actor.id: actor for actor in loaded.chosen([word])}
        return list(found.values()) if found else loaded.chosen([])


def head(loaded: Loaded) -> dict[str, Any]:
    """What every answer begins with: the part that it is of, and what makes it doubtful."""
    whole, span = loaded.analysis.whole, loaded.analysis.span
    return {
        "begin": span.begin - whole.begin,
        "end": min(span.end, whole.end) - whole.begin,
        "cautions": [printable(caution, 1000) for caution in loaded.cautions],
    }


def since(loaded: Loaded, time: int | None) -> int | None:
    """A moment of the trace's clock as answers have it; None where it is not known."""
    if time is None or time == NONE:
        return None
    return int(time) - loaded.analysis.whole.begin
