"""From what is known of a case to its answer, whether or not it came to its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchvise.why.bench import Bench
from benchvise.why.case import DiagnosisOptions, DiagnosisState
from benchvise.why.experiments.confirm import by_sum
from benchvise.why.experiments.laboratory import Laboratory
from benchvise.why.model import (
    Bounds,
    Cause,
    Diagnosis,
    DiagnosisVerdict,
    Finding,
    Gap,
    Grade,
    Side,
    Stop,
    Write,
)
from benchvise.why.next_steps import next_steps
from benchvise.why.stages import as_cause
from benchvise.why.wording import apart, reach, scatters, share

# Flags of the probe's samples for what others do: probe/core/evidence.c.
_DISTURBANCES = {"preempted", "waited", "stolen", "neighbour"}
_MOSTLY = 0.5


def conclude(
    case: DiagnosisState,
    lab: Laboratory,
    options: DiagnosisOptions,
    stopped: Stop | None,
    reason: str,
) -> Diagnosis:
    """The answer with what is known, whether or not the diagnosis came to its end."""
    bench = lab.bench
    explained = {cause.name for cause in case.causes}
    rest = tuple(as_cause(f) for f in case.proven if f.name not in explained)
    causes = tuple(sorted(case.causes + rest, key=lambda cause: -abs(cause.share.value)))
    if case.proven and case.unexplained is None:
        case.unexplained = by_sum(case.proven)
    verdict = _verdict(case, stopped)
    reached = ""
    if stopped is not None:
        reached = f"{case.reached}: {reason}" if reason else case.reached
    return Diagnosis(
        metric=bench.metric,
        good=bench.name(Side.GOOD),
        bad=bench.name(Side.BAD),
        verdict=verdict,
        headline=headline(case, causes, bench, verdict, reached),
        gap=None if case.measured is None else case.measured.gap,
        unexplained=case.unexplained,
        findings=_findings(case, lab),
        causes=causes,
        interaction=case.interaction,
        suspects=case.suspects + tuple(s for s in case.layers if s not in case.suspects),
        excluded=case.excluded,
        experiments=tuple(lab.experiments),
        trials=tuple(lab.trials),
        writes=tuple(bench.writes()),
        needed=tuple(dict.fromkeys(next_steps(case, lab, options, verdict))),
        stopped=stopped,
        reached=reached,
        restored=stopped is not Stop.NOT_PUT_BACK
        and _all_undone(bench.writes())
        and not (lab.lost is not None and lab.lost.flipped),  # nobody knows
        simulated=any(facts.simulated for facts in case.facts.values()),
        started=options.started,
        seconds=lab.at,
        seed=options.seed,
    )


def _findings(case: DiagnosisState, lab: Laboratory) -> tuple[Finding, ...]:
    """What is to be known of the comparison, each once.

    A busy neighbour that was there before is mostly there afterwards too, in other words.
    """
    rules = {finding.rule for finding in case.findings}
    noticed = lab.bench.findings()
    later = (finding for finding in noticed if finding.rule.replace(" ", "-") not in rules)
    return tuple(dict.fromkeys([*case.findings, *later, *_disturbed(lab)]))


def _disturbed(lab: Laboratory) -> Iterator[Finding]:
    """One side was measured beside other work, and the other was not: a gap may be that."""
    counts = {}
    for side in Side:
        plain = [t for t in lab.trials if t.side is side and not t.flipped]
        counts[side] = sum(bool(_DISTURBANCES & set(t.flags)) for t in plain), len(plain)
    for side, (count, of) in counts.items():
        fewer, others = counts[side.other]
        if of and others and count / of >= _MOSTLY and fewer / others <= count / of / 2:
            yield Finding(
                "disturbed",
                Grade.WARNS,
                f"{lab.bench.name(side)} was measured while other programs ran there",
                f"{count} of {of} processes were disturbed, {fewer} of {others} on the other side",
                "measure it again" if lab.bench.is_live(side) else "record it again in quiet",
            )


def _verdict(case: DiagnosisState, stopped: Stop | None) -> DiagnosisVerdict:
    if not case.admissible:
        return DiagnosisVerdict.NOT_ADMISSIBLE
    if stopped is not None:
        return DiagnosisVerdict.INCOMPLETE
    if case.measured is None or not case.measured.shown:
        return DiagnosisVerdict.NO_DIFFERENCE
    if case.measured.reversed and not case.by_all_in:
        return DiagnosisVerdict.REVERSED
    if not case.proven or case.unexplained is None:
        return DiagnosisVerdict.UNEXPLAINED
    # What is left by the estimate must not count, also where its interval reaches zero: that it may
    # be nothing does not explain it. More than all is unexplained only where it surely is more.
    negligible = case.scale.least / case.scale.gap
    left = case.unexplained
    missing = left.value >= negligible or left.high < -negligible
    return DiagnosisVerdict.PARTLY if missing else DiagnosisVerdict.EXPLAINED


def _all_undone(writes: Sequence[Write]) -> bool:
    """Whether the last that was written to each file was its old value."""
    last = {(write.side, write.path): write.undone for write in writes}
    return all(last.values())


# -- the headline ----------------------------------------------------------------------------------


def headline(
    case: DiagnosisState,
    causes: Sequence[Cause],
    bench: Bench,
    verdict: DiagnosisVerdict,
    reached: str,
) -> str:
    """The sentence, with a full stop. ``causes`` are all that are proven, the largest first."""
    return f"{_answer(case, causes, bench, verdict, reached).rstrip('.')}."


def _answer(
    case: DiagnosisState,
    causes: Sequence[Cause],
    bench: Bench,
    verdict: DiagnosisVerdict,
    reached: str,
) -> str:
    good, bad = bench.name(Side.GOOD), bench.name(Side.BAD)
    if verdict is DiagnosisVerdict.NOT_ADMISSIBLE:
        return next(f.sentence for f in case.findings if f.grade is Grade.STOPS)
    if causes:
        words = _causes(causes)
        if verdict is DiagnosisVerdict.INCOMPLETE:
            return f"{words}; {reached}"
        if verdict is DiagnosisVerdict.PARTLY and case.unexplained is not None:
            if case.unexplained.value < 0:
                return (
                    f"{words}: more than the whole gap, so something else has the opposite effect"
                )
            return f"{words}; {_share_text(case.unexplained)} is unexplained"
        return words
    if verdict is DiagnosisVerdict.INCOMPLETE:
        return f"No cause is confirmed yet; {reached}"
    if case.measured is None:
        return "None of the differences can be set here, so there is no gap to measure"
    gap = case.measured.gap
    if verdict is DiagnosisVerdict.NO_DIFFERENCE:
        if case.by_all_in:
            return f"Setting everything as recorded for {good} does not change {bad}"
        return f"No difference is shown between {good} and {bad}: {_no_gap(gap)}"
    if verdict is DiagnosisVerdict.REVERSED:
        return f"{good}, given as the good side, is worse by {apart(gap.goodness.value)}"
    return f"{bad} is worse by {apart(gap.goodness.value)}, and no cause was found"


def _causes(causes: Sequence[Cause]) -> str:
    """``memory.thp, set by /etc/rc.local:12, accounts for 97 % (93 to 101) of the difference``."""
    first, *others = (_cause(cause) for cause in causes)
    rest = "".join(f", and {name} for {share}" for name, share in others)
    name, share = first
    return f"{name} accounts for {share} of the difference{rest}"


def _cause(cause: Cause) -> tuple[str, str]:
    where = next((o.where for o in cause.origins if o.side is Side.BAD and o.certain), "")
    return f"{cause.name}, set by {where}," if where else cause.name, _share_text(cause.share)


def _no_gap(gap: Gap) -> str:
    distance, bounds = apart(gap.goodness.value), gap.goodness
    if scatters(bounds.value, bounds.low, bounds.high, gap.floor):
        return (
            f"they seem {distance} apart, but the values scatter too much to tell "
            f"(95 %: {reach(bounds.low, bounds.high)}; p = {gap.p:.2g})"
        )
    return f"they are {distance} apart, and the noise floor is {apart(gap.floor)}"


def _share_text(bounds: Bounds) -> str:
    return share(bounds.value, bounds.low, bounds.high)
