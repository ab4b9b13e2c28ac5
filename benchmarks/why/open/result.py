"""What a case came to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.why.open.answer import Answer
from benchmarks.why.open.case import Case
from benchmarks.why.open.effect import Effects

EQUAL = "no difference"
"""The class of equal sides."""
NO_ANSWER = "no answer"
"""The verdict of one that died or did not end: a miss, as its plant had an effect."""
NO_DIFFERENCE = "no difference shown"
_OPEN = ("unexplained", "incomplete", "partly explained")
ENDED_BEFORE = "it had ended by then"
"""What became of a diagnosis that was to be killed later."""
_FOUND = ("explained", "partly explained")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case: its truth, what was answered, and whether that is right.

    ``ratio`` is what the plant does, measured outside, ``decoys`` what the decoys do. ``place`` is
    that of the true cause in the answer, from 1, None where it is not named; ``proven`` whether it
    is named as proven. ``excluded`` says that an experiment has excluded the true cause and none
    has proven it. ``reach`` is the largest ratio that the answer's interval of the gap allows.
    ``false`` are what was proven and is not true. ``where`` says whether the file
    and line were named, None where there are none. ``load`` is this machine's load while it was
    asked: the mean of its load averages over one minute; ``busy`` is how many busy processes the
    bench ran meanwhile. ``killed`` says how and when the diagnosis was ended, empty where nobody
    meant to. ``commit`` is that of
    this program. ``left_out`` says why the case does not count, ``problem`` what broke.
    """

    name: str
    kind: str
    held_out: bool = False
    report: str = ""
    ratio: float | None = None
    decoys: float | None = None
    verdict: str = ""
    answer: str = ""
    place: int | None = None
    proven: bool = False
    excluded: bool = False
    reach: float | None = None
    share: float | None = None
    false: tuple[str, ...] = ()
    experiments: int | None = None
    minutes: float | None = None
    where: bool | None = None
    restored: bool | None = None
    changes: tuple[str, ...] = ()
    load: float | None = None
    busy: int = 0
    killed: str = ""
    commit: str = ""
    left_out: str = ""
    problem: str = ""

    @property
    def counts(self) -> bool:
        """Whether there was something to be answered."""
        return not self.left_out

    @property
    def is_killed(self) -> bool:
        """Whether it was ended before its end."""
        return self.killed not in ("", ENDED_BEFORE)

    @property
    def is_first(self) -> bool:
        """Whether the true cause is named first."""
        return self.place == 1

    @property
    def is_near(self) -> bool:
        """Whether it is among the first three."""
        return self.place is not None and self.place <= 3

    @property
    def is_right(self) -> bool:
        """Whether the verdict is: of equal sides that there is no difference, else that it is
        explained, or that it is not but the true cause is among the first three untried."""
        if self.kind == EQUAL:
            return self.verdict == NO_DIFFERENCE
        if self.proven:
            return self.verdict in _FOUND
        return self.is_near and self.verdict in _OPEN

    @property
    def is_honest(self) -> bool:
        """Whether nothing in the answer is wrong, though it may not know the cause: none is blamed
        or excluded wrongly, and no gap is denied that its own interval does not allow."""
        if self.false or self.excluded:
            return False
        if self.verdict == NO_DIFFERENCE:
            return self.kind == EQUAL or self.is_within_reach
        return self.is_right or (self.kind != EQUAL and self.verdict in _OPEN)

    @property
    def is_within_reach(self) -> bool:
        """Whether the interval that the answer states of the gap allows the true ratio."""
        return None not in (self.ratio, self.reach) and (self.ratio or 0.0) <= (self.reach or 0.0)


def judge(
    case: Case,
    answer: Answer,
    effects: Effects,
    *,
    printed: str,
    origin: str,
    changes: Sequence[str],
) -> CaseResult:
    """The result of an answer. ``origin`` is the file and line that should be in what it
    ``printed``, ``changes`` are what is not as before."""
    places = [
        number for number, one in enumerate(answer.named, 1) if case.is_named_by(one.said)
    ]  # fmt: skip
    place = places[0] if places else None
    named = answer.named[place - 1] if place else None
    first = answer.named[0] if answer.named else None
    return CaseResult(
        name=case.name,
        kind=case.kind,
        held_out=case.held_out,
        report=case.report,
        ratio=round(math.exp(effects.plant.size), 3),
        decoys=round(math.exp(effects.decoys.size), 3),
        verdict=answer.verdict,
        answer=first.said.split(" | ")[0] if first else "",
        place=place,
        proven=named is not None and named.proven,
        excluded=place is None and any(map(case.is_named_by, answer.excluded)),
        reach=None if answer.reach is None else round(answer.reach, 3),
        share=None if named is None or named.share is None else round(named.share, 3),
        false=tuple(one.said for one in answer.proven if not case.is_named_by(one.said)),
        experiments=answer.experiments,
        minutes=round(answer.minutes, 2),
        where=_is_printed(origin, printed) if origin else None,
        restored=answer.says_restored and not changes,
        changes=tuple(changes),
        left_out="" if effects.counts or case.kind == EQUAL else _too_small(effects),
    )


def _is_printed(origin: str, printed: str) -> bool:
    at = printed.find(origin)
    while at >= 0:
        if not printed[at + len(origin) : at + len(origin) + 1].isdigit():
            return True
        at = printed.find(origin, at + 1)
    return False


def _too_small(effects: Effects) -> str:
    size, floor = effects.plant.size, effects.plant.floor
    return f"its effect is {math.exp(size):.3f}, not beyond three floors of {math.exp(floor):.3f}"
