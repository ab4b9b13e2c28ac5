"""What a diagnosis was worth: held against the truth of its scenario."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.why import values
from benchmarks.why.bench import ATTRIBUTES
from benchmarks.why.scenario import Flips, Planted, Scenario
from benchvise.why.model import (
    Bounds,
    Cause,
    Diagnosis,
    DiagnosisVerdict,
    ExperimentOutcome,
    Grade,
    LayerMeans,
    ProcessMeans,
    SettingMeans,
    Suspect,
    SuspectRecord,
)


@dataclass(frozen=True, slots=True)
class Covered:
    """One stated interval: where the truth lay. ``what`` is ``gap``, ``share`` or ``rest``."""

    what: str
    stated: Bounds
    truth: float

    @property
    def side(self) -> str:
        """``in``, or on which side of the interval the truth is."""
        if self.stated.contains(self.truth):
            return "in"
        return "below" if self.truth < self.stated.low else "above"


@dataclass(frozen=True, slots=True)
class Result:
    """The score of one diagnosis; ``problems`` say in words what was wrong.

    ``hit`` is None where nothing had to be found, ``false`` counts causes that are none.
    ``suspects`` could be tested. ``minutes`` are those of the diagnosis, ``seconds`` what it took
    to run. ``left_out`` says why it does not count, where it does not.
    """

    kind: str
    name: str
    hit: bool | None = None
    false: int = 0
    is_right: bool = False
    is_restored: bool = True
    intervals: tuple[Covered, ...] = ()
    problems: tuple[str, ...] = ()
    ended: bool = False
    suspects: int = 0
    experiments: int = 0
    trials: int = 0
    minutes: float = 0.0
    seconds: float = 0.0
    left_out: str = ""


def score(
    scenario: Scenario,
    diagnosis: Diagnosis | None,
    *,
    error: str = "",
    left: Mapping[str, str] | None = None,
    still_set: bool = False,
    seconds: float = 0.0,
) -> Result:
    """``error`` is what ended the diagnosis without an answer. ``left`` are the files that are not
    as before once everything was done that a user is told to do; ``still_set`` whether some were
    not when the diagnosis ended, which it has to admit."""
    truth = scenario.truth
    problems = [error] if error else []
    if left:
        problems.append(f"not restored: {left}")
    result = Result(
        scenario.kind,
        f"{scenario.kind}/{scenario.seed}",
        is_restored=not left,
        problems=tuple(problems or ["no answer"]),
        hit=False if truth.demanding and truth.causes else None,
        seconds=seconds,
    )
    if diagnosis is None:
        return result
    if diagnosis.restored == still_set:
        problems.append(f"says restored={diagnosis.restored}, which is not so")
    matched = [(cause, match(scenario, cause)) for cause in diagnosis.causes]
    false = [cause.name for cause, planted in matched if planted is None]
    names = [cause.name for cause in diagnosis.causes]
    problems += [f"named twice: {name}" for name in sorted(set(names)) if names.count(name) > 1]
    problems += [f"false attribution: {name}" for name in false]
    hit = result.hit
    if hit is not None:
        wanted = _wanted(truth.causes)
        hit = bool(matched) and matched[0][1] is wanted
        if not hit:
            named = names[0] if names else "nothing"
            problems.append(f"named {named} instead of {planted_name(wanted)}")
    amiss = list(_amiss(scenario, diagnosis, any(planted for _, planted in matched)))
    return replace(
        result,
        hit=hit,
        false=len(false),
        is_right=not amiss,
        is_restored=not left and diagnosis.restored != still_set,
        intervals=tuple(_intervals(scenario, diagnosis, matched)),
        problems=(*problems, *amiss),
        ended=True,
        suspects=sum(suspect.testable for suspect in diagnosis.suspects),
        experiments=len(diagnosis.experiments),
        trials=len(diagnosis.trials),
        minutes=diagnosis.seconds / 60,
    )


def _amiss(scenario: Scenario, diagnosis: Diagnosis, found: bool) -> Iterator[str]:
    """What is wrong with the verdict."""
    truth = scenario.truth
    if diagnosis.verdict not in truth.verdicts:
        yield f"verdict {diagnosis.verdict} instead of {' or '.join(sorted(truth.verdicts))}"
    if truth.refused and not found and not _names(diagnosis, truth.refused):
        yield "what was refused is named nowhere"
    stops = diagnosis.verdict is DiagnosisVerdict.NOT_ADMISSIBLE
    seen = {f.rule for f in diagnosis.findings if (f.grade is Grade.STOPS) == stops}
    if truth.rules and not seen & truth.rules:
        yield f"the findings are {sorted(seen)}, without {' or '.join(sorted(truth.rules))}"


def match(scenario: Scenario, cause: Cause) -> Planted | None:
    """The planted cause that a found one is, suspect by suspect; None where it is none of them."""
    for planted in scenario.truth.causes:
        if planted.layer:
            if any(_is_layer(scenario, suspect, planted) for suspect in cause.suspects):
                return planted if len(cause.suspects) == 1 else None
            continue
        if len(cause.suspects) != len(planted.suspects):
            continue
        found = [files_of(suspect) for suspect in cause.suspects]
        if all(any(wanted <= files for files in found) for wanted in planted.suspects):
            return planted
    return None


def files_of(suspect: SuspectRecord) -> frozenset[str]:
    """The files that flipping a suspect sets."""
    means = suspect.means if isinstance(suspect, Suspect) else None
    if isinstance(means, SettingMeans):
        return frozenset(
            path
            for setting in (*means.to_good, *means.to_bad)
            for path in setting.paths or values.paths_of(setting.knob.name)
        )
    if isinstance(means, ProcessMeans):
        attributes = (*means.to_good.items(), *means.to_bad.items())
        names = {ATTRIBUTES[attribute][0] for attribute in attributes}
        return frozenset(path for name in names for path in values.paths_of(name))
    return frozenset()


def flips_of(suspect: SuspectRecord) -> Flips:
    """What flipping a suspect changes."""
    means = suspect.means if isinstance(suspect, Suspect) else None
    if isinstance(means, LayerMeans):
        return Flips(layers=frozenset({(means.layer, means.part)}))
    return Flips(files_of(suspect))


def planted_name(planted: Planted) -> str:
    """What a person would call it."""
    if planted.layer:
        return f"{planted.layer}: {planted.part}"
    owners = [values.owner(min(files)) for files in planted.suspects]
    return " with ".join(owner.name for owner in owners if owner is not None)


def _wanted(causes: Sequence[Planted]) -> Planted:
    """The largest; where one of several would do for repairing but not for breaking, them all."""
    return max(causes, key=lambda one: (min(one.share, one.broken), one.share))


def _is_layer(scenario: Scenario, suspect: SuspectRecord, planted: Planted) -> bool:
    means = suspect.means if isinstance(suspect, Suspect) else None
    if not isinstance(means, LayerMeans) or means.layer != planted.layer:
        return False
    layer = next(one for one in scenario.layers if one.name == planted.layer)
    return means.part == (planted.part if planted.part in layer.buildable else "")


def _names(diagnosis: Diagnosis, files: frozenset[str]) -> bool:
    """Whether the answer says of the suspect with these files that it could not be tested."""
    owners = {owner.name for path in files if (owner := values.owner(path)) is not None}
    ids = owners | {s.id for s in diagnosis.suspects if files <= files_of(s)}
    unresolved = {
        name
        for experiment in diagnosis.experiments
        if experiment.outcome is ExperimentOutcome.UNRESOLVED
        for name in experiment.flipped
    }
    said = " ".join((*diagnosis.needed, diagnosis.reached, diagnosis.headline))
    untested = {suspect.id for suspect in diagnosis.suspects if suspect.untestable}
    return bool(ids & (unresolved | untested)) or any(name in said for name in ids)


def _intervals(
    scenario: Scenario, diagnosis: Diagnosis, matched: Iterable[tuple[Cause, Planted | None]]
) -> Iterable[Covered]:
    """The truth of each is what the simulated boards do when that is flipped, together with what
    the answer says was flipped with it; the rest is what they leave with all causes repaired."""
    if scenario.momentary is not None:
        return
    if diagnosis.gap is not None and scenario.recorded != 0:
        yield Covered("gap", diagnosis.gap.goodness, scenario.truth.gap)
    suspects = {suspect.id: suspect for suspect in diagnosis.suspects}
    repaired = Flips()
    seen: list[Planted] = []
    for cause, planted in matched:
        if planted is None:
            return
        if any(planted is one for one in seen):
            continue
        seen.append(planted)
        beside = Flips()
        for name in cause.repair.context:
            beside |= flips_of(suspects[name])
        yield Covered("share", cause.share, scenario.share(planted.flips, beside))
        repaired |= planted.flips
    if diagnosis.unexplained is not None and diagnosis.causes:
        yield Covered("rest", diagnosis.unexplained, 1.0 - scenario.share(repaired))
