"""What the charts of the evidence page draw: trials in order of time, shares, the ranking.

These types are the counterpart of ``web/src/base/diagnosis.ts``; the page embeds them as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchvise.report.figures import NO_FIGURES
from benchvise.report.why.document import share_text, unexplained_part
from benchvise.why.model import Bounds, Diagnosis, Purpose, Side, Trial

ArmKind = Literal["good", "bad", "repaired", "broken", "bad, other", "good, other"]

RANKED = 12
"""Suspects that the chart of the ranking shows; the table has all."""

_MOST_POINTS = 4000
"""Trials that a chart shows; of more it shows every k-th."""

_COVARIATES = {"temperature_c": ("temperature", "°C"), "clock_hz": ("CPU clock", "Hz")}
_MOST_COVARIATES = 3
_LEAST_POINTS = 3
_PHASES = {
    Purpose.REPAIR: "repair",
    Purpose.BREAK: "break",
    Purpose.ALL_IN: "all",
    Purpose.HALVING: "search",
    Purpose.CONTEXT: "context",
    Purpose.TOGETHER: "together",
    Purpose.LAYER: "layer",
    Purpose.PROCESS: "process",
    Purpose.PROBE: "probe",
}


@dataclass(frozen=True, slots=True)
class TrialPoint:
    """One trial: when (seconds since the beginning), its value, which arm."""

    at: float
    value: float
    arm: ArmKind
    note: str
    polluted: bool


@dataclass(frozen=True, slots=True)
class Phase:
    """The stretch of time that one experiment took."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Band:
    """Between which values an arm lay while it was confirmed."""

    arm: ArmKind
    start: float
    end: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Covariate:
    """What else is known of each trial's moment."""

    id: str
    name: str
    unit: str
    points: tuple[tuple[float, float, str], ...]


@dataclass(frozen=True, slots=True)
class TrialsFigure:
    """All trials in order of time. ``good`` and ``bad`` are the sides' medians, where known."""

    id: str
    unit: str
    good: float | None
    bad: float | None
    points: tuple[TrialPoint, ...]
    phases: tuple[Phase, ...]
    bands: tuple[Band, ...]
    every: int


@dataclass(frozen=True, slots=True)
class ShareRow:
    """A share of the gap that begins where the ones before it end."""

    name: str
    kind: Literal["cause", "unexplained"]
    begin: float
    value: float
    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True)
class SharesFigure:
    """The gap, taken apart."""

    id: str
    rows: tuple[ShareRow, ...]


@dataclass(frozen=True, slots=True)
class RankRow:
    """A suspect with the points of each of the figure's terms."""

    name: str
    score: float
    cause: bool
    points: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RankingFigure:
    """The first suspects by score, and what their scores are made of."""

    id: str
    terms: tuple[str, ...]
    rows: tuple[RankRow, ...]


@dataclass(frozen=True, slots=True)
class DiagnosisFigures:
    """Everything that is drawn in the evidence page; None for what there is nothing of."""

    trials: TrialsFigure | None
    covariates: tuple[Covariate, ...]
    shares: SharesFigure | None
    ranking: RankingFigure | None

    @property
    def document(self) -> dict[str, Any]:
        """What the page's script reads."""
        return {**NO_FIGURES, "diagnosis": asdict(self)}


def diagnosis_figures(diagnosis: Diagnosis) -> DiagnosisFigures:
    """The charts of a diagnosis."""
    return DiagnosisFigures(
        _trials(diagnosis), tuple(_covariates(diagnosis)), _shares(diagnosis), _ranking(diagnosis)
    )


# -- trials ----------------------------------------------------------------------------------------


def _trials(diagnosis: Diagnosis) -> TrialsFigure | None:
    trials = diagnosis.trials
    if not trials:
        return None
    kinds = _Arms(diagnosis)
    every = 1 + (len(trials) - 1) // _MOST_POINTS
    gap = diagnosis.gap
    return TrialsFigure(
        "trials",
        diagnosis.metric.unit,
        None if gap is None else gap.good,
        None if gap is None else gap.bad,
        tuple(
            TrialPoint(
                trial.started,
                trial.value,
                kinds.of(trial),
                _note(diagnosis, trial),
                bool(trial.flags),
            )
            for trial in trials[::every]
        ),
        tuple(_phases(diagnosis)),
        tuple(_bands(diagnosis, kinds)),
        every,
    )


class _Arms:
    """Which arm a trial was: a side as it is, with a cause flipped, or with anything else."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        self._causes = [{s.id for s in cause.suspects} for cause in diagnosis.causes]

    def of(self, trial: Trial) -> ArmKind:
        flipped = set(trial.flipped)
        bad = trial.side == Side.BAD
        if not flipped:
            return "bad" if bad else "good"
        if flipped in self._causes:
            return "repaired" if bad else "broken"
        return "bad, other" if bad else "good, other"


def _note(diagnosis: Diagnosis, trial: Trial) -> str:
    flipped = ", ".join(trial.flipped[:6])
    more = f" and {len(trial.flipped) - 6} more" if len(trial.flipped) > 6 else ""
    what = f"\nflipped: {flipped}{more}" if flipped else "\nas it is"
    flags = f"\ndisturbed: {', '.join(trial.flags)}" if trial.flags else ""
    return f"trial {trial.number} on {diagnosis.name(trial.side)}{what}{flags}"


def _phases(diagnosis: Diagnosis) -> list[Phase]:
    ends = {t.number: (t.started, t.started + t.seconds) for t in diagnosis.trials}
    parts = [("gap", () if diagnosis.gap is None else diagnosis.gap.trials)]
    parts += [
        (_PHASES[Purpose(experiment.purpose)], experiment.trials)
        for experiment in diagnosis.experiments
        if experiment.purpose != Purpose.AGAIN  # read from the trials of the repair
    ]
    phases: list[Phase] = []
    for name, numbers in parts:
        spans = [ends[number] for number in numbers if number in ends]
        if not spans:
            continue
        phase = Phase(name, min(a for a, _ in spans), max(b for _, b in spans))
        if phases and phase.start < phases[-1].end:
            # Experiments whose blocks have the arms of both, such as repair and break.
            last = phases.pop()
            ends_at = max(last.end, phase.end)
            phase = Phase(f"{last.name}, {name}", min(last.start, phase.start), ends_at)
        phases.append(phase)
    return phases


def _bands(diagnosis: Diagnosis, kinds: _Arms) -> Iterator[Band]:
    for cause in diagnosis.causes:
        for experiment in (cause.repair, cause.breaking):
            numbers = set(experiment.trials) if experiment else set()
            seen = [
                (t.started, t.started + t.seconds, t.value, kinds.of(t))
                for t in diagnosis.trials
                if t.number in numbers and kinds.of(t) in ("repaired", "broken")
            ]
            if seen:
                starts, stops, values, arms = zip(*seen, strict=True)
                yield Band(arms[0], min(starts), max(stops), min(values), max(values))


def _covariates(diagnosis: Diagnosis) -> Iterator[Covariate]:
    names = dict.fromkeys(name for trial in diagnosis.trials for name in trial.covariates)
    ordered = sorted(names, key=lambda name: (name not in _COVARIATES, name))
    for index, name in enumerate(ordered[:_MOST_COVARIATES]):
        points = tuple(
            (trial.started, trial.covariates[name], str(trial.side))
            for trial in diagnosis.trials
            if trial.covariates.get(name) is not None
        )
        if len(points) >= _LEAST_POINTS:
            title, unit = _COVARIATES.get(name, (name, ""))
            yield Covariate(f"covariate{index}", title, unit, points)


# -- shares and ranking ----------------------------------------------------------------------------


def _shares(diagnosis: Diagnosis) -> SharesFigure | None:
    rest = unexplained_part(diagnosis)
    if rest is None and not diagnosis.causes:
        return None
    rows, begin = [], 0.0
    for cause in diagnosis.causes:
        share = cause.share
        rows.append(ShareRow(cause.name, "cause", begin, *_ends(share), share_text(share)))
        begin += max(share.value, 0.0)
    if rest is not None:  # while a diagnosis goes on, it is not known yet
        rows.append(ShareRow("unexplained", "unexplained", begin, *_ends(rest), share_text(rest)))
    return SharesFigure("shares", tuple(rows))


def _ends(bounds: Bounds) -> tuple[float, float, float]:
    return bounds.value, bounds.low, bounds.high


def _ranking(diagnosis: Diagnosis) -> RankingFigure | None:
    suspects = [s for s in diagnosis.suspects if s.terms]
    if not suspects:
        return None
    causes = {s.id for cause in diagnosis.causes for s in cause.suspects}
    ranked = [s for i, s in enumerate(suspects) if i < RANKED or s.id in causes]
    terms = tuple(dict.fromkeys(term.name for s in ranked for term in s.terms))
    rows = []
    for suspect in ranked:
        points = dict.fromkeys(terms, 0.0)
        for term in suspect.terms:
            points[term.name] += term.points
        rows.append(
            RankRow(suspect.id, suspect.score, suspect.id in causes, tuple(points.values()))
        )
    return RankingFigure("ranking", terms, tuple(rows))
