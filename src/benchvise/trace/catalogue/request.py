"""What may be asked of a trace: every option of every analysis, described once.

A field of ``Request`` is an option: its type and default are the field's, ``argument`` and
``flag`` say how it is written on a command line and what it means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from benchvise.trace.analysis.model import Actor


class Match(StrEnum):
    """How a start finds its end."""

    AUTO = "auto"
    CAUSE = "cause"
    NEXT = "next"


_SPELLING = "spelling"


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How an option is written, and what it means; without ``flags`` it is an argument."""

    flags: tuple[str, ...]
    meaning: str
    metavar: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    required: bool = False


def _argument(metavar: str, meaning: str, *, required: bool = False) -> dict[str, _Spelling]:
    return {_SPELLING: _Spelling((), meaning, metavar, required=required)}


def _flag(
    *flags: str,
    meaning: str,
    metavar: str | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    required: bool = False,
) -> dict[str, _Spelling]:
    return {_SPELLING: _Spelling(flags, meaning, metavar, minimum, maximum, required)}


_END_HELP = (
    "irq:NAME, softirq:NAME or task:NAME, with .end for its end and .ready for its wake-up; "
    "or event:NAME, with [field==value] for some of its events."
)
_TRACE_HELP = "A trace.dat, a perf.data, or a directory with a CTF trace."


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of one trace, or of two."""

    file: Path | None = field(default=None, metadata=_argument("FILE", _TRACE_HELP, required=True))
    a: Path | None = field(
        default=None, metadata=_argument("A", "The base: a trace file or directory.", required=True)
    )
    b: Path | None = field(default=None, metadata=_argument("B", "The other one.", required=True))
    names: tuple[str, ...] = field(
        default=(),
        metadata=_argument(
            "[NAME]...",
            "Actors: task:NAME, task:NAME/TID, irq:NAME, irq:N, softirq:NET_RX, or patterns like "
            "'task:kworker*'. All when none is named.",
        ),
    )
    actors: tuple[Actor, ...] | None = None
    """The actors of ``names``, where somebody has looked them up already."""
    everything: bool = field(
        default=False,
        metadata=_flag("--all", meaning="List what the table leaves out by itself as well."),
    )
    instances: str | None = field(
        default=None,
        metadata=_flag(
            "--instances", metavar="NAME", meaning="List the instances of this actor instead."
        ),
    )
    start: str = field(
        default="",
        metadata=_flag(
            "--from", metavar="END", meaning=f"Where it begins: {_END_HELP}", required=True
        ),
    )
    end: str = field(
        default="",
        metadata=_flag(
            "--to", metavar="END", meaning="Where it ends, written alike.", required=True
        ),
    )
    via: tuple[str, ...] = field(
        default=(),
        metadata=_flag(
            "--via", metavar="END", meaning="A point between; again for more, in order."
        ),
    )
    assertions: tuple[str, ...] = field(
        default=(),
        metadata=_flag(
            "--assert",
            metavar="LIMIT",
            meaning="Exit 1 unless it holds: 'p99 < 80us', 'max[2] < 1ms' (stage 2), "
            "'share[*waits*] < 50%', 'matched > 95%', 'count >= 100'. May be given again.",
        ),
    )
    match: Match = field(
        default=Match.AUTO,
        metadata=_flag(
            "--match",
            meaning="By who woke or raised whom, or each start with the next end after it; auto: "
            "by cause when that matches anything.",
        ),
    )
    hops: int = field(
        default=4,
        metadata=_flag(
            "--hops", metavar="N", minimum=0, maximum=64, meaning="Wake-ups to climb, by cause."
        ),
    )
    ways: int | None = field(
        default=3,
        metadata=_flag("--ways", metavar="N", minimum=1, meaning="Ways whose stages are shown."),
    )
    worst: int = field(
        default=5,
        metadata=_flag("--worst", metavar="N", minimum=0, meaning="Occurrences that are listed."),
    )
    bins: int = field(
        default=48,
        metadata=_flag(
            "--bins", metavar="N", minimum=1, maximum=10_000, meaning="Parts of the time span."
        ),
    )
    since: str | None = field(
        default=None,
        metadata=_flag(
            "--since",
            metavar="S",
            meaning="Begin here: seconds of the trace's clock, or +S from its first event.",
        ),
    )
    until: str | None = field(
        default=None, metadata=_flag("--until", metavar="S", meaning="End before this moment.")
    )
    by_name: bool = field(
        default=False, metadata=_flag("--by-name", meaning="Put all threads of one name together.")
    )
    threshold: float | None = field(
        default=None,
        metadata=_flag(
            "--threshold",
            metavar="PCT",
            minimum=0,
            meaning="Exit 1 when execution, response or start latency of an actor changed and its "
            "median grew by more than PCT percent.",
        ),
    )
    incomplete: bool = field(
        default=False,
        metadata=_flag(
            "--incomplete",
            "--unsure",
            meaning="Keep instances that an end of the trace cuts, or that lost events meet.",
        ),
    )
    top: int | None = field(
        default=20,
        metadata=_flag(
            "--top", metavar="N", minimum=1, meaning="Lines of a table; JSON and CSV have all."
        ),
    )
    cache: bool = field(
        default=True,
        metadata=_flag(
            "--cache/--no-cache",
            meaning="Keep what was decoded beside the trace, for the next time.",
        ),
    )

    @property
    def files(self) -> list[Path]:
        """The traces that are asked."""
        return [path for path in (self.file, self.a, self.b) if path is not None]


@dataclass(frozen=True, slots=True)
class Option:
    """A field of ``Request`` as a command has it."""

    name: str
    type: Any
    default: object
    spelling: _Spelling

    @property
    def is_argument(self) -> bool:
        """Whether it is given by its place."""
        return not self.spelling.flags


def option(name: str, defaults: Mapping[str, object]) -> Option:
    """The option of that name, with the default that ``defaults`` names in place of its own."""
    [member] = [member for member in fields(Request) if member.name == name]
    default = defaults.get(name, member.default)
    return Option(name, _types()[name], default, member.metadata[_SPELLING])


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Request, localns={"Actor": object})
