"""The diagnosis that is scored: the loop with the knowledge that users get."""

from __future__ import annotations

from pathlib import Path

from benchvise.why import loop
from benchvise.why.bench import Bench
from benchvise.why.events import Event
from benchvise.why.evidence import EvidenceLog
from benchvise.why.known import Known
from benchvise.why.model import Diagnosis, Side
from benchvise.why.options import Options


def diagnose(bench: Bench, directory: Path, seed: int, resumed: bool) -> Diagnosis:
    """A diagnosis with its log in that directory, begun anew or gone on with."""
    log = EvidenceLog.resume(directory) if resumed else EvidenceLog.create(directory)
    try:
        options = Options(seed=seed, may_set={side: _is_root(bench, side) for side in Side})
        return loop.diagnose(bench, options, log, _nobody, Known())
    finally:
        log.close()


def _is_root(bench: Bench, side: Side) -> bool:
    return bench.is_live(side) and bench.facts(side).host.get("uid") == 0


def _nobody(_event: Event) -> None:
    """Nobody watches."""
