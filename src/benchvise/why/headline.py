"""The answer of a diagnosis in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from benchvise.why.bench import Bench
from benchvise.why.case import Case
from benchvise.why.model import Bounds, Cause, Gap, Grade, Side, Verdict
from benchvise.why.words import apart, reach, scatters, share


def headline(
    case: Case, causes: Sequence[Cause], bench: Bench, verdict: Verdict, reached: str
) -> str:
    """The sentence, with a full stop. ``causes`` are all that are proven, the largest first."""
    return f"{_words(case, causes, bench, verdict, reached).rstrip('.')}."


def _words(
    case: Case, causes: Sequence[Cause], bench: Bench, verdict: Verdict, reached: str
) -> str:
    good, bad = bench.name(Side.GOOD), bench.name(Side.BAD)
    if verdict is Verdict.NOT_ADMISSIBLE:
        return next(f.sentence for f in case.findings if f.grade is Grade.STOPS)
    if causes:
        words = _causes(causes)
        if verdict is Verdict.INCOMPLETE:
            return f"{words}; {reached}"
        if verdict is Verdict.PARTLY and case.unexplained is not None:
            if case.unexplained.value < 0:
                return f"{words}: more than all of it, so something else works the other way"
            return f"{words}; {_share(case.unexplained)} is unexplained"
        return words
    if verdict is Verdict.INCOMPLETE:
        return f"No cause is proven yet; {reached}"
    if case.measured is None:
        return "Nothing that differs can be set here, so there is nothing to measure"
    gap = case.measured.gap
    if verdict is Verdict.NO_DIFFERENCE:
        if case.by_all_in:
            return f"With everything as in the record of {good}, {bad} does not change"
        return f"No difference is shown between {good} and {bad}: {_no_gap(gap)}"
    if verdict is Verdict.REVERSED:
        return f"{good}, which was called good, is the worse one, by {apart(gap.goodness.value)}"
    return f"{bad} is worse by {apart(gap.goodness.value)}, and no cause was found"


def _causes(causes: Sequence[Cause]) -> str:
    """``memory.thp, set by /etc/rc.local:12, accounts for 97 % (93 to 101) of the difference``."""
    first, *others = (_cause(cause) for cause in causes)
    said = "".join(f", and {name} for {share}" for name, share in others)
    name, share = first
    return f"{name} accounts for {share} of the difference{said}"


def _cause(cause: Cause) -> tuple[str, str]:
    where = next((o.where for o in cause.origins if o.side is Side.BAD and o.certain), "")
    return f"{cause.name}, set by {where}," if where else cause.name, _share(cause.share)


def _no_gap(gap: Gap) -> str:
    found, bounds = apart(gap.goodness.value), gap.goodness
    if scatters(bounds.value, bounds.low, bounds.high, gap.floor):
        return (
            f"they seem {found} apart, but the values scatter too much to tell "
            f"(95 %: {reach(bounds.low, bounds.high)}; p = {gap.p:.2g})"
        )
    return f"they are {found} apart, and the noise floor is {apart(gap.floor)}"


def _share(bounds: Bounds) -> str:
    return share(bounds.value, bounds.low, bounds.high)
