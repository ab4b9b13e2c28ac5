"""The evidence of a diagnosis in the order of time: trials, writes and what was decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from benchvise.report.why_document import named, outcome
from benchvise.why.model import Diagnosis

MOST = 2000
"""Entries that a page lists; the diagnosis has all."""

_NAMED = 6


@dataclass(frozen=True, slots=True)
class EvidenceEntry:
    """One thing that came of a board, or was decided; ``value`` is in the metric's unit."""

    at: float
    kind: Literal["trial", "write", "decided"]
    what: str
    side: str
    text: str
    value: float | None = None


def evidence(diagnosis: Diagnosis) -> list[EvidenceEntry]:
    """All entries of a diagnosis, the oldest first."""
    return sorted(_entries(diagnosis), key=lambda entry: entry.at)


def _entries(diagnosis: Diagnosis) -> Iterator[EvidenceEntry]:
    ends: dict[int, float] = {}
    for trial in diagnosis.trials:
        ends[trial.number] = trial.started + trial.seconds
        flipped = named(trial.flipped, _NAMED) if trial.flipped else "as it is"
        flags = f" (disturbed: {', '.join(trial.flags)})" if trial.flags else ""
        yield EvidenceEntry(
            trial.started,
            "trial",
            f"trial {trial.number}",
            trial.side,
            flipped + flags,
            trial.value,
        )
    for write in diagnosis.writes:
        what = "put back" if write.undone else "set"
        text = f"{write.knob}: {write.old} → {write.new}"
        yield EvidenceEntry(write.at, "write", what, write.side, text)
    for experiment in diagnosis.experiments:
        ends_known = [ends[number] for number in experiment.trials if number in ends]
        if ends_known:  # what was never tried has no time
            yield EvidenceEntry(
                max(ends_known),
                "decided",
                f"experiment {experiment.number}",
                experiment.side,
                f"{experiment.question} {outcome(experiment)}",
            )
