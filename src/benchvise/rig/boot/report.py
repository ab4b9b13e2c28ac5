"""The result of one boot, as it is kept, sent between processes, and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchvise.rig.boot.patterns import PHASES, Patterns
from benchvise.rig.boot.recorder import POWER_ON, read_log
from benchvise.rig.boot.timeline import Timeline
from benchvise.rig.boot.verdict import Verdict, classify
from benchvise.rig.boot.watch import Outcome
from benchvise.rig.faults import Fault
from benchvise.text import printable

_TEXT_LIMIT = 1000


@dataclass(frozen=True)
class BootReport:
    """How one boot went. ``phases`` are seconds since power on, in order; ``console`` is the path
    of the raw log; ``seconds`` is how long the boot was watched."""

    ok: bool
    verdict: Verdict
    phases: dict[str, float]
    console: str
    restarts: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, timeline: Timeline, outcome: Outcome, console: str | Path) -> BootReport:
        """The report of a boot that was watched."""
        verdict = classify(timeline, outcome)
        return cls(
            verdict.fault is None,
            verdict,
            {phase: round(at, 6) for phase, at in timeline.phases.items()},
            str(console),
            timeline.restarts,
            round(outcome.at_s, 6),
        )

    @property
    def stage(self) -> str:
        """The phase that was reached last."""
        return next(reversed(self.phases), PHASES[0])

    @property
    def durations(self) -> dict[str, float]:
        """How long it took from each phase that was seen to the next, in seconds, by the latter."""
        names = list(self.phases)
        return {
            later: self.phases[later] - self.phases[earlier] for earlier, later in pairwise(names)
        }

    def as_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "ok": self.ok,
            "fault": self.verdict.fault.value if self.verdict.fault is not None else None,
            "sentence": self.verdict.sentence,
            "evidence": self.verdict.evidence,
            "phases": dict(self.phases),
            "console": self.console,
            "restarts": self.restarts,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BootReport:
        """The report that was stored so. Raises ValueError when it is none."""
        try:
            fault = Fault(data["fault"]) if data["fault"] is not None else None
            phases = {str(name): float(at) for name, at in data["phases"].items()}
            verdict = Verdict(
                fault,
                printable(str(data["sentence"]), _TEXT_LIMIT),
                printable(str(data["evidence"]), _TEXT_LIMIT),
            )
            return cls(
                bool(data["ok"]),
                verdict,
                {phase: phases[phase] for phase in PHASES if phase in phases},
                str(data["console"]),
                int(data.get("restarts", 0)),
                float(data.get("seconds", 0.0)),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"not the report of a boot: {error}") from error


def replay(console: Path, patterns: Patterns | None = None) -> Timeline:
    """The timeline of a recorded log, from its last ``power on`` mark, or else from its first byte.

    So a log can be judged anew, with other patterns.
    """
    pieces = list(read_log(console))
    marks = [piece.at_ns for piece in pieces if piece.mark == POWER_ON]
    start = marks[-1] if marks else next((piece.at_ns for piece in pieces if piece.data), 0)
    timeline = Timeline(start, patterns)
    for piece in pieces:
        if piece.data:
            timeline.feed(piece.at_ns, piece.data)
    timeline.settle()
    return timeline
