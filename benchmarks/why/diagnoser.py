"""The diagnosis that is scored: the loop with the knowledge that users get."""

from __future__ import annotations

from pathlib import Path

from benchvise.why import loop
from benchvise.why.bench import Bench
from benchvise.why.events import Event
from benchvise.why.evidence import EvidenceLog
from benchvise.why.known import Known
from benchvise.why.model import Diagnosis
from benchvise.why.options import Options


def diagnose(bench: Bench, directory: Path, seed: int, resumed: bool) -> Diagnosis:
    """A diagnosis with its log in that directory, begun anew or gone on with."""
    log = EvidenceLog.resume(directory) if resumed else EvidenceLog.create(directory)
    try:
        return loop.diagnose(bench, Options(seed=seed), log, _nobody, Known())
    finally:
        log.close()


def _nobody(_event: Event) -> None:
    """Nobody watches."""
