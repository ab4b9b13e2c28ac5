"""What came out of hostile tries, by kind; the table of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from rich.table import Table


class Outcome(Enum):
    """How one try ended."""

    ANSWERED = "answered"
    REFUSED = "refused with a sentence"
    DIED = "died, and said"
    """What worked on it ended: by memory, time, the stack, or a file that became shorter."""
    BAD = "WITHOUT A SENTENCE"


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one try, and its words."""

    outcome: Outcome
    text: str = ""


_LISTED = 20


@dataclass
class Outcomes:
    """Counts by kind; what is bad is printed at once, with what repeats it."""

    by_kind: dict[str, Counter[Outcome]] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)

    def add(self, kind: str, answer: Answer, what: str) -> None:
        """Counts one try; ``what`` is what was tried."""
        self.by_kind.setdefault(kind, Counter())[answer.outcome] += 1
        if answer.outcome is Outcome.BAD:
            self.bad.append(what)
            if len(self.bad) <= _LISTED:
                print(f"{kind}: {answer.text}\n    {what[:500]!r}", flush=True)

    def total(self, outcome: Outcome | None = None) -> int:
        """Tries, or those of one outcome."""
        counts = self.by_kind.values()
        return sum(each.total() if outcome is None else each[outcome] for each in counts)

    def table(self, title: str, notes: Mapping[str, str]) -> Table:
        """Kinds and their counts; ``notes`` are words under the table."""
        shown = Table(title=title, title_justify="left", caption_justify="left")
        shown.add_column("kind")
        for heading in ("tried", *(outcome.value for outcome in Outcome)):
            shown.add_column(heading, justify="right")
        for kind, counts in self.by_kind.items():
            cells = (counts.total(), *(counts[outcome] for outcome in Outcome))
            shown.add_row(kind, *map(str, cells))
        sums = (self.total(), *(self.total(outcome) for outcome in Outcome))
        shown.add_row("all", *map(str, sums), style="bold")
        shown.caption = "\n".join(f"{name}: {text}" for name, text in notes.items())
        return shown
