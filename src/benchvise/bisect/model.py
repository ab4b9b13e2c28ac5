"""The words of a bisection: a version, its bench, and the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from benchvise.documents import in_json
from benchvise.errors import BenchviseError
from benchvise.text import NO_TEXT, Untrusted


class VersionUnusable(BenchviseError):  # noqa: N818
    """A version cannot be built, booted or measured; the others may be."""


class VersionUnbuildable(VersionUnusable):
    """A version cannot be built, so no board can measure it."""


class VersionBench(Protocol):
    """Versions of one thing that can be measured, numbered from the good one to the bad one."""

    def ready(self, version: int) -> None:
        """Builds, writes or boots the version, so that ``measure`` measures it.

        Raises VersionUnusable, and BoardUnreachable when contact is lost.
        """

    def measure(self, version: int) -> float:
        """The value of one fresh process of the version that is ready; above 0.

        Raises as ``ready`` does.
        """

    @property
    def unit(self) -> str:
        """The value's unit; empty where nobody said one."""

    @property
    def better(self) -> Literal["higher", "lower"]:
        """Which way the value is better."""


class BisectionVerdict(StrEnum):
    """What became of the search."""

    FOUND = "found"
    NO_CHANGE = "no change"
    TWO_CHANGES = "two changes"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class MeasuredVersion:
    """A version that was measured or left out."""

    version: str
    """Its name: a commit, an image, a word of the list."""
    number: int
    """Its place in the list; the good version is 0."""
    samples: tuple[float, ...]
    """One value a fresh process of this bisection, in the order of measuring."""
    median: float | None
    """Of the samples; null where there are none."""
    probability: float
    """P(the change is at this version), given one change."""
    earlier: int = 0
    """Samples of a run in the store that were used, too."""
    left_out: Untrusted = NO_TEXT
    """Why it could not be built, booted or measured; else empty."""
    board: str = field(default="", metadata=in_json(omit_default=True))
    """With several boards, the one that measured it; empty for what none could measure."""


class ChangeSeen(StrEnum):
    """Whether a board has the change."""

    SEEN = "seen"
    NOT_SEEN = "not seen"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class ChangeOnBoard:
    """What a change is on one of several boards."""

    board: str
    seen: ChangeSeen
    """Seen or not seen with the stated confidence; else unclear. Not seen is also a change of
    surely less than half of the smallest one that another board has."""
    probability: float
    """P(the board has the change), given one change; at even odds beforehand."""
    ratio: float | None
    """The value after the change to that before it; null where the ends were not measured."""
    ratio_low: float | None
    """The interval of the ratio, at the stated confidence."""
    ratio_high: float | None
    """Its upper end."""
    before: float | None
    """The board's level before the change."""
    after: float | None
    """The level after it."""
    scatter: float | None
    """Standard deviation of one sample, as a share of the value."""
    samples: int
    """Fresh processes that were measured on it."""
    seconds: float
    """What making ready and measuring took on it."""
    lost: Untrusted = NO_TEXT
    """Why the search went on without it; else empty."""


@dataclass(frozen=True, slots=True)
class Bisection:
    """Which version made it worse, and how certain that is."""

    verdict: BisectionVerdict
    """Found, no change, two changes, or undecided."""
    headline: str
    """The answer in one sentence."""
    good: str
    """The version that was said to be good."""
    bad: str
    """The version that was said to be bad."""
    count: int
    """Versions from the good one to the bad one, both included."""
    first_bad: str | None
    """The likeliest first version that is worse."""
    last_good: str | None
    """The last version before it that could be measured, or was not left out."""
    candidates: tuple[str, ...]
    """The fewest versions that have the change with the stated confidence; those that were left
    out just before one of them are among them."""
    probability: float
    """P(the change is at ``first_bad``); with two changes, that both are where they are said."""
    no_change: float
    """P(nothing became worse by more than ``least``)."""
    two_changes: float
    """P(two changes), against one and none."""
    second: str | None
    """With two changes, the place of the later one."""
    ratio: float | None
    """The value after the change to that before it, by the posterior means of both levels."""
    before: float | None
    """The level before the change, in ``unit``."""
    after: float | None
    """The level after it."""
    scatter: float | None
    """Standard deviation of one sample, as a share of the value."""
    unit: str
    """Of the values; empty where nobody said one."""
    better: Literal["higher", "lower"]
    """Which way the value is better."""
    confidence: float
    """How often an answer of such a bisection is to be right."""
    least: float
    """The least change that counts, as a share of the value."""
    samples: int
    """Fresh processes that were measured."""
    earlier: int
    """Samples of runs in the store that were used, too; 0 where those did not fit."""
    seconds: float
    """What building, booting and measuring took; with several boards, the longest lane of them."""
    versions: tuple[MeasuredVersion, ...]
    """What was measured or left out, from the good one on."""
    next_step: str
    """The command that explains the difference of the two neighbours: `benchvise why` for images,
    `git show` for commits; empty where there is none."""
    directory: str
    """Where the journal is, for --resume."""
    boards: tuple[ChangeOnBoard, ...] = field(default=(), metadata=in_json(omit_default=True))
    """With several boards, what each shows of the change."""


@dataclass(frozen=True, slots=True)
class BisectionOptions:
    """When to stop: ``confidence`` 0..1, ``least`` a share of the value, ``budget_s`` seconds."""

    confidence: float
    least: float
    budget_s: float | None = None
    most_samples: int = 5000
