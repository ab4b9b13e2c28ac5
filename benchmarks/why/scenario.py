"""A scenario: two simulated boards, what differs between them, and the truth about it.

The truth is for the scoring alone: the diagnosis sees files, answers and values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.why import values
from benchmarks.why.board import Quirk, SimBoard
from benchmarks.why.metrics import SimMetric
from benchmarks.why.noise import Noise
from benchmarks.why.response import LayerOf, Response, Value
from benchvise.why.bench import SideFacts
from benchvise.why.model import DiagnosisVerdict, Layer, Side


@dataclass(frozen=True, slots=True)
class SimLayer:
    """A layer that can be swapped. ``buildable`` are those parts that can be swapped alone."""

    name: str
    layer: Layer
    title: str
    good: str
    bad: str
    parts: tuple[str, ...]
    buildable: frozenset[str]


@dataclass(frozen=True, slots=True)
class Flips:
    """What is made as on the other side: files, and layers with the part, or "" for all of it."""

    files: frozenset[str] = frozenset()
    layers: frozenset[tuple[str, str]] = frozenset()

    def __or__(self, other: Flips) -> Flips:
        return Flips(self.files | other.files, self.layers | other.layers)


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the session: ``kind`` is ``lost``, ``gone`` (lost for good), ``reboot``,
    ``kill`` or ``interrupt``.

    It strikes in the trial of that number, counted from 1, in that phase (``apply``, ``measure``,
    ``undo``) at the first request of that number or later.
    """

    kind: str
    trial: int
    phase: str
    request: int


@dataclass(frozen=True, slots=True)
class Planted:
    """A true cause: the files of each suspect in it, or a layer and its part; and its share.

    ``share`` is what repairing it alone closes of the gap, ``broken`` what breaking it alone opens
    on the good side.
    """

    suspects: tuple[frozenset[str], ...]
    share: float
    broken: float
    layer: str = ""
    part: str = ""

    @property
    def flips(self) -> Flips:
        """What repairing it takes."""
        layers = frozenset({(self.layer, self.part)} if self.layer else ())
        return Flips(frozenset[str]().union(*self.suspects), layers)


@dataclass(frozen=True, slots=True)
class Truth:
    """What a right diagnosis says.

    ``verdicts`` are all that would be right. ``causes`` are the largest first. ``gap`` is in
    goodness. ``refused`` are the files of a cause that cannot be made: not finding it is right as
    long as it is named. ``demanding``: the largest cause is beyond three noise floors, so it has
    to be found. ``rules`` are findings of which one is needed, stopping where it is not admissible.
    """

    verdicts: frozenset[DiagnosisVerdict]
    causes: tuple[Planted, ...] = ()
    gap: float = 0.0
    floor: float = 0.0
    refused: frozenset[str] = frozenset()
    demanding: bool = True
    rules: frozenset[str] = frozenset()


MomentaryLoss = Callable[[Side, Value, LayerOf, float, random.Random], float]
"""What a process loses besides, on that side with these settings and layers: it depends on the
seconds since the diagnosis began, or on chance."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """See the module. ``kind`` is its class; ``recorded`` is the number of trials of a good side
    that is only a record, None where it is live. With ``one_board`` there is a single board, on
    which the images of both sides are booted in turn. What is lost is not the same at each moment
    where there is a ``momentary`` loss; then no interval is held against the truth.
    """

    seed: int
    kind: str
    metric: SimMetric
    files: Mapping[Side, Mapping[str, str]]
    response: Response
    noise: Noise
    truth: Truth
    quirks: Mapping[Side, Mapping[str, Quirk]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    layers: tuple[SimLayer, ...] = ()
    facts: Mapping[Side, SideFacts] = field(default_factory=dict)
    is_root: bool = True
    recorded: int | None = None
    one_board: bool = False
    momentary: MomentaryLoss | None = None

    @property
    def is_killed(self) -> bool:
        """Whether the diagnosis is ended in the middle, so that it takes a process of its own."""
        return any(fault.kind in ("kill", "interrupt") for fault in self.faults)

    def goodness(self, side: Side, flips: Flips | None = None) -> float:
        """Without noise and in no particular boot, with this flipped to the other side's."""
        flips = flips or Flips()
        board = SimBoard(str(side), {**self.files[side], **self.other_texts(side, flips.files)})

        def layer_of(layer: str, part: str) -> Side:
            taken = {(layer, ""), (layer, part)} & flips.layers
            return side.other if taken else side

        return self.response.goodness(side, board.value, layer_of)

    def share(self, flips: Flips, beside: Flips | None = None) -> float:
        """What flipping this on the bad side closes of the gap, with something else flipped before
        and after: by the response itself, whether losses add up or not."""
        beside = beside or Flips()
        gained = self.goodness(Side.BAD, beside | flips) - self.goodness(Side.BAD, beside)
        return gained / (self.goodness(Side.GOOD) - self.goodness(Side.BAD))

    def other_texts(self, side: Side, files: frozenset[str]) -> dict[str, str]:
        """What these files hold on the other side, where that has them."""
        there = self.files[side.other]
        return {path: there[path] for path in files if path in there}


def differing(scenario: Scenario) -> tuple[str, ...]:
    """The names of the knobs that differ."""
    good, bad = scenario.files[Side.GOOD], scenario.files[Side.BAD]
    names = {
        knob.name
        for path in good.keys() | bad.keys()
        if good.get(path) != bad.get(path) and (knob := values.owner(path)) is not None
    }
    return tuple(sorted(names))
