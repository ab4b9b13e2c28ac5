"""The diagnosis that is scored: the loop with the knowledge that users get."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchvise.why import loop
from benchvise.why.bench import Bench
from benchvise.why.benches.live_board import still_set
from benchvise.why.case import DiagnosisOptions
from benchvise.why.events import Event
from benchvise.why.experiments.evidence import EvidenceLog
from benchvise.why.model import Diagnosis, Side
from benchvise.why.rules import DiagnosisRules


def diagnose(bench: Bench, directory: Path, seed: int, resumed: bool) -> Diagnosis:
    """A diagnosis with its log in that directory, begun anew or gone on with."""
    log = EvidenceLog.resume(directory) if resumed else EvidenceLog.create(directory)
    try:
        options = DiagnosisOptions(
            seed=seed, may_set={side: _is_root(bench, side) for side in Side}
        )
        found = loop.diagnose(bench, options, log, _nobody, DiagnosisRules())
        bench.close()
        names = {bench.name(side) for side in Side if bench.is_live(side)}
        return replace(found, restored=not any(map(still_set, names)))
    finally:
        log.close()


def _is_root(bench: Bench, side: Side) -> bool:
    return bench.is_live(side) and bench.facts(side).host.get("uid") == 0


def _nobody(_event: Event) -> None:
    """Nobody watches."""
