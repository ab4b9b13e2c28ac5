"""From what is known of a case to its answer: verdict, and what would be needed to know more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchvise.why import together
from benchvise.why.bench import Bench
from benchvise.why.case import Case
from benchvise.why.headline import headline
from benchvise.why.laboratory import Laboratory
from benchvise.why.model import (
    Diagnosis,
    Finding,
    Layer,
    Outcome,
    Purpose,
    Side,
    Stop,
    Verdict,
    Write,
)
from benchvise.why.options import Options
from benchvise.why.stages import as_cause

_NAMED = 8


def conclude(
    case: Case, lab: Laboratory, options: Options, stopped: Stop | None, reason: str
) -> Diagnosis:
    """The answer with what is known, whether or not the diagnosis came to its end."""
    bench = lab.bench
    explained = {cause.name for cause in case.causes}
    rest = tuple(as_cause(f) for f in case.proven if f.name not in explained)
    causes = tuple(sorted(case.causes + rest, key=lambda cause: -abs(cause.share.value)))
    if case.proven and case.unexplained is None:
        case.unexplained = together.by_sum(case.proven)
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
        findings=_findings(case, bench),
        causes=causes,
        interaction=case.interaction,
        suspects=case.suspects + tuple(s for s in case.layers if s not in case.suspects),
        excluded=case.excluded,
        experiments=tuple(lab.experiments),
        trials=tuple(lab.trials),
        writes=tuple(bench.writes()),
        needed=tuple(dict.fromkeys(_needed(case, lab, options, verdict))),
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


def _findings(case: Case, bench: Bench) -> tuple[Finding, ...]:
    """What is to be known of the comparison, each once.

    A busy neighbour that was there before is mostly there afterwards too, in other words.
    """
    known = {finding.rule for finding in case.findings}
    later = (finding for finding in bench.findings() if finding.rule.replace(" ", "-") not in known)
    return tuple(dict.fromkeys([*case.findings, *later]))


def _verdict(case: Case, stopped: Stop | None) -> Verdict:
    if not case.admissible:
        return Verdict.NOT_ADMISSIBLE
    if stopped is not None:
        return Verdict.INCOMPLETE
    if case.measured is None or not case.measured.shown:
        return Verdict.NO_DIFFERENCE
    if case.measured.reversed and not case.by_all_in:
        return Verdict.REVERSED
    if not case.proven or case.unexplained is None:
        return Verdict.UNEXPLAINED
    negligible = case.scale.least / case.scale.gap
    left = case.unexplained
    missing = left.value >= negligible and not left.contains(0.0)
    return Verdict.PARTLY if missing or left.high < -negligible else Verdict.EXPLAINED


def _all_undone(writes: Sequence[Write]) -> bool:
    """Whether the last that was written to each file was its old value."""
    last = {(write.side, write.path): write.undone for write in writes}
    return all(last.values())


# -- what would be needed --------------------------------------------------------------------------


def _needed(case: Case, lab: Laboratory, options: Options, verdict: Verdict) -> Iterator[str]:
    yield from case.needed
    if verdict in (Verdict.NOT_ADMISSIBLE, Verdict.NO_DIFFERENCE, Verdict.EXPLAINED):
        return
    if verdict is Verdict.REVERSED:
        yield "give the two sides the other way round"
        return
    bad = lab.bench.name(Side.BAD)
    for (side, suspect), reason in lab.left_out.items():
        if side is Side.BAD:
            yield f"{suspect} could not be set on {bad} ({reason}); it may be a cause"
    untested = [s for s in case.suspects if s.means is None]
    for reason in dict.fromkeys(suspect.untestable for suspect in untested):
        names = [suspect.id for suspect in untested if suspect.untestable == reason]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"not tested: {', '.join(names[:_NAMED])}{more} ({reason})"
    for found in case.refuted:
        if found.breaking is not None or found.again is not None:
            yield f"{found.name} changes {bad}, but is not proven: {found.why_not}"
    if case.by_all_in:
        yield "the gap is only what the record's settings change: measure the good side itself"
    if verdict is Verdict.INCOMPLETE:
        return
    yield from _layers_needed(case, lab, options)


def _layers_needed(case: Case, lab: Laboratory, options: Options) -> Iterator[str]:
    tested = any(experiment.purpose is Purpose.LAYER for experiment in lab.experiments)
    unresolved = [
        e for e in lab.experiments if e.purpose is Purpose.LAYER and e.outcome is Outcome.UNRESOLVED
    ]
    if tested:
        for experiment in unresolved:
            yield f"{', '.join(experiment.flipped)} could not be swapped: {experiment.reason}"
        if not case.proven:
            yield f"it is in none of the layers that were swapped: {_hardware(case)}"
        return
    words = "it is not in the settings that can be changed at run time"
    if case.proven:
        words = "what is left " + words.removeprefix("it ")
    if not options.layers:
        yield f"{words}; next: the layers, without --no-layers"
    else:
        yield (
            f"{words}; next: swap userland and kernel, which takes images of both sides for one "
            "board in a rig (rig compose)"
        )


def _hardware(case: Case) -> str:
    hardware = [s.title for s in case.suspects if s.layer is Layer.HARDWARE]
    return f"look at the hardware ({', '.join(hardware[:3])})" if hardware else "swap the boards"
