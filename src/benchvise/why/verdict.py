"""From what is known of a case to its answer, whether or not it came to its end.

The answer is a verdict, a headline, and what would be needed to know more, in sentences. There,
nothing is said to be ruled out that was not tested, or that did close the gap with all the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchvise.statistics.permutation import fisher_exact
from benchvise.why.bench import Bench
from benchvise.why.case import DiagnosisOptions, DiagnosisState
from benchvise.why.experiments.confirm import by_sum
from benchvise.why.experiments.gap import CLAIM, LEAST_BOOT_FLOOR, is_beyond_layout
from benchvise.why.experiments.laboratory import DISTURBANCES, Laboratory
from benchvise.why.model import (
    Bounds,
    Cause,
    Diagnosis,
    DiagnosisVerdict,
    ExperimentOutcome,
    Finding,
    Gap,
    Grade,
    Layer,
    Purpose,
    Side,
    Stop,
    Suspect,
    Write,
)
from benchvise.why.spending import waiting_or_computing
from benchvise.why.stages import as_cause, in_order
from benchvise.why.suspects.find import ALL, consent_for
from benchvise.why.untested import hidden_share, undecided_share
from benchvise.why.witness.database_suspects import GIVEN_FILES
from benchvise.why.wording import LEAST_COMMAND_GAP, apart, percent, reach, scatters, share

_NAMED = 8
_MOST_ALLOWED = 3  # settings that are named one by one
_OPEN = (DiagnosisVerdict.UNEXPLAINED, DiagnosisVerdict.PARTLY, DiagnosisVerdict.INCOMPLETE)
_SETTINGS = (Layer.PROCESS, Layer.RUN_TIME)
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
    causes = tuple(sorted(case.causes + rest, key=in_order))
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
        headline=headline(case, causes, bench, verdict, reached, failures=_failure_gap(lab)),
        gap=None if case.measured is None else case.measured.gap,
        unexplained=case.unexplained,
        findings=_findings(case, lab, look=stopped is not Stop.INTERRUPTED),
        causes=causes,
        interaction=case.interaction,
        witness=case.witness,
        untested=case.untested if verdict in _OPEN else (),
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


def _findings(case: DiagnosisState, lab: Laboratory, *, look: bool) -> tuple[Finding, ...]:
    """What is to be known of the comparison, each once; ``look``: the boards may be read for it.

    A busy neighbour that was there before is mostly there afterwards too, in other words.
    """
    rules = {finding.rule for finding in case.findings}
    noticed = lab.bench.findings(look=look)
    later = (finding for finding in noticed if finding.rule.replace(" ", "-") not in rules)
    own = (*waiting_or_computing(case, lab), *_disturbed(lab), *_failing(lab))
    return tuple(dict.fromkeys([*case.findings, *later, *own]))


def _failing(lab: Laboratory) -> Iterator[Finding]:
    """The metric failed now and then, and was tried again: how often, which may be a difference
    between the sides as well."""
    good, bad = lab.failures[Side.GOOD], lab.failures[Side.BAD]
    if not any(count.failed and count.worked for count in (good, bad)):
        return
    p = _p_of_failures(lab)
    is_apart = p < CLAIM
    yield Finding(
        "metric failing",
        Grade.WARNS if is_apart else Grade.NOTES,
        f"{lab.bench.metric.name} fails now and then: {_failure_rates(lab)}"
        + (": a difference of its own, beside that of the values" if is_apart else ""),
        f"the last time: {next(c.reason for c in (bad, good) if c.failed)}; p = {p:.2g}",
        "find out why it fails: values are of the runs that worked",
    )


def _p_of_failures(lab: Laboratory) -> float:
    """Of the hypothesis that the metric fails as often on both sides, by Fisher's exact test."""
    good, bad = lab.failures[Side.GOOD], lab.failures[Side.BAD]
    return fisher_exact(good.failed, good.worked, bad.failed, bad.worked)


def _failure_gap(lab: Laboratory) -> str:
    """The rates at which the metric fails where they differ; empty otherwise."""
    is_apart = any(c.failed for c in lab.failures.values()) and _p_of_failures(lab) < CLAIM
    return _failure_rates(lab) if is_apart else ""


def _failure_rates(lab: Laboratory) -> str:
    """``0 of 12 times on the good one, 8 of 20 times on the bad one``."""
    rates = [
        f"{count.failed} of {count.failed + count.worked} times on {lab.bench.name(side)}"
        for side, count in lab.failures.items()
        if count.failed + count.worked
    ]
    return ", ".join(rates)


def _disturbed(lab: Laboratory) -> Iterator[Finding]:
    """One side was measured beside other work, and the other was not: a gap may be that."""
    counts = {}
    for side in Side:
        plain = [t for t in lab.trials if t.side is side and not t.flipped]
        counts[side] = sum(bool(DISTURBANCES & set(t.flags)) for t in plain), len(plain)
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
        # Time that ran out while more was looked for takes nothing from a gap that is explained.
        can_explain = stopped in (Stop.BUDGET, Stop.TRIED)
        is_explained = can_explain and case.proven and not is_missing(case)
        return DiagnosisVerdict.EXPLAINED if is_explained else DiagnosisVerdict.INCOMPLETE
    if case.measured is None or not case.measured.shown:
        return DiagnosisVerdict.NO_DIFFERENCE
    if case.measured.reversed and not case.by_all_in:
        return DiagnosisVerdict.REVERSED
    if not case.proven or case.unexplained is None:
        return DiagnosisVerdict.UNEXPLAINED
    return DiagnosisVerdict.PARTLY if is_missing(case) else DiagnosisVerdict.EXPLAINED


def is_missing(case: DiagnosisState) -> bool:
    """Whether the proven causes leave something of the gap that counts."""
    left = case.unexplained
    if left is None:
        return True
    # What is left by the estimate must not count, also where its interval reaches zero: that it may
    # be nothing does not explain it. More than all is unexplained only where it surely is more.
    negligible = case.scale.least / case.scale.gap
    return left.value >= negligible or left.high < -negligible


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
    *,
    failures: str = "",
) -> str:
    """The sentence, with a full stop. ``causes`` are all that are proven, the largest first;
    ``failures`` are the rates at which the metric fails, where they differ."""
    return f"{_answer(case, causes, bench, verdict, reached, failures).rstrip('.')}."


def _answer(
    case: DiagnosisState,
    causes: Sequence[Cause],
    bench: Bench,
    verdict: DiagnosisVerdict,
    reached: str,
    failures: str,
) -> str:
    good, bad = bench.name(Side.GOOD), bench.name(Side.BAD)
    if verdict is DiagnosisVerdict.NOT_ADMISSIBLE:
        return next(f.sentence for f in case.findings if f.grade is Grade.STOPS)
    if causes:
        sentence = _causes(causes)
        if verdict is DiagnosisVerdict.INCOMPLETE:
            return f"{sentence}; {reached}"
        if verdict is DiagnosisVerdict.PARTLY and case.unexplained is not None:
            if case.unexplained.value < 0:
                return (
                    f"{sentence}: more than the whole gap, so something else has the opposite "
                    "effect"
                )
            return f"{sentence}; {_share_text(case.unexplained)} is unexplained"
        return sentence
    if verdict is DiagnosisVerdict.INCOMPLETE:
        return f"No cause is confirmed yet; {reached}"
    if case.measured is None:
        return "None of the differences can be set here, so there is no gap to measure"
    gap = case.measured.gap
    if verdict is DiagnosisVerdict.NO_DIFFERENCE:
        if case.by_all_in:
            return f"Setting everything as recorded for {good} does not change {bad}"
        sentence = f"No difference is shown between {good} and {bad}: "
        sentence += _no_gap(gap, is_command=bool(bench.metric.command))
        if failures:
            return f"{sentence}; but one fails more often: {failures}"
        return sentence
    if verdict is DiagnosisVerdict.REVERSED:
        return f"{good}, given as the good side, is worse by {apart(gap.goodness.value)}"
    seen = f"; {case.witness.sentence}" if case.witness and case.witness.parts else ""
    sentence = f"{bad} is worse by {apart(gap.goodness.value)}, and no cause was found{seen}"
    return f"{sentence}{_likeliest(case)}"


def _likeliest(case: DiagnosisState) -> str:
    """``; the likeliest untested difference is storage.mounts:/data, set by /etc/fstab:3``."""
    if not case.untested:
        return ""
    first = case.untested[0]
    where = f", set by {first.place}" if first.place else ""
    return f"; the likeliest untested difference is {first.suspect}{where}"


def _causes(causes: Sequence[Cause]) -> str:
    """``memory.thp, set by /etc/rc.local:12, accounts for 97 % (93 to 101) of the difference``."""
    name, share = _cause(causes[0])
    rest = "".join(f", and {_beside(cause)}" for cause in causes[1:])
    return f"{name} accounts for {share} of the difference{rest}"


def _cause(cause: Cause) -> tuple[str, str]:
    where = next((o.where for o in cause.origins if o.side is Side.BAD and o.certain), "")
    return f"{cause.name}, set by {where}," if where else cause.name, _share_text(cause.share)


def _beside(cause: Cause) -> str:
    """``cpu.max_freq, once that is repaired, for 25 % (24 to 26)``."""
    name, share = _cause(cause)
    if cause.repair.context:
        name = f"{name.removesuffix(',')}, once that is repaired,"
    return f"{name} for {share}"


def _no_gap(gap: Gap, *, is_command: bool) -> str:
    distance, bounds = apart(gap.goodness.value), gap.goodness
    is_small = is_command and abs(bounds.value) > gap.floor and not is_beyond_layout(gap)
    if not is_small and scatters(bounds.value, bounds.low, bounds.high, gap.floor):
        return (
            f"they seem {distance} apart, but the values scatter too much to tell "
            f"(95 %: {reach(bounds.low, bounds.high)}; p = {gap.p:.2g})"
        )
    if is_small:
        return (
            f"they are {distance} apart, which is no more than where a command lies in memory "
            f"may make ({apart(LEAST_COMMAND_GAP)})"
        )
    return f"they are {distance} apart, and the noise floor is {apart(gap.floor)}"


def _share_text(bounds: Bounds) -> str:
    return share(bounds.value, bounds.low, bounds.high)


# -- what would be needed to know more -------------------------------------------------------------


def next_steps(
    case: DiagnosisState, lab: Laboratory, options: DiagnosisOptions, verdict: DiagnosisVerdict
) -> Iterator[str]:
    """The sentences, what is nearest first; some may come twice."""
    yield from case.next_steps
    if verdict is DiagnosisVerdict.NO_DIFFERENCE:
        yield from _to_see_a_gap(case, lab)
    if verdict in (
        DiagnosisVerdict.NOT_ADMISSIBLE,
        DiagnosisVerdict.NO_DIFFERENCE,
        DiagnosisVerdict.EXPLAINED,
    ):
        return
    if verdict is DiagnosisVerdict.REVERSED:
        yield "give the two sides the other way round"
        return
    bad = lab.bench.name(Side.BAD)
    for (side, suspect), reason in lab.left_out.items():
        if side is Side.BAD:
            yield f"{suspect} could not be set on {bad} ({reason}); it may be a cause"
    untested = [s for s in case.suspects if s.means is None]
    for reason in dict.fromkeys(suspect.untestable for suspect in untested):
        names = _names([suspect for suspect in untested if suspect.untestable == reason])
        yield f"not tested: {names} ({reason})"
    for proof in case.refuted:
        if proof.breaking is not None or proof.again is not None:
            yield f"{proof.name} changes {bad}, but is not confirmed: {proof.why_not}"
    if case.by_all_in:
        yield "the gap is only the effect of the recorded settings: measure the good side itself"
    if verdict is DiagnosisVerdict.INCOMPLETE:
        return
    yield from _settings(case, lab, options)
    yield from _layers(case, lab, options)


def _to_see_a_gap(case: DiagnosisState, lab: Laboratory) -> Iterator[str]:
    """What would tell whether there is one, where values scatter or a boot may be the reason."""
    if case.measured is None:
        return
    gap = case.measured.gap
    bounds = gap.goodness
    is_apart = gap.p < CLAIM  # by the trials; the interval has what boots may do as well
    if is_apart and lab.bench.is_one_boot_each() and gap.floor <= LEAST_BOOT_FLOOR:
        yield (
            f"two boots of one board can be {apart(LEAST_BOOT_FLOOR)} apart: to see a smaller gap, "
            "give the images of both sides and one board, which is then rebooted for each trial"
        )
    if not scatters(bounds.value, bounds.low, bounds.high, gap.floor):
        return
    goodness = lab.bench.metric.goodness
    taken = [trial for trial in lab.trials if trial.number in set(gap.trials) and not trial.flipped]
    spreads = []
    for side in (Side.GOOD, Side.BAD):
        values = [goodness(trial.value) for trial in taken if trial.side is side]
        if len(values) > 1:
            spreads.append(
                f"up to {apart(max(values) - min(values))} apart on {lab.bench.name(side)}"
            )
    if spreads:
        yield (
            f"the values are {', '.join(spreads)}: repeat while nothing else runs and clock and "
            "temperature are steady, or use a command that takes longer"
        )


# -- next steps among the settings -----------------------------------------------------------------


def _settings(case: DiagnosisState, lab: Laboratory, options: DiagnosisOptions) -> Iterator[str]:
    """What is open among the settings: those not tested, and an effect that none of them has."""
    untested = [s for s in case.suspects if s.means is None and s.layer in _SETTINGS]
    at_risk = [names for suspect in untested if (names := consent_for(suspect))]
    risky = len(at_risk)
    kept = 0 if options.may_set.get(Side.BAD, False) else len(untested) - risky
    if kept:
        yield f"root on {lab.bench.name(Side.BAD)}, to test {_any_of(kept)}"
    if risky:
        permissions = ",".join(dict.fromkeys(name for group in at_risk for name in group))
        yield f"--allow {permissions if risky <= _MOST_ALLOWED else ALL}, to test {_any_of(risky)}"
    if (share := hidden_share(case, lab)) is not None:
        proven = "more than is confirmed" if case.proven else "and none is confirmed alone"
        yield (
            f"all settings at once close {percent(share)} % of the gap, {proven}: repeat while "
            "the boards are idle"
        )


def _any_of(count: int) -> str:
    if count == 1:
        return "a setting that may be the cause"
    return f"{count} settings, any of which may be the cause"


def _names(suspects: Sequence[Suspect]) -> str:
    more = f" and {len(suspects) - _NAMED} more" if len(suspects) > _NAMED else ""
    return ", ".join(suspect.id for suspect in suspects[:_NAMED]) + more


# -- next steps among the layers -------------------------------------------------------------------


def _layers(case: DiagnosisState, lab: Laboratory, options: DiagnosisOptions) -> Iterator[str]:
    layers = [e for e in lab.experiments if e.purpose is Purpose.LAYER]
    if layers:
        for experiment in layers:
            if experiment.outcome is ExperimentOutcome.UNRESOLVED:
                names = ", ".join(experiment.flipped)
                yield f"{names} could not be swapped: {experiment.reason}"
        # What could not be swapped excludes nothing.
        swapped = [e for e in layers if e.outcome is not ExperimentOutcome.UNRESOLVED]
        if not swapped or case.proven or hidden_share(case, lab) is not None:
            return
        ids = {name for experiment in swapped for name in experiment.flipped}
        what = "files" if all(name.startswith(GIVEN_FILES) for name in ids) else "layers"
        if (share := undecided_share(lab, case, Purpose.LAYER)) is not None:
            yield _scattered(f"the swapped {what}", "they", share)
        else:
            yield f"the cause is in none of the swapped {what}: {_hardware(case)}"
        return
    if hidden_share(case, lab) is not None:
        return
    if (share := undecided_share(lab, case, Purpose.ALL_IN)) is not None:
        yield _scattered("the settings", "all at once they", share)
        return
    ruled_out = _ruled_out(case, lab)
    if lab.bench.has_images() and not case.layers:
        yield f"{ruled_out}, and the two images do not differ: {_hardware(case)}"
    elif not options.layers:
        yield f"{ruled_out}; next: test the layers, without --no-layers"
    else:
        yield (
            f"{ruled_out}; next: swap userland and kernel, which needs images of both sides for "
            "one board of a rig (rig compose)"
        )


def _scattered(what: str, which: str, share: Bounds) -> str:
    return (
        f"the values scatter too much to rule {what} out: {which} close {percent(share.low)} to "
        f"{percent(share.high)} % of the gap: repeat while nothing else runs"
    )


def _ruled_out(case: DiagnosisState, lab: Laboratory) -> str:
    """What the settings that were tested tell of the cause."""
    resolved = [e for e in lab.experiments if e.outcome is not ExperimentOutcome.UNRESOLVED]
    settings = [s for s in case.suspects if s.layer in _SETTINGS]
    is_open = any(s.means is None or (Side.BAD, s.id) in lab.left_out for s in settings)
    if is_open and not resolved:
        return "no setting that differs could be tested"
    where = "that were tested" if is_open else "that can be changed at run time"
    return f"{'the rest' if case.proven else 'the cause'} is not among the settings {where}"


def _hardware(case: DiagnosisState) -> str:
    hardware = [s.title for s in case.suspects if s.layer is Layer.HARDWARE]
    return f"look at the hardware ({', '.join(hardware[:3])})" if hardware else "swap the boards"
