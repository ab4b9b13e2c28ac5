"""Progress of a diagnosis: what is being tried, of how many, and about how long it will take.

On a terminal, a line that is always there and one for each thing that was found out; elsewhere
nothing is said, as by other commands.
"""

from __future__ import annotations

import math
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from benchvise.cli.progress import LineColumn
from benchvise.why.events import (
    CauseConfirmed,
    Event,
    ExperimentBegun,
    ExperimentDecided,
    FindingMade,
    GapMeasured,
    LeftOut,
    StageBegun,
    SuspectsRanked,
    TrialFailed,
    TrialTaken,
)
from benchvise.why.model import Grade

_WORDS = 300
_BESIDE_SEARCH = 4  # experiments besides those of the search: all at once, and the confirmation


class WhyProgress:
    """See the module. Redrawn by events only, as a board may be this machine."""

    def __init__(self, console: Console, budget_s: float = math.inf) -> None:
        self._console = console
        self._budget_s = budget_s
        self._begun = time.monotonic()
        self._progress = Progress(
            LineColumn(
                "{task.description}",
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            BarColumn(bar_width=12),
            LineColumn("{task.fields[count]}", style="dim"),
            TimeElapsedColumn(),
            LineColumn("{task.fields[left]}", style="dim"),
            console=console,
            auto_refresh=False,
            transient=True,
            expand=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("opening", total=None, count="", left="")
        self._testable = 0
        self._experiments: list[float] = []

    def __enter__(self) -> WhyProgress:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def observe(self, event: Event) -> None:
        """Takes note of an event of the diagnosis."""
        match event:
            case StageBegun(stage):
                self._update(str(stage), 0, None)
            case FindingMade(finding):
                style = "yellow" if finding.grade is not Grade.NOTES else "dim"
                self._say(f"{finding.rule}: {finding.sentence}", style)
            case SuspectsRanked(suspects, excluded):
                self._testable = sum(suspect.testable for suspect in suspects)
                self._say(
                    f"{len(suspects)} differences may be the cause, {self._testable} of them can "
                    f"be tried; {len(excluded)} cannot matter here"
                )
            case GapMeasured(gap):
                apart = gap.goodness.value
                self._say(
                    f"the good side is {'better' if apart > 0 else 'worse'} by a factor of "
                    f"{math.exp(abs(apart)):.3f}, in {gap.blocks} blocks"
                )
            case ExperimentBegun(_, question, _, blocks, _):
                self._update(question, 0, blocks)
            case TrialTaken():
                self._progress.advance(self._task)
                self._count()
            case TrialFailed(_, flipped, reason):
                self._say(f"{' with '.join(flipped) or 'the metric'}: {reason}", "yellow")
            case LeftOut(suspect, side, reason):
                self._say(f"left out on the {side} side: {suspect.id}: {reason}", "yellow")
            case ExperimentDecided(experiment):
                self._experiments.append(experiment.seconds)
                self._say(f"{experiment.question} {experiment.outcome}", "dim")
            case CauseConfirmed(cause):
                self._say(f"confirmed: {cause.name}, {100 * cause.share.value:.0f} % of it", "bold")

    def _say(self, text: str, style: str = "") -> None:
        if self._console.is_terminal:
            self._progress.console.print(Text(text, style=style))
            self._count()

    def _update(self, what: str, done: int, total: int | None) -> None:
        self._progress.update(self._task, description=what, completed=done, total=total)
        self._count()

    def _count(self) -> None:
        done = len(self._experiments)
        count = f"{done} experiments" if done != 1 else "1 experiment"
        if self._testable:
            count = f"{done} of about {max(done, self._expected)} experiments"
        self._progress.update(self._task, count=count, left=self._left())
        self._progress.refresh()

    @property
    def _expected(self) -> int:
        """A search among n that halves, and what comes before and after."""
        return _BESIDE_SEARCH + math.ceil(math.log2(self._testable + 1))

    def _left(self) -> str:
        budget = self._budget_s - (time.monotonic() - self._begun)
        if not (self._experiments and self._testable):
            return f"at most {_duration(budget)} left" if 0 < budget < math.inf else ""
        each = sum(self._experiments) / len(self._experiments)
        estimate = max(self._expected - len(self._experiments), 1) * each
        return f"about {_duration(min(budget, estimate))} left" if budget > 0 else ""


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"
