"""A diagnosis in progress: what it was asked to do, and what it knows so far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchvise.state.model import Snapshot
from benchvise.why.bench import SideFacts
from benchvise.why.experiments.confirm import Confirmation
from benchvise.why.experiments.gap import MeasuredGap, Scale
from benchvise.why.model import (
    Bounds,
    Cause,
    Finding,
    Grade,
    Interaction,
    Side,
    Suspect,
    UntestedDifference,
)
from benchvise.why.witness.model import SideWatch, Witness

# Standard errors.
_SURE = 2.0


@dataclass(slots=True)
class DiagnosisState:
    """``reached`` says in words what is being done, for an answer that ends there."""

    reached: str = "nothing was measured yet"
    facts: Mapping[Side, SideFacts] = field(default_factory=dict)
    snapshots: Mapping[Side, Snapshot] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    measured: MeasuredGap | None = None
    by_all_in: bool = False
    """Whether the gap is what setting everything as recorded changes."""
    suspects: tuple[Suspect, ...] = ()
    excluded: Mapping[str, str] = field(default_factory=dict)
    proven: list[Confirmation] = field(default_factory=list)
    refuted: list[Confirmation] = field(default_factory=list)
    excess: float = 0.0
    """By how much more the proven causes gain together than their effects add up to."""
    causes: tuple[Cause, ...] = ()
    unexplained: Bounds | None = None
    interaction: Interaction | None = None
    layers: tuple[Suspect, ...] = ()
    narrowed: tuple[Suspect, ...] = ()
    """Among which suspects a cause lies that the search has not reached yet."""
    vanished: bool = False
    """Whether the gap went when those were first set, and stayed away."""
    untested: tuple[UntestedDifference, ...] = ()
    """The likeliest differences that no experiment has decided."""
    witness: Witness | None = None
    """What the command does differently; None where it was not watched."""
    watches: Mapping[Side, SideWatch] = field(default_factory=dict)
    """What was seen of the command on each side; none where it was not watched."""
    next_steps: list[str] = field(default_factory=list)

    @property
    def admissible(self) -> bool:
        """Whether no finding stops the comparison."""
        return all(finding.grade is not Grade.STOPS for finding in self.findings)

    @property
    def scale(self) -> Scale:
        """The scale of the gap; only once that is shown."""
        assert self.measured is not None, "the gap comes first"  # noqa: S101
        return Scale.of(self.measured)

    @property
    def gained(self) -> float:
        """What the proven causes gain together, in goodness."""
        return sum(proof.effect.value for proof in self.proven) + self.excess

    @property
    def left(self) -> float:
        """What of the gap the proven causes leave, in goodness."""
        return self.scale.gap - self.gained

    @property
    def still_unexplained(self) -> float:
        """What of the gap no proven cause explains, in goodness: as measured with all of them
        together, else by the sum of their effects."""
        if self.unexplained is None:
            return self.left
        return self.unexplained.value * self.scale.gap

    @property
    def unfinished(self) -> bool:
        """Whether the causes surely leave something that counts."""
        is_more = self.left * self.scale.gap < 0.0
        if is_more and len(self.proven) == 1 and self.proven[0].is_whole:
            return False
        return abs(self.left) > max(self.scale.least, _SURE * self.left_error)

    @property
    def left_error(self) -> float:
        """The standard error of what is left."""
        assert self.measured is not None, "the gap comes first"  # noqa: S101
        bounds = self.measured.gap.goodness
        errors = [(bounds.high - bounds.low) / (2.0 * 1.96)]
        return math.hypot(*errors, *(proof.effect.error for proof in self.proven))

    @property
    def flipped(self) -> tuple[Suspect, ...]:
        """The suspects of all proven causes."""
        return tuple(dict.fromkeys(s for proof in self.proven for s in proof.suspects))


def also(reached: str, narrowed: Sequence[Suspect]) -> str:
    """How far it got, with the suspects among which a step lies."""
    if not narrowed:
        return reached
    names = ", ".join(suspect.id for suspect in narrowed[:8])
    more = f" and {len(narrowed) - 8} more" if len(narrowed) > 8 else ""
    return f"{reached}; a cause lies among {names}{more}"


# -- what is asked for -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DiagnosisOptions:
    """``budget`` is in minutes, None for no limit. ``corpus`` are snapshots of other boards, for
    what is usual. ``to_try`` are ids of suspects that are tried where the evidence ends, instead of
    going on with the search. ``cross_checks`` are benchmarks of the probe that are measured on both
    sides beside the metric. ``may_set`` says whether settings may be written on a side;
    ``started`` is ISO 8601 in UTC.
    """

    budget: float | None = None
    layers: bool = True
    seed: int = 0
    corpus: tuple[Snapshot, ...] = ()
    cross_checks: tuple[str, ...] = ()
    may_set: Mapping[Side, bool] = field(default_factory=lambda: {Side.GOOD: True, Side.BAD: True})
    started: str = ""
    to_try: tuple[str, ...] = ()
