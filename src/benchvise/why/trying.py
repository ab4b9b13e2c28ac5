"""One suspect that a user names is tried by itself, from the evidence of a diagnosis on.

Whatever the search thought of it: repaired on the bad side, broken on the good one, as any other
candidate. What it closes is told also where it is no cause.
"""

from __future__ import annotations

from benchvise.errors import UsageError
from benchvise.why.case import DiagnosisState
from benchvise.why.experiments import confirm
from benchvise.why.experiments.laboratory import Laboratory
from benchvise.why.experiments.question import Unresolved
from benchvise.why.experiments.search import testable
from benchvise.why.model import Finding, Grade, Side, Suspect
from benchvise.why.wording import share

_NAMED = 5


def try_suspect(case: DiagnosisState, lab: Laboratory, name: str) -> None:
    """Tries the suspect of that id beside what is proven, and keeps the proof.

    UsageError, before anything is measured, where there is no such suspect, where it cannot be
    flipped here or is proven, and where no gap is to be explained.
    """
    suspect = _suspect(case, lab, name)
    lab.begin_try(name)
    case.reached = f"trying {name}"
    others = [s for s in testable(case.suspects) if s.id not in {f.id for f in case.flipped}]
    try:
        proof = confirm.confirm(
            lab,
            case.scale,
            (suspect,),
            expected=case.scale.least,
            others=others,
            context=case.flipped,
        )
    except Unresolved as problem:
        reason = problem.experiment.reason
        case.findings.append(_finding(name, f"{name} could not be tried: {reason}"))
        return
    if proof.proven:
        case.proven.append(proof)
        case.unexplained = confirm.by_sum(case.proven)
        case.narrowed = ()
        return
    case.refuted.append(proof)
    closes = share(proof.share.value, proof.share.low, proof.share.high)
    sentence = f"{name} was tried by itself and closes {closes} of the gap: {proof.why_not}"
    case.findings.append(_finding(name, sentence))


def _suspect(case: DiagnosisState, lab: Laboratory, name: str) -> Suspect:
    if case.measured is None:
        raise UsageError(
            f"{name} cannot be tried: the diagnosis ended before the gap was measured",
            "go on with it by --resume, or begin anew with a larger budget",
        )
    if not case.measured.shown or case.scale.gap <= 0.0:
        raise UsageError(
            f"{name} cannot be tried: this diagnosis shows no gap",
            "measure again, with a command that shows the difference",
        )
    suspects = list(dict.fromkeys((*case.suspects, *case.layers)))
    if all(suspect.id != name for suspect in suspects):
        suspects += lab.bench.layers()
    suspect = next((s for s in suspects if s.id == name), None)
    if suspect is None:
        likeliest = ", ".join(s.id for s in testable(suspects)[:_NAMED])
        raise UsageError(
            f"{name} is no difference of this diagnosis",
            f"name one of its differences: {likeliest}" if likeliest else "none can be tried",
        )
    if any(proven.id == name for proven in case.flipped):
        raise UsageError(f"{name} is a confirmed cause already", "name another difference")
    if suspect.means is None:
        raise UsageError(
            f"{name} cannot be tried by Benchvise: {suspect.untestable}",
            f"give {lab.bench.name(Side.BAD)} the good value by hand ({suspect.good}) and compare",
        )
    return suspect


def _finding(name: str, sentence: str) -> Finding:
    return Finding(f"tried {name}", Grade.NOTES, sentence)
