"""The options of trace analyses, each described once; an analysis' request is made of these."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from benchvise.command import CommandArgument, CommandOption

FILE = CommandArgument("FILE", "A trace.dat, a perf.data, or a directory with a CTF trace.")
CACHE = CommandOption(
    "--cache/--no-cache", "Keep what was decoded beside the trace, for the next time."
)
TOP = CommandOption("--top", "Lines of a table; JSON and CSV have all.", metavar="N", minimum=1)


@dataclass(frozen=True, kw_only=True)
class TraceRequest:
    """What every analysis is asked; which traces, its subclasses say."""

    cache: Annotated[bool, CACHE] = True

    @property
    def files(self) -> tuple[Path, ...]:
        """The traces that are asked."""
        return ()

    @property
    def span(self) -> tuple[str | None, str | None]:
        """From when to when, as people write it; None for the ends of the trace."""
        return None, None

    def unlimited(self) -> Self:
        """The same with all rows: programs leave out by themselves what they do not need."""
        limits: dict[str, Any] = {
            field.name: None for field in fields(self) if field.name in ("top", "ways")
        }
        return replace(self, **limits)


@dataclass(frozen=True, kw_only=True)
class OneTrace(TraceRequest):
    """A question to one trace."""

    file: Annotated[Path, FILE]

    @property
    def files(self) -> tuple[Path, ...]:
        """The trace that is asked."""
        return (self.file,)


@dataclass(frozen=True, kw_only=True)
class PartOfTrace(OneTrace):
    """A question to a part of one trace."""

    since: Annotated[
        str | None,
        CommandOption(
            "--since",
            "Begin here: seconds of the trace's clock, or +S from its first event.",
            metavar="S",
        ),
    ] = None
    until: Annotated[
        str | None, CommandOption("--until", "End before this moment.", metavar="S")
    ] = None

    @property
    def span(self) -> tuple[str | None, str | None]:
        """From when to when."""
        return self.since, self.until


@dataclass(frozen=True, kw_only=True)
class NamedActors:
    """Actors by the names that people give them."""

    names: Annotated[
        tuple[str, ...],
        CommandArgument(
            "[NAME]...",
            "Actors: task:NAME, task:NAME/TID, irq:NAME, irq:N, softirq:NET_RX, or patterns like "
            "'task:kworker*'. All when none is named.",
        ),
    ] = ()
    ids: tuple[int, ...] | None = None
    """The same actors, where somebody has looked them up already."""


@dataclass(frozen=True, kw_only=True)
class GroupedActors(NamedActors):
    """Actors, each by itself or all of a name together."""

    by_name: Annotated[
        bool, CommandOption("--by-name", "Put all threads of one name together.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class IncompleteInstances:
    """Whether metrics hold instances that are not whole."""

    incomplete: Annotated[
        bool,
        CommandOption(
            "--incomplete",
            "Keep instances that an end of the trace cuts, or that lost events meet.",
            short="--unsure",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class ListedRows:
    """How many rows people see."""

    top: Annotated[int | None, TOP] = 20


@dataclass(frozen=True, kw_only=True)
class TimeBins:
    """How fine values over time are."""

    bins: Annotated[
        int,
        CommandOption("--bins", "Parts of the time span.", metavar="N", minimum=1, maximum=10_000),
    ] = 48


class Match(StrEnum):
    """How a start finds its end."""

    AUTO = "auto"
    CAUSE = "cause"
    NEXT = "next"
