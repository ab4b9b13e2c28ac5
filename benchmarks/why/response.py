"""What a simulated board makes of its settings: the true effects, which only the examiner knows.

What slows an operation down by a factor is a loss of goodness (see ``benchvise.why.model``): 0.1 is
about ten per cent worse, and such losses add up, in logarithms. A fixed time
for each operation is a cost, in nanoseconds: costs add up in time, however long the operation is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchvise.why.model import Side

Value = Callable[[str], str]
"""What a file of the board is set to, by its path."""
LayerOf = Callable[[str, str], Side]
"""Of which side a part of a layer is, by layer and part."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that is so or not: a file that has this value, or a number on this side of it."""

    path: str
    relation: str
    value: str

    def holds(self, value: Value) -> bool:
        found = value(self.path)
        if self.relation == "is":
            return found == self.value
        try:
            number = int(found)
        except ValueError:
            return False
        return number < int(self.value) if self.relation == "below" else number > int(self.value)


@dataclass(frozen=True, slots=True)
class Effect:
    """A loss where all conditions hold together; with ``any_of`` where one of them does.

    It is of goodness, or in nanoseconds among the costs of a response.
    """

    conditions: tuple[Condition, ...]
    loss: float
    any_of: bool = False

    def of(self, value: Value) -> float:
        met = [condition.holds(value) for condition in self.conditions]
        return self.loss if (any(met) if self.any_of else all(met)) else 0.0


@dataclass(frozen=True, slots=True)
class Graded:
    """A loss that grows with the logarithm of a number, all of it at ``full``, none at ``none``."""

    path: str
    none: int
    full: int
    loss: float

    def of(self, value: Value) -> float:
        found = value(self.path)
        if not found.lstrip("-").isdigit():
            return 0.0
        low, high, now = (
            math.log1p(max(number, 0)) for number in (self.none, self.full, int(found))
        )
        return self.loss * min(1.0, max(0.0, (now - low) / (high - low)))


@dataclass(frozen=True, slots=True)
class Response:
    """The goodness of a metric by all that matters to it.

    ``rest`` is what each side loses for reasons that no file tells, ``rest_ns`` the same as a cost.
    ``layers`` is what each layer of the bad side costs: by layer and part, of which the whole is
    the sum. ``operation_ns`` is what an operation takes where nothing is lost, in nanoseconds: one
    with ``lost`` and ``costs`` takes ``operation_ns * exp(lost) + costs``.
    """

    base: float
    effects: Sequence[Effect | Graded]
    rest: Mapping[Side, float] = field(default_factory=dict)
    layers: Mapping[tuple[str, str], float] = field(default_factory=dict)
    costs: Sequence[Effect | Graded] = ()
    rest_ns: Mapping[Side, float] = field(default_factory=dict)
    operation_ns: float = 1.0

    def goodness(self, side: Side, value: Value, layer_of: LayerOf | None = None) -> float:
        """Without noise. ``layer_of`` tells of which side a part of a layer is."""
        lost = self.rest.get(side, 0.0) + sum(effect.of(value) for effect in self.effects)
        for (layer, part), loss in self.layers.items():
            owner = side if layer_of is None else layer_of(layer, part)
            lost += loss if owner is Side.BAD else 0.0
        spent = self.rest_ns.get(side, 0.0) + sum(cost.of(value) for cost in self.costs)
        if spent:
            lost = math.log(math.exp(lost) + spent / self.operation_ns)
        return self.base - lost
