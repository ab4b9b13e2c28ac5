"""What a diagnosis tells while it goes on, in a file that others can follow.

A file of JSON lines beside the evidence. The first says what is being diagnosed, each other one is
an event or a write:

    {"told": "begun", "format": 1, "at": 0.0, "document": {...}}
    {"told": "trial", "at": 12.5, "trial": {...}, "replayed": false}
    {"told": "ended", "at": 80.1, "id": "0c3f...", "verdict": "explained"}

It holds nothing that the evidence and the document do not: a diagnosis that is resumed tells all of
it anew. Whoever tells holds a lock on the file, so that a reader knows whether anybody still does.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchvise.why.events import (
    CauseConfirmed,
    Event,
    ExperimentBegun,
    ExperimentDecided,
    FindingMade,
    GapMeasured,
    LeftOut,
    StageBegun,
    SuspectsRanked,
    TrialFailed,
    TrialTaken,
)
from benchvise.why.model import Diagnosis, Write

FILE = "told.jsonl"
FORMAT = 1

_LOCK_TRIES = 20  # looking takes a shared lock for a moment
_LOCK_SECONDS = 0.05


class Telling:
    """Writes the file. What cannot be written is not told, and disturbs nothing.

    ``so_far`` is the document of a diagnosis that has just begun; ``now`` gives the seconds since
    then, ``writes`` all that was written to the boards so far.
    """

    def __init__(
        self,
        directory: Path,
        so_far: Diagnosis,
        now: Callable[[], float],
        writes: Callable[[], Sequence[Write]],
    ) -> None:
        self._now = now
        self._writes = writes
        self._told_writes = 0
        self._descriptor = _open(directory / FILE)
        self._line("begun", {"format": FORMAT, "document": so_far.as_json()})

    def observe(self, event: Event) -> None:
        """Tells an event, after what was written to a board until then."""
        for write in self._writes()[self._told_writes :]:
            self._told_writes += 1
            self._line("write", {"write": write.as_json()})
        what, said = _told(event)
        self._line(what, said)

    def end(self, found: Diagnosis, identity: str) -> None:
        """Tells that it came to an end, and under which id the store has it (empty: it has not)."""
        self._line("ended", {"id": identity, "verdict": str(found.verdict)})

    def close(self) -> None:
        """Lets the file go. May be called more than once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _line(self, what: str, said: Mapping[str, Any]) -> None:
        if self._descriptor < 0:
            return
        line = {"told": what, "at": round(self._now(), 3), **said}
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:  # a line that was cut off would spoil the next one
            self.close()


def _open(path: Path) -> int:
    """The file, empty and locked; -1 where that cannot be."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return -1
    for _ in range(_LOCK_TRIES):
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            return descriptor
        time.sleep(_LOCK_SECONDS)
    os.close(descriptor)
    return -1


def _told(event: Event) -> tuple[str, dict[str, Any]]:
    """An event's name and what is said of it."""
    match event:
        case StageBegun(stage):
            return "stage", {"stage": str(stage)}
        case FindingMade(finding):
            return "finding", {"finding": finding.as_json()}
        case SuspectsRanked(suspects, excluded):
            ranked = [suspect.as_json() for suspect in suspects]
            return "suspects", {"suspects": ranked, "excluded": dict(excluded)}
        case ExperimentBegun(purpose, question, side, blocks, most):
            asked = {"purpose": str(purpose), "question": question, "side": str(side)}
            return "asked", {**asked, "blocks": blocks, "most": most}
        case TrialTaken(trial, replayed):
            return "trial", {"trial": trial.as_json(), "replayed": replayed}
        case TrialFailed(side, flipped, reason, replayed):
            failed = {"side": str(side), "flipped": list(flipped), "reason": reason}
            return "failed", {**failed, "replayed": replayed}
        case GapMeasured(gap):
            return "gap", {"gap": gap.as_json()}
        case LeftOut(suspect, side, reason):
            return "left out", {"suspect": suspect.id, "side": str(side), "reason": reason}
        case ExperimentDecided(experiment):
            return "decided", {"experiment": experiment.as_json()}
        case CauseConfirmed(cause):
            return "cause", {"cause": cause.as_json()}
