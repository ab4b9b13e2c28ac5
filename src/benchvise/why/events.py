"""What a diagnosis reports while it goes on, for progress and a live page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from benchvise.why.model import (
    Cause,
    Diagnosis,
    DiagnosisVerdict,
    Experiment,
    Finding,
    Gap,
    Purpose,
    Side,
    SuspectRecord,
    Trial,
    Write,
)
from benchvise.why.witness.model import Witness


class DiagnosisStage(StrEnum):
    """The stages of a diagnosis, in their order."""

    READING = "reading the state of both sides"
    GAP = "measuring the gap"
    WATCHING = "watching the command"
    SUSPECTS = "ranking the differences"
    SEARCH = "searching the settings"
    LAYERS = "searching the layers"
    TOGETHER = "measuring the causes together"
    EXPLANATION = "explaining the causes"


@dataclass(frozen=True, slots=True)
class DiagnosisBegun:
    """A diagnosis of which nothing is known yet but what was asked. ``format`` is the log's."""

    format: int
    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True)
class StageBegun:
    """A stage begins."""

    stage: DiagnosisStage


@dataclass(frozen=True, slots=True)
class FindingMade:
    """Something about the comparison itself was noticed."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class SuspectsRanked:
    """What may be a cause, best first, and what cannot."""

    suspects: tuple[SuspectRecord, ...]
    excluded: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExperimentBegun:
    """A question is put to a board; ``blocks`` repetitions at first, and at most ``most``."""

    purpose: Purpose
    question: str
    side: Side
    blocks: int
    most: int


@dataclass(frozen=True, slots=True)
class TrialTaken:
    """A trial gave its value. ``replayed`` where it was taken before the diagnosis was resumed."""

    trial: Trial
    replayed: bool


@dataclass(frozen=True, slots=True)
class TrialFailed:
    """A trial gave no value: it was refused, or the metric failed, for the reason."""

    side: Side
    flipped: tuple[str, ...]
    reason: str
    replayed: bool


@dataclass(frozen=True, slots=True)
class GapMeasured:
    """The gap is known."""

    gap: Gap


@dataclass(frozen=True, slots=True)
class CommandWatched:
    """What the command does differently on the bad side."""

    witness: Witness


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A suspect that cannot be tested on a side, and why; the rest goes on without it."""

    suspect: SuspectRecord
    side: Side
    reason: str


@dataclass(frozen=True, slots=True)
class ExperimentDecided:
    """An experiment has its outcome."""

    experiment: Experiment


@dataclass(frozen=True, slots=True)
class CauseConfirmed:
    """A cause is proven on fresh data."""

    cause: Cause


@dataclass(frozen=True, slots=True)
class SettingWritten:
    """Something was written to a board, or put back."""

    write: Write


@dataclass(frozen=True, slots=True)
class DiagnosisEnded:
    """There is an answer; ``id`` is its id in the store, empty where it is not there."""

    id: str
    verdict: DiagnosisVerdict


Event = (
    DiagnosisBegun
    | StageBegun
    | FindingMade
    | SuspectsRanked
    | ExperimentBegun
    | TrialTaken
    | TrialFailed
    | GapMeasured
    | CommandWatched
    | LeftOut
    | ExperimentDecided
    | CauseConfirmed
    | SettingWritten
    | DiagnosisEnded
)
